"""Warehouses as SQLite files of others."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memassay.core.errors import DataError, EnvironmentProblem, MissingExtra
from memassay.suites.lifecycle import databases
from memassay.suites.lifecycle.databases import load_warehouse
from memassay.suites.lifecycle.tables import Column, Table, Tables


def database(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


def test_rows_as_they_stand(tmp_path: Path) -> None:
    path = database(
        tmp_path / "w.sqlite",
        "CREATE TABLE boats (id INTEGER PRIMARY KEY, name VARCHAR(40), launched TIMESTAMP, cost DECIMAL(10, 2), odd)",
        "CREATE INDEX by_name ON boats (name)",
        "INSERT INTO boats VALUES (2, 'Bo''s', '2024-01-01 00:00:00', 1.5, NULL), (1, NULL, '2024-02', 2, 'x')",
        "CREATE TABLE Ports (name)",
    )
    before = path.read_bytes()
    [boats, ports] = load_warehouse(path).tables
    assert path.read_bytes() == before and [one.name for one in tmp_path.iterdir()] == ["w.sqlite"]
    assert boats.columns[1:] == (
        Column("name", "VARCHAR(40)", "VARCHAR(40)"), Column("launched", "TIMESTAMP", "TIMESTAMP"),
        Column("cost", "DECIMAL(10, 2)", "DECIMAL(10, 2)"), Column("odd", "", "any value"),
    )  # fmt: skip
    assert boats.rows == ((1, None, "2024-02", 2, "x"), (2, "Bo's", "2024-01-01 00:00:00", 1.5, None))
    assert (ports.name, ports.rows, ports.place, ports.about) == ("Ports", (), "", "")


def test_what_is_written_reads_the_same(tmp_path: Path) -> None:
    columns = (Column("a", "INTEGER", "x"), Column('odd "name"', "TEXT", "y"))
    tables = Tables((Table("t", "c.s", columns, ((1, "x"), (None, "it's"))), Table("u", "", columns[:1], ())))
    tables.write(tmp_path / "w.sqlite")
    again = load_warehouse(tmp_path / "w.sqlite")
    assert again.digest == tables.digest and [one.rows for one in again.tables] == [one.rows for one in tables.tables]
    first = (tmp_path / "w.sqlite").read_bytes()
    tables.write(tmp_path / "w.sqlite")
    assert (tmp_path / "w.sqlite").read_bytes() == first
    (tmp_path / "folder").mkdir()
    for place in ("nowhere/w.sqlite", "folder"):
        with pytest.raises(EnvironmentProblem, match=rf"The warehouse .*{place} cannot be written"):
            tables.write(tmp_path / place)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "w.sqlite"], "nothing half-written is left"


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("CREATE VIEW v AS SELECT 1", "v is a view; make a table of it."),
        ("CREATE VIRTUAL TABLE v USING fts5(a)", "v is a virtual table; make a table of it."),
        ("CREATE TABLE 'a.b' (a)", "no table can be named 'a.b' here; use letters, digits and _."),
        ("CREATE TABLE t AS SELECT x'00' AS a", "row 1 of t has no text and no number in 'a'; mend it."),
        ("CREATE TABLE t AS SELECT 1 AS b, 9e999 AS a", "row 1 of t has no text and no number in 'a'; mend it."),
    ],
)
def test_what_a_warehouse_is_not_made_of(tmp_path: Path, statement: str, said: str) -> None:
    path = database(tmp_path / "w.sqlite", statement)
    with pytest.raises(DataError) as caught:
        load_warehouse(path)
    assert str(caught.value) == f"{path}: {said}"


def test_files_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match=r"cannot be read \(No such file or directory\); give a file that can\."):
        load_warehouse(tmp_path / "none.sqlite")
    with pytest.raises(DataError, match=r"cannot be read \(Is a directory\)"):
        load_warehouse(tmp_path)
    path = database(tmp_path / "w.sqlite", "CREATE TABLE t (a)", "INSERT INTO t VALUES ('x')")
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"\xff" * 400 + whole[500:])
    with pytest.raises(DataError, match=r"cannot be read as SQLite: .*; give a file that can\."):
        load_warehouse(path)
    path.write_bytes(whole)
    monkeypatch.setattr(databases, "MOST_BYTES", 100)
    with pytest.raises(DataError, match=r"has more than 100 bytes; leave out what no protocol asks about\."):
        load_warehouse(path)
    with pytest.raises(DataError, match="has no table"):
        monkeypatch.setattr(databases, "MOST_BYTES", 100_000)
        load_warehouse(database(tmp_path / "empty.sqlite", "CREATE TABLE t (a)", "DROP TABLE t"))


def test_texts_that_are_no_utf8(tmp_path: Path) -> None:
    path = database(tmp_path / "w.sqlite", "CREATE TABLE t (a TEXT)", "INSERT INTO t VALUES (CAST(x'ff' AS TEXT))")
    with pytest.raises(DataError, match="cannot be read as SQLite: Could not decode to UTF-8"):
        load_warehouse(path)


def test_a_script_needs_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sqlglot", None)
    monkeypatch.delitem(__import__("sys").modules, "memassay.suites.lifecycle.scripts", raising=False)
    (tmp_path / "setup.sql").write_text("CREATE TABLE t (a INT)", "utf-8")
    with pytest.raises(MissingExtra, match=r"sqlglot is not installed; run: pip install 'memassay\[platform\]'\."):
        load_warehouse(tmp_path / "setup.sql")
