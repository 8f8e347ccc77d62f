"""Right or wrong on questions that were sampled one by one (row "hotpotqa: one arm, two arms").

All questions are asked of one pooled store, so every number holds given this pool. Questions that share a gold page are
joined into one cluster. There are few of those (2 of 289 in the slice of HotPotQA that we measured with), too few to
estimate how alike they are; so they count as fully alike: all counts are scaled to ``Clusters.effective`` questions.

Scores between 0 and 1 (a recall, an average over builds), and questions that are mostly joined (effective under half of
n: a generated sample, a file so dense that shared pages chain), take the rules of clustered questions, with the joined
questions as clusters.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from memassay.core.types import Estimate
from memassay.stats.clustered import cluster_se, question_mean
from memassay.stats.clusters import ClusterLabels, Clusters, binary, scores
from memassay.stats.discordant import McNemar, mcnemar_exact, tango
from memassay.stats.flips import DRAWS, whole_number_flip
from memassay.stats.paired import Paired, paired_difference
from memassay.stats.proportion import clopper_pearson, wilson

# Wilson's interval misses a share near 0 or 1 in up to 16 % of runs, because with 1 to 4 failures its end next to the
# border stops short of it (computed exactly at n = 2 to 1,000; docs/statistics.md). Up to here that end is at least the
# one-sided exact one, after Brown, Cai and DasGupta (Statistical Science 16, 2001), who take a Poisson bound.
NEAR_THE_END = 4.0
# Computed exactly: below this the coverage falls under .93 (to .908) at more than isolated shares.
FEW_QUESTIONS = 45


def question_share(values: npt.ArrayLike, clusters: ClusterLabels, *, level: float = 0.95) -> Estimate:
    """The share of questions that one arm got right.

    Wilson's interval at ``Clusters.effective`` questions. Where at most four of those failed (or succeeded), the end
    next to 1 (or 0) is at least as far out as the one-sided Clopper-Pearson bound.

    Args:
        values: shape (n,), scores in [0, 1]; no NaN. A score other than 0 and 1, or mostly joined questions, turn to
            ``question_mean``.
        clusters: n labels (integers or strings) or a ``Clusters``; one for each question or group of joined questions.
        level: two-sided confidence level in (0.5, 1).

    Returns:
        An estimate with method ``wilson``, or ``wilson, few questions`` where the coverage may be under .93; with the
        method of ``question_mean`` for other scores. Fewer than two clusters: no interval, with a reason.

    Raises:
        ValueError: NaN, a score outside [0, 1], or lengths that differ.
    """
    groups = Clusters.of(clusters)
    array = scores(values, groups)
    if groups.count < 2 or groups.mostly_joined or not binary(array):
        return question_mean(array, groups, level=level)
    share, size = float(array.mean()), groups.effective
    low, high = wilson(share * size, size, level)
    exact = clopper_pearson(share * size, size, 2 * level - 1)
    if share * size <= NEAR_THE_END:
        low = min(low, exact[0])
    if (1 - share) * size <= NEAR_THE_END:
        high = max(high, exact[1])
    method = "wilson" if size >= FEW_QUESTIONS else "wilson, few questions"
    return Estimate(value=share, low=low, high=high, level=level, n=groups.n, clusters=groups.count, method=method)


def paired_shares(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    clusters: ClusterLabels,
    *,
    level: float = 0.95,
    rng: np.random.Generator | None = None,
    draws: int = DRAWS,
) -> Paired:
    """Compares the shares of questions that two arms got right, question by question.

    The interval is Tango's at ``Clusters.effective`` questions. The test flips the signs of whole clusters, all
    patterns at once by their exact distribution; where no questions are joined that is McNemar's exact test.

    Args:
        a: shape (n,), scores of the first arm in [0, 1]; no NaN. A score other than 0 and 1, in either arm, or mostly
            joined questions turn to ``paired_difference``.
        b: shape (n,), scores of the second arm on the same questions in the same order.
        clusters: n labels or a ``Clusters``.
        level: two-sided confidence level; 1 - level is also the size of the test.
        rng: named generator; needed above 16 clusters, and only where ``paired_difference`` is turned to.
        draws: sign patterns drawn in that case.

    Returns:
        The comparison with method ``tango``. With fewer than six discordant clusters no p can be small enough:
        undecidable, with a reason. Fewer than two clusters: value without interval and without p.

    Raises:
        ValueError: NaN, a score outside [0, 1], lengths that differ, or a generator that is needed and missing.
    """
    groups = Clusters.of(clusters)
    first, second = scores(a, groups, "a"), scores(b, groups, "b")
    if groups.count < 2 or groups.mostly_joined or not (binary(first) and binary(second)):
        return paired_difference(first, second, groups, level=level, rng=rng, draws=draws)
    n, size = groups.n, groups.effective
    d = first - second
    sums = groups.sums(d)
    wins, losses = int(np.count_nonzero(d > 0)), int(np.count_nonzero(d < 0))
    low, high = tango(wins * size / n, losses * size / n, size, level)
    joined = groups.count < n
    discordant = int(np.count_nonzero(sums))
    smallest = min(1.0, 2.0 ** (1 - discordant))
    decidable = smallest <= 1 - level + 1e-12
    return Paired(
        diff=Estimate(
            value=(wins - losses) / n,
            low=low,
            high=high,
            level=level,
            n=n,
            clusters=groups.count,
            method="tango",
        ),
        mean_over_clusters=float((sums / groups.sizes).mean()),
        p=whole_number_flip(sums),
        sign_flips=0,
        exact=True,
        decidable=decidable,
        reason=None if decidable else _undecidable(discordant, smallest, level),
        mcnemar=McNemar(wins, losses, mcnemar_exact(wins, losses)),
        wins=wins,
        losses=losses,
        ties=n - wins - losses,
        sd=float(d.std(ddof=1)),
        se=cluster_se(d, groups),
        test="exact sign-flip" if joined else "exact McNemar",
    )


def _undecidable(discordant: int, smallest: float, level: float) -> str:
    return (
        f"{discordant} discordant question{'s give' if discordant != 1 else ' gives'} no p below {smallest:.3g}, "
        f"so a difference at {1 - level:.2g} cannot be shown with them"
    )
