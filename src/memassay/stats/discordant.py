"""Two arms that are right or wrong on the same questions: what the counts of the discordant questions say.

``b`` questions only the first arm got right, ``c`` only the second, ``n`` there are in all. The questions on which both
arms agree enter through ``n`` alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from memassay.stats.distributions import binomial_cdf, two_sided_z

_HALVINGS = 60  # of an interval of at most 2: to the last digit of a float


@dataclass(frozen=True)
class McNemar:
    """Exact McNemar test of two arms with 0/1 scores; it takes questions for independent.

    Attributes:
        b: questions that only the first arm got right.
        c: questions that only the second arm got right.
        p: two-sided exact binomial p of b against c; 1 where b = c.
    """

    b: int
    c: int
    p: float


def tango(b: float, c: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """The score interval of a paired difference of shares (Tango, Statistics in Medicine 17, 1998).

    All differences d that the score test does not reject: |b - c - n d| <= z sqrt(n (2 q + d (1 - d))), where q is the
    maximum likelihood estimate of the share of questions that only the second arm gets right, given d. The statistic
    falls from the lower end to the upper one, so each end is found by halving; nothing is divided by the variance,
    which is 0 at d = 0 without discordant questions and at d = -1 and 1.

    Args:
        b: questions that only the first arm got right; a real number, because joined questions scale the counts.
        c: questions that only the second arm got right; also real.
        n: questions, positive, at least b + c.
        level: two-sided confidence level in (0, 1).

    Returns:
        (low, high) in [-1, 1] around (b - c) / n, low < high.

    Raises:
        ValueError: n is not positive, a count is negative, or b + c exceeds n.
    """
    if not n > 0 or not b >= 0 or not c >= 0 or b + c > n * (1 + 1e-12):
        raise ValueError(f"A paired table needs b, c >= 0 and b + c <= n, not b = {b}, c = {c}, n = {n}.")
    z2 = two_sided_z(level) ** 2
    estimate = (b - c) / n

    def end(outside: float) -> float:
        inside = estimate
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            if (b - c - n * middle) ** 2 > z2 * n * _variance(b, c, n, middle):
                outside = middle
            else:
                inside = middle
        return outside

    # One that only one arm ever got right is an end itself: its variance vanishes where the statistic does.
    return -1.0 if c >= n else end(-1.0), 1.0 if b >= n else end(1.0)


def _variance(b: float, c: float, n: float, d: float) -> float:
    """2 q + d (1 - d): n times the variance of (b - c) / n at the constrained maximum of the likelihood.

    q solves 2 n q^2 + linear q + constant = 0, larger root; written so that neither root loses digits.
    """
    linear = (2 * n - b + c) * d - b - c
    constant = -c * d * (1 - d)
    root = math.sqrt(max(0.0, linear * linear - 8 * n * constant))
    q = (root - linear) / (4 * n) if linear <= 0 else -2 * constant / (root + linear)
    return max(0.0, 2 * q + d * (1 - d))


def mcnemar_exact(b: int, c: int) -> float:
    """The two-sided p of McNemar's exact test: b of b + c fair coins (McNemar, Psychometrika 12, 1947).

    The smaller tail is doubled and cut off at 1; no mid-p. The true size is therefore at most the nominal one.

    Args:
        b: questions that only the first arm got right.
        c: questions that only the second arm got right.

    Raises:
        ValueError: a negative count.
    """
    if b < 0 or c < 0:
        raise ValueError(f"Discordant questions cannot be negative: b = {b}, c = {c}.")
    return 1.0 if b == c else min(1.0, 2 * binomial_cdf(min(b, c), b + c, 0.5))
