"""Pages that say nearly the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memassay.knowledge.snapshot import Snapshot

# Short pages are alike by chance, and a long page holds the words of many short ones.
_LEAST_TERMS = 50
_LENGTH_RATIO = 2.0
_MOST = 3


def similar_pages(snapshot: Snapshot, key: str) -> list[tuple[str, float]]:
    """The pages most like a page, at most three, the most alike first.

    Each of two pages is taken as a question for the other; the likeness is the lesser of the two shares of what it
    scores on itself, from 0 to 1. Pages of fewer than 50 terms, or of more than twice the length, are left out.
    """
    page = snapshot.find(key)
    if page < 0:
        return []
    sizes = np.add.reduceat(snapshot.lengths, snapshot.starts[:-1])
    ratio = sizes / max(int(sizes[page]), 1)
    fits = (sizes >= _LEAST_TERMS) & (ratio <= _LENGTH_RATIO) & (ratio >= 1 / _LENGTH_RATIO)
    if not fits[page]:
        return []
    there = np.where(fits, _shares(snapshot, page), 0.0)
    there[page] = 0.0
    best = np.argsort(-there, kind="stable")[: 2 * _MOST].tolist()
    found = [
        (min(float(there[other]), float(_shares(snapshot, other)[page])), other) for other in best if there[other] > 0
    ]
    return [
        (snapshot.key(other), score) for score, other in sorted(found, key=lambda pair: (-pair[0], pair[1]))[:_MOST]
    ]


def _shares(snapshot: Snapshot, page: int) -> NDArray[np.floating]:
    """What every page scores on the words of one, in shares of what that one scores itself, at most 1."""
    terms, counts = snapshot.terms_of(page)
    scores = snapshot.page_scores(snapshot.scores_of(terms.tolist(), counts.tolist()), "sum")
    shares: NDArray[np.floating] = np.minimum(scores / max(float(scores[page]), 1e-9), 1.0)
    return shares
