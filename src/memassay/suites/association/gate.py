"""The gate of the association study in its three wordings: five conditions, on point estimates and one interval.

Its interval is the percentile bootstrap as published; how often such a gate errs stands in docs/statistics.md. Our own
gate is in ``material.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from memassay.core.errors import UnknownName
from memassay.core.types import Status
from memassay.suites.association.cells import Cells, cost, score
from memassay.suites.association.legs import MINUS, ArmGate, Gate, Leg, judged, overall, signed
from memassay.suites.association.published import Interval, published_interval


@dataclass(frozen=True, slots=True)
class Wording:
    """What the three wordings differ in.

    Attributes:
        strict: whether a tie fails: the score must be above, not only at, the baseline and every other arm.
        interval: of which difference an interval is asked, and how: ``score excludes 0``, ``cost excludes 0`` or
            ``cost below 0``.
        said: where it comes from, after "is".
    """

    strict: bool
    interval: Literal["score excludes 0", "cost excludes 0", "cost below 0"]
    said: str


WORDINGS: Mapping[str, Wording] = {
    "draft": Wording(True, "score excludes 0", "the draft of 2026-09-10, which no tie passes"),
    "2026-09-11": Wording(
        False, "cost excludes 0", "the amendment before the first run, when the baseline had scored 1.00 in the pilot"
    ),
    "release": Wording(False, "cost below 0", "the one of the published release"),
}


def published_gate(cells: Cells, wording: str) -> Gate:
    """The five conditions of the study.

    Raises:
        UnknownName: no wording is called so.
    """
    if wording not in WORDINGS:
        raise UnknownName("wording of the gate", wording, WORDINGS)
    rule = WORDINGS[wording]
    scores = {arm: published_interval(cells.pairs(arm, score)) for arm in cells.arms if arm != cells.baseline}
    notes: list[str] = []

    def arm_gate(arm: str) -> ArmGate:
        mine, costs = scores[arm], published_interval(cells.pairs(arm, cost))
        legs = (
            _correctness(cells, arm, mine, rule.strict),
            _other_arms(arm, scores, rule.strict),
            _cost(cells, arm),
            _interval(rule, mine if rule.interval.startswith("score") else costs),
            _turns(cells, arm),
        )
        if rule.interval == "cost excludes 0" and costs is not None and costs.low > 0:
            notes.append(
                f"This wording has a hole: the interval of {arm}'s cost lies wholly above 0, so it also excludes 0, "
                "and the dearer arm passes that leg. The wording `release` closes it."
            )
        return judged(arm, legs, mine.value if mine else None, cells.mean(arm, cost))

    gate = overall(cells, arm_gate)
    return Gate(gate.verdict, gate.best_arm, gate.arms, gate.reasons, tuple(notes))


def _correctness(cells: Cells, arm: str, found: Interval | None, strict: bool) -> Leg:
    asks = f"the mean difference of scores to {cells.baseline} is {'above' if strict else 'at least'} 0"
    if found is None:
        return Leg("correctness", asks, "not measured", "no task has a score in both arms")
    kept = found.value > 0 or (found.value == 0 and not strict)
    return Leg(
        "correctness",
        asks,
        "passed" if kept else "failed",
        f"{arm} {MINUS} {cells.baseline} is {signed(found.value)} over {found.n} task{'s' if found.n != 1 else ''}",
    )


def _other_arms(arm: str, scores: Mapping[str, Interval | None], strict: bool) -> Leg:
    asks = f"that mean is {'above' if strict else 'at least'} every other arm's own"
    mine = scores[arm]
    others = {name: one.value for name, one in scores.items() if name != arm and one is not None}
    if mine is None:
        return Leg("other arms", asks, "not measured", "no task has a score in both arms")
    ahead = [f"{name} ({signed(x)})" for name, x in others.items() if x > mine.value or (strict and x == mine.value)]
    if ahead:
        word = "not above" if strict else "below"
        return Leg("other arms", asks, "failed", f"{signed(mine.value)} is {word} {', '.join(ahead)}")
    named = ", ".join(f"{name} {signed(x)}" for name, x in others.items())
    return Leg("other arms", asks, "passed", f"{signed(mine.value)}; {named or 'there is no other arm'}")


def _cost(cells: Cells, arm: str) -> Leg:
    asks = f"the mean cost of a cell is at most that of {cells.baseline}"
    mine, theirs = cells.mean(arm, cost), cells.mean(cells.baseline, cost)
    if mine is None or theirs is None:
        return Leg("cost", asks, "not measured", f"no cell of {arm if mine is None else cells.baseline} has a cost")
    reason = f"{mine:.4f} US dollars per cell, {cells.baseline} {theirs:.4f}"
    return Leg("cost", asks, "passed" if mine <= theirs else "failed", reason)


def _interval(rule: Wording, found: Interval | None) -> Leg:
    name = f"{rule.interval.partition(' ')[0]} interval"
    below = rule.interval == "cost below 0"
    asks = f"the 95 % interval of the {name.split()[0]} difference {'is wholly below' if below else 'excludes'} 0"
    if found is None:
        return Leg(name, asks, "not measured", f"no task has a {name.split()[0]} in both arms")
    kept = found.high < 0 or (not below and found.low > 0)
    return Leg(name, asks, "passed" if kept else "failed", f"[{signed(found.low, 4)}, {signed(found.high, 4)}]")


def _turns(cells: Cells, arm: str) -> Leg:
    asks = f"no cell ran out of turns on a task that {cells.baseline} answered"
    answered = {row.task.id for row in cells.of(cells.baseline) if row.status.kind == "answered"}
    out = {row.task.id: None for row in cells.of(arm) if row.status is Status.LIMIT_TURNS and row.task.id in answered}
    if out:
        return Leg("turns", asks, "failed", f"out of turns on {', '.join(out)}, where {cells.baseline} answered")
    return Leg("turns", asks, "passed", "none did")
