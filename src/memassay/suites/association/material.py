"""Our own gate: few material losses, and a lower cost, on the tasks that every arm finished.

Rows "association: correctness" and "association: cost, tokens, turns" of docs/statistics.md. It holds given this world;
tasks of one world are no sample of worlds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from memassay.core.digest import digest_text
from memassay.core.types import Task
from memassay.stats import MaterialLoss, PairedRatio, material_loss, paired_ratio
from memassay.suites.association.cells import Cells, Measure, cost, score
from memassay.suites.association.legs import ArmGate, Decision, Gate, Leg, judged, overall

_ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class CostRatio:
    """The cost of an arm as a multiple of the baseline's.

    Attributes:
        measured: over the cells that have a cost.
        at_cap: with the limit of money in the place of a missing cost; None where none is missing or there is no limit.
        missing: finished cells without a cost, of both arms.
    """

    measured: PairedRatio
    at_cap: PairedRatio | None
    missing: int


def our_gate(cells: Cells, cap_usd: float | None = None) -> Gate:
    """Few material losses, and a lower cost, on the tasks that every arm finished.

    Args:
        cells: the run.
        cap_usd: the limit of US dollars of one cell, or None.
    """
    tasks = cells.complete()

    def arm_gate(arm: str) -> ArmGate:
        loss = losses(cells, arm, tasks)
        asks = f"at most {loss.limit:g} of tasks lose more than {loss.margin:g} to {cells.baseline} (exact 95 % bound)"
        correctness: Decision = loss.outcome if loss.n else "not measured"
        legs = (Leg("correctness", asks, correctness, loss.reason), _cheaper(cells, arm, tasks, cap_usd))
        means = cells.pairs(arm, score, tasks).values()
        value = sum(a - b for a, b in means) / len(means) if means else None
        return judged(arm, legs, value, cells.mean(arm, cost))

    return overall(cells, arm_gate)


def losses(cells: Cells, arm: str, tasks: Sequence[Task]) -> MaterialLoss:
    """The rule for correctness, on those tasks."""
    pairs = cells.pairs(arm, score, tasks).values()
    return material_loss([a for a, _ in pairs], [b for _, b in pairs])


def ratio(cells: Cells, arm: str, measure: Measure, tasks: Iterable[Task], name: str) -> PairedRatio:
    """The rule for amounts; ``name`` names the generator of the sign flips."""
    pairs = cells.pairs(arm, measure, tasks).values()
    return paired_ratio([a for a, _ in pairs], [b for _, b in pairs], rng=generator(f"{name}/{arm}"))


def generator(name: str) -> np.random.Generator:
    """The named generator of the sign flips of one comparison."""
    return np.random.Generator(np.random.PCG64(int(digest_text(f"association/{name}")[:15], 16)))


def cost_ratio(cells: Cells, arm: str, tasks: Sequence[Task], cap_usd: float | None) -> CostRatio:
    """The rule for amounts on costs, which are not missing at random: a session that is cut off was a dear one."""
    rows = [row for name in (arm, cells.baseline) for task in tasks for row in cells.of(name, task.id)]
    missing = sum(cost(row) is None for row in rows)
    capped = None
    if cap_usd and 0 < missing < len(rows):
        capped = ratio(cells, arm, lambda row: cost(row) or cap_usd, tasks, "cost")
    return CostRatio(ratio(cells, arm, cost, tasks, "cost"), capped, missing)


def _cheaper(cells: Cells, arm: str, tasks: Sequence[Task], cap_usd: float | None) -> Leg:
    asks = f"the cost is below that of {cells.baseline}: the 95 % interval of the ratio is below 1, and p <= .05"
    found = cost_ratio(cells, arm, tasks, cap_usd)
    if found.measured.ratio.value is None:
        return Leg("cost", asks, "not measured", "no task has a cost in both arms")
    said = [_said(found.measured)]
    outcomes = {_decide(found.measured)}
    if found.at_cap is not None:
        said.append(f"{_said(found.at_cap)} with ${cap_usd:g} for each of {found.missing} missing costs")
        outcomes.add(_decide(found.at_cap))
    elif found.missing:
        said.append(f"{found.missing} cells have no cost, and there was no limit of money to put in its place")
        outcomes.add("no decision")
    return Leg("cost", asks, outcomes.pop() if len(outcomes) == 1 else "no decision", "; ".join(said))


def _decide(found: PairedRatio) -> Decision:
    low, high, p = found.ratio.low, found.ratio.high, found.p
    if low is None or high is None or p is None or p > _ALPHA or low <= 1 <= high:
        return "no decision"
    return "passed" if high < 1 else "failed"


def _said(found: PairedRatio) -> str:
    one = found.ratio
    around = f" [{one.low:.3f}, {one.high:.3f}]" if one.low is not None and one.high is not None else ""
    return f"{one.value:.3f} times the cost{around}, p = {found.p:.2g}, {one.n} task{'s' if one.n != 1 else ''}"
