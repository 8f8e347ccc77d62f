"""Intervals for a share: Clopper-Pearson, Wilson, and Korn-Graubard for clustered questions near 0 and 1."""

from __future__ import annotations

import math

from memassay.stats.distributions import beta_quantile, two_sided_t, two_sided_z

# A cluster standard error below this is the rounding of equal cluster means, not a spread: sums of at most 1e5 scores
# in [0, 1] are exact to about 1e-11.
ZERO_SE = 1e-11


def clopper_pearson(k: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """The exact two-sided interval of a share (Clopper and Pearson, Biometrika 26, 1934), by Beta quantiles.

    Args:
        k: successes, 0 <= k <= n; a real number, because Korn-Graubard needs k = p x n_eff.
        n: trials, positive; also real.
        level: two-sided confidence level in (0, 1).

    Returns:
        (low, high) in [0, 1]; low is 0 at k = 0 and high is 1 at k = n, and low < high always.

    Raises:
        ValueError: n is not positive, or k is outside [0, n].
    """
    _check(k, n)
    tail = (1 - level) / 2
    low = 0.0 if k <= 0 else beta_quantile(tail, k, n - k + 1)
    high = 1.0 if k >= n else beta_quantile(1 - tail, k + 1, n - k)
    # betaincinv is off by 1e-12 for shapes near 0; the ends never cross the share itself.
    return min(low, k / n), max(high, k / n)


def wilson(k: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """The score interval of a share of independent questions (Wilson, JASA 22, 1927).

    Args:
        k: successes, 0 <= k <= n.
        n: trials, positive.
        level: two-sided confidence level in (0, 1).

    Returns:
        (low, high) in [0, 1].

    Raises:
        ValueError: n is not positive, or k is outside [0, n].
    """
    _check(k, n)
    z = two_sided_z(level)
    p, shrink = k / n, 1 + z * z / n
    centre = (p + z * z / (2 * n)) / shrink
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / shrink
    return (0.0 if k <= 0 else max(0.0, centre - half)), (1.0 if k >= n else min(1.0, centre + half))


def effective_size(p: float, n: int, clusters: int, se: float, level: float = 0.95) -> float:
    """How many independent questions the clustered ones are worth, after paying for few clusters.

    n_eff = min(n, p(1 - p) / se^2 x (z / t(G - 1))^2), and G when the standard error is 0 (Korn and Graubard, Survey
    Methodology 24, 1998, with the normal quantile in the place of t(n - 1)).

    Args:
        p: the share, in [0, 1].
        n: questions.
        clusters: G >= 2.
        se: the cluster standard error of p, not negative.
        level: two-sided confidence level.
    """
    if clusters < 2:
        raise ValueError("Korn-Graubard needs at least two clusters.")
    if se <= ZERO_SE:
        return float(clusters)
    shrink = two_sided_z(level) / two_sided_t(level, clusters - 1)
    return min(float(n), p * (1 - p) / (se * se) * shrink * shrink)


def korn_graubard(p: float, n: int, clusters: int, se: float, level: float = 0.95) -> tuple[float, float]:
    """Clopper-Pearson at the effective sample size of clustered questions (Korn and Graubard 1998).

    It keeps the exact interval's asymmetry near 0 and 1, where mean +- t x se leaves [0, 1] or collapses. Scores
    between 0 and 1 (a recall) are allowed: their variance is at most p(1 - p), so the binomial is the cautious choice.

    Args:
        p: the mean score, in [0, 1].
        n: questions, at least 1.
        clusters: G >= 2.
        se: the cluster standard error of p.
        level: two-sided confidence level.

    Returns:
        (low, high) in [0, 1], low < high.

    Raises:
        ValueError: p outside [0, 1], n < 1, or fewer than two clusters.
    """
    if not 0 <= p <= 1 or n < 1:
        raise ValueError(f"Korn-Graubard needs a share in [0, 1] of at least one question, not p = {p}, n = {n}.")
    size = effective_size(p, n, clusters, se, level)
    return clopper_pearson(min(p * size, size), size, level)


def _check(k: float, n: float) -> None:
    if not n > 0:
        raise ValueError(f"A share needs at least one trial, not n = {n}.")
    if not 0 <= k <= n:
        raise ValueError(f"Successes must lie in [0, n], not k = {k} of n = {n}.")
