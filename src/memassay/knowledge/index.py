"""The index of a folder of pages: on disk, following edits one by one, open to many readers and one writer.

``Index.open(folder, settings, writable=) -> Index``, ``Index.private(settings)``; ``index.snapshot -> Snapshot``;
``index.update(changed, read, removed)``, ``index.refresh() -> bool`` (what another process committed),
``index.compact()``, ``index.clear()``, ``index.close()``.

The catalog is the truth. Beside it stands the *base*, arrays compiled from it, under the number of its generation; what
changed since is compiled when a snapshot is taken, and when that is much, a new base is made. Whatever is missing or
damaged is made again from the catalog, and the catalog from the pages, with equal results.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple, TypeVar

import numpy as np

from memassay.core.errors import EnvironmentProblem, MemassayError
from memassay.knowledge import postings
from memassay.knowledge.archive import Stored
from memassay.knowledge.catalog import Catalog, View, stamp
from memassay.knowledge.cycles import UNCOLLECTED
from memassay.knowledge.entries import Indexing, Settings
from memassay.knowledge.links import Resolver, tail
from memassay.knowledge.pages import parse
from memassay.knowledge.postings import Segment, compiled
from memassay.knowledge.snapshot import Snapshot
from memassay.knowledge.transaction import Counters, Mark, Transaction

# Pages committed at a time, and pages read and indexed at a time.
_BATCH, _TOGETHER = 2_000, 200
# A new base is made when this many pages changed since the last one: at least these, else twice the root of the number
# of pages. An edit costs in proportion to the pages that changed (10 us each), a new base to all (12 us each).
_LEAST_FRESH = 200

LOCK = "lock"
_TRIES = 5

Answer = TypeVar("Answer")


class Incoming(NamedTuple):
    """A page as it was read: size and time of change of its file, and when it was read, in nanoseconds."""

    text: str
    size: int = 0
    mtime: int = 0
    seen: int = 0


class Index:
    """An open index. Threads may share it; changes take turns, snapshots never wait."""

    def __init__(self, catalog: Catalog, folder: Path | None, settings: Settings, lock: IO[str] | None = None) -> None:
        self.settings, self.indexing = settings, Indexing(settings)
        self._catalog, self._folder, self._held = catalog, folder, lock
        self._lock = threading.RLock()
        self._living: weakref.WeakSet[Snapshot] = weakref.WeakSet()
        self._resolver: Resolver | None = None
        self._stamp = (False, 0, 0)
        self._base, self._by_id, self._generation = _EMPTY, _EMPTY.ids, 0
        self._snapshot = self._taken()
        if lock is not None and self._generation < 0:
            self.compact()

    # -- opening ---------------------------------------------------------------------------------------------------

    @classmethod
    def write(cls, folder: Path, settings: Settings) -> Index:
        """Open an index to change it, alone; it is created, or begun anew if it is damaged or of other settings.

        Raises:
            EnvironmentProblem: another process has it open to change it, or the folder cannot be written.
        """
        held = _locked(folder)
        try:
            for last in (False, True):
                catalog = Catalog.write(folder, settings.identity())
                try:
                    return cls(catalog, folder, settings, held)
                except sqlite3.DatabaseError as error:
                    catalog.close()
                    if last:
                        raise EnvironmentProblem(f"The index in {folder} cannot be used ({error}).") from error
                    Catalog.destroy(folder)
            raise AssertionError  # the second time round has returned or raised
        except BaseException:
            held.close()
            raise

    @classmethod
    def read(cls, folder: Path, settings: Settings) -> Index | None:
        """Open an index to read it, or None where there is none with these settings that can be read."""
        before = stamp(folder)
        catalog = Catalog.read(folder, settings.identity())
        if catalog is None:
            return None
        try:
            index = cls(catalog, folder, settings)
        except sqlite3.DatabaseError:
            catalog.close()
            return None
        index._stamp = before
        return index

    @staticmethod
    def destroy(folder: Path) -> None:
        """Take away an index that is damaged; nobody may have it open."""
        Catalog.destroy(folder)
        for base in folder.glob("base-*"):
            base.unlink(missing_ok=True)

    @classmethod
    def private(cls, settings: Settings) -> Index:
        """An empty index in the memory of this process."""
        return cls(Catalog.private(settings.identity()), None, settings)

    @property
    def writable(self) -> bool:
        """Whether :meth:`update` may be called."""
        return self._folder is None or self._held is not None

    @property
    def shared(self) -> bool:
        """Whether it is on disk, where other processes see it."""
        return self._folder is not None

    def separate(self) -> None:
        """Go on with a copy in the memory of this process, which can be changed."""
        with self._lock:
            catalog = Catalog.private(self.settings.identity(), copied=self._catalog)
            old, self._catalog, self._folder = self._catalog, catalog, None
            old.close()

    def close(self) -> None:
        """Close the files. Snapshots can still be scored, but not asked for texts."""
        with self._lock:
            self._catalog.close()
            if self._held is not None:
                self._held.close()
                self._held = None

    # -- reading ---------------------------------------------------------------------------------------------------

    @property
    def snapshot(self) -> Snapshot:
        """The index as it was at the last change, or at the last :meth:`refresh`."""
        return self._snapshot

    def refresh(self) -> bool:
        """Take over what another process committed; whether there was anything.

        Raises:
            EnvironmentProblem: the index was deleted, or begun anew with other settings.
        """
        with self._lock:
            self._reopened()
            if self._catalog.version() == self._snapshot.version:
                return False
            self._snapshot = self._taken()
            return True

    def marks(self, keys: Iterable[str] | None = None) -> dict[str, Mark]:
        """By what pages are known to be unchanged: those with these keys that the index holds, or all."""
        with self._catalog.view() as view:
            return view.marks(keys)

    def stored(self, page: int) -> Stored:
        """What the catalog holds of a page of this number (snapshots ask for it)."""
        kept = self._catalog.kept(page)
        return kept if kept is not None else self._asked(lambda catalog: catalog.stored(page))

    def term_ids(self, terms: Sequence[str]) -> list[int]:
        """The numbers of terms, or -1 (snapshots ask for it)."""
        return self._asked(lambda catalog: catalog.term_ids(terms))

    def node_keys(self, nodes: Sequence[int]) -> list[str]:
        """The keys of nodes (snapshots ask for it)."""
        return self._asked(lambda catalog: catalog.node_keys(nodes))

    def node_of(self, key: str) -> int:
        """The node of a key, or -1 (snapshots ask for it)."""
        return self._asked(lambda catalog: catalog.node_of(key))

    def _asked(self, question: Callable[[Catalog], Answer]) -> Answer:
        self._reopened()
        try:
            return question(self._catalog)
        except sqlite3.DatabaseError:  # the catalog was exchanged, or its file changed, while it was asked
            self._reopened()
            return question(self._catalog)

    def _reopened(self) -> None:
        """A reader that took the file for unchanging opens it again once a writer has come, or come and gone."""
        if self._folder is None or self.writable:
            return
        now = stamp(self._folder)
        if now == self._stamp or (now[0] and self._stamp[0]):
            return
        with self._lock:
            catalog = Catalog.read(self._folder, self.settings.identity())
            if catalog is None:
                raise EnvironmentProblem(
                    f"The index in {self._folder} is gone, or was made anew with other settings; open the store again."
                )
            old, self._catalog, self._stamp = self._catalog, catalog, now
            old.close()

    def _taken(self) -> Snapshot:
        for _ in range(_TRIES):  # a base can be taken away by two compactions before it is read
            with self._catalog.view() as view:
                counters = view.counters
                if self._find_base(counters):
                    return self._made(view, counters.base_version, counters.base_top)
        with self._catalog.view() as view:
            self._use(_EMPTY, -1)
            return self._made(view, view.counters.version, 0)

    def _find_base(self, counters: Counters) -> bool:
        if counters.generation != self._generation:
            if not counters.base_top:
                self._use(_EMPTY, counters.generation)
            elif self._folder is None:
                return False
            else:
                try:
                    self._use(postings.load(_arrays(self._folder, counters.generation)), counters.generation)
                except (OSError, ValueError, KeyError):
                    return False
        return True

    def _use(self, base: Segment, generation: int) -> None:
        self._base, self._generation = base, generation
        self._by_id = np.argsort(base.ids, kind="stable")

    def _made(self, view: View, since: int, top: int) -> Snapshot:
        counters = view.counters
        fresh = compiled(view.alive(after=top), terms=counters.terms, nodes=counters.nodes)
        dead = view.died(since, top)
        ids = np.array([page for page, _ in dead], dtype=np.int64)
        gone = self._by_id[np.searchsorted(self._base.ids, ids, sorter=self._by_id)]
        held = postings.terms_held([data for _, data in dead])
        made = Snapshot((self._base, fresh), gone, held, self, counters.version, self.settings.tokens)
        self._living.add(made)
        return made

    # -- changing --------------------------------------------------------------------------------------------------

    def update(
        self, changed: Sequence[str], read: Callable[[str], Incoming | None], removed: Sequence[str] = ()
    ) -> None:
        """Bring pages up to date.

        All of it is one transaction if it is at most 2,000 pages, else one for each 2,000; a process that dies in
        between leaves an index that holds some of the changes, and the same update made again holds them all.

        Args:
            changed: keys of new and changed pages, each once.
            read: reads one of them now; None if it is gone.
            removed: keys of pages that are no more.
        """
        with self._lock:
            try:
                self._updated(changed, read, removed)
            except BaseException:
                self._resolver = None
                with contextlib.suppress(MemassayError, sqlite3.Error):  # what went wrong first is what to tell
                    self.refresh()
                raise
            with self._catalog.view() as view:
                fresh = view.fresh()
            if fresh > max(_LEAST_FRESH, 2 * math.isqrt(len(self._base.ids))):
                self.compact()
            else:
                self.refresh()

    def touch(self, marks: Mapping[str, Mark]) -> None:
        """Note that files were read again and say the same."""
        with self._catalog.change() as change:
            change.touch(marks)

    def compact(self) -> None:
        """Make a new base of all pages; what died before the last one is forgotten, but for snapshots of this process.

        A snapshot of another process can still be scored after that, but has no texts of pages that changed twice ago.
        """
        with self._lock:
            with self._catalog.view() as view:
                counters = view.counters
                base = compiled(view.alive(), terms=counters.terms, nodes=counters.nodes)
            generation = counters.generation + 1
            if self._folder is not None:
                base = _kept(base, self._folder, generation)
            with self._catalog.change() as change:
                change.rebase(min((snapshot.version for snapshot in self._living), default=counters.version))
            self._use(base, generation)
            self._snapshot = self._taken()
            if self._folder is not None:
                _tidied(self._folder, generation)

    def clear(self) -> None:
        """Forget every page."""
        with self._lock:
            self._resolver = None
            self._catalog.clear(self.settings.identity())
            self._snapshot = self._taken()

    def _updated(self, changed: Sequence[str], read: Callable[[str], Incoming | None], removed: Sequence[str]) -> None:
        resolver = self._keys()
        created = [key for key in changed if key not in resolver]
        lost = [key for key in removed if key in resolver]
        for key in created:
            resolver.add(key)
        for key in lost:
            resolver.discard(key)
        tails = dict.fromkeys(map(tail, [*created, *lost]))
        batches = [changed[at : at + _BATCH] for at in range(0, len(changed), _BATCH)] or [[]]
        if len(batches) > 1:
            with self._catalog.change() as change:
                change.unsettle(tails)
        for number, batch in enumerate(batches):
            with UNCOLLECTED, self._catalog.change() as change:
                for start in range(0, len(batch), _TOGETHER):
                    keys = batch[start : start + _TOGETHER]
                    incoming = {key: page for key in keys if (page := read(key)) is not None}
                    self._put(change, incoming, resolver)
                    for key in keys:
                        if key not in incoming:
                            lost.append(key)
                            if key in resolver:
                                resolver.discard(key)
                                tails[tail(key)] = None
                if number == len(batches) - 1:
                    change.bury(lost)
                    self._relink(change, tails | dict.fromkeys(change.settle()), resolver)

    def _put(self, change: Transaction, incoming: Mapping[str, Incoming], resolver: Resolver) -> None:
        pages = [parse(key, page.text) for key, page in incoming.items()]
        entries = [self.indexing.entry(page, resolver.aim) for page in pages]
        marks = [
            Mark(page.size, page.mtime, page.seen, entry.digest)
            for entry, page in zip(entries, incoming.values(), strict=True)
        ]
        change.put(list(zip(entries, marks, strict=True)), self.indexing)

    def _relink(self, change: Transaction, tails: Iterable[str], resolver: Resolver) -> None:
        """Index anew the pages whose wiki links mean other pages now that pages of these names came or went."""
        for key, text, mark in change.wiki_pages(tails):
            page = parse(key, text)
            if self.indexing.edges(page, resolver.aim) != change.edges(key):
                change.put([(self.indexing.entry(page, resolver.aim), mark)], self.indexing)

    def _keys(self) -> Resolver:
        if self._resolver is None:
            with self._catalog.view() as view:
                self._resolver = Resolver(view.keys())
        return self._resolver


def _locked(folder: Path) -> IO[str]:
    """Hold the lock of an index; it goes with the process, however that ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        ignore = folder / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="ascii")
        held = (folder / LOCK).open("a", encoding="ascii")
    except OSError as error:
        raise EnvironmentProblem(f"The index {folder} cannot be written ({error.strerror}).") from error
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        held.close()
        raise EnvironmentProblem(
            f"Another process has {folder} open for writing; end it first, or open the store read-only."
        ) from None
    return held


def _arrays(folder: Path, generation: int) -> Path:
    return folder / f"base-{generation}.arrays"


def _kept(base: Segment, folder: Path, generation: int) -> Segment:
    """Write a base whole, or not at all, and map it."""
    place, unfinished = _arrays(folder, generation), folder / "base.part"
    try:
        postings.save(base, unfinished)
        unfinished.replace(place)
        return postings.load(place)
    except OSError as error:
        raise EnvironmentProblem(f"The index {folder} cannot be written ({error.strerror}).") from error


def _tidied(folder: Path, generation: int) -> None:
    """Take away every base but this one and the one before, which readers may be about to open."""
    kept = {_arrays(folder, number).name for number in (generation, generation - 1)}
    for path in folder.glob("base-*.arrays"):
        if path.name not in kept:
            path.unlink(missing_ok=True)


_EMPTY = compiled([], terms=0, nodes=0)
