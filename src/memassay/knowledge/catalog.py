"""The truth of an index: one SQLite file with every page, its text, its passages, its terms and its links.

Rows are written once. A page that changes gets a new row and the old one is marked as dead, so whoever read an older
version goes on reading it, texts included, until the index has been compacted twice (in this process, for ever). Terms
and keys get numbers that never change. A commit is all or nothing, whenever the process dies.

``Catalog.write(folder, settings)``, ``Catalog.read(folder, settings)``, ``Catalog.private(settings)``;
``with catalog.change() as change: change.put(...)``, ``with catalog.view() as view: view.alive()``,
``stored(id)``, ``term_ids(terms)``, ``node_keys(nodes)``, ``node_of(key)``.
"""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from memassay.core.errors import EnvironmentProblem
from memassay.knowledge.archive import Stored
from memassay.knowledge.numbering import Lexicon, Nodes, Terms, found
from memassay.knowledge.postings import Numbers, Row
from memassay.knowledge.strings import decoded, encoded
from memassay.knowledge.transaction import Counters, Mark, Transaction, counters_of

FILE = "catalog.sqlite"
FORMAT = 2

_TABLES = """
CREATE TABLE about (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE terms (first INTEGER PRIMARY KEY, texts BLOB NOT NULL);
CREATE TABLE nodes (id INTEGER PRIMARY KEY, text BLOB NOT NULL UNIQUE);
CREATE TABLE pages (id INTEGER PRIMARY KEY, node INTEGER NOT NULL, died INTEGER, size INTEGER NOT NULL,
  mtime INTEGER NOT NULL, seen INTEGER NOT NULL, digest TEXT NOT NULL, title BLOB, names BLOB NOT NULL,
  numbers BLOB NOT NULL);
CREATE UNIQUE INDEX alive ON pages (node) WHERE died IS NULL;
CREATE INDEX dead ON pages (died) WHERE died IS NOT NULL;
CREATE TABLE texts (id INTEGER PRIMARY KEY, front TEXT NOT NULL, heads BLOB NOT NULL, text BLOB NOT NULL);
CREATE TABLE wiki (tail BLOB NOT NULL, node INTEGER NOT NULL, PRIMARY KEY (tail, node)) WITHOUT ROWID;
CREATE TABLE unsettled (tail BLOB PRIMARY KEY) WITHOUT ROWID;
"""
_NUMBERED = frozenset({"terms", "nodes"})

# Pages kept decoded: some 15 MB if they are small. Rows never change, so they are never stale.
_KEPT = 5_000
_ROWS = "SELECT pages.id, node, nodes.text, names, numbers"


class Catalog:
    """A catalog on disk or in memory; threads may share it, and take turns.

    Args:
        reading: a connection to read what is committed.
        writing: one to change it with, or None. A catalog without a file has one connection for both.
    """

    def __init__(self, reading: sqlite3.Connection, writing: sqlite3.Connection | None) -> None:
        self._reading, self._writing = reading, writing
        self._lock = threading.RLock()
        self._write_lock = self._lock if writing is reading else threading.RLock()
        self._known_terms = Terms(reading)
        self._kept: dict[int, Stored] = {}
        # Also when nobody closes it: the last connection to a file merges its log into it.
        self._closed = weakref.finalize(self, _close, reading, writing)
        if writing is not None:
            self._terms, self._nodes = Lexicon(writing), Nodes(writing)

    @classmethod
    def write(cls, folder: Path, settings: str) -> Catalog:
        """Open the catalog in a folder to change it; one that is damaged or of other settings is made anew.

        Raises:
            EnvironmentProblem: the folder cannot be written.
        """
        path = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            try:
                return cls._written(path, settings)
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:
                cls.destroy(folder)
                return cls._written(path, settings)
        except (OSError, sqlite3.Error) as error:
            raise EnvironmentProblem(f"The index {path} cannot be written ({error}).") from error

    @staticmethod
    def destroy(folder: Path) -> None:
        """Take away a catalog that is damaged."""
        path = folder / FILE
        for damaged in (path, _log(path), path.with_name(f"{FILE}-shm")):
            damaged.unlink(missing_ok=True)

    @classmethod
    def _written(cls, path: Path, settings: str) -> Catalog:
        db = _connected(str(path))
        try:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")
            db.execute("PRAGMA journal_size_limit=67108864")
            usable = _usable(db, settings)
        except BaseException:
            db.close()
            raise
        catalog = cls(_connected(str(path)), db)
        if not usable:
            catalog.clear(settings)
        return catalog

    @classmethod
    def read(cls, folder: Path, settings: str) -> Catalog | None:
        """Open the catalog in a folder to read it, or None where there is none with these settings.

        The folder stays as it is, byte for byte: where no writer has the file open, SQLite is told that it will not
        change, and the caller finds out when that ends by :func:`stamp`.
        """
        path = folder / FILE
        if not path.is_file():
            return None
        options = "mode=ro" if _log(path).exists() else "mode=ro&immutable=1"
        try:
            db = _connected(f"{path.resolve().as_uri()}?{options}", uri=True)
        except sqlite3.Error:
            return None
        try:
            if _usable(db, settings):
                return cls(db, None)
        except sqlite3.Error:
            pass
        db.close()
        return None

    @classmethod
    def private(cls, settings: str, copied: Catalog | None = None) -> Catalog:
        """A catalog of this process alone, gone with it; SQLite moves what does not fit into memory to a file."""
        db = _connected("")
        catalog = cls(db, db)
        if copied is None:
            catalog.clear(settings)
        else:
            with copied._lock:
                copied._reading.backup(db)
        return catalog

    def close(self) -> None:
        """Close the connections."""
        with self._write_lock, self._lock:
            self._closed()

    # -- changes ---------------------------------------------------------------------------------------------------

    @contextmanager
    def change(self) -> Iterator[Transaction]:
        """What is done with the transaction is all there afterwards, or not at all if an error ends it."""
        assert self._writing is not None, "this catalog was opened to be read"
        db = self._writing
        with self._write_lock:
            db.execute("BEGIN IMMEDIATE")
            try:
                counters = counters_of(db)
                change = Transaction(db, self._terms, self._nodes, counters)
                yield change
                change.finish()
                db.execute("COMMIT")
            except BaseException as error:
                self._terms.forget()
                self._nodes.forget()
                if db.in_transaction:
                    db.execute("ROLLBACK")
                if isinstance(error, sqlite3.OperationalError):
                    raise EnvironmentProblem(f"The index cannot be written ({error}).") from error
                raise

    def clear(self, settings: str) -> None:
        """Begin anew, with these settings.

        Versions and row numbers go on, and terms and nodes keep their numbers, so that nobody takes the new for the
        old: not a snapshot that is still asked, nor a process that remembers a number.
        """
        assert self._writing is not None, "this catalog was opened to be read"
        db = self._writing
        with self._write_lock:
            db.execute("BEGIN IMMEDIATE")
            tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            counters = dict.fromkeys(Counters._fields, 0)
            kept: frozenset[str] = frozenset()
            if "about" in tables:
                old = dict(db.execute("SELECT name, value FROM about"))
                counters.update({name: old.get(name, 0) for name in ("version", "top", "generation")})
                if old.get("format") == FORMAT and _NUMBERED.issubset(tables):
                    kept = _NUMBERED
                    counters.update({name: old.get(name, 0) for name in kept})
            counters["version"] += 1
            counters["generation"] += 1
            counters["base_version"] = counters["version"]
            for name in tables:
                if name not in kept:
                    db.execute(f"DROP TABLE {name}")
            for statement in _TABLES.split(";")[:-1]:
                db.execute(statement.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"))
            about = {"format": FORMAT, "settings": settings, **counters}
            db.executemany("INSERT INTO about VALUES (?, ?)", about.items())
            db.execute("COMMIT")
            self._terms.forget()
            self._nodes.forget()

    # -- reading ---------------------------------------------------------------------------------------------------

    @contextmanager
    def view(self) -> Iterator[View]:
        """A consistent look at what is committed now."""
        db = self._reading
        with self._lock:
            db.execute("BEGIN")
            try:
                yield View(db, counters_of(db))
            finally:
                db.execute("COMMIT")

    def version(self) -> int:
        """The version that is committed now."""
        with self._lock:
            return int(self._reading.execute("SELECT value FROM about WHERE name = 'version'").fetchone()[0])

    def stored(self, page: int) -> Stored:
        """What is kept of the page of this number (see :class:`memassay.knowledge.snapshot.Stored`).

        Raises:
            EnvironmentProblem: the page died long ago and is forgotten.
        """
        found = self._fetched(page)
        if len(self._kept) >= _KEPT:
            self._kept.clear()
        self._kept[page] = found
        return found

    def kept(self, page: int) -> Stored | None:
        """:meth:`stored` of a page that was asked for before, as long as it is remembered."""
        return self._kept.get(page)

    def _fetched(self, page: int) -> Stored:
        with self._lock:
            row = self._reading.execute(
                "SELECT nodes.text, title, digest, front, texts.text, numbers, heads FROM pages "
                "JOIN nodes ON nodes.id = node JOIN texts ON texts.id = pages.id WHERE pages.id = ?",
                (page,),
            ).fetchone()
        if row is None:
            raise EnvironmentProblem("The index has changed too much since it was read; refresh the store.")
        key, title, digest, front, text, data, heads = row
        return Stored(
            key=decoded(key),
            title=None if title is None else decoded(title),
            digest=digest,
            front=front,
            text=decoded(text),
            numbers=Numbers(data),
            heads=tuple(decoded(heads).split("\n")),
            counted={},
        )

    def term_ids(self, terms: Sequence[str]) -> list[int]:
        """The numbers of terms, -1 for one that no page ever held."""
        known = self._known_terms.known
        if not all(term in known for term in terms):
            with self._lock:
                self._known_terms.catch_up()
        return [known.get(term, -1) for term in terms]

    def node_of(self, key: str) -> int:
        """The node of a key, -1 for one that is no page and that no link ever meant."""
        with self._lock:
            return found(self._reading, [key]).get(key, -1)

    def node_keys(self, nodes: Sequence[int]) -> list[str]:
        """The keys of nodes."""
        with self._lock:
            cursor = self._reading.cursor()
            return [
                decoded(cursor.execute("SELECT text FROM nodes WHERE id = ?", (node,)).fetchone()[0]) for node in nodes
            ]


class View:
    """What is committed, at one moment."""

    def __init__(self, db: sqlite3.Connection, counters: Counters) -> None:
        self._db = db
        self.counters = counters

    def alive(self, after: int = 0) -> Iterator[Row]:
        """The pages that are alive and whose number is above ``after``, ascending by key."""
        if after:  # few: found by their number, then sorted
            rows = self._db.execute(
                f"{_ROWS} FROM pages JOIN nodes ON node = nodes.id "
                "WHERE pages.id > ? AND died IS NULL ORDER BY +nodes.text",
                (after,),
            )
        else:  # all: read in the order of the index on keys
            rows = self._db.execute(
                f"{_ROWS} FROM nodes CROSS JOIN pages ON node = nodes.id WHERE died IS NULL ORDER BY nodes.text"
            )
        for page, node, key, names, data in rows:
            yield Row(page, node, decoded(key), decoded(names), data)

    def fresh(self) -> int:
        """How many pages came or went since the base was made."""
        since = self.counters.base_version
        (gone,) = self._db.execute("SELECT COUNT(*) FROM pages WHERE died > ?", (since,)).fetchone()
        return self.counters.top - self.counters.base_top + int(gone)

    def died(self, since: int, top: int) -> list[tuple[int, bytes]]:
        """Number and numbers of the pages up to ``top`` that died after version ``since``, ascending."""
        # Without a word SQLite reads all pages up to ``top`` instead.
        rows = "SELECT id, numbers FROM pages INDEXED BY dead WHERE died > ? AND id <= ? ORDER BY id"
        return self._db.execute(rows, (since, top)).fetchall()

    def marks(self, keys: Iterable[str] | None = None) -> dict[str, Mark]:
        """By what each page that is alive is known to be unchanged."""
        rows = "SELECT nodes.text, size, mtime, seen, digest FROM nodes JOIN pages ON node = nodes.id AND died IS NULL"
        if keys is None:
            return {decoded(key): Mark(*rest) for key, *rest in self._db.execute(rows)}
        known = {}
        for key in keys:
            row = self._db.execute(f"{rows} WHERE nodes.text = ?", (encoded(key),)).fetchone()
            if row is not None:
                known[key] = Mark(*row[1:])
        return known

    def keys(self) -> list[str]:
        """The keys of all pages that are alive, ascending."""
        rows = "SELECT text FROM nodes JOIN pages ON node = nodes.id AND died IS NULL ORDER BY text"
        return [decoded(key) for (key,) in self._db.execute(rows)]


def _connected(name: str, *, uri: bool = False) -> sqlite3.Connection:
    # No transactions that nobody asked for; another process may hold the file for as long as its commit takes.
    return sqlite3.connect(name, uri=uri, isolation_level=None, check_same_thread=False, timeout=30)


def _close(*connections: sqlite3.Connection | None) -> None:
    for db in connections:
        if db is not None:
            db.close()


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def stamp(folder: Path) -> tuple[bool, int, int]:
    """Whether a writer has the catalog of a folder open (or left its log), and size and time of the file."""
    path = folder / FILE
    try:
        about = path.stat()
    except OSError:
        return False, -1, -1
    return _log(path).exists(), about.st_size, about.st_mtime_ns


def _usable(db: sqlite3.Connection, settings: str) -> bool:
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'about'").fetchone():
        return False
    about = dict(db.execute("SELECT name, value FROM about"))
    return about.get("format") == FORMAT and about.get("settings") == settings
