"""The difference between two arms on the same questions (row "locomo: two arms")."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memassay.core.types import Estimate
from memassay.stats.clustered import NO_QUESTION, ONE_CLUSTER, cluster_se
from memassay.stats.clusters import ClusterLabels, Clusters, FloatArray, binary, scores
from memassay.stats.discordant import McNemar, mcnemar_exact
from memassay.stats.distributions import t_quantile, two_sided_z
from memassay.stats.flips import DRAWS, Flips


@dataclass(frozen=True)
class Paired:
    """A paired comparison of arm a with arm b; positive differences favour a.

    Attributes:
        diff: mean over questions of a - b; its method names the rule of the interval.
        mean_over_clusters: mean over clusters of the cluster means of a - b; None without questions.
        p: two-sided p of ``test``; None with fewer than two clusters.
        sign_flips: patterns enumerated (2^G) or drawn; 0 where there was no test or its distribution is known.
        exact: whether p counts every pattern.
        decidable: whether this many clusters (or discordant ones) can reach p <= 1 - level at all.
        reason: why not, else None.
        mcnemar: None where a score is neither 0 nor 1; descriptive unless it is the ``test``.
        wins: questions where a scored higher; losses: lower; ties: the same.
        sd: standard deviation of the differences over questions (for power); None below two questions.
        se: cluster standard error of the mean difference; None with fewer than two clusters.
        test: what made p: ``sign-flip``, ``exact McNemar`` or ``exact sign-flip``.
    """

    diff: Estimate
    mean_over_clusters: float | None
    p: float | None
    sign_flips: int
    exact: bool
    decidable: bool
    reason: str | None
    mcnemar: McNemar | None
    wins: int
    losses: int
    ties: int
    sd: float | None
    se: float | None
    test: str = "sign-flip"


@dataclass(frozen=True)
class Spread:
    """The three half-widths of a paired interval; the widest counts.

    Attributes:
        cluster: multiplier x cluster standard error.
        question: t(n - 1) x standard error over questions.
        floor: z^2 / (n + z^2), the score interval of no discordant question.
        se: cluster standard error; sd: standard deviation over questions.
    """

    cluster: float
    question: float
    floor: float
    se: float
    sd: float

    @property
    def half(self) -> float:
        return max(self.cluster, self.question, self.floor)

    @property
    def method(self) -> str:
        widest = self.half
        if widest == self.cluster:
            return "paired cluster-t"
        return "paired question-t" if widest == self.question else "paired score floor"


def paired_difference(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    clusters: ClusterLabels,
    *,
    level: float = 0.95,
    rng: np.random.Generator | None = None,
    draws: int = DRAWS,
) -> Paired:
    """Compares two arms question by question and tests the difference by flipping whole clusters.

    Args:
        a: shape (n,), scores of the first arm in [0, 1]; no NaN.
        b: shape (n,), scores of the second arm on the same questions in the same order.
        clusters: n labels or a ``Clusters``.
        level: two-sided confidence level; 1 - level is also the size of the test.
        rng: named generator of the sign flips; needed above 16 clusters only.
        draws: sign patterns drawn above 16 clusters.

    Returns:
        The comparison. Fewer than two clusters: value without interval and without p, undecidable, with a reason.

    Raises:
        ValueError: NaN, a score outside [0, 1], lengths that differ, or more than 16 clusters without a generator.
    """
    groups = Clusters.of(clusters)
    first, second = scores(a, groups, "a"), scores(b, groups, "b")
    n, count = groups.n, groups.count
    if n == 0:
        nothing = Estimate(value=None, level=level, reason=NO_QUESTION)
        return Paired(nothing, None, None, 0, False, False, NO_QUESTION, None, 0, 0, 0, None, None)
    d = first - second
    mean = float(d.mean())
    sums = groups.sums(d)
    wins, losses = int(np.count_nonzero(d > 0)), int(np.count_nonzero(d < 0))
    mean_over_clusters = float((sums / groups.sizes).mean())
    right_or_wrong = binary(first) and binary(second)
    mcnemar = McNemar(wins, losses, mcnemar_exact(wins, losses)) if right_or_wrong else None
    if count < 2:
        alone = Estimate(value=mean, level=level, n=n, clusters=count, method="given one cluster", reason=ONE_CLUSTER)
        sd = float(d.std(ddof=1)) if n > 1 else None
        counts = (wins, losses, n - wins - losses)
        return Paired(alone, mean_over_clusters, None, 0, False, False, ONE_CLUSTER, mcnemar, *counts, sd, None)
    spread = difference_spread(d, groups, 0.5 + level / 2)
    diff = Estimate(
        value=mean,
        low=max(-1.0, mean - spread.half),
        high=min(1.0, mean + spread.half),
        level=level,
        n=n,
        clusters=count,
        method=spread.method,
    )
    flips = Flips.plan(count, rng, draws)
    decidable = flips.smallest_p <= 1 - level + 1e-12
    return Paired(
        diff=diff,
        mean_over_clusters=mean_over_clusters,
        p=sign_flip(sums, flips),
        sign_flips=flips.count,
        exact=flips.exact,
        decidable=decidable,
        reason=None if decidable else _undecidable(flips, level),
        mcnemar=mcnemar,
        wins=wins,
        losses=losses,
        ties=n - wins - losses,
        sd=spread.sd,
        se=spread.se,
    )


def difference_spread(d: FloatArray, clusters: Clusters, probability: float, critical: float | None = None) -> Spread:
    """The half-widths of an interval around a mean difference.

    A cluster standard error from 8 clusters is itself a noisy number, and when it comes out by luck below the error
    that independent questions would have, it is too small; hence the wider of the two. When (nearly) no question
    differs both vanish, and the floor takes their place: Tango's score interval (Statistics in Medicine 17, 1998) of
    no discordant pair among n is +- z^2 / (n + z^2).

    Args:
        d: shape (n,), differences.
        clusters: at least two.
        probability: one-sided probability of each end: .975 for a two-sided 95 % interval.
        critical: multiplier of the cluster standard error in the place of t(G - 1).
    """
    n = clusters.n
    se = cluster_se(d, clusters)
    sd = float(d.std(ddof=1))
    multiplier = t_quantile(probability, clusters.count - 1) if critical is None else critical
    z = two_sided_z(2 * probability - 1)
    return Spread(
        cluster=multiplier * se,
        question=t_quantile(probability, n - 1) * sd / math.sqrt(n),
        floor=z * z / (n + z * z),
        se=se,
        sd=sd,
    )


def sign_flip(sums: FloatArray, flips: Flips) -> float:
    """Two-sided sign-flip p of cluster sums: the share of patterns whose total is at least as far from 0.

    Args:
        sums: shape (G,), the summed difference of each cluster.
        flips: the patterns.
    """
    observed = abs(float(sums.sum())) - 1e-9 * float(np.abs(sums).sum())
    hits = sum(int(np.count_nonzero(np.abs(signs @ sums) >= observed)) for signs in flips.blocks())
    return float(flips.share(np.asarray(float(hits))))


def _undecidable(flips: Flips, level: float) -> str:
    return (
        f"{flips.clusters} clusters give no p below {flips.smallest_p:.3f}, "
        f"so a difference at {1 - level:.2g} cannot be shown with them"
    )
