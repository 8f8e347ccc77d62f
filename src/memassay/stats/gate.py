"""Is the new run worse than the old one by more than a margin? (row "any: regression gate")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from memassay.stats.clustered import NO_QUESTION, ONE_CLUSTER
from memassay.stats.clusters import ClusterLabels, Clusters, FloatArray
from memassay.stats.distributions import t_quantile
from memassay.stats.families import column_sums, differences
from memassay.stats.flips import DRAWS, Flips
from memassay.stats.paired import Spread, difference_spread

Outcome = Literal["passed", "failed", "no decision"]


@dataclass(frozen=True)
class Leg:
    """One gated metric.

    Attributes:
        metric: its name.
        outcome: passed, failed or no decision.
        reason: one sentence with the numbers.
        value: mean difference new - old over questions; None where there is no question.
        lower: one-sided lower bound of the difference, for passing.
        upper: one-sided upper bound, simultaneous over the gated metrics, for failing.
        margin: the largest drop that is tolerated.
        n: questions; clusters: G.
    """

    metric: str
    outcome: Outcome
    reason: str
    value: float | None
    lower: float | None
    upper: float | None
    margin: float
    n: int
    clusters: int


@dataclass(frozen=True)
class GateResult:
    """The gate's verdict and its legs, in the order of the metrics."""

    verdict: Outcome
    level: float
    legs: tuple[Leg, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons of the legs that made the verdict."""
        return tuple(f"{leg.metric}: {leg.reason}" for leg in self.legs if leg.outcome == self.verdict)


def regression_gate(
    new: npt.ArrayLike,
    old: npt.ArrayLike,
    clusters: ClusterLabels,
    *,
    margin: float | Sequence[float],
    metrics: Sequence[str] | None = None,
    level: float = 0.95,
    rng: np.random.Generator | None = None,
    draws: int = DRAWS,
) -> GateResult:
    """Non-inferiority of a new run to an old one on the same questions; higher scores are better.

    A leg passes if the one-sided lower bound of new - old is above -margin. Otherwise it fails if the upper bound is
    below 0 and the drop is larger than margin / 2; what is left is no decision. Scores that are the same on every
    question pass. The gate passes if every leg passes and fails if any leg fails.

    Passing asks for every leg at once, so its bounds need no correction for several metrics (an intersection-union
    test, Berger, Technometrics 24, 1982). Failing takes one leg out of m, so its bounds use the max-T critical value of
    the studentised differences over all sign flips, Bonferroni where the flips are too few to reach 1 - level. Both
    kinds of bound are the wider of cluster and question level, as in ``paired_difference``.

    Args:
        new: shape (n,) or (n, m): scores of the new run on n questions in m metrics; NaN where a metric is not defined.
        old: the same of the old run, with NaN at the same places.
        clusters: n labels or a ``Clusters``.
        margin: tolerated drop, positive; one for all metrics or one each.
        metrics: m names; by default ``metric 1`` and so on.
        level: one-sided confidence level.
        rng: named generator; needed above 16 clusters with several metrics only.
        draws: sign patterns drawn above 16 clusters.

    Raises:
        ValueError: shapes that differ, NaN in one run only, a margin that is not positive, no metric.
    """
    groups = Clusters.of(clusters)
    after, before = differences(new, groups), differences(old, groups)
    if after.shape != before.shape:
        raise ValueError(
            f"The runs have scores of shape {after.shape} and {before.shape}; they must be the same tasks."
        )
    if (np.isnan(after) != np.isnan(before)).any():
        raise ValueError("A score is missing (NaN) in one run only; a task that is missing must be left out of both.")
    m = after.shape[1]
    margins = [float(one) for one in np.broadcast_to(np.asarray(margin, dtype=np.float64), (m,))]
    names = [f"metric {position + 1}" for position in range(m)] if metrics is None else list(metrics)
    if not m or len(names) != m or not all(one > 0 for one in margins):
        raise ValueError("The gate needs at least one metric, one name for each and a positive margin.")
    table = after - before
    critical = _simultaneous(table, groups, level, rng, draws) if m > 1 else None
    legs = tuple(
        _leg(table[:, column], groups, names[column], margins[column], level, m, critical) for column in range(m)
    )
    outcomes = {leg.outcome for leg in legs}
    verdict: Outcome = "failed" if "failed" in outcomes else "passed" if outcomes == {"passed"} else "no decision"
    return GateResult(verdict, level, legs)


def _leg(
    column: FloatArray, groups: Clusters, name: str, margin: float, level: float, m: int, critical: float | None
) -> Leg:
    present = ~np.isnan(column)
    d = column[present]
    here = groups if present.all() else groups.select(present)
    n, count = here.n, here.count
    if n == 0:
        return Leg(name, "no decision", NO_QUESTION, None, None, None, margin, 0, 0)
    mean = float(d.mean())
    if not d.any():
        same = f"the runs score the same on all {n} questions"
        return Leg(name, "passed", same, 0.0, None, None, margin, n, count)
    if count < 2:
        return Leg(name, "no decision", ONE_CLUSTER, mean, None, None, margin, n, count)
    alone = difference_spread(d, here, level)
    together = alone if m == 1 else _together(d, here, 1 - (1 - level) / m, critical)
    lower, upper = mean - alone.half, mean + max(alone.half, together.half)
    if lower > -margin:
        outcome: Outcome = "passed"
        reason = f"the lower bound {lower:+.4f} is above the margin {-margin:+.4f}"
    # With symmetric bounds and this order the second condition follows from the first; it is kept as the rule says it.
    elif upper < 0 and -mean > margin / 2:
        outcome = "failed"
        reason = f"the upper bound {upper:+.4f} is below 0 and the drop {-mean:.4f} is above half the margin"
    else:
        outcome = "no decision"
        reason = f"the difference {mean:+.4f} may lie anywhere in {lower:+.4f} to {upper:+.4f} (margin {margin:.4f})"
    return Leg(name, outcome, reason, mean, lower, upper, margin, n, count)


def _together(d: FloatArray, here: Clusters, bonferroni: float, critical: float | None) -> Spread:
    return difference_spread(d, here, bonferroni, critical)


def _simultaneous(
    table: FloatArray, groups: Clusters, level: float, rng: np.random.Generator | None, draws: int
) -> float | None:
    """The multiplier of the cluster standard error that holds for all columns at once; None asks for Bonferroni.

    It is the (1 - level) quantile, over sign flips, of the largest studentised drop among the columns, each studentised
    by its own linearised cluster standard error under that flip.
    """
    sums, sizes = column_sums(table, groups)
    counts = (sizes > 0).sum(axis=0)
    use = (counts >= 2) & (sums != 0).any(axis=0)
    flips = Flips.plan(groups.count, rng, draws)
    patterns = flips.count if flips.exact else flips.count + 1
    allowed = int((1 - level) * patterns + 1e-9)
    if not use.any() or allowed < 1:
        return None
    s, w, g = sums[:, use], sizes[:, use], counts[use]
    n = w.sum(axis=0)
    squares, weighted, sizes2 = (s * s).sum(axis=0), s * w, (w * w).sum(axis=0)
    largest: list[FloatArray] = []
    for signs in flips.blocks(2 * s.shape[1]):
        mean = (signs @ s) / n
        spread = np.maximum(squares - 2 * mean * (signs @ weighted) + mean * mean * sizes2, 1e-12 * squares)
        t = mean * n / np.sqrt(spread * g / (g - 1))
        largest.append(t.max(axis=1))
        if flips.exact:  # the other half of the patterns
            largest.append(-t.min(axis=1))
    ordered = np.sort(np.concatenate(largest))[::-1]
    quantile = ordered[allowed if flips.exact else allowed - 1]
    return max(float(quantile), t_quantile(level, int(g.min()) - 1))
