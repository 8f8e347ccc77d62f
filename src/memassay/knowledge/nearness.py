"""Passages that an embedding model finds near a question, beside those that share its words."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np

from memassay.knowledge.finder import Finder
from memassay.knowledge.ranking import Floats, Ids, Ranking
from memassay.knowledge.snapshot import Snapshot
from memassay.retrieval.dense import DenseIndex, nearest
from memassay.retrieval.embedders import Embedder, Vectors
from memassay.retrieval.vectors import VectorCache, embed_all

Progress = Callable[[int, int], None]


def unseen(done: int, total: int) -> None:
    """Progress that nobody looks at."""


def embedded(snapshot: Snapshot, passage: int) -> str:
    """What is embedded of a passage: the headings that it stands under, and its words as they stand on the page."""
    return f"{snapshot.head(passage)}\n{snapshot.text(passage)}".strip()


def near(dense: DenseIndex, model: Embedder, question: str) -> tuple[Ids, Floats]:
    """The passages near a question, and how near each is as a share of the nearest, 0 to 1."""
    ids, cosines = nearest(dense, model, question)
    best = float(cosines.max(initial=0.0))
    shares = np.maximum(cosines, 0).astype(np.float64) / best if best > 0 else np.zeros(len(cosines))
    return ids.astype(np.int64), shares


class NearFinder(Finder):
    """A finder whose seeds an embedding model helps to choose; it follows edits, and threads may share it.

    Every vector is compared with the question: 2 ms at 30,000 passages.

    Args:
        terms: the analyzer of the index.
        model: what embeds passages and questions.
        cache: where vectors are looked for and kept.
        progress: called with (done, total) over the different texts of new and changed pages.

    Attributes:
        made: texts that were embedded so far because the cache did not hold them.
        keeps: whether their vectors are there the next time.
    """

    def __init__(
        self,
        terms: Callable[[str], list[str]],
        model: Embedder,
        cache: VectorCache,
        progress: Progress = unseen,
    ) -> None:
        super().__init__(terms)
        self._analyzer, self._model, self._cache, self._progress = terms, model, cache, progress
        self.made, self.keeps = 0, cache.keeps
        self._pages: dict[str, tuple[str, Vectors]] = {}  # by key: the digest of the page, a vector for each passage
        self._last_made: tuple[Snapshot, Finder] | None = None
        self._turns = threading.Lock()

    def ranking(self, snapshot: Snapshot, text: str, limit: int | None = None) -> Ranking:
        """See :meth:`Finder.ranking`."""
        return self.prepared(snapshot).ranking(snapshot, text, limit)

    def prepared(self, snapshot: Snapshot) -> Finder:
        """The finder for one snapshot; what has no vector yet is embedded first.

        Raises:
            EnvironmentProblem: the model cannot be loaded, or the cache cannot be used.
        """
        with self._turns:
            last = self._last_made
            if last is None or last[0] is not snapshot:
                similar = partial(near, DenseIndex(self._vectors(snapshot)), self._model)
                last = self._last_made = (snapshot, Finder(self._analyzer, similar=similar))
            return last[1]

    def _vectors(self, snapshot: Snapshot) -> Vectors:
        """A vector for each passage of a snapshot; the texts of unchanged pages are not looked at again."""
        known, starts = self._pages, snapshot.starts.tolist()
        about = [(stored.key, stored.digest) for stored in map(snapshot.stored, range(snapshot.pages))]
        parts: list[Vectors | None] = []
        fresh: list[int] = []
        for key, digest in about:
            before = known.get(key)
            parts.append(before[1] if before is not None and before[0] == digest else None)
        for page, part in enumerate(parts):
            if part is None:
                fresh += range(starts[page], starts[page + 1])
        vectors = np.zeros((snapshot.passages, self._model.dimension), dtype=np.float32)
        if fresh:
            vectors[fresh] = self._embedded([embedded(snapshot, passage) for passage in fresh])
        for page, part in enumerate(parts):
            if part is not None:
                vectors[starts[page] : starts[page + 1]] = part
        rows = (vectors[start:end] for start, end in pairwise(starts))
        self._pages = {key: (digest, part) for (key, digest), part in zip(about, rows, strict=True)}
        return vectors

    def _embedded(self, texts: list[str]) -> Vectors:
        missing: list[int] = []

        def progress(done: int, total: int) -> None:
            missing.append(total - done)
            self._progress(done, total)

        found = embed_all(self._model, texts, cache=self._cache, progress=progress)
        self.made += missing[0]
        return found
