"""A BM25 index over passages: a thin wrapper over bm25s that is the same in every process.

The engine's own tokeniser and top-k are left out on purpose. Its vocabulary comes from a Python set, whose order
changes with the hash seed, and its top-k breaks ties in an arbitrary way; here terms are numbered as they are first
met, and :func:`best_first` breaks ties by passage order.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import bm25s
import numpy as np
from numpy.typing import NDArray

_ABOUT = "bm25.json"

Scores = NDArray[np.float32]


class Bm25Index:
    """Scores of passages for a query, ``idf(t) * tf / (tf + k1 * (1 - b + b * length / mean length))`` summed.

    The idf is Lucene's ``ln(1 + (N - n + 0.5) / (n + 0.5))``, never negative. A term that stands twice in the query
    counts twice. Build one with :meth:`build` or :meth:`load`; nothing changes afterwards, so threads may share it.
    """

    def __init__(self, size: int, engine: bm25s.BM25 | None) -> None:
        self.size = size
        self._engine = engine

    @classmethod
    def build(cls, passages: Iterable[Sequence[str]], *, k1: float = 1.5, b: float = 0.75) -> Bm25Index:
        """Index passages given as terms. ``k1`` is 0 or more, ``b`` between 0 and 1."""
        vocabulary: dict[str, int] = {}
        ids = [[vocabulary.setdefault(term, len(vocabulary)) for term in terms] for terms in passages]
        if not vocabulary:
            return cls(len(ids), None)
        engine = bm25s.BM25(k1=k1, b=b, method="lucene", backend="numpy", csc_backend="numpy")
        engine.index((ids, vocabulary), create_empty_token=False, show_progress=False)
        return cls(len(ids), engine)

    def scores(self, query: Iterable[str]) -> Scores:
        """One score per passage, 0 where no term of the query stands in it."""
        if self._engine is not None:
            ids = self._engine.get_tokens_ids(list(query))
            if ids:
                found: Scores = self._engine.get_scores_from_ids(ids)
                return found
        return np.zeros(self.size, dtype=np.float32)

    def save(self, folder: Path) -> None:
        """Write the index into ``folder``; equal passages give equal bytes."""
        folder.mkdir(parents=True, exist_ok=True)
        if self._engine is not None:
            self._engine.save(folder, show_progress=False)
        about = {"size": self.size, "terms": self._engine is not None}
        (folder / _ABOUT).write_text(json.dumps(about) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Bm25Index:
        """Read what :meth:`save` wrote.

        Raises:
            OSError, ValueError, KeyError: the files are missing or damaged.
        """
        about = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
        engine = None
        if about["terms"]:
            engine = bm25s.BM25.load(folder, show_progress=False, backend="numpy", csc_backend="numpy")
        return cls(about["size"], engine)


def best_first(scores: Scores) -> list[int]:
    """Passages with a score above 0, highest first; equal scores keep the order of the passages."""
    matched = np.flatnonzero(scores > 0)
    order: list[int] = matched[np.argsort(-scores[matched], kind="stable")].tolist()
    return order
