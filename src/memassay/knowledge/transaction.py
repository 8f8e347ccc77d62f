"""What changes a catalog: pages that come, change and go, in one transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from memassay.knowledge.entries import Entry, Indexing
from memassay.knowledge.numbering import Lexicon, Nodes, asked, found
from memassay.knowledge.postings import Edge, Figures, Numbers, numbers
from memassay.knowledge.strings import decoded, encoded


class Counters(NamedTuple):
    """Where an index stands.

    Attributes:
        version: grows by one with every commit that changes a page.
        top, terms, nodes: how many rows, terms and nodes have been numbered.
        generation: number of the base.
        base_version, base_top: version and top when the base was made; ``base_top`` is 0 while there is none.
    """

    version: int
    top: int
    terms: int
    nodes: int
    generation: int
    base_version: int
    base_top: int


class Mark(NamedTuple):
    """By what a page is known to be unchanged: size and time of its file, when it was read, digest of its text."""

    size: int
    mtime: int
    seen: int
    digest: str


def counters_of(db: sqlite3.Connection) -> Counters:
    """Where the index stands now."""
    about = dict(db.execute("SELECT name, value FROM about"))
    return Counters(*(about[name] for name in Counters._fields))


class Transaction:
    """What a transaction does."""

    def __init__(self, db: sqlite3.Connection, terms: Lexicon, nodes: Nodes, counters: Counters) -> None:
        self._db, self._terms, self._nodes = db, terms, nodes
        self._counters = counters
        self._top = counters.top
        self._changed = False

    def put(self, entries: Sequence[tuple[Entry, Mark]], indexing: Indexing) -> None:
        """Keep pages, each in place of the one with its key that was alive; ``indexing`` made the entries."""
        titles = self._terms.read((entry.title for entry, _ in entries), indexing.terms_of)
        passages = self._terms.read((text for entry, _ in entries for text in entry.texts), indexing.terms_of)
        old = len(self._nodes)
        self._nodes.learn([key for entry, _ in entries for key in (entry.page.key, *(edge[0] for edge in entry.edges))])
        node_of = self._nodes.known
        figures = [
            Figures(
                entry.shapes,
                [Edge(node_of[key], kind, passage) for key, kind, passage in entry.edges],
            )
            for entry, _ in entries
        ]
        data = numbers(figures, titles, passages)
        pages, texts = [], []
        wiki: list[tuple[bytes, int]] = []
        for (entry, mark), packed in zip(entries, data, strict=True):
            self._top += 1
            page, node = entry.page, node_of[entry.page.key]
            title = None if page.title is None else encoded(page.title)
            pages.append(
                (self._top, node, mark.size, mark.mtime, mark.seen, entry.digest, title, _lines(entry.names), packed)
            )
            front = json.dumps(page.front) if page.front else "{}"
            texts.append((self._top, front, _lines(entry.heads), encoded(page.text)))
            wiki.extend((encoded(tail), node) for tail in entry.tails)
        self._bury([page[1] for page in pages if page[1] < old])
        self._db.executemany("INSERT INTO pages VALUES (?, ?, NULL, ?, ?, ?, ?, ?, ?, ?)", pages)
        self._db.executemany("INSERT INTO texts VALUES (?, ?, ?, ?)", texts)
        self._db.executemany("INSERT OR IGNORE INTO wiki VALUES (?, ?)", wiki)
        self._changed = self._changed or bool(pages)

    def bury(self, keys: Sequence[str]) -> None:
        """These pages are no more."""
        known = found(self._db, keys)
        self._bury([known[key] for key in keys if key in known])

    def _bury(self, nodes: Sequence[int]) -> None:
        version = self._counters.version + 1
        cursor = self._db.executemany(
            "UPDATE pages SET died = ? WHERE died IS NULL AND node = ?", [(version, node) for node in nodes]
        )
        self._changed = self._changed or cursor.rowcount > 0

    def touch(self, marks: Mapping[str, Mark]) -> None:
        """Files that were read again and say the same."""
        self._db.executemany(
            "UPDATE pages SET size = ?, mtime = ?, seen = ? WHERE died IS NULL "
            "AND node = (SELECT id FROM nodes WHERE text = ?)",
            [(mark.size, mark.mtime, mark.seen, encoded(key)) for key, mark in marks.items()],
        )

    def wiki_pages(self, tails: Iterable[str]) -> list[tuple[str, str, Mark]]:
        """Pages with a wiki link that may mean a page with such a last segment: key, text, mark; ascending by key."""
        pages: dict[str, tuple[str, str, Mark]] = {}
        rows = (
            "SELECT nodes.text, texts.text, size, mtime, seen, digest FROM wiki JOIN nodes ON nodes.id = wiki.node "
            "JOIN pages ON pages.node = wiki.node AND died IS NULL JOIN texts ON texts.id = pages.id WHERE tail IN"
        )
        for key, text, *mark in asked(self._db, rows, tails):
            pages[decoded(key)] = (decoded(key), decoded(text), Mark(*mark))
        return [pages[key] for key in sorted(pages)]

    def unsettle(self, tails: Iterable[str]) -> None:
        """Pages of these names come or go, and wiki links are yet to be looked at: to be remembered if we die."""
        self._db.executemany("INSERT OR IGNORE INTO unsettled VALUES (?)", [(encoded(tail),) for tail in tails])

    def settle(self) -> list[str]:
        """The names that were unsettled, ascending; they are no more when this transaction ends."""
        tails = [decoded(tail) for (tail,) in self._db.execute("SELECT tail FROM unsettled ORDER BY tail")]
        self._db.execute("DELETE FROM unsettled")
        return tails

    def edges(self, key: str) -> list[tuple[str, int, int]]:
        """The links of a page that is alive, as in :class:`memassay.knowledge.entries.Entry`."""
        (data,) = self._db.execute(
            "SELECT numbers FROM pages JOIN nodes ON nodes.id = node AND died IS NULL WHERE nodes.text = ?",
            (encoded(key),),
        ).fetchone()
        held = Numbers(data)
        keys = [
            decoded(self._db.execute("SELECT text FROM nodes WHERE id = ?", (node,)).fetchone()[0])
            for node in held.edge_nodes.tolist()
        ]
        return list(zip(keys, held.edge_kinds.tolist(), held.edge_passages.tolist(), strict=True))

    def rebase(self, oldest: int) -> None:
        """A new base holds all that is alive.

        What died before the last base is forgotten, unless somebody here still reads version ``oldest`` or a later one.
        """
        old = self._counters
        forgotten = min(old.base_version, oldest)
        self._db.execute("DELETE FROM texts WHERE id IN (SELECT id FROM pages WHERE died <= ?)", (forgotten,))
        self._db.execute("DELETE FROM pages WHERE died <= ?", (forgotten,))
        self._counters = old._replace(generation=old.generation + 1, base_version=old.version, base_top=old.top)

    def finish(self) -> None:
        """Write the counters."""
        made = self._counters._replace(top=self._top, terms=len(self._terms), nodes=len(self._nodes))
        if self._changed:
            made = made._replace(version=made.version + 1)
        self._db.executemany(
            "UPDATE about SET value = ? WHERE name = ?", [(value, name) for name, value in made._asdict().items()]
        )


def _lines(texts: Iterable[str]) -> bytes:
    # A title or a heading never holds a line end (its words are joined by single blanks).
    return encoded("\n".join(texts))
