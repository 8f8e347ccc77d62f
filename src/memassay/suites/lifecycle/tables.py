"""Tables that somebody else has made: the warehouse that imported protocols ask about."""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from memassay.core.digest import digest_of
from memassay.core.errors import EnvironmentProblem

Value = str | int | float | None
Row = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column; ``type`` is SQLite's, ``about`` what a catalogue says of it."""

    name: str
    type: str
    about: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its rows.

    Attributes:
        place: ``catalog.schema`` as far as its source names it, else "".
        about: what its source says of it, or "".
    """

    name: str
    place: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    about: str = ""


@dataclass(frozen=True)
class Tables:
    """A warehouse of such tables, in the order in which they were made; names differ by more than their case."""

    tables: tuple[Table, ...]

    @cached_property
    def digest(self) -> str:
        """SHA-256 over every column and row of every table."""
        return digest_of([[one.name, [[c.name, c.type] for c in one.columns], one.rows] for one in self.tables])

    def connect(self) -> sqlite3.Connection:
        """The warehouse as a database in memory; the caller closes it."""
        connection = sqlite3.connect(":memory:")
        for table in self.tables:
            columns = ", ".join(f"{quoted(column.name)} {column.type}" for column in table.columns)
            connection.execute(f"CREATE TABLE {quoted(table.name)} ({columns})")
            places = ", ".join("?" * len(table.columns))
            connection.executemany(f"INSERT INTO {quoted(table.name)} VALUES ({places})", table.rows)
        connection.commit()
        return connection

    def write(self, path: Path) -> None:
        """Write the warehouse as a SQLite file; see :func:`write_database`."""
        with closing(self.connect()) as connection:
            write_database(connection, path)


def write_database(connection: sqlite3.Connection, path: Path) -> None:
    """Write a database as a SQLite file: whole or not at all, and the same bytes for the same rows and SQLite.

    Raises:
        EnvironmentProblem: it cannot be written.
    """
    part = path.with_name(f"{path.name}.part-{os.getpid()}")
    try:
        part.unlink(missing_ok=True)
        connection.execute("VACUUM INTO ?", (str(part),))
        part.replace(path)
    except (OSError, sqlite3.Error) as error:
        part.unlink(missing_ok=True)
        raise EnvironmentProblem(f"The warehouse {path} cannot be written: {error}.") from None


def fit(name: str) -> bool:
    """Whether a table can have that name: in an URN, in a statement without quotes, and not one of SQLite's own."""
    return re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) is not None and not name.lower().startswith("sqlite_")


def quoted(name: str) -> str:
    """A name as SQL has it, whatever its letters."""
    return '"' + name.replace('"', '""') + '"'
