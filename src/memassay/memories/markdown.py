"""``markdown``: the embedded knowledge graph of Markdown pages."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from memassay.core.contracts import BuildContext
from memassay.core.tokens import tokenizer
from memassay.core.types import Corpus, Passage, Query, Server, StoreRef, Toolset
from memassay.knowledge.entries import Settings
from memassay.knowledge.finder import Finder
from memassay.knowledge.grains import GRAINS, Grain, candidate
from memassay.knowledge.index import LOCK, Incoming, Index
from memassay.knowledge.nearness import embedded, near
from memassay.knowledge.ranking import Weights
from memassay.knowledge.store import PLACE, KnowledgeStore
from memassay.memories.embedding import available, read_dense, write_dense
from memassay.memories.folder import damaged, read_lines, seal, unseal, write_lines
from memassay.memories.pages import Written, pages
from memassay.memories.settings import check_choice, check_flag, check_number, check_whole
from memassay.memories.sources import DATES, Dates, Filling
from memassay.retrieval.dense import SEARCHES, Search
from memassay.retrieval.embedders import EMBEDDERS
from memassay.retrieval.passages import day
from memassay.retrieval.text import STEMMINGS, STOP_WORD_LISTS, Stemming, StopWords

PAGES = "pages"
TOOLS = ("find", "retrieve", "search", "tree", "squash", "stats")
_DOCUMENTS = "documents.jsonl"


class Markdown:
    """Keeps documents as linked Markdown pages; ranks passages by words, links, mentions and what they add.

    Args:
        seeds: passages whose links are followed.
        depth: links that are followed from a seed; 0 follows none.
        link: what two linked passages count together, 0 to 1 for each link between them.
        mentions: whether a rare title in the text of a page joins the two as a link does.
        anchor: what a page that the question names gains, in units of the question's rarest word, 0 to 10.
        novelty: how far a word that earlier passages hold stops counting, 0 to 1.
        whole: pages of up to this many tokens are shown whole, longer ones by the ``grain``.
        grain: what is shown of a longer page for a passage that answers: the ``passage``, its ``section`` without
            deeper ones, or the ``page``.
        max_chars: the most characters of a passage.
        title_weight: how often a word of the title counts in every passage of its page.
        stemmer: ``english`` (Snowball), ``suffix`` or ``none``.
        stop_words: ``questions``, ``lucene``, ``anchor`` or ``none``.
        dates: the date above a passage: the ``day``, ``full`` as the document gives it, or ``none``.
        embedder: what helps to choose seeds: ``minilm`` or ``e5`` (extras), ``hash`` (for tests), or ``none``.
        dense: what the passage gains that the embedder finds most similar, in units of the question's rarest word.
        search: how the nearest passages are found: ``exact``, or ``approximate`` as in ``hybrid``.

    Raises:
        UsageError: a setting cannot be.
        CannotMeasure: the embedder's packages are not installed; the sentence names the extra.
    """

    def __init__(
        self,
        *,
        seeds: int = 10,
        depth: int = 1,
        link: float = 0.8,
        mentions: bool = True,
        anchor: float = 0.75,
        novelty: float = 0.5,
        whole: int = 500,
        grain: Grain = "passage",
        max_chars: int = 1000,
        title_weight: int = 2,
        stemmer: Stemming = "english",
        stop_words: StopWords = "questions",
        dates: Dates = "day",
        embedder: str = "none",
        dense: float = 1.0,
        search: Search = "exact",
    ) -> None:
        check_whole("seeds", seeds, 0)
        check_whole("depth", depth, 0)
        check_number("link", link, 0, 1)
        check_flag("mentions", mentions)
        check_number("anchor", anchor, 0, 10)
        check_number("novelty", novelty, 0, 1)
        check_whole("whole", whole, 0)
        check_choice("grain", grain, GRAINS)
        check_whole("max_chars", max_chars, 100)
        check_whole("title_weight", title_weight, 0)
        check_choice("stemmer", stemmer, STEMMINGS)
        check_choice("stop_words", stop_words, STOP_WORD_LISTS)
        check_choice("dates", dates, DATES)
        check_choice("embedder", embedder, ["none", *sorted(EMBEDDERS)])
        check_number("dense", dense, 0, 10)
        check_choice("search", search, SEARCHES)
        self._weights = Weights(seeds, depth, float(link), float(anchor), float(novelty), float(dense))
        self._model = None if embedder == "none" else available(embedder)
        self._search = search
        self._mentions, self._whole, self._grain, self._dates = mentions, whole, grain, dates
        self._index = Settings(title_weight=title_weight, max_chars=max_chars, stemmer=stemmer, stop_words=stop_words)
        # What the files depend on; the rest acts at retrieval.
        self._built_with: dict[str, JsonValue] = {
            "title_weight": title_weight,
            "max_chars": max_chars,
            "stemmer": stemmer,
            "stop_words": stop_words,
        }
        if self._model is not None:
            self._built_with |= {"embedder": embedder, "model": self._model.digest, "search": search}

    def build(self, corpus: Corpus, place: Path, context: BuildContext) -> Mapping[str, Any]:
        """Write a folder of pages and its index under ``place``; returns the number of passages."""
        folder = place / PAGES
        folder.mkdir()
        texts: dict[str, str] = {}
        written: list[Written] = []
        for made, text in pages(corpus.documents):
            path = folder / f"{made.key}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            written.append(made)
            texts[made.key] = text
        documents = place / _DOCUMENTS
        write_lines(documents, (made.row() for made in written))
        context.progress(0, len(written))
        # The index is filled from the texts at hand, without the time of any file, so that equal documents make equal
        # bytes; it is sealed with the pages.
        index = Index.write(folder / PLACE, self._index)
        try:
            index.update(sorted(texts), lambda key: Incoming(texts[key]))
            index.compact()
            passages = index.snapshot.passages
            if self._model is not None:
                shown = [embedded(index.snapshot, passage) for passage in range(passages)]
                write_dense(place, shown, self._model, self._search, context)
        finally:
            index.close()
        (folder / PLACE / LOCK).unlink(missing_ok=True)
        seal(place, "markdown", self._built_with, [path for path in place.rglob("*") if path.is_file()])
        context.progress(len(written), len(written))
        return {"passages": passages}

    def open(self, ref: StoreRef) -> MarkdownStore:
        """Open the pages and their index to read them."""
        place = unseal(ref, "markdown", self._built_with)
        try:
            written = {row[0]: Written.of(row) for row in read_lines(place / _DOCUMENTS)}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise damaged(place, f"{_DOCUMENTS} cannot be read ({type(error).__name__})") from error
        store = KnowledgeStore.open(place / PAGES, settings=self._index, refresh=False)
        most = self._whole * tokenizer(self._index.tokens).marks_per_token
        similar = None
        if self._model is not None:
            dense = read_dense(place, store.snapshot.passages, self._model)
            similar = partial(near, dense, self._model)
        finder = Finder(store.terms, self._weights, mentions=self._mentions, similar=similar)
        return MarkdownStore(store, written, finder, most, self._grain, self._dates)


class MarkdownStore:
    """An open store; any number of threads may ask it."""

    def __init__(
        self,
        store: KnowledgeStore,
        written: Mapping[str, Written],
        finder: Finder,
        most: int,
        grain: Grain,
        dates: Dates,
    ) -> None:
        self._store, self._written, self._finder = store, written, finder
        self._most, self._grain, self._dates = most, grain, dates
        self._snapshot = store.snapshot

    def close(self) -> None:
        """Close the index."""
        self._store.close()

    def folder(self) -> Path:
        """The pages; the index among them is hidden."""
        return self._store.folder.root

    def toolset(self, identity: str = "", *, tools: tuple[str, ...] = TOOLS) -> Toolset:
        """A server over the pages in a process of its own, with these of the tools that read."""
        command = (sys.executable, "-m", "memassay", "memory", "serve", "--tools", ",".join(tools))
        place = str(self.folder().absolute())
        return Toolset(servers=(Server(command=(*command, "--store", place), tools=tools),))

    def retrieve(self, query: Query) -> list[Passage]:
        """The passages for a question, best first; each is shown at most once, a small page whole."""
        snapshot = self._snapshot
        found = self._finder.ranking(snapshot, query.text)
        filling = Filling(query)
        shown: set[int] = set()
        for passage, score in zip(found.passages.tolist(), found.scores.tolist(), strict=True):
            if filling.full:
                break
            if passage in shown:
                continue
            page = int(snapshot.page_of[passage])
            whole = snapshot.marks(int(snapshot.starts[page]), int(snapshot.starts[page + 1]))
            grain: Grain = "page" if whole <= self._most else self._grain
            together = candidate(snapshot, passage, grain)
            here = range(together.first, together.last)
            shown.update(here)
            filling.add(self._passage(page, here, score, len(filling.passages) + 1))
        return filling.passages

    def _passage(self, page: int, passages: range, score: float, rank: int) -> Passage:
        snapshot = self._snapshot
        stored = snapshot.stored(page)
        start, end = snapshot.span(passages[0])[0], snapshot.span(passages[-1])[1]
        made = self._written[stored.key]
        date = "" if made.date is None or self._dates == "none" else made.date
        above = [day(date) if self._dates == "day" else date, "" if made.spoken else snapshot.head(passages[0])]
        head = " ".join(part for part in above if part)
        text = stored.text[start:end]
        return Passage(
            text=f"{head}\n{text}" if head else text,
            doc_ids=(made.id,),
            unit_ids=made.units_in(start, end),
            valid_from=made.date,
            score=score,
            rank=rank,
            native_id=f"{stored.key}#{start}-{end}",
        )
