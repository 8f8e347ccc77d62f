from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from kit import printed_elsewhere
from memassay.core.errors import EnvironmentProblem, UsageError
from memassay.suites.lifecycle.warehouse import (
    EXTRACT,
    INDEX,
    INDEX_DAYS,
    MOST_LEDGERS,
    Warehouse,
    dataset_of,
    make_warehouse,
    urn_of,
)


def test_a_ledger_per_depot_and_the_tables_beside(warehouse: Warehouse) -> None:
    assert len(warehouse.ledgers) == len(warehouse.depots) == 36
    assert set(warehouse.tables) == {"members", "depots", EXTRACT, INDEX, *warehouse.ledgers}
    assert all(name == name.lower() and name.replace("_", "").isalpha() for name in warehouse.ledgers)
    for hires in warehouse.ledgers.values():
        assert 220 <= len(hires) <= 320
        assert all(hire.taken_on.startswith("2024-") and 1 <= hire.days <= 21 for hire in hires)
        assert all(0 <= hire.rebate_cents < hire.fee_cents for hire in hires)
        assert all(hire.member_id in warehouse.member for hire in hires)


def test_the_extract_is_of_the_year_before_and_the_index_ends_early(warehouse: Warehouse) -> None:
    assert all(hire.taken_on < "2024" for hire in warehouse.extract)
    days = [str(row[0]) for row in warehouse.tables[INDEX]]
    assert max(days) <= "2024-11-15"
    assert INDEX_DAYS == 320


def test_the_same_seed_gives_the_same_file_in_every_process(warehouse: Warehouse, tmp_path: Path) -> None:
    program = (
        "import hashlib\nfrom pathlib import Path\nfrom memassay.suites.lifecycle.warehouse import make_warehouse\n"
        "made = make_warehouse(5, 4)\nmade.write(Path('again.sqlite'))\n"
        "print(made.digest, hashlib.sha256(Path('again.sqlite').read_bytes()).hexdigest())"
    )
    assert len(printed_elsewhere(program, tmp_path)) == 1
    assert make_warehouse(5, 4).digest == make_warehouse(5, 4).digest != make_warehouse(6, 4).digest
    assert [path.name for path in tmp_path.iterdir()] == ["again.sqlite"]


def test_a_larger_warehouse_has_the_ledgers_of_a_smaller(warehouse: Warehouse) -> None:
    small = make_warehouse(warehouse.seed, 5)
    assert list(warehouse.ledgers.items())[:5] == list(small.ledgers.items())
    assert small.members == warehouse.members


def test_the_file_has_the_rows(warehouse: Warehouse, tmp_path: Path) -> None:
    path = tmp_path / "w.sqlite"
    warehouse.write(path)
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        for name, rows in warehouse.tables.items():
            # A primary key decides in which order SQLite gives the rows back.
            found = connection.execute(f"SELECT * FROM {dataset_of(name)}").fetchall()
            assert sorted(found) == sorted(tuple(row) for row in rows)
            assert found


@pytest.mark.parametrize("ledgers", [0, -1, MOST_LEDGERS + 1])
def test_sizes_that_are_refused(ledgers: int) -> None:
    with pytest.raises(UsageError, match="ledgers"):
        make_warehouse(1, ledgers)


def test_a_folder_that_is_not_there(warehouse: Warehouse, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="cannot be written"):
        make_warehouse(1, 1).write(tmp_path / "nowhere" / "w.sqlite")


def test_names_in_words_and_as_urn() -> None:
    assert urn_of("hires_x") == "urn:li:dataset:(urn:li:dataPlatform:trino,warehouse.main.hires_x,PROD)"


def test_the_vocabulary_knows_columns_values_and_what_is_derived(warehouse: Warehouse) -> None:
    assert {"rebate", "discount", "mower", "duration", "month", "hires"} <= warehouse.vocabulary
    assert "satisfaction" not in warehouse.vocabulary
