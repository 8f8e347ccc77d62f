"""The mean score of one arm over clustered questions (row "locomo: one arm")."""

from __future__ import annotations

import math

import numpy.typing as npt

from memassay.core.types import Estimate
from memassay.stats.clusters import ClusterLabels, Clusters, FloatArray, scores
from memassay.stats.distributions import two_sided_t
from memassay.stats.proportion import ZERO_SE, korn_graubard

NO_QUESTION = "no question is defined here"
# Where the simulated coverage of a nominal .95 falls under .93, the method carries a warning (docs/statistics.md, table
# "one arm"): .926 at 3 clusters; .87 to .93 at an intra-cluster correlation of .1, whose design effects are around 14;
# .925 to .929 at a mean of .99. LOCOMO's own design effects were 0.7 to 4.3.
FEW_CLUSTERS = 6
LARGE_DESIGN_EFFECT = 6.0
NEAR_THE_END = 0.03

ONE_CLUSTER = "one cluster: the value holds given this cluster (world, conversation) only"


def question_mean(values: npt.ArrayLike, clusters: ClusterLabels, *, level: float = 0.95) -> Estimate:
    """The mean over questions with an interval that knows that questions of one cluster are alike.

    The interval is mean +- t(G - 1) x se with the linearised cluster standard error. Korn-Graubard takes over where
    that fails: mean above .9 or below .1, no spread between clusters, or an end outside [0, 1]. The t interval is
    therefore never clipped.

    Args:
        values: shape (n,), scores in [0, 1], 0/1 or fractions; no NaN.
        clusters: n labels (integers or strings) or a ``Clusters``.
        level: two-sided confidence level in (0, 1).

    Returns:
        An estimate with method ``cluster-t`` or ``korn-graubard``, which ends in ``, few clusters``,
        ``, clusters differ much`` or ``, near the end`` where simulation found coverage under .93. No question:
        everything is None with a reason. One cluster: the value stands, the interval is None with a reason.

    Raises:
        ValueError: NaN, a score outside [0, 1], or lengths that differ.
    """
    groups = Clusters.of(clusters)
    array = scores(values, groups)
    n, count = groups.n, groups.count
    if n == 0:
        return Estimate(value=None, level=level, reason=NO_QUESTION)
    mean = min(1.0, max(0.0, float(array.mean())))
    if count < 2:
        return Estimate(value=mean, level=level, n=n, clusters=count, method="given one cluster", reason=ONE_CLUSTER)
    se = cluster_se(array, groups)
    half = two_sided_t(level, count - 1) * se
    low, high, method = mean - half, mean + half, "cluster-t"
    if se <= ZERO_SE or mean > 0.9 or mean < 0.1 or low < 0 or high > 1:
        low, high = korn_graubard(mean, n, count, se, level)
        method = "korn-graubard"
    method += _warning(mean, n, count, se)
    return Estimate(value=mean, low=low, high=high, level=level, n=n, clusters=count, method=method)


def _warning(mean: float, n: int, count: int, se: float) -> str:
    if count < FEW_CLUSTERS:
        return ", few clusters"
    if se <= ZERO_SE:  # Korn-Graubard at n_eff = G is wide enough for anything: simulated coverage 1
        return ""
    if se * se * n > LARGE_DESIGN_EFFECT * mean * (1 - mean):
        return ", clusters differ much"
    return ", near the end" if min(mean, 1 - mean) < NEAR_THE_END else ""


def cluster_mean(values: npt.ArrayLike, clusters: ClusterLabels) -> float | None:
    """The mean over clusters of the cluster means, to be printed beside the mean over questions.

    Args:
        values: shape (n,), finite numbers in any range.
        clusters: n labels or a ``Clusters``.

    Returns:
        The mean, or None where there is no question.

    Raises:
        ValueError: NaN, or lengths that differ.
    """
    groups = Clusters.of(clusters)
    array = scores(values, groups, unit=False)
    return float((groups.sums(array) / groups.sizes).mean()) if groups.n else None


def cluster_se(values: FloatArray, clusters: Clusters) -> float:
    """The linearised standard error of the question mean, with the factor sqrt(G / (G - 1)).

    sqrt(G / (G - 1) x sum_g (sum of the residuals of cluster g)^2) / n: the ratio-estimator variance of survey sampling
    (Cochran, Sampling Techniques, section 9A.2) and, for a mean, the cluster-robust (CR1) error of least squares.

    Args:
        values: shape (n,), finite.
        clusters: at least two.
    """
    residuals = clusters.sums(values) - clusters.sizes * values.mean()
    count = clusters.count
    return math.sqrt(float(residuals @ residuals) * count / (count - 1)) / clusters.n
