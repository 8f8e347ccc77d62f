"""Strings with numbers that never change: keys of pages, and terms; and texts as the numbers of their terms."""

from __future__ import annotations

import sqlite3
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, chain, count, islice
from typing import Any

import numpy as np

from memassay.knowledge.postings import Said, ranges
from memassay.knowledge.strings import decoded, encoded
from memassay.retrieval.text import END, pieces

_AT_ONCE = 500
# Pieces of text remembered at most: some 70 MB.
_MOST = 500_000


class Nodes:
    """Keys with numbers from 0, as they are first met. ``known`` are those that this process has met."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.known: dict[str, int] = {}
        self._count = -1

    def __len__(self) -> int:
        if self._count < 0:
            (self._count,) = self._db.execute("SELECT COALESCE(MAX(id) + 1, 0) FROM nodes").fetchone()
        return self._count

    def learn(self, keys: Iterable[str]) -> None:
        """Know these keys; new ones get the next numbers, in their order."""
        known = self.known
        unknown = [key for key in dict.fromkeys(keys) if key not in known]
        first = len(self)
        if unknown and len(known) < first:
            known.update(found(self._db, unknown))
            unknown = [key for key in unknown if key not in known]
        self._db.executemany("INSERT INTO nodes VALUES (?, ?)", zip(count(first), map(encoded, unknown)))
        known.update(zip(unknown, count(first)))
        self._count = first + len(unknown)

    def forget(self) -> None:
        """What was learnt may have been rolled back."""
        self.known.clear()
        self._count = -1


class Terms:
    """All terms of a catalog and their numbers, as far as a connection sees them.

    They are kept as they came, many in a row, without an index: to read 100,000 of them takes 30 ms, once in a process,
    and a row for each and an index took a fifteenth of a build.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.known: dict[str, int] = {}

    def catch_up(self) -> None:
        """Know what was added since."""
        rows = self._db.execute("SELECT texts FROM terms WHERE first >= ? ORDER BY first", (len(self.known),))
        for (texts,) in rows:
            self._number(decoded(texts).split("\n"))

    def add(self, texts: Iterable[str]) -> None:
        """Give those that are new the next numbers, in their order; all others must be known."""
        known = self.known
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            self._db.execute("INSERT INTO terms VALUES (?, ?)", (len(known), encoded("\n".join(new))))
            self._number(new)

    def _number(self, new: list[str]) -> None:
        self.known.update(zip(new, count(len(self.known))))


class Lexicon:
    """From texts to the numbers of their terms, with one look for every piece of text that was met before."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.forget()

    def __len__(self) -> int:
        """How many terms there are."""
        return len(self._complete().known)

    def read(self, texts: Iterable[str], terms_of: Callable[[Iterable[bytes]], list[tuple[str, ...]]]) -> Said:
        """The terms of texts; new ones get the next numbers.

        Args:
            texts: in order.
            terms_of: :meth:`memassay.retrieval.text.Analyzer.terms_of`, the same every time.
        """
        if len(self._pieces) > _MOST:
            self._forget_pieces()
        found, known = pieces(texts), self._pieces
        before = len(known)
        piece = np.fromiter(map(known.__getitem__, found), dtype=np.int64, count=len(found))
        held = terms_of(list(islice(reversed(known), len(known) - before))[::-1])
        terms = self._complete()
        terms.add(chain.from_iterable(held))
        self._held.extend(map(terms.known.__getitem__, chain.from_iterable(held)))
        self._ends.extend(accumulate(map(len, held), initial=self._ends.pop()))
        ends = np.frombuffer(self._ends, dtype=np.int64)
        starts, counts = ends[piece], ends[piece + 1] - ends[piece]
        numbers = np.frombuffer(self._held, dtype=np.int64)[ranges(starts, counts)]
        return Said(numbers, np.diff(np.cumsum(counts)[piece == 0], prepend=0))

    def forget(self) -> None:
        """What was learnt may have been rolled back."""
        self._terms: Terms | None = None
        self._forget_pieces()

    def _forget_pieces(self) -> None:
        # Every piece has a number, in the order in which they are met, and its terms stand between two ends.
        self._pieces: defaultdict[bytes, int] = defaultdict(count(1).__next__, {END: 0})
        self._held, self._ends = array("q"), array("q", (0, 0))

    def _complete(self) -> Terms:
        if self._terms is None:
            self._terms = Terms(self._db)
            self._terms.catch_up()
        return self._terms


def found(db: sqlite3.Connection, keys: Iterable[str]) -> dict[str, int]:
    """The nodes of those keys that have one."""
    return {decoded(key): node for key, node in asked(db, "SELECT text, id FROM nodes WHERE text IN", keys)}


def asked(db: sqlite3.Connection, question: str, texts: Iterable[str]) -> Iterator[tuple[Any, ...]]:
    """The rows of a question that ends in ``IN``, asked about many texts at a time."""
    asking = iter(texts)
    while some := [encoded(text) for text in islice(asking, _AT_ONCE)]:
        yield from db.execute(f"{question} ({','.join('?' * len(some))})", some)
