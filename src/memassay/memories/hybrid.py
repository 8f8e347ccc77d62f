"""``hybrid``: BM25 and an embedding model over the same passages, their rankings fused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from memassay.core.contracts import BuildContext
from memassay.core.types import Corpus, Passage, Query, StoreRef
from memassay.memories.embedding import available, read_dense, write_dense
from memassay.memories.folder import seal, unseal
from memassay.memories.lexical import Cut, Fill, Lexical, LexicalStore
from memassay.memories.settings import check_choice, check_number
from memassay.memories.sources import Dates
from memassay.retrieval.dense import SEARCHES, DenseIndex, Search, nearest
from memassay.retrieval.embedders import EMBEDDERS, Embedder
from memassay.retrieval.fusion import FUSIONS, Fusion, fuse
from memassay.retrieval.text import Stemming, StopWords

_LEXICAL = "lexical"


class Hybrid:
    """Ranks the passages of ``lexical`` by BM25 and by an embedding model, and fuses the two.

    Args:
        embedder: ``minilm``, ``e5``, or ``hash`` (a stand-in for tests, no model).
        fusion: ``scores``, each brought to 0 to 1, or ``ranks``, reciprocal.
        weight: of the embedding model in the sum, 0 to 1; the rest is BM25's.
        search: ``exact``, or ``approximate`` (a graph of neighbours).
        unit: what a passage is, like the rest as in ``lexical``: a ``window`` of turns, or a whole ``document``.
        window: turns in a window.
        stride: turns from the start of one window to the next.
        k1: how slowly repetitions of a word stop counting, 0 to 10.
        b: how much long passages are marked down, 0 to 1.
        stemmer: ``english``, ``suffix`` or ``none``.
        stop_words: ``questions``, ``lucene``, ``anchor`` or ``none``.
        dates: the date above a passage: the ``day``, ``full`` as the document gives it, or ``none``.
        index_dates: whether the date can be searched, in words.
        title_weight: how often the title counts for BM25 in a document that is no conversation.
        fill: what follows the passages that were found, as long as there is room: ``oldest``, ``newest`` or ``none``.

    Raises:
        UsageError: a setting cannot be.
        CannotMeasure: the embedder's packages are not installed; the sentence names the extra.
    """

    def __init__(
        self,
        *,
        embedder: str = "minilm",
        fusion: Fusion = "scores",
        weight: float = 0.4,
        search: Search = "exact",
        unit: Cut = "window",
        window: int = 5,
        stride: int = 2,
        k1: float = 1.5,
        b: float = 0.75,
        stemmer: Stemming = "english",
        stop_words: StopWords = "questions",
        dates: Dates = "day",
        index_dates: bool = False,
        title_weight: int = 2,
        fill: Fill = "oldest",
    ) -> None:
        check_choice("embedder", embedder, sorted(EMBEDDERS))
        check_choice("fusion", fusion, FUSIONS)
        check_number("weight", weight, 0, 1)
        check_choice("search", search, SEARCHES)
        self._lexical = Lexical(
            unit=unit,
            window=window,
            stride=stride,
            k1=k1,
            b=b,
            stemmer=stemmer,
            stop_words=stop_words,
            dates=dates,
            index_dates=index_dates,
            title_weight=title_weight,
            fill=fill,
        )
        self._fusion, self._weight, self._search = fusion, float(weight), search
        self._embedder = available(embedder)

    @property
    def _built_with(self) -> dict[str, JsonValue]:
        """What the files depend on beside the settings of ``lexical``, whose store has a seal of its own."""
        return {"embedder": self._embedder.name, "model": self._embedder.digest, "search": self._search}

    def build(self, corpus: Corpus, place: Path, context: BuildContext) -> Mapping[str, Any]:
        """Write a store of ``lexical`` and the vectors under ``place``; returns the number of passages."""
        cut = self._lexical.cut(corpus)
        (place / _LEXICAL).mkdir(exist_ok=True)
        self._lexical.write(cut, place / _LEXICAL, BuildContext(seed=context.seed))
        texts = [self._lexical.searched(cut, at).strip() for at in range(len(cut.places))]
        files = write_dense(place, texts, self._embedder, self._search, context)
        seal(place, "hybrid", self._built_with, [*files, *_files(place / _LEXICAL)])
        return {"passages": len(texts)}

    def open(self, ref: StoreRef) -> HybridStore:
        """Load the store; it holds everything in memory and never touches the folder again."""
        place = unseal(ref, "hybrid", self._built_with)
        lexical = self._lexical.open(StoreRef(key=ref.key, location=str(place / _LEXICAL)))
        dense = read_dense(place, lexical.size, self._embedder)
        return HybridStore(lexical, dense, self._embedder, self._fusion, self._weight)


class HybridStore:
    """An open store; any number of threads may ask it."""

    def __init__(
        self, lexical: LexicalStore, dense: DenseIndex, embedder: Embedder, fusion: Fusion, weight: float
    ) -> None:
        self._lexical, self._dense, self._embedder = lexical, dense, embedder
        self._fusion, self._weight = fusion, weight

    def retrieve(self, query: Query) -> list[Passage]:
        """The passages for a question, best first."""
        if not self._lexical.size:
            return []
        ids, similar = nearest(self._dense, self._embedder, query.text)
        words = self._lexical.scores(query.text)
        ranked, scores = fuse(words, ids, similar, weight=self._weight, fusion=self._fusion)
        return self._lexical.show(query, ranked, scores)


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
