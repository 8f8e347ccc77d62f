"""The agent: reads what a prompt wants, does it within the limits, and records it."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping

from pydantic import JsonValue

from memassay.agents.reference.calls import TOKENS, Calls
from memassay.agents.rules.answering import UNKNOWN, answer
from memassay.agents.rules.keeping import keep
from memassay.agents.rules.prompts import Told, read
from memassay.agents.rules.scripts import Behaviour
from memassay.agents.rules.tools import Tools
from memassay.agents.toolbox import ToolsMissing, open_toolbox, require_mcp
from memassay.core.errors import UsageError
from memassay.core.types import ModelKind, Request, Status, Step

__all__ = ["BUDGET", "UNKNOWN", "Rules"]

VERSION = 2
BUDGET = 20
"""More than the calls of a protocol (15): where tools refuse what is past those, the agent hears it."""


class Rules:
    """Keeps what it is told, and answers by running the definition that its tools deliver; no model, no key.

    It says ``INSUFFICIENT INFORMATION`` where none was delivered, where the definition's table has no column for what
    is asked, and where its calls are spent, by its own budget or by that of its tools. Tools that cannot be used are a
    fault of the harness. Tokens are counted as characters divided by four: read are the prompt and all that the calls
    gave back.

    Args:
        guesses: answer by the default reading instead of ``INSUFFICIENT INFORMATION``.
        budget: the most tool calls of an answer, at least 1.

    Raises:
        UsageError: a budget below 1.
    """

    model: ModelKind = "none"
    accesses = frozenset({"tools"})

    def __init__(self, *, guesses: bool = False, budget: int = BUDGET) -> None:
        if budget < 1:
            raise UsageError(f"An agent without calls can do nothing; give budget at least 1, not {budget}.")
        self._behaviour = Behaviour(guesses=guesses)
        self._budget = budget

    def identity(self) -> Mapping[str, JsonValue]:
        """The version of its rules, and how it counts tokens."""
        return {"version": VERSION, "tokens": TOKENS}

    def check(self, access: Collection[str], memory: str = "") -> None:
        """Whether tools can be used here.

        Raises:
            MissingExtra: the extra ``mcp`` is not installed.
        """
        require_mcp()

    async def answer(self, request: Request) -> Step:
        """See :class:`memassay.core.contracts.Agent`."""
        calls = Calls(request)
        if not request.toolset.servers:
            return calls.step(Status.HARNESS, "the arm gives no tool server", None)
        turns = request.limit_turns
        budget = self._budget if turns is None else min(self._budget, max(turns - 1, 0))
        wanted = read(request.prompt)
        try:
            async with asyncio.timeout(request.limit_seconds), open_toolbox(request.toolset) as box:
                tools = Tools(box, calls, request.prompt, budget)
                if isinstance(wanted, Told):
                    text = await keep(wanted, tools, self._behaviour)
                else:
                    text = await answer(wanted, tools, self._behaviour)
        except TimeoutError:
            if not calls.late:
                raise
            return calls.step(Status.LIMIT_TIME, f"no answer after {request.limit_seconds:g} s", None)
        except ToolsMissing as error:
            return calls.step(Status.HARNESS, str(error), None)
        return calls.step(Status.OK, "", text)
