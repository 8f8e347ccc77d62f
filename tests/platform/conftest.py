from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from platform_kit import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    """``bench(gate=False, …)`` opens a workspace with these knobs; all are closed afterwards."""
    made: list[Bench] = []

    def make(**knobs: Any) -> Bench:
        made.append(Bench(tmp_path / f"workspace-{len(made)}", **knobs))
        return made[-1]

    yield make
    for one in made:
        one.platform.close()


@pytest.fixture
def place(bench: Callable[..., Bench]) -> Bench:
    """A workspace with the usual knobs."""
    return bench()


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    """A warehouse of two tables."""
    path = tmp_path / "warehouse.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as con:
        con.executescript(
            "CREATE TABLE orders (id INTEGER NOT NULL, amount INTEGER);"
            "INSERT INTO orders VALUES (1, 10), (2, 20), (3, 30);"
            "CREATE TABLE customers (id INTEGER); INSERT INTO customers VALUES (1);"
        )
    return path
