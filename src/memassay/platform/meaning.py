"""What texts mean: vectors of a workspace's texts, and which of its rows are near one.

The vectors of a table stand in one matrix in memory, in blocks. It follows the file by itself: before every question it
reads the rows that changed since it last looked, which covers writes of this process, of others, and a restored
snapshot. So a million vectors are read once, not per question. What it says about who may see a row is a first sieve;
whoever asks reads the rows again from the file and decides.
"""

from __future__ import annotations

import functools
import itertools
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from memassay.retrieval.embedders import Embedder, Vectors, embedder

Owners = NDArray[np.int32]
States = NDArray[np.uint8]
Mask = NDArray[np.bool_]

# Rows of a block: 1.5 MB at 384 numbers, which stays in the processor's cache. On a busy machine of two cores a million
# rows took 0.13 s of its time so, and 0.4 s in blocks of 16,384, which BLAS divides among threads that wait.
_BLOCK = 1_024
# Where more of a block than this is wanted, all of it is compared; otherwise the wanted rows are gathered first.
_DENSE = 0.25
_FETCHED = 8_192

# Texts whose vectors are remembered: 6 MB at 384 numbers.
_REMEMBERED = 4_096


class Meaning:
    """Vectors by text and by row, made by one embedder; without an embedder nothing is near anything.

    Args:
        name: of an embedder, or ``none``.
        tables: the tables with vectors; each maps to SQL for the two small numbers that a question is sieved by, owner
            and state.

    Attributes:
        embedder: or None.
    """

    def __init__(self, name: str, tables: Mapping[str, tuple[str, str]]) -> None:
        self.embedder: Embedder | None = None if name == "none" else _shared(name)
        self._indexes: dict[str, VectorIndex] = {}
        if self.embedder is not None:
            self._made, self._lock = _remembered(name)
            for table, (owner, state) in tables.items():
                self._indexes[table] = VectorIndex(table, owner, state, self.model, self.embedder.dimension)

    @property
    def model(self) -> str:
        """The embedder in short, as it stands beside a vector in the file."""
        return "" if self.embedder is None else self.embedder.digest[:16]

    def of(self, text: str) -> Vectors:
        """The vector of a text; the last few are remembered, so it can be made before a lock is taken."""
        if self.embedder is None:
            return np.zeros(0, dtype=np.float32)
        with self._lock:
            if text in self._made:
                self._made.move_to_end(text)
                return self._made[text]
        vector: Vectors = self.embedder.embed([text])[0]
        with self._lock:
            self._made[text] = vector
            while len(self._made) > _REMEMBERED:
                self._made.popitem(last=False)
        return vector

    def put(self, con: sqlite3.Connection, table: str, seq: int, text: str) -> None:
        """Keep the vector of a row's text; the row's ``updated`` must change in the same transaction."""
        if self.embedder is not None:
            blob = np.ascontiguousarray(self.of(text), dtype="<f4").tobytes()
            con.execute(f"INSERT OR REPLACE INTO {table}_vectors VALUES (?, ?, ?)", (seq, self.model, blob))

    def near(
        self,
        con: sqlite3.Connection,
        table: str,
        text: str,
        wanted: Callable[[Owners, States], Mask],
        limit: int,
        among: Sequence[int] | None = None,
    ) -> list[tuple[int, float]]:
        """The rows near a text; see :meth:`VectorIndex.best`."""
        if self.embedder is None:
            return []
        return self._indexes[table].best(con, self.of(text), wanted, limit, among)

    def vectors(self, con: sqlite3.Connection, table: str, seqs: Sequence[int]) -> Vectors:
        """The vectors of these rows, a row each; zeros where there is none, no columns without an embedder."""
        if self.embedder is None:
            return np.zeros((len(seqs), 0), dtype=np.float32)
        return self._indexes[table].vectors(con, seqs)


@functools.cache
def _shared(name: str) -> Embedder:
    """One embedder per process, so that its model is loaded once for all workspaces."""
    return embedder(name)


@functools.cache
def _remembered(name: str) -> tuple[OrderedDict[str, Vectors], threading.Lock]:
    """Vectors of the last texts, and what guards them: attempts at one task say the same in each workspace."""
    return OrderedDict(), threading.Lock()


class VectorIndex:
    """The vectors of one table.

    Args:
        table: with ``seq`` and ``updated``, and a table of vectors beside it.
        owner, state: SQL for the two small numbers that a question is sieved by; state 0 is never found.
        model: only vectors of this embedder count.
        dimension: of its vectors.
    """

    def __init__(self, table: str, owner: str, state: str, model: str, dimension: int) -> None:
        self._all = (
            f"SELECT t.seq, t.updated, {owner}, {state}, v.vector FROM {table} t "
            f"LEFT JOIN {table}_vectors v ON v.seq = t.seq AND v.model = ?"
        )
        self._changed = f"{self._all} WHERE t.updated > ?"
        self._model, self._dimension = model, dimension
        self._lock = threading.Lock()
        self._generation = ""
        self._forget()

    def best(
        self,
        con: sqlite3.Connection,
        vector: Vectors,
        wanted: Callable[[Owners, States], Mask],
        limit: int,
        among: Sequence[int] | None = None,
    ) -> list[tuple[int, float]]:
        """The nearest wanted rows and their cosines (six decimals), nearest first, the newer of equals first.

        Args:
            con: in a transaction; rows that it does not see may be among the result.
            vector: of length 1, ``[dimension]``; one of zeros is near nothing.
            wanted: which rows, from the owners and states of all.
            limit: at most so many.
            among: only these ``seq``, or None.
        """
        if not vector.any():
            return []
        with self._lock:
            self._follow(con)
            blocks, states = list(self._blocks), self._states[: self._rows]
            mask = wanted(self._owners[: self._rows], states) & (states > 0)
        if among is not None:
            only = np.zeros(len(mask), dtype=np.bool_)
            only[[seq for seq in among if seq < len(mask)]] = True
            mask &= only
        rows, scores = _scores(blocks, mask, vector)
        if len(rows) > limit:
            least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
            near = scores >= least
            rows, scores = rows[near], scores[near]
        order = np.lexsort((-rows, -scores))[:limit]
        return [(int(rows[at]), float(scores[at])) for at in order]

    def vectors(self, con: sqlite3.Connection, seqs: Sequence[int]) -> Vectors:
        """The vectors of these rows, ``[len(seqs), dimension]``; zeros where there is none."""
        with self._lock:
            self._follow(con)
            found = np.zeros((len(seqs), self._dimension), dtype=np.float32)
            for at, seq in enumerate(seqs):
                if seq < self._rows:
                    found[at] = self._blocks[seq // _BLOCK][seq % _BLOCK]
            return found

    def _forget(self) -> None:
        self._seen, self._rows = -1, 0
        self._blocks: list[Vectors] = []
        self._owners: Owners = np.zeros(0, dtype=np.int32)
        self._states: States = np.zeros(0, dtype=np.uint8)

    def _follow(self, con: sqlite3.Connection) -> None:
        generation: str = con.execute("SELECT value FROM meta WHERE key = 'generation'").fetchone()[0]
        if generation != self._generation:
            self._forget()
            self._generation = generation
        cursor = con.cursor()
        cursor.row_factory = None  # plain tuples: the first time it may be a million
        if self._seen < 0:
            cursor.execute(self._all, (self._model,))  # in the order of the rows, not of the index over times
        else:
            cursor.execute(self._changed, (self._model, self._seen))
        latest = self._seen
        while rows := cursor.fetchmany(_FETCHED):
            seqs = np.fromiter((row[0] for row in rows), dtype=np.int64, count=len(rows))
            self._grow(int(seqs.max()) + 1)
            self._owners[seqs] = [row[2] for row in rows]
            self._states[seqs] = [row[3] if row[4] is not None else 0 for row in rows]
            held = [row for row in rows if row[4] is not None]
            if held:
                joined = np.frombuffer(b"".join(row[4] for row in held), dtype="<f4")
                places = np.fromiter((row[0] for row in held), dtype=np.int64, count=len(held))
                self._keep(places, joined.reshape(len(held), self._dimension))
            latest = max(latest, max(row[1] for row in rows))
        self._seen = latest

    def _keep(self, seqs: NDArray[np.int64], vectors: Vectors) -> None:
        for number in np.unique(seqs // _BLOCK):
            at = np.flatnonzero(seqs // _BLOCK == number)
            self._blocks[number][seqs[at] % _BLOCK] = vectors[at]

    def _grow(self, rows: int) -> None:
        """Make room; blocks are never copied, so a question that goes on keeps what it has."""
        while len(self._blocks) * _BLOCK < rows:
            self._blocks.append(np.zeros((_BLOCK, self._dimension), dtype=np.float32))
        room = len(self._blocks) * _BLOCK
        if room > len(self._states):
            more = max(room, len(self._states) * 3 // 2) - len(self._states)
            self._owners = np.concatenate([self._owners, np.zeros(more, dtype=np.int32)])
            self._states = np.concatenate([self._states, np.zeros(more, dtype=np.uint8)])
        self._rows = max(self._rows, rows)


def _scores(blocks: Sequence[Vectors], mask: Mask, vector: Vectors) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The wanted rows and their cosines."""
    rows = np.flatnonzero(mask).astype(np.int64)
    cosines = np.empty(len(rows), dtype=np.float32)
    ends = np.searchsorted(rows, np.arange(0, len(mask) + _BLOCK, _BLOCK))
    for number, (start, end) in enumerate(itertools.pairwise(ends.tolist())):
        if start < end:
            inside = rows[start:end] - number * _BLOCK
            block = blocks[number]
            dense = end - start > _DENSE * _BLOCK
            cosines[start:end] = (block @ vector)[inside] if dense else block[inside] @ vector
    # The last digits depend on how rows are grouped for the processor; six decimals do not.
    exact: NDArray[np.float64] = cosines.astype(np.float64)
    return rows, np.round(exact, 6)
