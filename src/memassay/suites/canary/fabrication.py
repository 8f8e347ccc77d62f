"""How often each memory of a pair made something up, counted by distinct questions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memassay.core.types import Estimate
from memassay.stats.discordant import mcnemar_exact
from memassay.stats.proportion import clopper_pearson
from memassay.suites.canary.pairs import Pair

RATIO_COUNT = 5
"""A ratio of rates is printed only where the worse memory has this many, and the exact test agrees."""


@dataclass(frozen=True, slots=True)
class Rate:
    """The fabrications of one memory.

    Attributes:
        memory: its name.
        count: distinct questions with a fabrication.
        undetermined: questions without one where something could not be decided.
        rate: share of all questions, none of the undetermined counted; exact interval.
        highest: upper end with all of the undetermined counted.
        weighted: by the weights of the families; None where they do not matter.
        rule_of_three: 3 / n where nothing was found, the usual bound at 95 %, one-sided.
    """

    memory: str
    count: int
    undetermined: int
    rate: Estimate
    highest: float
    weighted: float
    rule_of_three: float | None

    @property
    def undetermined_share(self) -> float:
        return self.undetermined / self.rate.n


@dataclass(frozen=True, slots=True)
class Fabrication:
    """Both memories of a pair.

    Attributes:
        a, b: each one's rate.
        only_a, only_b: questions on which only this one fabricated.
        p: exact McNemar.
        ratio: worse rate over better rate; None where it would say more than is known.
    """

    a: Rate
    b: Rate
    only_a: int
    only_b: int
    p: float
    ratio: float | None


def fabrication(pair: Pair, level: float = 0.95) -> Fabrication:
    """Counts and compares the fabrications of a pair."""
    a, b = (_rate(pair, side, name, level) for side, name in enumerate((pair.a, pair.b)))
    only_a = sum(one.fabricated == (True, False) for one in pair.questions)
    only_b = sum(one.fabricated == (False, True) for one in pair.questions)
    p = mcnemar_exact(only_a, only_b)
    fewer, more = sorted((a.count, b.count))
    told = fewer > 0 and more >= RATIO_COUNT and p < 1 - level
    return Fabrication(a, b, only_a, only_b, p, more / fewer if told else None)


def smallest_ceiling(questions: int, level: float = 0.95) -> float:
    """The upper end without a single fabrication, about 3.7 / n: a ceiling must lie above it to be reached at all."""
    return clopper_pearson(0, questions, level)[1]


def _rate(pair: Pair, side: int, memory: str, level: float) -> Rate:
    n = len(pair.questions)
    found = np.array([one.fabricated[side] for one in pair.questions])
    open_ones = np.array([one.undetermined[side] for one in pair.questions]) & ~found
    count, undetermined = int(found.sum()), int(open_ones.sum())
    low, high = clopper_pearson(count, n, level)
    share = Estimate(
        value=count / n, low=low, high=high, level=level, n=n, clusters=n, method="clopper-pearson over questions"
    )
    highest = clopper_pearson(count + undetermined, n, level)[1]
    return Rate(memory, count, undetermined, share, highest, float(pair.each @ found), None if count else 3 / n)
