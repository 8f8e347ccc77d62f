"""The weighted gap between two memories (row "canary: weighted gap of a pair").

Every question was won (+1), lost (-1) or tied (0) by the first memory; G = sum over families of weight x (wins -
losses) / questions. Orders and judges were collapsed before: n counts questions.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memassay.core.types import Estimate
from memassay.stats.clustered import NO_QUESTION, ONE_CLUSTER
from memassay.stats.clusters import ClusterLabels, Clusters, FloatArray, scores
from memassay.stats.dirichlet import DRAWS, gap_bounds

METHOD = "widest of Dirichlet (Jeffreys), Dirichlet (faint prior) and combined scores"
# Simulated: with fewer clusters' worth of weight the measured design effect leaves .91, from here on .93 and more.
FEW_CLUSTERS = 10


@dataclass(frozen=True)
class WeightedGap:
    """One weighted gap, in [-1, 1]; positive favours the first memory.

    Attributes:
        gap: the plug-in and the interval that decides.
        jeffreys: the posterior median and interval with the Jeffreys prior.
        drawn: as ``gap`` with the weights drawn from their own posterior; None where they were not counted.
        outside: whether the plug-in lies outside the Jeffreys interval. It is not moved there; both are printed.
        design_effect: how much clusters widen it, at least 1; counts are divided by it.
        effective: how many questions, all of one weight and independent, would say as much.
    """

    gap: Estimate
    jeffreys: Estimate
    drawn: Estimate | None
    outside: bool
    design_effect: float
    effective: float


@dataclass(frozen=True)
class Aggregates:
    """The gap by the weights of the families, by equal weights, and the first minus the second."""

    weighted: WeightedGap
    uniform: WeightedGap
    difference: WeightedGap


def aggregate_gaps(
    outcomes: npt.ArrayLike,
    families: ClusterLabels,
    weights: Mapping[Hashable, float],
    clusters: ClusterLabels,
    *,
    rng: np.random.Generator,
    concentration: Mapping[Hashable, float] | None = None,
    level: float = 0.95,
    draws: int = DRAWS,
) -> Aggregates:
    """Both aggregates of one pair and their difference, each with its own interval.

    Args:
        outcomes: shape (n,): +1, 0 or -1.
        families: the family of each question.
        weights: by family, not negative; those of the families present must sum to 1.
        clusters: what was sampled independently: a source document, an event.
        rng: named generator.
        concentration: by family, the parameters of the Dirichlet posterior of the weights; None where fixed.
        level: two-sided confidence level.
        draws: from each posterior.

    Raises:
        ValueError: another outcome, weights that do not sum to 1, or lengths that differ.
    """
    strata, groups = Clusters.of(families), Clusters.of(clusters)
    d = signs(outcomes, groups)
    if strata.n != groups.n:
        raise ValueError(f"{strata.n} families and {groups.n} clusters; every question needs one of each.")
    given = np.array([weights[family] for family in strata.labels])
    if len(given) and (given.min() < 0 or abs(given.sum() - 1) > 1e-9):
        raise ValueError("The weights of the families that were asked must be 0 or more and sum to 1.")
    even = np.full(strata.count, 1 / max(strata.count, 1))
    posterior = None
    if concentration is not None:
        posterior = rng.dirichlet([concentration[family] for family in strata.labels], draws)
    return Aggregates(
        _gap(d, strata, given, groups, rng, level, draws, posterior),
        _gap(d, strata, even, groups, rng, level, draws, None),
        _gap(d, strata, given - even, groups, rng, level, draws, None if posterior is None else posterior - even),
    )


def signs(outcomes: npt.ArrayLike, clusters: Clusters) -> FloatArray:
    """Checks outcomes of shape (n,): +1, 0 or -1.

    Raises:
        ValueError: another value, or another length.
    """
    d = scores(outcomes, clusters, "outcomes", unit=False)
    if not np.isin(d, (-1.0, 0.0, 1.0)).all():
        raise ValueError("An outcome of a pair is +1, 0 or -1; take the sign of the difference.")
    return d


def question_weights(families: Clusters, weights: npt.NDArray[np.float64]) -> FloatArray:
    """Shape (n,): what one question counts, the weight of its family over its number of questions."""
    return (weights / families.sizes)[families.codes]


def _gap(
    d: FloatArray,
    strata: Clusters,
    weights: FloatArray,
    groups: Clusters,
    rng: np.random.Generator,
    level: float,
    draws: int,
    posterior: FloatArray | None,
) -> WeightedGap:
    n, count = groups.n, groups.count
    if count < 2:
        value = float(question_weights(strata, weights) @ d) if n else None
        reason = ONE_CLUSTER if n else NO_QUESTION
        alone = Estimate(value=value, level=level, n=n, clusters=count, reason=reason)
        return WeightedGap(alone, alone, None, False, 1.0, 0.0)
    each = question_weights(strata, weights)
    value, square = float(each @ d), float(each @ each)
    if not square:
        nothing = Estimate(value=0.0, level=level, n=n, clusters=count, reason="both aggregates have the same weights")
        return WeightedGap(nothing, nothing, None, False, 1.0, 0.0)
    effect = design_effect(d, strata, each, groups)
    counts = np.stack([strata.sums((d == kind).astype(np.float64)) for kind in (1, -1, 0)], axis=1) / effect

    def estimate(middle: float, ends: tuple[float, float], method: str) -> Estimate:
        return Estimate(value=middle, low=ends[0], high=ends[1], level=level, n=n, clusters=count, method=method)

    median, jeffreys, ends = _mirrored(counts, weights, rng, level, draws)
    drawn = None
    if posterior is not None:
        _, _, wider = _mirrored(counts, posterior, rng, level, draws)
        drawn = estimate(value, (min(ends[0], wider[0]), max(ends[1], wider[1])), f"{METHOD}; weights drawn")
    return WeightedGap(
        gap=estimate(value, ends, METHOD),
        jeffreys=estimate(median, jeffreys, "Dirichlet (Jeffreys), posterior median"),
        drawn=drawn,
        outside=not jeffreys[0] <= value <= jeffreys[1],
        design_effect=effect,
        effective=float(np.abs(weights).sum()) ** 2 / (square * effect),
    )


def _mirrored(
    counts: FloatArray, weights: FloatArray, rng: np.random.Generator, level: float, draws: int
) -> tuple[float, tuple[float, float], tuple[float, float]]:
    """Median, Jeffreys interval and widest interval, which mirror to the last digit when the memories are swapped.

    The draws belong to the memory that is ahead; where nobody is ahead in any family the ends are made symmetric.
    """
    net = counts[:, 0] - counts[:, 1]
    ahead = next((np.sign(x) for x in (weights.reshape(-1, len(net)).mean(axis=0) @ net, *net) if abs(x) > 1e-12), 0)
    one = gap_bounds((counts[:, [1, 0, 2]] if ahead < 0 else counts)[None], weights, rng, level=level, draws=draws)
    median, low, high = float(one.median[0]), float(one.low[0]), float(one.high[0])
    jeffreys_low, jeffreys_high = float(one.jeffreys_low[0]), float(one.jeffreys_high[0])
    if ahead < 0:
        return -median, (-jeffreys_high, -jeffreys_low), (-high, -low)
    if not ahead:
        inner, outer = max(-jeffreys_low, jeffreys_high), max(-low, high)
        return 0.0, (-inner, inner), (-outer, outer)
    return median, (jeffreys_low, jeffreys_high), (low, high)


def design_effect(d: FloatArray, strata: Clusters, each: FloatArray, groups: Clusters) -> float:
    """How much more the gap varies because clusters hold several questions, at least 1.

    Measured: the cluster variance of the weighted residuals over that of independent questions. Where the weight rests
    on so few clusters that this is itself noise, or where no residual is left, that of fully alike questions (Kish).

    Args:
        d: shape (n,), outcomes.
        strata: families of the n questions.
        each: shape (n,), what a question counts; may be negative in a contrast.
        groups: clusters of the n questions.
    """
    if groups.count == groups.n:
        return 1.0
    square = float(each @ each)
    alike = float((groups.sums(np.abs(each)) ** 2).sum())
    residuals = each * (d - (strata.sums(d) / strata.sizes)[strata.codes])
    alone = float(residuals @ residuals)
    if float(np.abs(each).sum()) ** 2 < FEW_CLUSTERS * alike or not alone:
        return max(1.0, alike / square) if square else 1.0
    return max(1.0, float((groups.sums(residuals) ** 2).sum()) * groups.count / (groups.count - 1) / alone)
