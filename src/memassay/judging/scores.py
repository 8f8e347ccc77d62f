"""Word overlap of an answer with the gold answer, as the published LOCOMO and HotPotQA rows of iwe count it.

Both texts are trimmed; where either is empty every score is 0. Words are what is left between blanks after lower-casing
and after ``. , ! ?`` became blanks; nothing is stemmed and no article goes.
"""

from __future__ import annotations

import math
from collections import Counter

_MARKS = str.maketrans(".,!?", "    ")


def words(text: str) -> list[str]:
    """The words of a text in order."""
    return text.lower().translate(_MARKS).split()


def exact_match(answer: str, gold: str) -> float:
    """1 where both are the same text but for case and outer blanks, else 0."""
    said, right = answer.strip(), gold.strip()
    return float(bool(said) and said.lower() == right.lower())


def f1(answer: str, gold: str) -> float:
    """F1 over *distinct* words, in [0, 1]: the share of the answer's words in the gold, and of the gold's in it."""
    said, right = set(words(answer)), set(words(gold))
    return harmonic(len(said & right), len(said), len(right))


def bleu1(answer: str, gold: str) -> float:
    """BLEU-1 in [0, 1]: clipped word precision times exp(1 - r/p) where the answer is shorter; nothing is smoothed."""
    said, right = words(answer), words(gold)
    if not said or not right:
        return 0.0
    clipped = (Counter(said) & Counter(right)).total()
    return clipped / len(said) * min(1.0, math.exp(1 - len(right) / len(said)))


def harmonic(common: int, said: int, right: int) -> float:
    """F1 from counts: how many are common, how many each side has; 0 where nothing is common."""
    if common == 0:
        return 0.0
    precision, recall = common / said, common / right
    return 2 * precision * recall / (precision + recall)
