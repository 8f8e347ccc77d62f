"""Quantiles and tails of the few distributions the rules need, over ``scipy.special``.

``scipy.stats`` takes two seconds to import and ``scipy.special`` a quarter of one, so even that is imported on first
use: a command that prints help never pays for it. Quantiles are cached because a table asks for the same handful of
(probability, degrees of freedom) pairs thousands of times.
"""

from __future__ import annotations

from functools import lru_cache
from typing import cast

import numpy as np
import numpy.typing as npt


@lru_cache(maxsize=4096)
def normal_quantile(probability: float) -> float:
    """The standard normal quantile at ``probability`` in (0, 1)."""
    from scipy.special import ndtri

    return float(ndtri(_open_unit(probability)))


@lru_cache(maxsize=4096)
def t_quantile(probability: float, df: float) -> float:
    """Student's t quantile at ``probability`` in (0, 1) with ``df`` > 0 degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(_positive(df), _open_unit(probability)))


@lru_cache(maxsize=4096)
def beta_quantile(probability: float, a: float, b: float) -> float:
    """The Beta(``a``, ``b``) quantile at ``probability`` in (0, 1); ``a`` and ``b`` are positive reals."""
    from scipy.special import betaincinv

    return float(betaincinv(_positive(a), _positive(b), _open_unit(probability)))


def binomial_cdf(k: int, n: int, p: float) -> float:
    """P(X <= ``k``) for X ~ Binomial(``n``, ``p``), 0 <= ``k`` <= ``n``."""
    from scipy.special import bdtr

    return float(bdtr(k, n, p))


def fair_coins(n: int) -> npt.NDArray[np.float64]:
    """Shape (n + 1,): the probabilities of 0 to ``n`` heads of ``n`` fair coins."""
    from scipy.special import gammaln

    heads = np.arange(n + 1)
    log_ways = gammaln(n + 1) - gammaln(heads + 1) - gammaln(n - heads + 1)
    return cast("npt.NDArray[np.float64]", np.exp(log_ways - n * np.log(2)))


def noncentral_t_cdf(t: float, df: float, noncentrality: float) -> float:
    """P(T <= ``t``) for a noncentral t with ``df`` degrees of freedom."""
    from scipy.special import nctdtr

    return float(nctdtr(_positive(df), noncentrality, t))


def two_sided_z(level: float) -> float:
    """The normal multiplier of a two-sided interval at ``level``: 1.96 at .95."""
    return normal_quantile(0.5 + _open_unit(level) / 2)


def two_sided_t(level: float, df: float) -> float:
    """Student's multiplier of a two-sided interval at ``level``: 2.36 at .95 with 7 degrees of freedom."""
    return t_quantile(0.5 + _open_unit(level) / 2, df)


def _open_unit(probability: float) -> float:
    if not 0 < probability < 1:
        raise ValueError(f"A probability or level must lie strictly between 0 and 1, not {probability}.")
    return probability


def _positive(number: float) -> float:
    if not number > 0:
        raise ValueError(f"Degrees of freedom and shapes must be positive, not {number}.")
    return number
