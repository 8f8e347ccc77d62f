"""A cache of vectors on disk, by content: a text that an embedder has met is not embedded again.

One SQLite file for any number of stores, threads and processes. A row is written whole or not at all, also after
``kill -9``; the file holds nothing that could not be made again, so it may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from memassay.core.errors import EnvironmentProblem
from memassay.retrieval.embedders import Embedder, Vectors

FILE = "vectors.sqlite"

# Seconds that a writer waits for another one; a write of CHUNK vectors takes milliseconds.
_PATIENCE = 60.0

# Texts embedded and stored together: what a build that is killed loses at most (5 to 20 s of work with minilm).
CHUNK = 1024

# SQLite takes 32,766 variables in a statement since 3.32, and 999 before.
_ASKED = 900


class VectorCache:
    """The cache in a folder; the folder and the file are made when something is stored.

    Args:
        folder: where it is; several processes may share it.

    Attributes:
        keeps: whether what is put is there the next time.
    """

    keeps = True

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE

    def get(self, embedder: Embedder, keys: Sequence[str]) -> dict[str, Vectors]:
        """The vectors that are there, by key (see :func:`key_of`).

        Raises:
            EnvironmentProblem: the file cannot be read.
        """
        found: dict[str, Vectors] = {}
        if not self._path.exists():
            return found
        with self._open() as base:
            for start in range(0, len(keys), _ASKED):
                some = keys[start : start + _ASKED]
                marks = ",".join("?" * len(some))
                query = f"SELECT text, vector FROM vectors WHERE model = ? AND text IN ({marks})"
                for key, blob in base.execute(query, (embedder.digest, *some)):
                    if len(blob) == 4 * embedder.dimension:
                        found[key] = np.frombuffer(blob, dtype="<f4")
        return found

    def put(self, embedder: Embedder, vectors: Mapping[str, Vectors]) -> None:
        """Keep vectors; of two writers of one text the first counts, and both wrote the same.

        Raises:
            EnvironmentProblem: the file cannot be written.
        """
        rows = [(embedder.digest, key, vector.astype("<f4").tobytes()) for key, vector in vectors.items()]
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._problem(error) from error
        with self._open() as base, base:
            base.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", rows)

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with contextlib.closing(self._connected()) as base:
                yield base
        except sqlite3.Error as error:
            raise self._problem(error) from error

    def _connected(self) -> sqlite3.Connection:
        base = sqlite3.connect(self._path, timeout=_PATIENCE)
        base.execute("PRAGMA journal_mode = WAL")
        base.execute("PRAGMA synchronous = NORMAL")
        base.execute(
            "CREATE TABLE IF NOT EXISTS vectors (model TEXT, text TEXT, vector BLOB, PRIMARY KEY (model, text))"
            " WITHOUT ROWID"
        )
        return base

    def _problem(self, error: Exception) -> EnvironmentProblem:
        return EnvironmentProblem(
            f"The cache of vectors {self._path} cannot be used ({error}); delete it, it will be made again."
        )


class SealedCache(VectorCache):
    """A cache in a folder that is only read, byte for byte as it was; what cannot be read counts as not there."""

    keeps = False

    def get(self, embedder: Embedder, keys: Sequence[str]) -> dict[str, Vectors]:
        """See :meth:`VectorCache.get`."""
        try:
            return super().get(embedder, keys)
        except EnvironmentProblem:
            return {}

    def put(self, embedder: Embedder, vectors: Mapping[str, Vectors]) -> None:
        """Keep nothing."""

    def _connected(self) -> sqlite3.Connection:
        # A file without a log beside it has no writer; only then does SQLite read it without making files of its own.
        log = self._path.with_name(f"{FILE}-wal")
        options = "mode=ro" if log.exists() else "mode=ro&immutable=1"
        return sqlite3.connect(f"{self._path.resolve().as_uri()}?{options}", timeout=_PATIENCE, uri=True)


def key_of(text: str) -> str:
    """The name of a text in a cache: SHA-256 of its UTF-8 bytes, lone surrogates as question marks."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def embed_all(
    embedder: Embedder,
    texts: Sequence[str],
    *,
    cache: VectorCache | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Vectors:
    """Vectors of many passages, float32 ``[texts, dimension]``; equal texts are embedded once.

    Args:
        embedder: what embeds them.
        texts: the passages.
        cache: where vectors are looked for and kept, or None.
        progress: called with (done, total) over the different texts.
    """
    keys = [key_of(text) for text in texts]
    wanted = dict(zip(keys, texts, strict=True))
    known = cache.get(embedder, list(wanted)) if cache is not None else {}
    # By length, so that each call holds many texts of one number of tokens.
    missing = sorted((key for key in wanted if key not in known), key=lambda key: (len(wanted[key]), key))
    for start in range(0, len(missing), CHUNK):
        progress(len(known), len(wanted))
        some = missing[start : start + CHUNK]
        fresh = dict(zip(some, embedder.embed([wanted[key] for key in some]), strict=True))
        if cache is not None:
            cache.put(embedder, fresh)
        known.update(fresh)
    progress(len(wanted), len(wanted))
    return np.array([known[key] for key in keys], dtype=np.float32).reshape(len(keys), embedder.dimension)
