from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PAGES = {
    "tea.md": "# Tea\n\nThe kettle is on the left.\n\nTea is kept in the blue tin. Sugar is not kept at all.\n",
    "rooms/attic.md": "# The attic\n\nThe hatch opens with the long pole.\n\nNobody has been up there since spring.\n",
    "rooms/cellar.txt": "The cellar floods in March.\n\nThe pump stands behind the door,\nnext to the boots.\n",
    "2026-03-02-minutes.rst": "Minutes of March\n================\n\nThe pump was moved to the shed.\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small folder of documents."""
    place = tmp_path / "house notes"
    for name, text in PAGES.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text, encoding="utf-8")
    return place


@pytest.fixture
def jsonl(tmp_path: Path) -> Callable[..., Path]:
    """Writes objects, or lines as they are, to a JSONL file."""

    def write(*rows: Any, name: str = "questions.jsonl") -> Path:
        path = tmp_path / name
        lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path

    return write
