"""``passages``: every line ranked by its words and sense, by what stands around it, by who says it and when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from memassay.core.contracts import BuildContext
from memassay.core.types import Corpus, Passage, Query, StoreRef
from memassay.memories.embedding import available, cache_of
from memassay.memories.folder import damaged, read_lines, seal, unseal, write_lines
from memassay.memories.settings import check_choice, check_number, check_whole
from memassay.memories.sources import DATES, Dates, Filling, Source, passage, read_sources, source, write_sources
from memassay.retrieval.bm25 import Bm25Index
from memassay.retrieval.embedders import EMBEDDERS, Embedder, Vectors
from memassay.retrieval.neighbours import Neighbours
from memassay.retrieval.passages import day, has_words
from memassay.retrieval.speakers import named
from memassay.retrieval.text import Analyzer
from memassay.retrieval.times import nearness, spans
from memassay.retrieval.vectors import embed_all

_SPEAKERS = "speakers.jsonl"
_LINES, _WINDOWS, _VECTORS = "lines", "windows", "vectors.npy"

Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Weights:
    """What is added to a line's own BM25 score, which has weight 1; see :class:`Passages`."""

    window: float
    speaker: float
    times: float
    dense: float


class Passages:
    """Ranks single lines (turns, or paragraphs) and shows them grouped by document.

    A line's score is the sum of its own BM25 score, that of its window, and what the settings add. BM25 scores and
    similarities count as shares of the best one for the question.

    Args:
        reach: lines on either side that belong to the window of a line.
        window: weight of the window's BM25 score.
        speaker: added where the question names the line's speaker.
        times: added where the document is of a time that the question names, half of it up to a month later.
        dense: weight of the similarity of the line and of that of its window, half of it for the most similar line of
            the document.
        embedder: what makes the vectors: ``minilm`` or ``e5`` (extras), ``hash`` (for tests), or ``none`` for words
            alone.
        dates: the date above a passage: the ``day``, ``full`` as the document gives it, or ``none``.
        block_chars: lines are taken best first in blocks of about so many characters and grouped by document within a
            block, so that a date does not stand above every line.

    Raises:
        UsageError: a setting cannot be.
        CannotMeasure: the embedder's packages are not installed; the sentence names the extra.
    """

    def __init__(
        self,
        *,
        reach: int = 2,
        window: float = 2.0,
        speaker: float = 1.5,
        times: float = 2.0,
        dense: float = 2.0,
        embedder: str = "minilm",
        dates: Dates = "day",
        block_chars: int = 2000,
    ) -> None:
        check_whole("reach", reach, 0)
        for name, weight in (("window", window), ("speaker", speaker), ("times", times), ("dense", dense)):
            check_number(name, weight, 0, 100)
        check_choice("embedder", embedder, sorted([*EMBEDDERS, "none"]))
        check_choice("dates", dates, DATES)
        check_whole("block_chars", block_chars, 1)
        self._reach, self._dates, self._block_chars = reach, dates, block_chars
        self._weights = Weights(float(window), float(speaker), float(times), float(dense))
        self._analyzer = Analyzer()
        # What the files depend on; everything else acts at retrieval.
        self._model = None if embedder == "none" else available(embedder)
        digest = self._model.digest if self._model else ""
        self._built_with: dict[str, JsonValue] = {"reach": reach, "embedder": embedder, "model": digest}

    def build(self, corpus: Corpus, place: Path, context: BuildContext) -> Mapping[str, int]:
        """Write documents, speakers, indexes and vectors under ``place``; returns how many lines there are."""
        sources = [source(document) for document in corpus.documents]
        texts = [_searched(item) for item in sources]
        terms = [[self._analyzer.terms(text) for text in document] for document in texts]
        lines = Bm25Index.build(line for document in terms for line in document)
        windows = Bm25Index.build(window for document in terms for window in self._windows(document))
        speakers, vectors = place / _SPEAKERS, place / _VECTORS
        write_lines(speakers, ([unit.speaker for unit in doc.units if has_words(unit)] for doc in corpus.documents))
        documents = write_sources(place, sources)
        lines.save(place / _LINES)
        windows.save(place / _WINDOWS)
        files = [documents, speakers, *(place / _LINES).iterdir(), *(place / _WINDOWS).iterdir()]
        if self._model is not None:
            every = [text for document in texts for text in document]
            found = embed_all(self._model, every, cache=cache_of(context), progress=context.progress)
            np.save(vectors, found, allow_pickle=False)
            files.append(vectors)
        seal(place, "passages", self._built_with, files)
        return {"passages": lines.size}

    def open(self, ref: StoreRef) -> PassagesStore:
        """Load the store; it holds everything in memory and never touches the folder again."""
        place = unseal(ref, "passages", self._built_with)
        try:
            sources = read_sources(place)
            speakers = [[str(name) for name in row] for row in read_lines(place / _SPEAKERS)]
            index = Bm25Index.load(place / _LINES), Bm25Index.load(place / _WINDOWS)
            counts = [len(item.lines) for item in sources]
            sense = None
            if self._model is not None:
                vectors: Vectors = np.load(place / _VECTORS, allow_pickle=False)
                if vectors.shape != (sum(counts), self._model.dimension):
                    raise ValueError(_VECTORS)
                sense = Sense(self._model, Neighbours(vectors, counts, self._reach))
            ranking = Ranking(sources, speakers, index, sense, self._analyzer, self._weights)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise damaged(place, f"a file of it cannot be read ({type(error).__name__})") from error
        return PassagesStore(sources, ranking, self._dates, self._block_chars)

    def _windows(self, lines: Sequence[Sequence[str]]) -> Iterator[list[str]]:
        for at in range(len(lines)):
            around = lines[max(0, at - self._reach) : at + self._reach + 1]
            yield [term for line in around for term in line]


@dataclass(frozen=True, slots=True)
class Sense:
    """What similarity needs: the model for the question, the vectors of the lines."""

    model: Embedder
    lines: Neighbours


class Ranking:
    """Scores of all lines of a store, documents one after the other.

    Args:
        sources: the documents.
        speakers: per document the speaker of each line; an empty row where nobody speaks.
        index: BM25 over the lines, and over their windows.
        sense: the vectors, or None for words alone.
        analyzer: what made the terms of the index.
        weights: what counts how much.

    Raises:
        ValueError: the parts are not of one store.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        speakers: Sequence[Sequence[str]],
        index: tuple[Bm25Index, Bm25Index],
        sense: Sense | None,
        analyzer: Analyzer,
        weights: Weights,
    ) -> None:
        self._index, self._sense, self._analyzer, self._weights = index, sense, analyzer, weights
        self._counts = [len(item.lines) for item in sources]
        who = [name for item, row in zip(sources, speakers, strict=True) for name in row or [""] * len(item.lines)]
        if not sum(self._counts) == len(who) == index[0].size == index[1].size:
            raise ValueError("lines")
        self._names = sorted(set(who) - {""})
        number = {name: at for at, name in enumerate(self._names)}
        self._who = np.array([number.get(name, -1) for name in who], dtype=np.int64)
        # A name stands above every line of its speaker and in those that call him: it is no word to look for.
        self._name_terms = frozenset(analyzer.terms(" ".join(self._names)))
        self._days = [_date(item.date) for item in sources]
        self._last = max((found for found in self._days if found), default=None)

    def scores(self, query: Query) -> Scores:
        """One score per line, 0 or more."""
        weights = self._weights
        terms = [term for term in dict.fromkeys(self._analyzer.terms(query.text)) if term not in self._name_terms]
        lines, windows = (_shares(index.scores(terms)) for index in self._index)
        total = lines + weights.window * windows + weights.times * self._near(query)
        asked = named(query.text, self._names)
        if asked:
            wanted = [at for at, name in enumerate(self._names) if name in asked]
            total += weights.speaker * np.isin(self._who, wanted)
        if self._sense is not None:
            vector = self._sense.model.embed([query.text], question=True)[0]
            line, window, document = self._sense.lines.similarities(vector)
            total += weights.dense * (_shares(line) + _shares(window) + _shares(document) / 2)
        return total

    def _near(self, query: Query) -> Scores:
        now = _date(query.as_of) or self._last
        wanted = spans(query.text, now) if now else []
        near = [nearness(wanted, found) if wanted and found else 0.0 for found in self._days]
        return np.repeat(np.array(near, dtype=np.float64), self._counts)


class PassagesStore:
    """An open store; any number of threads may ask it."""

    def __init__(self, sources: Sequence[Source], ranking: Ranking, dates: Dates, block_chars: int) -> None:
        self._sources, self._ranking, self._dates, self._block_chars = sources, ranking, dates, block_chars
        self._places = [(number, at) for number, item in enumerate(sources) for at in range(len(item.lines))]

    def retrieve(self, query: Query) -> list[Passage]:
        """All lines, best first block by block; lines of equal score keep the order of the corpus."""
        filling = Filling(query)
        if not self._places:
            return filling.passages
        scores = self._ranking.scores(query)
        for block in self._blocks(np.argsort(-scores, kind="stable").tolist(), scores):
            for number, chosen in block.items():
                if filling.full:
                    return filling.passages
                item, first = self._sources[number], min(chosen)
                filling.add(
                    passage(
                        item,
                        [item.lines[at] for at in sorted(chosen)],
                        dates=self._dates,
                        rank=len(filling.passages) + 1,
                        native_id=f"{item.id}#{first}",
                        score=max(chosen.values()),
                    )
                )
        return filling.passages

    def _blocks(self, order: Sequence[int], scores: Scores) -> Iterator[dict[int, dict[int, float]]]:
        """Blocks of lines with their scores by document, the document of the best line first."""
        block: dict[int, dict[int, float]] = {}
        left = self._block_chars
        for found in order:
            number, at = self._places[found]
            left -= len(self._sources[number].lines[at].text)
            if left < 0 and block:
                yield block
                block, left = {}, self._block_chars - len(self._sources[number].lines[at].text)
            block.setdefault(number, {})[at] = float(scores[found])
        yield block


def _searched(item: Source) -> list[str]:
    """The words by which each line is found; the title of a page stands above every line of it."""
    above = "" if item.spoken or not item.title else f"{item.title}\n"
    return [above + line.text for line in item.lines]


def _date(text: str | None) -> date | None:
    try:
        return date.fromisoformat(day(text or ""))
    except ValueError:
        return None


def _shares(scores: NDArray[np.floating]) -> Scores:
    best = float(scores.max(initial=0.0))
    return np.maximum(scores.astype(np.float64), 0) / best if best > 0 else np.zeros(len(scores))
