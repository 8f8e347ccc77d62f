"""``markdown`` and ``passages`` with what is built into them as settings, so that ``defaults.py`` can try it.

Both weigh words with ``k1=1.5`` and ``b=0.75``, and ``passages`` analyses them in one way; nobody who uses them can say
otherwise. Only what is swept is a setting here; all else is as in the memory itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memassay.core.contracts import BuildContext
from memassay.core.types import Corpus, StoreRef
from memassay.knowledge.grains import Grain
from memassay.knowledge.snapshot import K1, B, Snapshot
from memassay.memories import markdown, passages
from memassay.memories.sources import Dates
from memassay.retrieval.bm25 import Bm25Index
from memassay.retrieval.text import Analyzer, Stemming, StopWords

_PATCHING = threading.Lock()  # arms of one run may share a process


@contextmanager
def weighing(function: Callable[..., Any], k1: float, b: float) -> Iterator[None]:
    """In the block ``function`` has these defaults of ``k1`` and ``b``."""
    with _PATCHING:
        before = function.__kwdefaults__
        function.__kwdefaults__ = {"k1": k1, "b": b}
        try:
            yield
        finally:
            function.__kwdefaults__ = before


class Markdown(markdown.Markdown):
    """``markdown`` with ``k1`` and ``b``."""

    def __init__(
        self,
        *,
        k1: float = K1,
        b: float = B,
        whole: int = 500,
        grain: Grain = "passage",
        max_chars: int = 1000,
        title_weight: int = 2,
        stemmer: Stemming = "english",
        stop_words: StopWords = "questions",
        dates: Dates = "day",
    ) -> None:
        super().__init__(
            whole=whole,
            grain=grain,
            max_chars=max_chars,
            title_weight=title_weight,
            stemmer=stemmer,
            stop_words=stop_words,
            dates=dates,
        )
        self._k1, self._b = float(k1), float(b)

    def open(self, ref: StoreRef) -> markdown.MarkdownStore:
        with weighing(Snapshot.__init__, self._k1, self._b):  # the index itself holds counts and lengths
            return super().open(ref)


class Passages(passages.Passages):
    """``passages`` with ``stemmer``, ``stop_words``, ``k1`` and ``b``."""

    def __init__(
        self, *, stemmer: Stemming = "english", stop_words: StopWords = "questions", k1: float = 1.5, b: float = 0.75
    ) -> None:
        super().__init__()
        self._k1, self._b = float(k1), float(b)
        self._analyzer = Analyzer(stemmer, stop_words)
        self._built_with |= {"stemmer": stemmer, "stop_words": stop_words, "k1": self._k1, "b": self._b}

    def build(self, corpus: Corpus, place: Path, context: BuildContext) -> Mapping[str, int]:
        with weighing(Bm25Index.build.__func__, self._k1, self._b):  # type: ignore[attr-defined]
            return super().build(corpus, place, context)
