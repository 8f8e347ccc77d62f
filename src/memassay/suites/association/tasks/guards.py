"""What every task has to keep to, whatever its kind; a candidate that does not is passed over."""

from __future__ import annotations

from collections.abc import Sequence, Sized

FEWEST, MOST = 3, 40
"""How many answers a task has: few enough to write down, too many to guess."""

NEAR_MISSES = 5


def answerable(answers: Sized, candidates: Sized) -> bool:
    """Whether there are 3 to 40 answers, and enough candidates to draw five near-misses from."""
    return FEWEST <= len(answers) <= MOST and len(candidates) >= NEAR_MISSES


def unmistakable(answers: Sequence[str], near: Sequence[str]) -> bool:
    """Whether an answer can name any value without naming another.

    There are five near-misses, no value stands twice or on both sides, and none is part of another, whatever its case:
    the published grader would take one for the other.
    """
    values = [value.lower() for value in (*answers, *near)]
    if len(near) != NEAR_MISSES or len(set(values)) != len(values):
        return False
    return not any(one in other for one in values for other in values if one != other)
