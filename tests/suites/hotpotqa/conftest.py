from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hotpotqa_files import record

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """``write(records, lines=True)`` writes questions as JSON, or as JSON lines, and gives the path."""

    def to(records: Any, name: str = "mine.json", *, lines: bool = False) -> Path:
        path = tmp_path / name
        text = "".join(json.dumps(r) + "\n" for r in records) if lines else json.dumps(records)
        path.write_text(text, encoding="utf-8")
        return path

    return to


@pytest.fixture
def many() -> list[dict[str, Any]]:
    """As many questions as a draw needs."""
    return [record(f"id-{number:04}") for number in range(360)]
