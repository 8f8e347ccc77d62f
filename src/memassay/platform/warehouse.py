"""The data that agents query: an SQLite file beside the workspace, opened read-only for each statement."""

from __future__ import annotations

import contextlib
import math
import re
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from memassay.core.digest import digest_file
from memassay.platform.entities import dataset_urn
from memassay.platform.errors import PlatformError
from memassay.platform.shapes import Browsed, Column, QueryColumn, QueryResult, QueryStats, TableDescription

_SECONDS = 10.0
_CELL_BYTES = 1_000_000
# Instructions of SQLite's machine between two looks at the clock: some 0.1 ms.
_STEPS = 10_000

_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_FORBIDDEN_FUNCTIONS = {"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"}


class Warehouse:
    """Tables that may only be read.

    Args:
        path: an SQLite file.
        schema: ``catalog.schema`` under which its tables are named.

    Raises:
        PlatformError: ``not_found``: there is no such file; ``invalid``: the schema has not two parts.
    """

    def __init__(self, path: Path, schema: str) -> None:
        if not path.is_file():
            raise PlatformError("not_found", f"There is no warehouse {path}.")
        catalog, _, name = schema.partition(".")
        if not catalog or not name or "." in name:
            raise PlatformError("invalid", f"warehouse_schema must be CATALOG.SCHEMA, not {schema!r}.")
        self.path, self.catalog, self.schema = path, catalog, name
        # A string literal is passed over; a name's qualification is group 1.
        parts = (rf'(?:"{re.escape(part)}"|{re.escape(part)})\s*\.\s*' for part in (catalog, name))
        self._qualified = re.compile(r"'(?:[^']|'')*'|(?<![\w.\"])((?:{})?{})".format(*parts), re.IGNORECASE)

    def digest(self) -> str:
        return digest_file(self.path)

    def name(self, table: str) -> str:
        """The full name of a table."""
        return f"{self.catalog}.{self.schema}.{table}"

    def tables(self) -> tuple[str, ...]:
        """Full names, in order."""
        with self._open() as con:
            rows = con.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite~_%' "
                "ESCAPE '~' ORDER BY name"
            )
            return tuple(self.name(row[0]) for row in rows)

    def browse(self, catalog: str, schema: str, pattern: str) -> Browsed:
        """The catalogs ("" for both), the schemas of a catalog, or the tables of a schema, by a LIKE pattern.

        Raises:
            PlatformError: ``not_found``: another catalog or schema than this one's.
        """
        for given, own in ((catalog, self.catalog), (schema, self.schema)):
            if given and given.lower() != own.lower():
                raise PlatformError("not_found", f"There is no {given!r}.", f"Use {self.catalog}.{self.schema}.")
        if not catalog and not schema:
            return Browsed(level="catalogs", items=(self.catalog,), count=1)
        if not schema:
            return Browsed(level="schemas", catalog=self.catalog, items=(self.schema,), count=1)
        like = re.compile(_like(pattern or "%"), re.IGNORECASE | re.DOTALL)
        tables = tuple(name.split(".", 2)[2] for name in self.tables())
        found = tuple(name for name in tables if like.fullmatch(name))
        return Browsed(
            level="tables",
            catalog=self.catalog,
            schema_=self.schema,
            items=found,
            count=len(found),
            pattern=pattern or None,
        )

    def describe(self, table: str) -> TableDescription:
        """Columns and size of a table, named with or without catalog and schema; raises ``not_found``."""
        bare = self._bare(table.strip()).strip('"')
        full = {name.lower(): name for name in self.tables()}.get(self.name(bare).lower())
        if full is None:
            raise PlatformError("not_found", f"The warehouse has no table {table!r}.", "trino_browse lists them.")
        quoted = '"' + full.split(".", 2)[2].replace('"', '""') + '"'
        with self._open() as con:
            columns = tuple(
                Column(name=name, type=kind, nullable="NO" if required else "YES")
                for _, name, kind, required, *_ in con.execute(f"PRAGMA table_info({quoted})")
            )
            rows = con.execute(f"SELECT count(*) FROM {quoted}").fetchone()[0]
        return TableDescription(
            catalog=self.catalog,
            schema_=self.schema,
            table=full.split(".", 2)[2],
            columns=columns,
            column_count=len(columns),
            urn=dataset_urn(full),
            row_count=rows,
        )

    def query(self, sql: str, limit: int) -> tuple[QueryResult, tuple[str, ...]]:
        """Run one SELECT.

        Returns:
            The rows, at most ``limit``, and the full names of the tables that were read, in order.

        Raises:
            PlatformError: ``tool_error``.
        """
        read: set[str] = set()
        until = time.monotonic() + _SECONDS

        def authorise(action: int, first: str | None, second: str | None, *_: str | None) -> int:
            if action == sqlite3.SQLITE_READ and first:
                read.add(first)
            forbidden = action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _FORBIDDEN_FUNCTIONS
            return sqlite3.SQLITE_OK if action in _ALLOWED and not forbidden else sqlite3.SQLITE_DENY

        with self._open() as con:
            con.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _CELL_BYTES)
            con.set_authorizer(authorise)
            con.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
            try:
                cursor = con.execute(self._bare(sql))
                rows = cursor.fetchmany(limit + 1)
            except (sqlite3.Error, sqlite3.Warning, ValueError) as problem:
                slow = "interrupted" in str(problem)
                said = f"it took longer than {_SECONDS:.0f} s" if slow else str(problem)
                raise PlatformError(
                    "tool_error", f"The statement failed: {said}.", "Write one SELECT in SQLite's dialect."
                ) from None
            if cursor.description is None:
                raise PlatformError("tool_error", "There is no statement.", "Write one SELECT in SQLite's dialect.")
            names = [column[0] for column in cursor.description]
            result = QueryResult(
                columns=tuple(
                    QueryColumn(name=name, type=_type(rows[0][at] if rows else None)) for at, name in enumerate(names)
                ),
                rows=tuple(dict(zip(names, map(_json, row), strict=True)) for row in rows[:limit]),
                row_count=min(len(rows), limit),
                stats=QueryStats(row_count=min(len(rows), limit), truncated=len(rows) > limit, limit_applied=limit),
            )
        known = {name.split(".", 2)[2]: name for name in self.tables()}
        return result, tuple(known[table] for table in sorted(read) if table in known)

    def _bare(self, sql: str) -> str:
        """A statement without catalog and schema before its table names; SQLite has no catalogs."""
        return self._qualified.sub(lambda found: "" if found.group(1) else found.group(0), sql)

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            con = sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        except sqlite3.Error:
            raise PlatformError("unavailable", f"The warehouse {self.path} cannot be opened.") from None
        with contextlib.closing(con):
            yield con


def _json(value: object) -> JsonValue:
    """A cell as JSON has it: bytes in hexadecimal, what is no number as null."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float)) else None


def _type(value: object) -> str:
    """What SQLite calls a value like this."""
    kinds = {int: "INTEGER", float: "REAL", str: "TEXT", bytes: "BLOB"}
    return kinds.get(type(value), "NULL")


def _like(pattern: str) -> str:
    """A LIKE pattern as a regular expression."""
    return "".join({"%": ".*", "_": "."}.get(sign, re.escape(sign)) for sign in pattern)
