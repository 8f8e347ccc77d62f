"""Differences between rates by protocol (row ``lifecycle: arm, ablation`` of docs/statistics.md)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from memassay.core.types import Estimate
from memassay.stats import Paired, paired_difference

_SEED = "lifecycle-differences"


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
