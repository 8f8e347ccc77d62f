from __future__ import annotations

from pathlib import Path

import pytest
from store_notes import PAGES


@pytest.fixture
def notes(workplace: Path) -> Path:
    for key, text in PAGES.items():
        path = workplace / "notes" / f"{key}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return workplace / "notes"
