"""The agent ``rules`` with one deviation, for controls and for tests of the suite's metrics."""

from __future__ import annotations

from memassay.agents.rules import BUDGET, SCRIPTS, Rules
from memassay.core.errors import UnknownName


class ScriptedLifecycle(Rules):
    """Behaves by a script of :mod:`memassay.agents.rules.scripts`, and else by the rules; no model, no key.

    Args:
        script: its name; ``perfect`` has no deviation.
        budget: the most tool calls of an answer, at least 1.

    Raises:
        UnknownName: no such script.
        UsageError: a budget below 1.
    """

    def __init__(self, *, script: str = "perfect", budget: int = BUDGET) -> None:
        super().__init__(budget=budget)
        if script not in SCRIPTS:
            raise UnknownName("script", script, SCRIPTS)
        self._behaviour = SCRIPTS[script].behaviour
