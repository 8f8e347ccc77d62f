"""``Platform``: everything a workspace can do, as typed methods for tools, REST and tests.

Every method may be called by any number of threads at once and blocks (a server calls it in a thread). A refusal is a
``PlatformError``. Methods that take a ``Caller`` are tools (learning.py, remembering.py, reviewing.py): they check the
session handle, the purpose and the gate, and leave an audit event. Methods that take an ``Identity`` are of REST
(administering.py): they check the role.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path

from memassay.core.digest import digest_of
from memassay.platform import entities, identities, pages, records
from memassay.platform.administering import Administering
from memassay.platform.database import VERSION, wall_clock
from memassay.platform.desk import PURPOSE_TOOLS
from memassay.platform.learning import Learning
from memassay.platform.remembering import Remembering
from memassay.platform.settings import Settings
from memassay.platform.shapes import EmbedderPrint, Entity, Fingerprint, Identity
from memassay.version import __version__

__all__ = ["PURPOSE_TOOLS", "Platform"]

# Texts that get a vector in one transaction after the embedder was changed: 1 to 5 s of work with minilm.
_CAUGHT_UP = 256


class Platform(Learning, Remembering, Administering):
    """A workspace: one folder with ``platform.sqlite``, opened by any number of threads and processes.

    Args:
        folder: made if it is not there.
        settings: the knobs; kept by the caller, not in the folder.
        warehouse: an SQLite file with tables to query, or None: the ``trino_*`` tools then answer ``not_found``.
        clock: the wall clock, in microseconds since 1970; times of the workspace never go backwards whatever it says.

    Raises:
        PlatformError: ``unavailable``: the folder cannot be written, or the file is none of ours.
        MissingExtra: the embedder's package is not installed.
    """

    def __init__(
        self,
        folder: Path,
        settings: Settings | None = None,
        *,
        warehouse: Path | None = None,
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        super().__init__(folder, settings or Settings(), warehouse, clock)
        self._catch_up()

    def close(self) -> None:
        """Close the files; further calls answer ``unavailable``. May be called twice. Also a context manager."""
        self._database.close()

    def __enter__(self) -> Platform:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def fingerprint(self) -> Fingerprint:
        """What of the workspace can change a number, and one digest over it."""
        embedder = self._meaning.embedder
        known = {
            "version": __version__,
            "database_schema": VERSION,
            "settings": self.settings.model_dump(mode="json"),
            "embedder": None
            if embedder is None
            else EmbedderPrint(name=embedder.name, digest=embedder.digest, dimension=embedder.dimension),
            "warehouse": None if self._warehouse is None else self._warehouse.digest(),
        }
        return Fingerprint.model_validate({**known, "digest": digest_of(known)})

    def snapshot(self, path: Path) -> None:
        """Write the whole workspace, as it is at one moment, into one SQLite file; an existing file is replaced."""
        self._database.snapshot(path)

    def restore(self, path: Path) -> None:
        """Make the workspace what it was at a snapshot; keys and sessions too. Time does not go back.

        Raises:
            PlatformError: ``not_found``: no such file; ``invalid``: it is no snapshot.
        """
        self._database.restore(path)
        self._descriptions.clear()
        self._catch_up()

    # -- identities ------------------------------------------------------------------------------------------------

    def add_identity(self, key: str, identity: Identity) -> None:
        """Let ``key`` be ``identity``; only a hash of the key is kept. The same user's older key stops working.

        Raises:
            PlatformError: ``conflict``: the key is another user's; ``invalid``: an unknown role, or an empty key.
        """
        with self._database.write() as writing:
            identities.put(writing, key, identity)

    def add_pool(self, base_key: str, count: int) -> tuple[Identity, ...]:
        """The admin ``bench-admin`` under ``base_key``, and ``bench-agent-001`` … under ``BASE_KEY-001`` … (agents).

        Returns:
            The agents in order.
        """
        people = identities.pool(base_key, count)
        with self._database.write() as writing:
            for key, identity in people:
                identities.put(writing, key, identity)
        return tuple(identity for _, identity in people[1:])

    def identities(self) -> tuple[Identity, ...]:
        """Everybody, by user id."""
        with self._database.read() as con:
            return identities.everybody(con)

    def authenticate(self, key: str | None) -> Identity:
        """Whose key it is.

        Raises:
            PlatformError: ``unauthenticated``.
        """
        with self._database.read() as con:
            return identities.holder_of(con, key)

    # -- seeding and looking, for whoever owns the workspace -------------------------------------------------------

    def put_entities(self, new: Iterable[Entity]) -> int:
        """Add entities to the catalogue, or replace them as they are; returns how many."""
        given = list(new)
        with self._database.write() as writing:
            for entity in given:
                entities.put(writing, entity, self._meaning)
        return len(given)

    def get_entity(self, urn: str) -> Entity:
        """Raises ``not_found``."""
        with self._database.read() as con:
            return entities.found(con, urn)

    def _catch_up(self) -> None:
        """Give every live row a vector of the embedder that is set now; another one may have been before."""
        model = self._meaning.model
        with self._database.read() as con:
            held = con.execute("SELECT value FROM meta WHERE key = 'model'").fetchone()
        if held is not None and held["value"] == model:
            return
        texts: tuple[tuple[str, str, Callable[[sqlite3.Row], str]], ...] = (
            (records.TABLE, "t.lifecycle IN ('active', 'stale')", lambda row: str(row["content"])),
            (pages.TABLE, "t.live", lambda row: pages.searched(dict(row))),
            (entities.TABLE, "1", lambda row: entities.searched(entities.entity(row))),
        )
        for table, live, text in texts if model else ():
            sql = (
                f"SELECT * FROM {table} t WHERE {live} AND NOT EXISTS (SELECT 1 FROM {table}_vectors v "
                f"WHERE v.seq = t.seq AND v.model = ?) ORDER BY t.seq LIMIT {_CAUGHT_UP}"
            )
            while True:
                with self._database.read() as con:
                    rows = con.execute(sql, (model,)).fetchall()
                if not rows:
                    break
                for row in rows:
                    self._meaning.of(text(row))  # before the lock: a model is slow
                with self._database.write() as writing:
                    for row in writing.con.execute(sql, (model,)).fetchall():
                        self._meaning.put(writing.con, table, row["seq"], text(row))
                        changed = (writing.tick(), row["seq"])
                        writing.con.execute(f"UPDATE {table} SET updated = ? WHERE seq = ?", changed)
        with self._database.write() as writing:
            writing.con.execute("INSERT OR REPLACE INTO meta VALUES ('model', ?)", (model,))
