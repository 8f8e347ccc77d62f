"""A warehouse from a file: SQLite as it is, or a script (see ``scripts``)."""

from __future__ import annotations

import math
import re
import sqlite3
from contextlib import closing
from pathlib import Path

from memassay.core.errors import DataError
from memassay.suites.lifecycle.tables import Column, Row, Table, Tables, fit, quoted

MOST_BYTES = 64 * 1024 * 1024
_HEADER = b"SQLite format 3\0"
_TYPE = re.compile(r"\w[\w ]*(?:\(\d+(?:, ?\d+)?\))?", re.ASCII)
_VALUES = (str, int, float, type(None))


def load_warehouse(path: Path) -> Tables:
    """The warehouse of a file.

    Args:
        path: an SQLite file, or an SQL script of CREATE TABLE and INSERT in Trino's dialect.

    Raises:
        DataError: there is none, or it is neither; one sentence with the fix.
        MissingExtra: scripts need the extra ``platform``.
    """
    try:
        with path.open("rb") as handle:
            is_database = handle.read(len(_HEADER)) == _HEADER
        tables = _read_database(path) if is_database else _read_script(path)
    except OSError as error:
        raise DataError(f"The warehouse {path} cannot be read ({error.strerror}); give a file that can.") from None
    if not tables:
        raise DataError(f"{path} has no table; give an SQLite file or a script with CREATE TABLE and INSERT.")
    seen: set[str] = set()
    for table in tables:
        if table.name.lower() in seen:
            raise DataError(f"{path} has two tables {table.name}, in two schemas; leave one of them out.")
        seen.add(table.name.lower())
    return Tables(tables)


def _read_script(path: Path) -> tuple[Table, ...]:
    from memassay.suites.lifecycle.scripts import read_script

    return read_script(path)


def _read_database(path: Path) -> tuple[Table, ...]:
    if path.stat().st_size > MOST_BYTES:
        raise DataError(f"{path} has more than {MOST_BYTES:,} bytes; leave out what no protocol asks about.")
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")  # a file of others may call functions from its schema
            return tuple(_table(connection, path, *row) for row in connection.execute(_MADE).fetchall())
    except sqlite3.Error as error:
        raise DataError(f"{path} cannot be read as SQLite: {error}; give a file that can.") from None


_MADE = (
    "SELECT name, type, sql FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite~_%' "
    "ESCAPE '~' ORDER BY rowid"
)


def _table(connection: sqlite3.Connection, path: Path, name: str, kind: str, sql: str) -> Table:
    if kind == "view" or "VIRTUAL" in sql.upper().partition("(")[0].split()[:3]:
        raise DataError(f"{path}: {name} is a {'view' if kind == 'view' else 'virtual table'}; make a table of it.")
    if not fit(name):
        raise DataError(f"{path}: no table can be named {name!r} here; use letters, digits and _.")
    about = [(str(row[1]), str(row[2])) for row in connection.execute(f"PRAGMA table_xinfo({quoted(name)})")]
    columns = tuple(Column(one, type_ if _TYPE.fullmatch(type_) else "", type_ or "any value") for one, type_ in about)
    rows: list[Row] = connection.execute(
        f"SELECT {', '.join(quoted(column.name) for column in columns)} FROM {quoted(name)}"
    ).fetchall()
    for number, row in enumerate(rows, 1):
        for column, value in zip(columns, row, strict=True):
            if not isinstance(value, _VALUES) or (isinstance(value, float) and not math.isfinite(value)):
                raise DataError(
                    f"{path}: row {number:,} of {name} has no text and no number in {column.name!r}; mend it."
                )
    return Table(name, "", columns, tuple(rows))
