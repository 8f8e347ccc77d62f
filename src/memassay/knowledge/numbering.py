"""Strings with numbers that never change, in a table of the catalog."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from itertools import count

from memassay.knowledge.strings import decoded, encoded

_AT_ONCE = 500


class Numbered:
    """Strings with numbers from 0, as they are first met. ``known`` are those that this process has met."""

    def __init__(self, db: sqlite3.Connection, table: str) -> None:
        self._db, self._table = db, table
        self.known: dict[str, int] = {}
        self._count = -1

    def __len__(self) -> int:
        if self._count < 0:
            (self._count,) = self._db.execute(f"SELECT COALESCE(MAX(id) + 1, 0) FROM {self._table}").fetchone()
        return self._count

    def learn(self, texts: Iterable[str]) -> None:
        """Know these strings; new ones get the next numbers, in their order."""
        known = self.known
        unknown = [text for text in dict.fromkeys(texts) if text not in known]
        first = len(self)
        if unknown and len(known) < first:
            known.update(found(self._db, self._table, unknown))
            unknown = [text for text in unknown if text not in known]
        self._db.executemany(f"INSERT INTO {self._table} VALUES (?, ?)", zip(count(first), map(encoded, unknown)))
        known.update(zip(unknown, count(first)))
        self._count = first + len(unknown)

    def forget(self) -> None:
        """What was learnt may have been rolled back."""
        self.known.clear()
        self._count = -1


def found(db: sqlite3.Connection, table: str, texts: Sequence[str]) -> dict[str, int]:
    """The numbers of those strings that have one."""
    known = {}
    for start in range(0, len(texts), _AT_ONCE):
        some = [encoded(text) for text in texts[start : start + _AT_ONCE]]
        marks = ",".join("?" * len(some))
        for number, text in db.execute(f"SELECT id, text FROM {table} WHERE text IN ({marks})", some):
            known[decoded(text)] = number
    return known
