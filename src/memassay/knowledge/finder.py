"""``Finder``: from a question to passages, by words, links, mentions and names. What a search uses by default."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from memassay.knowledge.mentions import Mentioned
from memassay.knowledge.ranking import Floats, Ids, Ranking, Weights, rank
from memassay.knowledge.snapshot import Snapshot

_DEFAULTS = Weights()

Similar = Callable[[str], tuple[Ids, Floats]]


class Finder:
    """Orders the passages of a snapshot; threads may share it.

    Args:
        terms: the analyzer of the index.
        weights: how to weigh.
        mentions: whether mentions join pages as links do.
        similar: the passages of the snapshot near a question, and how near, as a share of the nearest; None for words
            alone.
    """

    def __init__(
        self,
        terms: Callable[[str], list[str]],
        weights: Weights = _DEFAULTS,
        *,
        mentions: bool = True,
        similar: Similar | None = None,
    ) -> None:
        self._terms, self._weights, self._mentions, self._similar = terms, weights, mentions, similar
        self._last: tuple[Snapshot, Mentioned] | None = None

    def ranking(self, snapshot: Snapshot, text: str, limit: int | None = None) -> Ranking:
        """The passages that a question reaches, best first; all of them without a limit."""
        mentioned = self._mentioned(snapshot)
        index = mentioned if self._mentions else snapshot
        named = mentioned.named(text)
        similar = self._similar(text) if self._similar is not None else None
        most = snapshot.passages if limit is None else limit
        return rank(index, self._terms(text), named, self._weights, similar=similar, limit=most)

    def __call__(
        self, snapshot: Snapshot, text: str, limit: int | None = None
    ) -> tuple[list[int], NDArray[np.floating]]:
        """The same as the passages, best first, and one score for every passage of the snapshot."""
        found = self.ranking(snapshot, text, limit)
        scores = np.zeros(snapshot.passages)
        scores[found.passages] = found.scores
        order: list[int] = found.passages.tolist()
        return order, scores

    def _mentioned(self, snapshot: Snapshot) -> Mentioned:
        """What was found of mentions is kept as long as the snapshot is asked."""
        last = self._last
        if last is None or last[0] is not snapshot:
            last = self._last = (snapshot, Mentioned(snapshot, self._terms))
        return last[1]
