"""``lexical``: BM25 over passages on the embedded engine bm25s."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
from memassay.retrieval.bm25 import Bm25Index, best_first
from memassay.retrieval.passages import date_words, windows
from memassay.retrieval.text import STEMMINGS, STOP_WORD_LISTS, Analyzer, Stemming, StopWords

_PASSAGES = "passages.jsonl"
_INDEX = "index"

Cut = Literal["window", "document"]
Fill = Literal["oldest", "newest", "none"]

Place = tuple[int, int, int]  # document, first line, line after the last


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
        fill: what follows the passages that match, as long as the budget has room: the others from the ``oldest`` or
            the ``newest``, or ``none``.
    """

    def __init__(
        self,
        *,
        unit: Cut = "window",
        window: int = 5,
        stride: int = 2,
        k1: float = 1.5,
        b: float = 0.75,
        stemmer: Stemming = "english",
        stop_words: StopWords = "questions",
        dates: Dates = "day",
        index_dates: bool = False,
        fill: Fill = "oldest",
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
        check_choice("fill", fill, get_args(Fill))
        self._window, self._stride, self._whole = window, stride, unit == "document"
        self._k1, self._b = float(k1), float(b)
        self._analyzer = Analyzer(stemmer, stop_words)
        self._dates, self._index_dates, self._fill = dates, index_dates, fill
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
        }

    def build(self, corpus: Corpus, place: Path, context: BuildContext) -> Mapping[str, int]:
        """Write documents, passages and index under ``place``; returns how many passages there are."""
        sources = [source(document, whole=self._whole) for document in corpus.documents]
        places = [found for number, item in enumerate(sources) for found in self._cut(number, item)]
        terms = []
        for done, (number, first, last) in enumerate(places):
            terms.append(self._analyzer.terms(self._searched(sources[number], first, last)))
            if done % 1000 == 0:
                context.progress(done, len(places))
        index = Bm25Index.build(terms, k1=self._k1, b=self._b)
        documents = write_sources(place, sources)
        passages = place / _PASSAGES
        write_lines(passages, (list(found) for found in places))
        index.save(place / _INDEX)
        seal(place, "lexical", self._built_with, [documents, passages, *(place / _INDEX).iterdir()])
        context.progress(len(places), len(places))
        return {"passages": len(places)}

    def open(self, ref: StoreRef) -> LexicalStore:
        """Load the store; it holds everything in memory and never touches the folder again."""
        place = unseal(ref, "lexical", self._built_with)
        try:
            sources = read_sources(place)
            places = [(int(n), int(first), int(last)) for n, first, last in read_lines(place / _PASSAGES)]
            index = Bm25Index.load(place / _INDEX)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise damaged(place, f"a file of it cannot be read ({type(error).__name__})") from error
        return LexicalStore(sources, places, index, self._analyzer, self._dates, self._fill)

    def _cut(self, number: int, item: Source) -> Iterator[Place]:
        count = len(item.lines)
        if self._whole:
            if count:
                yield number, 0, count
        elif item.lines and not item.lines[0].unit:
            yield from ((number, at, at + 1) for at in range(count))
        else:
            yield from ((number, *found) for found in windows(count, self._window, self._stride))

    def _searched(self, item: Source, first: int, last: int) -> str:
        date = date_words(item.date) if self._index_dates and item.date else ""
        title = "" if item.spoken else item.title
        return "\n".join([date, title, *(line.text for line in item.lines[first:last])])


class LexicalStore:
    """An open store; any number of threads may ask it."""

    def __init__(
        self,
        sources: Sequence[Source],
        places: Sequence[Place],
        index: Bm25Index,
        analyzer: Analyzer,
        dates: Dates,
        fill: Fill,
    ) -> None:
        self._sources, self._places, self._index, self._analyzer = sources, places, index, analyzer
        self._dates, self._fill = dates, fill

    def retrieve(self, query: Query) -> list[Passage]:
        """The passages for a question, best first; a line that a better passage showed is left out of a later one."""
        scores = self._index.scores(self._analyzer.terms(query.text))
        filling = Filling(query)
        shown: dict[int, set[int]] = {}
        for at in self._order(best_first(scores)):
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

    def _order(self, matched: list[int]) -> Iterator[int]:
        yield from matched
        if self._fill != "none":  # a passage that matched comes again, with nothing left to show
            every = range(len(self._places))
            yield from every if self._fill == "oldest" else reversed(every)
