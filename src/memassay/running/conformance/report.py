"""What came of the checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from pydantic import JsonValue

Status = Literal["passed", "FAILED", "not applicable"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one check ended.

    Attributes:
        expected: what the check is about, whatever came of it.
        seen: what was seen instead, or why the check is not applicable; empty where it passed.
        fix: what to do about a failure; empty otherwise.
    """

    name: str
    status: Status
    expected: str
    seen: str = ""
    fix: str = ""
    seconds: float = 0.0

    def __str__(self) -> str:
        """The outcome in one line."""
        text = {
            "passed": self.expected,
            "FAILED": f"expected: {self.expected}; seen: {self.seen}; fix: {self.fix}.",
            "not applicable": self.seen,
        }[self.status]
        return f"{self.status:<14}  {self.name:<16}  {text}"


@dataclass(frozen=True, slots=True)
class Report:
    """All outcomes of one memory, in the order of the checks."""

    memory: str
    options: Mapping[str, JsonValue]
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def failed(self) -> list[Outcome]:
        """The checks that failed."""
        return [outcome for outcome in self.outcomes if outcome.status == "FAILED"]

    @property
    def reason(self) -> str | None:
        """Why the memory could not be checked, as it said itself, or None."""
        return next((outcome.seen for outcome in self.outcomes if outcome.status == "not applicable"), None)

    def as_json(self) -> dict[str, Any]:
        """The report as a JSON value; ``seconds`` is the one thing that differs between two equal runs."""
        checks = [{**asdict(outcome), "status": outcome.status.lower()} for outcome in self.outcomes]
        return {"memory": self.memory, "options": dict(self.options), "passed": not self.failed, "checks": checks}
