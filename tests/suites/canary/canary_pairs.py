"""Pairs of memories made by hand, for the tests of rules, scores and checks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memassay.suites.canary.families import FAMILIES, PUBLISHED, Weights
from memassay.suites.canary.pairs import Compared, Measured, Pair, measure

Counts = Sequence[tuple[int, int, int]]


def rng(seed: int = 7) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def pair(
    counts: Counts,
    fabricated: tuple[int, int] = (0, 0),
    undetermined: tuple[int, int] = (0, 0),
    weights: Weights = PUBLISHED,
) -> Pair:
    """Wins, losses and ties of each family; the first questions fabricate, the last ones are undetermined."""
    outcomes = [
        (family, sign)
        for family, numbers in zip(FAMILIES, counts, strict=False)
        for sign, number in zip((1, -1, 0), numbers, strict=True)
        for _ in range(number)
    ]
    n = len(outcomes)
    questions = tuple(
        Compared(
            question=f"{family}-{number:03}",
            family=family,
            cluster=f"{number}",
            outcome=sign,
            fabricated=(number < fabricated[0], number < fabricated[1]),
            undetermined=(n - number <= undetermined[0], n - number <= undetermined[1]),
        )
        for number, (family, sign) in enumerate(outcomes)
    )
    return Pair("new", "old", questions, weights)


def measured(one: Pair) -> Measured:
    return measure(one, rng())


AHEAD = [(38, 4, 8), (14, 2, 4), (6, 2, 2), *[(5, 1, 2)] * 5]
LEVEL = [(15, 15, 20), (6, 6, 8), (3, 3, 4), *[(2, 2, 4)] * 5]
