"""The tools of an answer: every call within the budget, and everything that was delivered so far."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from memassay.agents.reference.calls import Calls
from memassay.agents.rules.findings import Finding, findings
from memassay.agents.toolbox import Toolbox, ToolsMissing
from memassay.core.blocks import merged
from memassay.core.taught import BUDGET_EXHAUSTED

_CODE = re.compile(r"\(code: ([a-z_]+)\)")
_SEARCH_FIRST, _UNREACHABLE = "search_required", "transport"


class Tools:
    """Open tools of a platform.

    Args:
        box: the tools.
        calls: the record of the answer.
        intent: what is searched for where a tool wants a search before it.
        budget: the most calls.

    Attributes:
        delivered: what results have said so far, in order.
    """

    def __init__(self, box: Toolbox, calls: Calls, intent: str, budget: int) -> None:
        self._box, self._calls, self._intent = box, calls, intent
        self._offered = frozenset(tool.name for tool in box.tools)
        self.left = budget
        self.delivered: list[Finding] = []

    async def use(self, name: str, **arguments: Any) -> Mapping[str, Any] | None:
        """The result of a tool; None where it is not offered, refuses, or the budget is spent.

        Raises:
            TimeoutError: it is late.
            ToolsMissing: the server is gone, or the platform behind it.
        """
        result, code = await self._once(name, arguments)
        if code == _SEARCH_FIRST and name != "search":
            await self._once("search", {"intent": self._intent})
            result, code = await self._once(name, arguments)
        return result

    async def search(self, intent: str) -> None:
        """Search; what is found is in ``delivered``."""
        await self.use("search", intent=intent)

    async def describe(self, dataset: str) -> Mapping[str, Any] | None:
        """What a table has for columns; ``dataset`` may be named with its schema and catalog."""
        return await self.use("trino_describe_table", **named(dataset))

    async def overspend(self) -> None:
        """Use the budget up, on searches, and allow one call more: to refuse it is the server's."""
        while self.left:
            await self.search(self._intent)
        self.left = 1

    async def _once(self, name: str, arguments: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, str]:
        """The result, or None with the code of the refusal."""
        if name not in self._offered or not self.left:
            return None, ""
        self._calls.look_at_the_clock()
        self.left -= 1
        answered = await self._box.call(name, arguments)
        self._calls.note(name, arguments, answered.text)
        said = merged(answered.text)
        if answered.is_error:
            problem = said.get("error")
            code = problem.get("code") if isinstance(problem, Mapping) else _code(answered.text)
            if code == _UNREACHABLE:
                raise ToolsMissing(f"The platform was gone in a call of {name!r}.")
            if code == BUDGET_EXHAUSTED:
                self.left = 0
            return None, code if isinstance(code, str) else ""
        self.delivered += findings(said)
        return said, ""


def named(dataset: str) -> dict[str, str]:
    """The parts of ``catalog.schema.table`` that a name has, as tools of the warehouse take them."""
    return dict(zip(("table", "schema", "catalog"), reversed(dataset.rsplit(".", 2)), strict=False))


def _code(text: str) -> str:
    """The code that a refusal in words names, or ""."""
    found = _CODE.search(text)
    return found.group(1) if found else ""
