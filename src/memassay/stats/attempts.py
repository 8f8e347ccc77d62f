"""Shares over repeated attempts at sampled tasks: one attempt (row "a rate") and all of several (row "pass^k")."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from memassay.core.types import Estimate
from memassay.stats.clustered import ONE_CLUSTER, cluster_se, question_mean
from memassay.stats.clusters import ClusterLabels, Clusters, scores
from memassay.stats.proportion import clopper_pearson, korn_graubard

NO_ATTEMPT = "no attempt reached what this counts"


def attempt_share(values: npt.ArrayLike, clusters: ClusterLabels, *, level: float = 0.95) -> Estimate:
    """The share of attempts that came out right, with an interval that knows that attempts at one task are alike.

    It is Korn-Graubard everywhere (Survey Methodology 24, 1998; :func:`korn_graubard`), with the linearised standard
    error over clusters (:func:`cluster_se`): n_eff = min(n, p(1 - p) / se^2 x (z / t(G - 1))^2) attempts, G where
    se = 0, and the exact binomial interval of n_eff. Attempts are few and shares near 1, where mean +- t x se covers
    down to .20; :func:`question_mean` takes the t interval in the middle, which hundreds of questions allow.

    Args:
        values: shape (n,), 0/1 or fractions in [0, 1], one per attempt.
        clusters: n labels (the task of each attempt, or its cluster) or a ``Clusters``.
        level: two-sided confidence level in (0, 1).

    Returns:
        An estimate with method ``korn-graubard``. No attempt: everything is None with a reason. One cluster: the value
        stands, the interval is None with a reason.

    Raises:
        ValueError: NaN, a score outside [0, 1], or lengths that differ.
    """
    groups = Clusters.of(clusters)
    array = scores(values, groups)
    if groups.n == 0:
        return Estimate(value=None, level=level, reason=NO_ATTEMPT)
    mean = min(1.0, max(0.0, float(array.mean())))
    if groups.count < 2:
        return Estimate(value=mean, level=level, n=groups.n, clusters=1, method="given one cluster", reason=ONE_CLUSTER)
    low, high = korn_graubard(mean, groups.n, groups.count, cluster_se(array, groups), level)
    return Estimate(
        value=mean, low=low, high=high, level=level, n=groups.n, clusters=groups.count, method="korn-graubard"
    )


def pass_hat(passed: Mapping[str, Sequence[bool]], k: int, j: int | None = None, *, level: float = 0.95) -> Estimate:
    """pass^j: the probability that j attempts at a task all pass, over the tasks with k attempts.

    For j = k it is the share of tasks whose every attempt passed, with the exact interval (Clopper and Pearson 1934).
    For fewer it is the mean over tasks of C(c, j) / C(k, j), where c of k passed: the share of all choices of j
    attempts that passed, which is unbiased (pass^k of Yao et al., tau-bench, 2024; U-statistic of Hoeffding 1948), with
    the interval of :func:`question_mean` over tasks.

    Args:
        passed: by task, whether each graded attempt passed; tasks with another number of attempts than k are left out.
        k: attempts per task, at least 1.
        j: attempts that must all pass, 1 to k; None is k.
        level: two-sided confidence level in (0, 1).

    Raises:
        ValueError: j is not in 1 to k.
    """
    wanted = k if j is None else j
    if not 1 <= wanted <= k:
        raise ValueError(f"pass^{wanted} needs 1 to {k} attempts.")
    counts = [sum(attempts) for _, attempts in sorted(passed.items()) if len(attempts) == k]
    n = len(counts)
    if not n:
        return Estimate(value=None, level=level, reason=f"no protocol has {k} graded attempts")
    if wanted == k:
        whole = sum(count == k for count in counts)
        low, high = clopper_pearson(whole, n, level)
        return Estimate(
            value=whole / n, low=low, high=high, level=level, n=n, clusters=n, method="clopper-pearson over protocols"
        )
    shares = np.array([math.comb(count, wanted) / math.comb(k, wanted) for count in counts])
    return question_mean(shares, range(n), level=level)
