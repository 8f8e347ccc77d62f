"""The error bars of lifecycles (rows ``lifecycle`` of docs/statistics.md): attempts in protocols, protocols sampled."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from memassay.core.types import Estimate
from memassay.stats import Clusters, Paired, clopper_pearson, korn_graubard, paired_difference, question_mean
from memassay.stats.clustered import ONE_CLUSTER, cluster_se

_SEED = "lifecycle-differences"


def share(values: Sequence[float], clusters: Sequence[str], *, level: float = 0.95) -> Estimate:
    """A rate over attempts, with the interval of Korn and Graubard over protocols.

    Args:
        values: one per attempt, in [0, 1].
        clusters: the protocol (or its cluster) of each.
        level: two-sided confidence level in (0, 1).

    Returns:
        An estimate; its interval is None with a reason where there are fewer than two clusters.
    """
    if not values:
        return Estimate(value=None, level=level, reason="no attempt reached what this counts")
    groups = Clusters.of(list(clusters))
    array = np.asarray(values, dtype=np.float64)
    mean = min(1.0, max(0.0, float(array.mean())))
    if groups.count < 2:
        return Estimate(value=mean, level=level, n=groups.n, clusters=1, method="given one cluster", reason=ONE_CLUSTER)
    low, high = korn_graubard(mean, groups.n, groups.count, cluster_se(array, groups), level)
    return Estimate(
        value=mean, low=low, high=high, level=level, n=groups.n, clusters=groups.count, method="korn-graubard"
    )


def pass_hat(passed: Mapping[str, Sequence[bool]], k: int, j: int | None = None, *, level: float = 0.95) -> Estimate:
    """pass^j: the probability that j attempts at a protocol all pass, over protocols with k attempts.

    For j = k it is the share of protocols whose every attempt passed, with the interval of Clopper and Pearson; for
    fewer it is the mean over protocols of C(c, j) / C(k, j), where c of k passed, with the interval over protocols.

    Args:
        passed: by protocol, whether each graded attempt passed; protocols with another number of attempts than k are
            left out.
        k: attempts per protocol, at least 1.
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
    return question_mean([math.comb(count, wanted) / math.comb(k, wanted) for count in counts], range(n), level=level)


def difference(a: Mapping[str, float], b: Mapping[str, float], *, level: float = 0.95) -> Estimate:
    """The mean over protocols of the difference of two rates, for the protocols that have both.

    Args:
        a: a rate in [0, 1] by protocol.
        b: the rate that is taken from it.
        level: two-sided confidence level in (0, 1).
    """
    found = paired(a, b, level=level)
    return Estimate(value=None, level=level, reason="no protocol has both rates") if found is None else found.diff


def paired(a: Mapping[str, float], b: Mapping[str, float], *, level: float = 0.95) -> Paired | None:
    """The same with its test, a sign flip over protocols; None where no protocol has both rates."""
    both = sorted(a.keys() & b.keys())
    if not both:
        return None
    rng = np.random.default_rng(list(_SEED.encode()))
    return paired_difference([a[name] for name in both], [b[name] for name in both], both, level=level, rng=rng)
