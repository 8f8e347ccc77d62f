"""SQL scripts of others: what is read of them, and that nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("sqlglot", reason="the extra platform is not installed")

from lifecycle_yard import SCRIPT

from memassay.core.errors import DataError
from memassay.suites.lifecycle import scripts
from memassay.suites.lifecycle.databases import load_warehouse
from memassay.suites.lifecycle.tables import Table

MADE = "CREATE TABLE c.s.t (i INTEGER, r DOUBLE, s VARCHAR, d DATE, m TIMESTAMP, o BOOLEAN);\n"
STATEMENT = "a script may hold CREATE SCHEMA, CREATE TABLE with columns, DROP TABLE IF EXISTS and INSERT INTO … VALUES"


def read(folder: Path, text: str) -> tuple[Table, ...]:
    path = folder / "setup.sql"
    path.write_text(text, "utf-8")
    return load_warehouse(path).tables


def complaint(folder: Path, text: str) -> str:
    with pytest.raises(DataError) as caught:
        read(folder, text)
    said = str(caught.value)
    assert said.startswith(f"{folder / 'setup.sql'}: line ") and said.endswith(".") and "\n" not in said
    return said.removeprefix(f"{folder / 'setup.sql'}: line ")


def test_tables_as_the_published_script_has_them(tmp_path: Path) -> None:
    boats, refits = read(tmp_path, SCRIPT)
    assert (boats.name, boats.place, boats.about) == ("boats", "fleet.yard", "Every boat that the yard has launched.")
    assert [(column.name, column.type) for column in boats.columns] == [
        ("boat_id", "INTEGER"), ("name", "TEXT"), ("port", "TEXT"), ("masts", "INTEGER"), ("state", "TEXT"),
        ("launched_at", "TEXT"),
    ]  # fmt: skip
    assert boats.columns[3].about == "how many stand (a whole number)"
    assert boats.columns[5].about == "a moment as text, YYYY-MM-DD HH:MM:SS"
    assert boats.rows[1] == (2, "Bo's", "Riga", 3, "afloat", "2024-03-15 19:00:00")
    assert boats.rows[2][1] == "Cato; DROP" and boats.rows[4][1] is None
    assert [column.type for column in refits.columns] == ["INTEGER", "TEXT", "REAL", "INTEGER"]
    assert refits.rows == (
        (1, "2025-01-01", 100.25, 1), (2, "2025-02-01", 50.5, 0), (3, None, 25.0, None), (4, "2025-03-01", -0.75, 1),
    )  # fmt: skip
    assert refits.about == ""


def test_the_warehouse_is_sqlite_with_these_rows(tmp_path: Path) -> None:
    (tmp_path / "setup.sql").write_text(SCRIPT, "utf-8")
    tables = load_warehouse(tmp_path / "setup.sql")
    tables.write(tmp_path / "a.sqlite")
    tables.write(tmp_path / "b.sqlite")
    assert (tmp_path / "a.sqlite").read_bytes() == (tmp_path / "b.sqlite").read_bytes()
    again = load_warehouse(tmp_path / "a.sqlite")
    assert again.digest == tables.digest, "the same rows are the same warehouse, whatever file they came in"
    more = SCRIPT + "INSERT INTO fleet.yard.refits (boat_id) VALUES (5);"
    (tmp_path / "setup.sql").write_text(more, "utf-8")
    assert load_warehouse(tmp_path / "setup.sql").digest != tables.digest


def test_names_in_part_and_without_case(tmp_path: Path) -> None:
    text = 'CREATE TABLE Boats (ID bigint, "Port" text PRIMARY KEY, UNIQUE (id));\nINSERT INTO boats VALUES 1, 2'
    assert complaint(tmp_path, text) == "2: a row has 1 values for 2 columns of boats; make them equal."
    [table] = read(tmp_path, text.replace("1, 2", "(1, 'x'), (2, 'y')"))
    assert (table.name, table.place, [column.name for column in table.columns]) == ("boats", "", ["id", "Port"])
    [table] = read(
        tmp_path, "CREATE TABLE s.t (a INT); CREATE TABLE IF NOT EXISTS s.t (b INT); INSERT INTO s.t VALUES (1)"
    )
    assert (table.place, table.columns[0].name, table.rows) == ("s", "a", ((1,),))
    [table] = read(tmp_path, "CREATE TABLE t (a INT); DROP TABLE IF EXISTS t, u; CREATE TABLE t (b TINYINT)")
    assert table.columns[0].name == "b"


def test_values_are_brought_into_one_form(tmp_path: Path) -> None:
    values = "-7, DECIMAL '1.50', 'a\\b', DATE '2025-01-02', TIMESTAMP '2025-01-02 03:04', false"
    [table] = read(
        tmp_path, f"{MADE}INSERT INTO c.s.t VALUES ({values}), (7, 2, '', '2025-01-03', DATE '2025-01-02', NULL)"
    )
    assert table.rows == (
        (-7, 1.5, "a\\b", "2025-01-02", "2025-01-02 03:04:00", 0),
        (7, 2.0, "", "2025-01-03", "2025-01-02 00:00:00", None),
    )


@pytest.mark.parametrize(
    "statement",
    [
        "ATTACH 'other.sqlite' AS other", "PRAGMA writable_schema = 1", "SELECT 1", "DELETE FROM c.s.t", "VACUUM",
        "UPDATE c.s.t SET i = 1", "CREATE VIEW v AS SELECT 1", "CREATE TABLE u AS SELECT 1 AS a", "CREATE TABLE u",
        "CREATE TEMPORARY TABLE u (a INT)", "CREATE TABLE u (a INT) WITH (format = 'ORC')", "CREATE",
        "CREATE TABLE u (a INT) and more", "CREATE FUNCTION f() RETURNS INT RETURN 1", "CREATE INDEX x ON t (i)",
        "CREATE TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; END", "DROP TABLE c.s.t", "DROP SCHEMA c.s",
        "INSERT INTO c.s.t SELECT 1", "INSERT INTO c.s.t TABLE u", "INSERT OR REPLACE INTO c.s.t (i) VALUES (1)",
        "INSERT INTO c.s.t (i) VALUES (1) ON CONFLICT DO NOTHING", "INSERT INTO c.s.t DEFAULT VALUES",
        "INSERT INTO c.s.t (i) VALUES (1) RETURNING i", "WITH q AS (SELECT 1) INSERT INTO c.s.t SELECT * FROM q",
        "COPY c.s.t FROM 'x'", "garbage",
    ],
)  # fmt: skip
def test_other_statements_are_refused(tmp_path: Path, statement: str, capfd: pytest.CaptureFixture[str]) -> None:
    said = complaint(tmp_path, f"{MADE}\n{statement};")
    assert said == f"3: {STATEMENT}, and nothing else; take this statement out."
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ("1.5, 1, 'x', NULL, NULL, NULL", "1.5 is no integer, which column i holds"),
        ("'1', 1, 'x', NULL, NULL, NULL", "'1' is no integer, which column i holds"),
        ("9223372036854775808, 1, 'x', NULL, NULL, NULL", "9223372036854775808 is no integer, which column i holds"),
        ("1 + 1, 1, 'x', NULL, NULL, NULL", "1 + 1 is no integer, which column i holds"),
        ("(SELECT 1), 1, 'x', NULL, NULL, NULL", "(SELECT 1) is no integer, which column i holds"),
        ("1, 1e999, 'x', NULL, NULL, NULL", "1e999 is no real, which column r holds"),
        ("1, 'x', 'x', NULL, NULL, NULL", "'x' is no real, which column r holds"),
        ("1, 1, 5, NULL, NULL, NULL", "5 is no text, which column s holds"),
        ("1, 1, load_extension('x'), NULL, NULL, NULL", "LOAD_EXTENSION('x') is no text, which column s holds"),
        ("'a\n\x1b[31mb', 1, 'x', NULL, NULL, NULL", "'a [31mb' is no integer, which column i holds"),
        ("1, 1, 'x', '2025-02-30', NULL, NULL", "'2025-02-30' is no date, which column d holds"),
        ("1, 1, 'x', NULL, '2025-01-01 00:00:00+02:00', NULL", "is no timestamp, which column m holds"),
        ("1, 1, 'x', NULL, NULL, 2", "2 is no boolean, which column o holds"),
        ("1, 1, 'x'", "a row has 3 values for 6 columns of c.s.t; make them equal"),
        (f"1, 1, {'9' * 500}, NULL, NULL, NULL", f"{'9' * 60}… is no text, which column s holds"),
        (f"{'(' * 5000}1{')' * 5000}", "this nests too deep; write literals alone"),
    ],
)
def test_only_literals_of_the_type_are_values(tmp_path: Path, values: str, said: str) -> None:
    found = complaint(tmp_path, f"{MADE}INSERT INTO c.s.t VALUES\n(1, 1, 'x', NULL, NULL, NULL),\n({values})")
    assert said in found
    if "nests" not in said:
        assert found.startswith(f"{4 + values.count(chr(10))}: "), "the line on which the value ends"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("CREATE TABLE t (a ARRAY(INTEGER))", "1: column a is ARRAY(INTEGER); a warehouse has numbers, texts"),
        ("CREATE TABLE t (a INT DEFAULT 3)", "1: column a has 'DEFAULT 3', which is not read; take it out"),
        ("CREATE TABLE t (a INT,\n b INT GENERATED ALWAYS AS (a * 2))", "2: column b has 'GENERATED ALWAYS AS"),
        ("CREATE TABLE t (LIKE u)", "1: '(LIKE u)' is no column with a type; write one"),
        ("CREATE TABLE t ()", "1: t has no columns"),
        ("CREATE TABLE t (a INT,\n A INT)", "2: t has two columns a; rename one"),
        ("CREATE TABLE sqlite_master (a INT)", "1: no table can be named 'sqlite_master' here"),
        ('CREATE TABLE "a,b" (a INT)', "1: no table can be named 'a,b' here"),
        ("CREATE TABLE a.b.c.d (a INT)", "1: a table is named catalog.schema.table"),
        ("CREATE TABLE t (a INT);\n\nCREATE TABLE T (a INT)", "3: t is made a second time; take one of them out"),
        ("INSERT INTO t VALUES (1)", "1: t is filled, and was not made before; make it first"),
        (f"{MADE}INSERT INTO c.s.t (i, zz) VALUES (1, 2)", "2: c.s.t has no column zz; it has i, r, s, d, m, o"),
        (f"{MADE}INSERT INTO c.s.t (i, I) VALUES (1, 2)", "2: a column of c.s.t is filled twice; name each once"),
        ("CREATE TABLE t (a VARCHAR);\nINSERT INTO t VALUES\n('x", "3: a text or comment is not closed; close it"),
        ("\n/* x", "2: a text or comment is not closed; close it"),
        ("CREATE TABLE t (a INT,\n b WRONG)", "2: Trino's SQL cannot be read at 'WRONG'; mend it"),
    ],
)  # fmt: skip
def test_complaints_name_the_line_and_the_fix(tmp_path: Path, text: str, said: str) -> None:
    assert complaint(tmp_path, text).startswith(said)


def test_scripts_have_a_size_and_are_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "setup.sql"
    path.write_bytes(b"CREATE TABLE t (a VARCHAR);\nINSERT INTO t VALUES ('\xff')")
    with pytest.raises(DataError, match=r"neither an SQLite file nor a script in UTF-8 \(byte 51\)\."):
        load_warehouse(path)
    monkeypatch.setattr(scripts, "MOST_BYTES", 20)
    with pytest.raises(DataError, match=r"has more than 20 bytes; make an SQLite file of it, and give that\."):
        load_warehouse(path)
    path.write_text("-- nothing\n;;", "utf-8")
    with pytest.raises(DataError, match=r"has no table; give an SQLite file or a script"):
        load_warehouse(path)


def test_two_schemas_are_too_many(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has two tables t, in two schemas; leave one of them out\."):
        read(tmp_path, "CREATE TABLE c.a.t (a INT); CREATE TABLE c.b.t (a INT)")
