"""``lexical``: BM25 over passages on the embedded engine bm25s."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from pydantic import JsonValue

from memassay.core.contracts import BuildContext
from memassay.core.types import Corpus, Passage, Query, StoreRef
from memassay.memories.folder import damaged, read_lines, seal, unseal, write_lines
from memassay.memories.settings import check_choice, check_flag, check_number, check_whole
from memassay.memories.sources import (
    DATES,
    Dates,
    Filling,
    Source,
    passage,
    read_sources,
    source,
    write_sources,
)
from memassay.retrieval.bm25 import Bm25Index, Scores, best_first
from memassay.retrieval.passages import date_words, windows
from memassay.retrieval.text import STEMMINGS, STOP_WORD_LISTS, Analyzer, Stemming, StopWords

_PASSAGES = "passages.jsonl"
_INDEX = "index"

Cut = Literal["window", "document"]
Fill = Literal["oldest", "newest", "none"]

Place = tuple[int, int, int]  # document, first line, line after the last


@dataclass(frozen=True, slots=True)
class Cutting:
    """Documents and where their passages are."""

    sources: Sequence[Source]
    places: Sequence[Place]


class Lexical:
    """Ranks passages by BM25 and shows each line at most once.

    Args:
        unit: what a passage is: a ``window`` of turns, or a whole ``document``. A document without units has its
            paragraphs as passages.
        window: turns in a window.
        stride: turns from the start of one window to the next; at most ``window`` is used.
        k1: how slowly repetitions of a word stop counting, 0 to 10.
        b: how much long passages are marked down, 0 to 1.
        stemmer: ``english`` (Snowball), ``suffix`` or ``none``.
        stop_words: ``questions``, ``lucene``, ``anchor`` or ``none``.
        dates: the date above a passage: the ``day``, ``full`` as the document gives it, or ``none``.
        index_dates: whether the date can be searched, in words (8 May 2023).
        title_weight: how often the title counts in every passage of a document that is no conversation.
        fill: what follows the passages that match, as long as the budget has room: the others from the ``oldest`` or
            the ``newest``, or ``none``.
    """

    def __init__(
        self,
        *,
        unit: Cut = "window",
        window: int = 3,
        stride: int = 1,
        k1: float = 2.0,
        b: float = 1.0,
        stemmer: Stemming = "english",
        stop_words: StopWords = "anchor",
        dates: Dates = "day",
        index_dates: bool = True,
        title_weight: int = 2,
        fill: Fill = "newest",
    ) -> None:
        check_choice("unit", unit, get_args(Cut))
        check_whole("window", window, 1)
        check_whole("stride", stride, 1)
        check_number("k1", k1, 0, 10)
        check_number("b", b, 0, 1)
        check_choice("stemmer", stemmer, STEMMINGS)
        check_choice("stop_words", stop_words, STOP_WORD_LISTS)
        check_choice("dates", dates, DATES)
        check_flag("index_dates", index_dates)
        check_whole("title_weight", title_weight, 0)
        check_choice("fill", fill, get_args(Fill))
        self._window, self._stride, self._whole = window, stride, unit == "document"
        self._k1, self._b = float(k1), float(b)
        self._analyzer = Analyzer(stemmer, stop_words)
        self._dates, self._index_dates, self._fill = dates, index_dates, fill
        self._title_weight = title_weight
        # What the files depend on; dates and fill act at retrieval.
        self._built_with: dict[str, JsonValue] = {
            "unit": unit,
            "window": window,
            "stride": stride,
            "k1": self._k1,
            "b": self._b,
            "stemmer": stemmer,
            "stop_words": stop_words,
            "index_dates": index_dates,
            "title_weight": title_weight,
        }

    def build(self, corpus: Corpus, place: Path, context: BuildContext) -> Mapping[str, int]:
        """Write documents, passages and index under ``place``; returns how many passages there are."""
        cut = self.cut(corpus)
        self.write(cut, place, context)
        return {"passages": len(cut.places)}

    def cut(self, corpus: Corpus) -> Cutting:
        """The passages of a corpus, in its order."""
        sources = [source(document, whole=self._whole) for document in corpus.documents]
        return Cutting(sources, [found for number, item in enumerate(sources) for found in self._cut(number, item)])

    def searched(self, cut: Cutting, at: int, titles: int = 1) -> str:
        """What can be found of a passage: the date where it counts, ``titles`` times the title, then the lines."""
        number, first, last = cut.places[at]
        item = cut.sources[number]
        date = date_words(item.date) if self._index_dates and item.date else ""
        title = [] if item.spoken else [item.title] * titles
        return "\n".join([date, *title, *(line.text for line in item.lines[first:last])])

    def write(self, cut: Cutting, place: Path, context: BuildContext) -> None:
        """Write the store of a corpus that has been cut."""
        terms = []
        for at in range(len(cut.places)):
            terms.append(self._analyzer.terms(self.searched(cut, at, self._title_weight)))
            if at % 1000 == 0:
                context.progress(at, len(cut.places))
        index = Bm25Index.build(terms, k1=self._k1, b=self._b)
        documents = write_sources(place, cut.sources)
        passages = place / _PASSAGES
        write_lines(passages, (list(found) for found in cut.places))
        index.save(place / _INDEX)
        seal(place, "lexical", self._built_with, [documents, passages, *(place / _INDEX).iterdir()])
        context.progress(len(cut.places), len(cut.places))

    def open(self, ref: StoreRef) -> LexicalStore:
        """Load the store; it holds everything in memory and never touches the folder again."""
        place = unseal(ref, "lexical", self._built_with)
        try:
            places = [(int(n), int(first), int(last)) for n, first, last in read_lines(place / _PASSAGES)]
            cut = Cutting(read_sources(place), places)
            index = Bm25Index.load(place / _INDEX)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise damaged(place, f"a file of it cannot be read ({type(error).__name__})") from error
        return LexicalStore(cut, index, self._analyzer, self._dates, self._fill)

    def _cut(self, number: int, item: Source) -> Iterator[Place]:
        count = len(item.lines)
        if self._whole:
            if count:
                yield number, 0, count
        elif item.lines and not item.lines[0].unit:
            yield from ((number, at, at + 1) for at in range(count))
        else:
            yield from ((number, *found) for found in windows(count, self._window, self._stride))


class LexicalStore:
    """An open store; any number of threads may ask it. ``size`` is how many passages it has."""

    def __init__(self, cut: Cutting, index: Bm25Index, analyzer: Analyzer, dates: Dates, fill: Fill) -> None:
        self.size = len(cut.places)
        self._sources, self._places, self._index, self._analyzer = cut.sources, cut.places, index, analyzer
        self._dates, self._fill = dates, fill

    def retrieve(self, query: Query) -> list[Passage]:
        """The passages for a question, best first."""
        scores = self.scores(query.text)
        return self.show(query, best_first(scores), scores)

    def scores(self, text: str) -> Scores:
        """The BM25 score of every passage."""
        return self._index.scores(self._analyzer.terms(text))

    def show(self, query: Query, ranked: Sequence[int], scores: Scores) -> list[Passage]:
        """Ranked passages as a dossier; a line that a better passage showed is left out of a later one."""
        filling = Filling(query)
        shown: dict[int, set[int]] = {}
        for at in self._order(ranked):
            if filling.full:
                break
            number, first, last = self._places[at]
            item, seen = self._sources[number], shown.setdefault(number, set())
            fresh = [line for line in range(first, last) if line not in seen]
            if not fresh:
                continue
            seen.update(fresh)
            filling.add(
                passage(
                    item,
                    [item.lines[line] for line in fresh],
                    dates=self._dates,
                    rank=len(filling.passages) + 1,
                    native_id=f"{item.id}#{first}-{last - 1}",
                    score=float(scores[at]),
                )
            )
        return filling.passages

    def _order(self, ranked: Sequence[int]) -> Iterator[int]:
        yield from ranked
        if self._fill != "none":  # a ranked passage comes again, with nothing left to show
            every = range(len(self._places))
            yield from every if self._fill == "oldest" else reversed(every)
