"""The interval of the association study, under the name "percentile bootstrap, as published".

It is here so that published numbers can be reproduced to the last digit, not because it is right: near the ceiling it
covers far less than it promises (docs/statistics.md, with our own rules).
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

METHOD = "percentile bootstrap, as published"
RESAMPLES = 2000
_SEED = 0
_LOW, _HIGH = 50, 1949  # int(.025 x 2,000) and int(.975 x 2,000) - 1


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean difference of an arm and the baseline over tasks.

    Attributes:
        value: the mean.
        low, high: ends of the 95 % interval; equal where no resample differs.
        n: tasks with a difference.
    """

    value: float
    low: float
    high: float
    n: int


def published_interval(pairs: Mapping[str, tuple[float, float]]) -> Interval | None:
    """The interval around the mean of (arm - baseline) over tasks.

    Args:
        pairs: by task, the means of the arm and of the baseline. Their order counts: tasks are resampled by position.

    Returns:
        None without a task, where the study prints (0, 0).
    """
    return bootstrapped(tuple(mine - theirs for mine, theirs in pairs.values()))


@lru_cache(maxsize=256)
def bootstrapped(differences: tuple[float, ...]) -> Interval | None:
    """Of 2,000 resampled means, drawn with Python's generator at seed 0, the 51st and the 1,950th in order."""
    if not differences:
        return None
    generator = random.Random(_SEED)
    means = sorted(statistics.fmean(generator.choices(differences, k=len(differences))) for _ in range(RESAMPLES))
    return Interval(statistics.fmean(differences), means[_LOW], means[_HIGH], len(differences))
