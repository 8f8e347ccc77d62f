from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from scenes import keys, page_text
from tools_kit import write_notes

from memassay.knowledge import index as index_module
from memassay.knowledge.store import KnowledgeStore
from memassay.knowledge.tools import Desk


@pytest.fixture
def pages() -> dict[str, str]:
    draw = random.Random(3)
    return {key: page_text(draw) for at, key in enumerate(keys()) if at % 4}


@pytest.fixture
def small_bases(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new base after a few edits, pages committed three at a time."""
    monkeypatch.setattr(index_module, "_LEAST_FRESH", 7)
    monkeypatch.setattr(index_module, "_BATCH", 3)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return write_notes(tmp_path / "notes")


@pytest.fixture
def desk(notes: Path) -> Iterator[Desk]:
    desk = Desk(KnowledgeStore.open(notes))
    yield desk
    desk.close()


@pytest.fixture
def editor(notes: Path) -> Iterator[Desk]:
    desk = Desk(KnowledgeStore.open(notes, writable=True), write=True)
    yield desk
    desk.close()
