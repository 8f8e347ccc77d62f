"""Every tool whose answer can be long keeps to ``max_tokens`` and says what is missing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memassay.core.tokens import tokenizer
from memassay.knowledge.store import KnowledgeStore
from memassay.knowledge.tools import Desk

COUNT = tokenizer("o200k_base")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    root = tmp_path / "notes"
    root.mkdir()
    for n in range(60):
        (root / f"p{n:02}.md").write_text(f"# Page {n}\n\nThe boiler, see [hub](hub.md).\n\n- {n}\n", encoding="utf-8")
    listed = "".join(f"[Page {n}](p{n:02}.md)\n\n" for n in range(60))
    (root / "hub.md").write_text(f"# Hub\n\n{listed}", encoding="utf-8")
    desk = Desk(KnowledgeStore.open(root, writable=True), write=True)
    yield desk
    desk.close()


UPDATE = "filter: {}\nupdate: {$set: {status: done}}\nexpect: {min: 1}"
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "tree": ("tree", {}),
    "squash": ("squash", {"key": "hub"}),
    "stats": ("stats", {}),
    "dry query": ("query", {"operation": "update", "document": UPDATE, "dry_run": True}),
    "query": ("query", {"operation": "update", "document": UPDATE}),
    "dry delete": ("delete", {"key": "hub", "dry_run": True}),
    "dry rename": ("rename", {"old_key": "hub", "new_key": "far/hub", "dry_run": True}),
    "rename": ("rename", {"old_key": "hub", "new_key": "far/hub"}),
}


@pytest.mark.parametrize("what", CALLS)
def test_an_answer_keeps_to_its_budget_and_says_what_is_missing(desk: Desk, what: str) -> None:
    tool, arguments = CALLS[what]
    # The notes have no orphans and no faults, so their figures are short.
    budget = 150 if tool == "stats" else 700
    answer, note = desk.call(tool, {**arguments, "max_tokens": budget})
    said = json.loads(note)
    assert COUNT.marks(answer) == said["tokens"] <= budget == said["budget"]
    assert said["truncated"] or said["clipped"]
    assert said["hint"] and said["emitted"] <= said["matched"]


@pytest.mark.parametrize("what", ["tree", "squash", "stats", "dry delete", "dry rename"])
def test_without_a_budget_the_answer_is_whole(desk: Desk, what: str) -> None:
    tool, arguments = CALLS[what]
    assert desk.call(tool, arguments) == desk.call(tool, {**arguments, "max_tokens": 0})
    assert len(desk.call(tool, arguments)) == 1


def test_a_dry_run_names_every_page_before_it_shows_a_word(desk: Desk) -> None:
    tool, arguments = CALLS["dry rename"]
    answer, _ = desk.call(tool, {**arguments, "max_tokens": 2000})
    told = json.loads(answer)
    assert len(told["updates"]) == 60 and told["removes"] == ["hub"] and len(told["creates"]) == 1
