"""What a fixture can show at best, by formula: standard errors, detectable gaps, questions needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from memassay.stats.distributions import normal_quantile, two_sided_z

POWER = 0.8


@dataclass(frozen=True, slots=True)
class Precision:
    """One aggregate of two equal memories.

    Attributes:
        se: standard error of the gap.
        half_width: of its interval at 95 %.
        detectable: the gap that is found with 80 % probability.
        effective: how many questions of one weight would be as good: 1 / sum(weight^2 / questions).
    """

    se: float
    half_width: float
    detectable: float
    effective: float


def precision(questions: Sequence[int], weights: Sequence[float], tie_rate: float) -> Precision:
    """The precision of a weighted gap.

    Args:
        questions: of each family, at least one where the weight is not 0.
        weights: of each family, summing to 1.
        tie_rate: expected share of ties, in [0, 1).
    """
    effective = 1 / sum(weight * weight / n for weight, n in zip(weights, questions, strict=True) if weight)
    se = math.sqrt((1 - tie_rate) / effective)
    return Precision(se, two_sided_z(0.95) * se, _multiplier(POWER) * se, effective)


def questions_needed(gap: float, weights: Sequence[float], tie_rate: float, *, proportional: bool) -> int:
    """How many questions find a gap with 80 % probability.

    Args:
        gap: true gap, in (0, 1].
        weights: of each family, summing to 1.
        tie_rate: expected share of ties.
        proportional: as many as the weight of a family says; else the same number of each.
    """
    even = _multiplier(POWER) ** 2 * (1 - tie_rate) / gap**2
    if proportional:
        return math.ceil(even - 1e-9)
    families = len(weights)
    return families * math.ceil(even * sum(weight * weight for weight in weights) - 1e-9)


def questions_to_settle(gap: float, margin: float, se: float, questions: int) -> int | None:
    """How many questions, in the same proportions, would settle the pair if its gap stays what it is.

    Beyond the margin: enough to find the gap and to stay beyond the margin. Within it: enough for an interval inside
    the margin. Each with 80 % probability.

    Args:
        gap: as measured.
        margin: smallest gap that matters.
        se: standard error with ``questions`` questions.
        questions: asked so far.

    Returns:
        None where the gap is so close to the margin that a million would not do.
    """
    size = abs(gap)
    room = abs(size - margin)
    wanted = (
        min(size / _multiplier(POWER), room / normal_quantile(POWER)) if size > margin else room / _multiplier(POWER)
    )
    most = 1_000_000
    if wanted <= 0 or questions * (se / wanted) ** 2 > most:
        return None
    return math.ceil(questions * (se / wanted) ** 2 - 1e-9)


def _multiplier(power: float) -> float:
    return two_sided_z(0.95) + normal_quantile(power)
