"""A small warehouse for the memory ``platform``, and the settings of its tests."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from platform_speech import URN

from memassay.core.types import Corpus
from memassay.platform.shapes import Entity

KNOBS: dict[str, Any] = {"embedder": "hash", "supersede": 0.6, "similar": 0.4}


class SmallWarehouse:
    def write(self, path: Path) -> None:
        with closing(sqlite3.connect(path)) as con:
            con.execute("CREATE TABLE sales (day TEXT, cents INTEGER)")
            con.executemany("INSERT INTO sales VALUES (?, ?)", [("2024-01-01", 100), ("2024-01-02", 250)])
            con.commit()


def corpus(**more: Any) -> Corpus:
    native = SimpleNamespace(
        warehouse=SmallWarehouse(),
        entities=(Entity(urn=URN, name="shop.main.sales", description="Sales."),),
        settings={"warehouse_schema": "shop.main"},
    )
    return Corpus(**({"id": "c", "documents": (), "native": native, "digest": "d"} | more))
