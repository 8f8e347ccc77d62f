from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from platform_kit import FACT, ORDERS, Bench, refused

from memassay.platform import warehouse as module
from memassay.platform.shapes import QueryColumn, QueryStats
from memassay.platform.warehouse import Warehouse


@pytest.fixture
def place(bench: Callable[..., Bench], orders: Path) -> Bench:
    return bench(warehouse=orders, gate=False)


def test_names_with_and_without_catalog_and_schema(place: Bench) -> None:
    for table in (
        "orders",
        "main.orders",
        "warehouse.main.orders",
        '"warehouse"."main"."orders"',
        "WAREHOUSE.main . orders",
    ):
        result = place.platform.trino_query(place.teacher, f"SELECT sum(amount) AS total FROM {table}")
        assert (result.columns, result.rows) == ((QueryColumn(name="total", type="INTEGER"),), ({"total": 60},))
    literal = place.platform.trino_query(place.teacher, "SELECT 'warehouse.main.orders', 'it''s main.x'")
    assert [list(row.values()) for row in literal.rows] == [["warehouse.main.orders", "it's main.x"]]


def test_a_schema_of_another_name(bench: Callable[..., Bench], orders: Path) -> None:
    place = bench(warehouse=orders, gate=False, warehouse_schema="memory.bench")
    result = place.platform.trino_query(place.teacher, "SELECT o.amount FROM memory.bench.orders o ORDER BY 1 LIMIT 1")
    assert result.rows == ({"amount": 10},)
    listed = place.platform.trino_browse(place.teacher, "memory", "bench")
    assert (listed.level, listed.items, listed.count) == ("tables", ("customers", "orders"), 2)
    assert listed.model_dump(mode="json")["schema"] == "bench"
    for bad in ("bench", "a.b.c", "."):
        with refused("invalid"):
            Warehouse(orders, bad)
    with refused("not_found"):
        Warehouse(orders.with_name("none"), "a.b")


def test_describe(place: Bench) -> None:
    table = place.platform.trino_describe_table(place.teacher, "main.ORDERS")
    assert (table.catalog, table.schema_, table.table) == ("warehouse", "main", "orders")
    assert (table.urn, table.row_count, table.column_count) == (ORDERS, 3, 2)
    assert [(column.name, column.type, column.nullable) for column in table.columns] == [
        ("id", "INTEGER", "NO"),
        ("amount", "INTEGER", "YES"),
    ]
    for unknown in ("nothing", "", 'x"; DROP TABLE orders', "sqlite_master"):
        with refused("not_found"):
            place.platform.trino_describe_table(place.teacher, unknown)


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM orders",
        "UPDATE orders SET amount = 0",
        "INSERT INTO orders VALUES (9, 9)",
        "DROP TABLE orders",
        "CREATE TABLE x (y)",
        "ATTACH DATABASE '/tmp/x' AS y",
        "PRAGMA journal_mode = DELETE",
        "VACUUM INTO '/tmp/x'",
        "SELECT load_extension('x')",
        "SELECT 1; SELECT 2",
        "SELEC 1",
        "SELECT * FROM nothing",
        "",
        "-- nothing",
        "SELECT '\x00",
        "BEGIN",
    ],
)
def test_only_one_select(place: Bench, sql: str) -> None:
    with refused("tool_error"):
        place.platform.trino_query(place.teacher, sql)
    assert place.platform.trino_query(place.teacher, "SELECT count(*) AS n FROM orders").rows == ({"n": 3},)


def test_rows_are_limited_and_cells_are_json(place: Bench) -> None:
    result = place.platform.trino_query(place.teacher, "SELECT id FROM orders ORDER BY id", limit=2)
    assert (result.rows, result.row_count) == (({"id": 1}, {"id": 2}), 2)
    assert result.stats == QueryStats(row_count=2, truncated=True, limit_applied=2)
    assert not place.platform.trino_query(place.teacher, "SELECT id FROM orders", limit=3).stats.truncated
    odd = place.platform.trino_query(place.teacher, "SELECT x'00ff', NULL, 9e999, 1.5, 'é'")
    assert [tuple(row.values()) for row in odd.rows] == [("00ff", None, None, 1.5, "é")]
    assert [column.type for column in odd.columns] == ["BLOB", "NULL", "REAL", "REAL", "TEXT"]
    assert place.platform.trino_query(place.teacher, "SELECT id FROM orders WHERE 0").columns[0].type == "NULL"
    with refused("invalid"):
        place.platform.trino_query(place.teacher, "SELECT 1", limit=1001)


def test_a_statement_that_takes_too_long_or_too_much_is_ended(place: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SECONDS", 0.05)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    with refused("tool_error"):
        place.platform.trino_query(place.teacher, endless)
    with refused("tool_error"):
        place.platform.trino_query(place.teacher, "SELECT length(zeroblob(100000000))")


def test_results_carry_what_is_known_about_the_tables_that_were_read(place: Bench) -> None:
    place.describe(place.capture(FACT).id)
    for sql, expected in (
        ("SELECT count(*) FROM orders", True),
        ("SELECT 1 FROM customers c JOIN main.orders o ON o.id = c.id", True),
        ("SELECT count(*) FROM customers", False),
    ):
        found = place.platform.trino_query(place.learner, sql).enrichment
        assert (found is not None and found.memory_context[0].summary == FACT) is expected
    assert place.platform.trino_describe_table(place.learner, "orders").enrichment is not None


def test_browsing_goes_from_catalogs_to_tables(place: Bench) -> None:
    browse = place.platform.trino_browse
    assert browse(place.learner).items == ("warehouse",)
    assert browse(place.learner, "warehouse").items == ("main",)
    assert browse(place.learner, "warehouse", "main").items == ("customers", "orders")
    assert browse(place.learner, "Warehouse", "Main", "ORD%").items == ("orders",)
    assert browse(place.learner, "warehouse", "main", "order_").pattern == "order_"
    assert browse(place.learner, "warehouse", "main", ".*").items == ()
    for elsewhere in (("other", ""), ("warehouse", "other")):
        with refused("not_found"):
            browse(place.learner, *elsewhere)


def test_without_a_warehouse_the_tools_say_so(bench: Callable[..., Bench]) -> None:
    place = bench(gate=False)
    with refused("not_found"):
        place.platform.trino_query(place.teacher, "SELECT 1")
    assert place.platform.fingerprint().warehouse is None
