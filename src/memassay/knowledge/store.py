"""``KnowledgeStore``: a folder of Markdown pages that a person keeps, with everything that can be asked of it.

Opening      ``KnowledgeStore.open(root, writable=, index=, settings=, refresh=) -> KnowledgeStore``, ``close()``
Following    ``refresh(keys=None) -> bool`` takes over what was edited outside, ``rebuild()``; ``snapshot``, ``library``
Asking       ``search(text, limit=, max_tokens=, rank=, grain=, ...) -> Packing``, ``find(...)``,
             ``retrieve(seeds, ...)``, ``tree(...)``, ``squash(key)``, ``stats(key=None)``
Editing      ``create(key, text)``, ``update(key, text)``, ``delete(key)``, ``rename(old, new)``,
             ``query(operation, document)``, ``apply(changes)``

Reading never writes into the folder of the pages. Editing writes whole files or none, and keeps the index in step.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from memassay.core.errors import UsageError
from memassay.knowledge import census, edits, outlines, packing, query, views
from memassay.knowledge.drift import Watch
from memassay.knowledge.entries import Settings
from memassay.knowledge.fields import Fields, Item
from memassay.knowledge.finder import Finder
from memassay.knowledge.folder import Change, Folder, checked
from memassay.knowledge.grains import Grain, candidate
from memassay.knowledge.holdings import Holdings
from memassay.knowledge.index import Index
from memassay.knowledge.library import page_of
from memassay.knowledge.links import meant
from memassay.knowledge.listing import Listing
from memassay.knowledge.nearness import NearFinder, Progress, unseen
from memassay.knowledge.opening import DAMAGE, held_for_editing, opened_index
from memassay.knowledge.packing import Overflow, Packing
from memassay.knowledge.pages import Page
from memassay.knowledge.query import Outcome
from memassay.knowledge.similarity import similar_pages
from memassay.knowledge.snapshot import Snapshot
from memassay.retrieval.embedders import Embedder
from memassay.retrieval.vectors import SealedCache, VectorCache

PLACE = ".memassay"

_DEFAULTS = Settings()
_NO_BUDGET = 1 << 40

# From a question to passages, best first, and a score for every passage of the snapshot.
Ranker = Callable[[Snapshot, str], tuple[Sequence[int], NDArray[np.floating]]]


class KnowledgeStore:
    """An open store. Threads may share it; edits take turns. Make one with :meth:`open`."""

    def __init__(self, folder: Folder, index: Index, place: Path, *, writable: bool) -> None:
        self.folder, self.writable, self._place = folder, writable, place
        self._index, self._watch = index, Watch(folder)
        self._lock = threading.RLock()
        self._library = Holdings(index.snapshot)
        self.finder: Finder = Finder(index.indexing.terms)
        self._held: int | None = None

    @classmethod
    def open(
        cls,
        root: Path,
        *,
        writable: bool = False,
        index: Path | None = None,
        settings: Settings = _DEFAULTS,
        refresh: bool = True,
    ) -> KnowledgeStore:
        """Open a folder of pages.

        Args:
            root: the folder.
            writable: whether pages may be edited; one process at a time may.
            index: where the index is kept. Without it that is ``.memassay`` in the folder, which only a writable store
                creates or changes: another one reads it if it is there and, where it is missing or behind, goes on with
                an index in memory.
            settings: what the index is made with; an index with other settings is made anew.
            refresh: take over what was edited since the index was last written. Without it the index is taken as it is,
                if there is one.

        Raises:
            UsageError: there is no such folder.
            EnvironmentProblem: another process has the store open for writing, or the folder cannot be written.
        """
        folder = Folder(root)
        place, given = (root / PLACE, False) if index is None else (index, True)
        held = held_for_editing(root) if writable else None
        try:
            if writable:
                folder.recover()
            try:
                return cls._filled(folder, place, settings, writable, given, refresh, held)
            except DAMAGE:
                # An index can always be made again from the pages; one that cannot be written is left as it is.
                if writable:
                    Index.destroy(place)
                    return cls._filled(folder, place, settings, writable, given, True, held)
                store = cls(folder, Index.private(settings), place, writable=False)
                store.refresh()
                return store
        except BaseException:
            if held is not None:
                os.close(held)
            raise

    @classmethod
    def _filled(
        cls,
        folder: Folder,
        place: Path,
        settings: Settings,
        writable: bool,
        given: bool,
        refresh: bool,
        held: int | None,
    ) -> KnowledgeStore:
        opened, fresh = opened_index(place, settings, writable, given)
        try:
            store = cls(folder, opened, place, writable=writable)
            if refresh or fresh:
                store.refresh()
        except BaseException:
            opened.close()
            raise
        store._held = held
        return store

    def close(self) -> None:
        """Close the index, and let others edit the pages."""
        self._index.close()
        held, self._held = self._held, None
        if held is not None:
            os.close(held)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- following -------------------------------------------------------------------------------------------------

    @property
    def snapshot(self) -> Snapshot:
        """The index as it is now."""
        return self._index.snapshot

    @property
    def library(self) -> Holdings:
        """The pages as they are now, for views and queries."""
        library, snapshot = self._library, self._index.snapshot
        if library.snapshot is not snapshot:
            library = self._library = Holdings(snapshot)
        return library

    def key(self, given: str) -> str:
        """The key that is meant; it may be given with ``.md`` wherever a key is asked for."""
        return meant(given, self.library)

    def terms(self, text: str) -> list[str]:
        """The terms of a question, as the snapshot takes them."""
        return self._index.indexing.terms(text)

    def refresh(self, keys: Iterable[str] | None = None) -> bool:
        """Take over what was edited outside, and what another process wrote to the index.

        Args:
            keys: look at these pages only; without them at every file of the folder (5 microseconds a page).

        Returns:
            Whether anything changed.
        """
        with self._lock:
            before = self._index.snapshot.version
            self._index.refresh()
            files = self._watch.files(keys, sweep=self.writable)
            drift = self._watch.drift(files, self._index.marks(None if keys is None else list(files)))
            if drift.changed or drift.removed:
                if not self._index.writable:
                    self._index.separate()
                self._index.update(drift.changed, self._watch.read, drift.removed)
            if drift.touched and self._index.writable:
                self._index.touch(drift.touched)
            else:
                self._watch.keep(drift.touched)
            return self._index.snapshot.version != before

    def embed_with(self, model: Embedder, progress: Progress = unseen) -> NearFinder:
        """Let an embedding model help searches to find their seeds from now on; it embeds when first asked.

        Vectors are kept beside the index, by the digest of what was embedded, and never again computed, if the store
        keeps its index up to date. A store that is only read takes those that are there, and writes nothing.

        Args:
            model: see :func:`memassay.retrieval.embedders.embedder`.
            progress: called with (done, total) while texts are embedded.
        """
        keeps = self._index.writable and self._index.shared
        cache = VectorCache(self._place) if keeps else SealedCache(self._place)
        self.finder = NearFinder(self.terms, model, cache, progress)
        return self.finder

    def rebuild(self) -> None:
        """Make the index anew from the pages."""
        with self._lock:
            if not self._index.writable:
                self._index.separate()
            self._index.clear()
            self.refresh()
            self._index.compact()

    # -- asking ----------------------------------------------------------------------------------------------------

    def search(
        self,
        text: str,
        *,
        limit: int | None = None,
        max_tokens: int | None = None,
        rank: Ranker | None = None,
        grain: Grain = "passage",
        heads: bool = False,
        overflow: Overflow = "stop",
    ) -> Packing:
        """The passages, sections or pages that answer a question, as many as fit.

        Args:
            text: the question.
            limit: the most passages that are looked at; None has no limit.
            max_tokens: what the pieces may take when rendered, in tokens of the index; None has no limit. Passages that
                would begin beyond some twice as much are not looked at, and are not among those left out.
            rank: what orders the passages: :attr:`finder`, which follows links and mentions, if None.
            grain: what is shown for a passage that answers.
            heads: see :func:`memassay.knowledge.packing.pack`.
            overflow: see :func:`memassay.knowledge.packing.pack`.
        """
        snapshot = self.snapshot
        bounded = max_tokens is not None and overflow == "stop"
        # A passage takes four tokens at the least, with its number: more than this many can never be shown.
        most = max_tokens // 4 + 1 if bounded and max_tokens is not None else None
        passages, scores = self.finder(snapshot, text, most) if rank is None else rank(snapshot, text)
        every = passages if limit is None else passages[:limit]
        budget = _NO_BUDGET if max_tokens is None else max_tokens

        def packed(passages: Sequence[int]) -> Packing:
            return packing.pack(
                snapshot,
                (candidate(snapshot, int(passage), grain) for passage in passages),
                budget,
                scores=scores,
                heads=heads,
                overflow=overflow,
                terms=self.terms(text),
                analyze=self.terms,
            )

        near = packing.near_enough(snapshot, every, budget) if bounded else every
        found = packed(near)
        return found if found.left_out or len(near) == len(every) else packed(every)

    def lexical(self, snapshot: Snapshot, text: str) -> tuple[list[int], NDArray[np.floating]]:
        """Passages that share a term with a text, by their BM25 score, ties by key and place."""
        scores = snapshot.scores(self.terms(text))
        matched = np.flatnonzero(scores > 0)
        order: list[int] = matched[np.argsort(-scores[matched], kind="stable")].tolist()
        return order, scores

    def ranked(self, text: str) -> list[str]:
        """The keys of pages that share a term with a text, by their best passage, ties by key."""
        snapshot = self.snapshot
        pages = snapshot.page_of[self.lexical(snapshot, text)[0]].tolist()
        return [snapshot.key(page) for page in dict.fromkeys(pages)]

    def find(self, **options: Any) -> Listing:
        """Pages as their fields; the options of :func:`memassay.knowledge.views.find`, words ranked by the index."""
        named = {name: self.key(options[name]) for name in ("refs_to", "refs_from") if options.get(name) is not None}
        return views.find(self.library, rank=self.ranked, **options | named)

    def retrieve(self, seeds: Sequence[str], **options: Any) -> Listing:
        """Whole pages with their links; the options of :func:`memassay.knowledge.views.retrieve`."""
        left_out = [self.key(key) for key in options.pop("exclude", ())]
        return views.retrieve(self.library, [self.key(key) for key in seeds], exclude=left_out, **options)

    def tree(self, keys: Iterable[str] | None = None, depth: int = 4, fields: Fields | None = None) -> list[Item]:
        """Pages and what they include; see :func:`memassay.knowledge.outlines.tree`."""
        return outlines.tree(self.library, None if keys is None else [self.key(key) for key in keys], depth, fields)

    def squash(self, key: str, depth: int = 2) -> str:
        """A page and what it includes as one text; see :func:`memassay.knowledge.outlines.squash`."""
        return outlines.squash(self.library, self.key(key), depth)

    def stats(
        self,
        key: str | None = None,
        *,
        keys: Iterable[str] | None = None,
        similar: bool = True,
        threshold: float = 0.85,
    ) -> Item:
        """Figures of one page, of some pages, or of all; see :mod:`memassay.knowledge.census`.

        Args:
            key: the page, or None.
            keys: without ``key``, the pages that are counted; all of them if None.
            similar: look for pages that say the same (some milliseconds a page).
            threshold: from which likeness on, 0 to 1.
        """
        library = self.library
        alike = partial(similar_pages, library.snapshot) if similar else None
        if key is None:
            return census.stats(library, keys, similar=alike, threshold=threshold, broken=self._broken)
        return census.page_stats(library, self.key(key), similar=alike, threshold=threshold, broken=self._broken)

    def table(self, keys: Iterable[str] | None = None) -> list[Item]:
        """A row of figures for every page, or for some; see :func:`memassay.knowledge.census.table`."""
        return census.table(self.library, self.library.keys() if keys is None else keys)

    def _broken(self, page: Page) -> bool:
        """Whether the file of a page is not UTF-8: only then does its text have marks of what could not be read."""
        source = self.folder.read(page.key) if "\ufffd" in page.text else None
        return source is not None and source.invalid is not None

    # -- editing ---------------------------------------------------------------------------------------------------

    def create(self, key: str, text: str, *, if_exists: Literal["fail", "skip"] = "fail") -> bool:
        """Write a new page; whether it was written.

        Raises:
            UsageError: it exists and ``if_exists`` is ``fail``, or the key or the text cannot be written.
        """
        with self._lock:
            key = self.key(key)
            self.refresh([checked(key)])
            if if_exists == "skip" and key in self.library:
                return False
            self.apply([Change(key, None, text)])
            return True

    def update(self, key: str, text: str) -> Change:
        """Write a page anew, whole.

        Raises:
            UsageError: there is no such page.
            DataError: its file is not UTF-8, or the text cannot be.
        """
        with self._lock:
            key = self.key(key)
            self.refresh([checked(key)])
            change = Change(key, page_of(self.library, key).text, text)
            self.apply([change])
            return change

    def delete(self, *keys: str, dry_run: bool = False) -> list[Change]:
        """Take pages away, and the links to them; see :func:`memassay.knowledge.edits.deleted`."""
        with self._lock:
            self.refresh()
            return self.apply(edits.deleted(self.library, [self.key(key) for key in keys]), dry_run=dry_run)

    def rename(self, old: str, new: str, *, dry_run: bool = False) -> list[Change]:
        """Give a page another key and keep every link right; see :func:`memassay.knowledge.edits.renamed`."""
        with self._lock:
            self.refresh()
            return self.apply(edits.renamed(self.library, self.key(old), self.key(new)), dry_run=dry_run)

    def query(
        self, operation: str, document: str | Mapping[str, Any], *, strict: bool = False, dry_run: bool = False
    ) -> Outcome:
        """Answer a query, and write what it changes; see :func:`memassay.knowledge.query.run`.

        Args:
            operation: ``find``, ``count``, ``update`` or ``delete``.
            document: the query in YAML, or as a mapping.
            strict: an update or a delete must say how many pages it expects to meet.
            dry_run: write nothing.
        """
        with self._lock:
            outcome = query.run(self.library, operation, document, rank=self.ranked, strict=strict)
            if outcome.changes:
                self.apply(outcome.changes, dry_run=dry_run)
            return outcome

    def apply(self, changes: Sequence[Change], *, dry_run: bool = False) -> list[Change]:
        """Write changes that were worked out on :attr:`library`; see :meth:`memassay.knowledge.folder.Folder.apply`.

        Raises:
            UsageError: the store was opened to be read, or a page is there already.
            DataError: a page is not what it was when the change was worked out, or cannot be written as UTF-8.
        """
        if not dry_run:
            if not self.writable:
                raise UsageError("This store was opened to be read; open it for writing to edit it.")
            with self._lock:
                try:
                    self.folder.apply(changes)
                finally:
                    self.refresh([change.key for change in changes])
        return list(changes)
