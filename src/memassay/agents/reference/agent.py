"""The agent: understands a question, picks the tools of the arm, and keeps the limits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from pydantic import JsonValue

from memassay.agents.reference import files, graph, questions, sql
from memassay.agents.reference.calls import TOKENS, Calls, NotThere, TooManyTurns, Unreadable
from memassay.agents.reference.mistakes import MISTAKES
from memassay.agents.reference.questions import Links, Question
from memassay.agents.reference.rules import FIRST_DAY, LAST_DAY
from memassay.agents.toolbox import ToolsMissing, open_toolbox, require_mcp
from memassay.core.errors import UnknownName, UsageError
from memassay.core.types import ModelKind, Request, Status, Step

VERSION = 1
UNKNOWN = "I do not know"
_BEHIND_TOOLS = "graph"
NONE = "none"


class Reference:
    """Answers from the files, the database or the tool server of its arm, and from nothing else; no model, no key.

    It says ``I do not know`` to a question that it does not understand, or about a key, a role or a day that the data
    does not have, and ``none`` where nothing fits. Data or tools that cannot be used are a fault of the harness.
    Tokens are counted as characters divided by four: read are the prompt and all that the calls gave back.

    Args:
        mistake: a way to be wrong on purpose, for tests of graders (:mod:`memassay.agents.reference.mistakes`).

    Raises:
        UnknownName: no such mistake.
    """

    model: ModelKind = "none"
    accesses = frozenset({"tools", "folder"})

    def __init__(self, *, mistake: str = "") -> None:
        if mistake not in MISTAKES:
            raise UnknownName("mistake", mistake, [name for name in MISTAKES if name])
        self._mistake = MISTAKES[mistake]

    def identity(self) -> Mapping[str, JsonValue]:
        """The version of its rules, and how it counts tokens."""
        return {"version": VERSION, "tokens": TOKENS}

    def check(self, access: Collection[str], memory: str = "") -> None:
        """Whether it can work with an arm's access here.

        Raises:
            UsageError: the folder of a graph does not hold the world.
            MissingExtra: tools need the extra ``mcp``.
        """
        if "tools" in access:
            require_mcp()
        elif memory.rpartition("/")[2] == _BEHIND_TOOLS:
            raise UsageError(
                f"Agent 'reference' cannot answer from the folder of {memory!r}: its world is behind its tools; take "
                f"{memory}/tools."
            )

    async def answer(self, request: Request) -> Step:
        """See :class:`memassay.core.contracts.Agent`."""
        calls = Calls(request)
        question = questions.read(request.prompt)
        if question is None:
            return calls.step(Status.OK, "the question is not one of those that it knows", UNKNOWN)
        asked = self._mistake.ask(question)
        try:
            values = self._mistake.say(question, await _values(request, asked, calls))
        except NotThere as error:
            return calls.step(Status.OK, str(error), UNKNOWN)
        except TimeoutError:
            if not calls.late:
                raise
            return calls.step(Status.LIMIT_TIME, f"no answer after {request.limit_seconds:g} s", None)
        except TooManyTurns as error:
            return calls.step(Status.LIMIT_TURNS, str(error), None)
        except (Unreadable, ToolsMissing) as error:
            return calls.step(Status.HARNESS, str(error), None)
        return calls.step(Status.OK, "", "\n".join(values) or NONE)


async def _values(request: Request, question: Question, calls: Calls) -> list[str]:
    """What the arm knows: a tool server is asked before a folder is read."""
    if isinstance(question, Links) and question.date and not FIRST_DAY <= question.date <= LAST_DAY:
        raise NotThere(f"{question.date} is no day of the history, which is from {FIRST_DAY} to {LAST_DAY}")
    if request.toolset.servers:
        async with asyncio.timeout(request.limit_seconds), open_toolbox(request.toolset) as box:
            return await graph.solve(box, question, calls)
    if request.toolset.folder is None:
        raise Unreadable("the arm gives neither a tool server nor a folder")
    folder = Path(request.toolset.folder)
    solve = _reader(folder)
    try:
        return await asyncio.to_thread(solve, folder, question, calls)
    finally:
        calls.stop()


def _reader(folder: Path) -> Callable[[Path, Question, Calls], list[str]]:
    if (folder / sql.DATABASE).is_file():
        return sql.solve
    if (folder / files.CHANGES).is_file():
        return files.solve
    raise Unreadable(f"the folder has neither {sql.DATABASE} nor {files.CHANGES}")
