"""What every gate of the suite is made of: conditions, arms under them, and one verdict on the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from memassay.suites.association.cells import Cells

Decision = Literal["passed", "failed", "no decision", "not measured"]
MINUS = "\N{MINUS SIGN}"
NO_COST, NO_SCORE = "no decision: no cost", "no decision: no score"


@dataclass(frozen=True, slots=True)
class Leg:
    """One condition: what it asks, what came of it, and the numbers in one phrase."""

    leg: str
    asks: str
    outcome: Decision
    reason: str


@dataclass(frozen=True, slots=True)
class ArmGate:
    """One arm under a gate; ``score`` and ``cost`` are the mean difference of scores and US dollars per cell."""

    arm: str
    verdict: str
    legs: tuple[Leg, ...]
    score: float | None
    cost: float | None


@dataclass(frozen=True, slots=True)
class Gate:
    """A verdict on a run: passed where an arm passed.

    Attributes:
        verdict: passed, failed, or no decision and why.
        best_arm: the most correct, then the cheapest, of those with the best verdict; also where the gate failed.
        arms: every arm under the gate.
        reasons: the legs of the best arm that made the verdict.
        notes: what a reader has to know of the rule itself.
    """

    verdict: str
    best_arm: str | None
    arms: tuple[ArmGate, ...]
    reasons: tuple[str, ...]
    notes: tuple[str, ...] = ()


def judged(arm: str, legs: tuple[Leg, ...], value: float | None, usd: float | None) -> ArmGate:
    """The verdict on an arm: failed by any failed leg, else undecided by what could not be measured or shown."""
    outcomes = [leg.outcome for leg in legs]
    unmeasured = [leg.leg for leg in legs if leg.outcome == "not measured"]
    if "failed" in outcomes:
        verdict = "failed"
    elif unmeasured:
        verdict = NO_COST if all(name.startswith("cost") for name in unmeasured) else NO_SCORE
    else:
        verdict = "no decision" if "no decision" in outcomes else "passed"
    return ArmGate(arm, verdict, legs, value, usd)


def overall(cells: Cells, arm_gate: Callable[[str], ArmGate]) -> Gate:
    """The verdict on a run, from that on each arm under the gate; without a baseline it fails at once."""
    if not cells.of(cells.baseline):
        return Gate("failed", None, (), (f"there is no cell of the baseline {cells.baseline}",))
    if not cells.gated:
        return Gate("failed", None, (), ("no arm is under the gate",))
    arms = tuple(map(arm_gate, cells.gated))

    def rank(one: ArmGate) -> tuple[bool, bool, float, float]:
        better = (one.verdict == "passed", one.verdict != "failed")
        return (*better, -1.0 if one.score is None else one.score, -(one.cost or 0.0))

    best = max(arms, key=rank)
    blamed = {"failed": ("failed",), "passed": ()}.get(best.verdict, ("no decision", "not measured"))
    reasons = tuple(f"{best.arm}, {leg.leg}: {leg.reason}" for leg in best.legs if leg.outcome in blamed)
    return Gate(best.verdict, best.arm, arms, reasons)


def signed(value: float, digits: int = 3) -> str:
    """A difference with its sign; a true minus, as in the rest of a report."""
    text = f"{abs(value):.{digits}f}"
    return (MINUS if value < 0 and float(text) else "+") + text
