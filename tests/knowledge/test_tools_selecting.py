"""The tools on some pages only, and ``search`` by the section."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tools_kit import keys, value

from memassay.core.errors import MemassayError
from memassay.core.tokens import tokenizer
from memassay.knowledge.store import KnowledgeStore
from memassay.knowledge.tools import Desk

LONG = "\n\n".join("Words that say little about it. " * 12 for _ in range(5))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    pages = {
        "index": "# Index\n\n[Tea](tea.md)\n\n[Lamps](lamps.md)\n",
        "tea": f"---\nstatus: draft\n---\n# Tea\n\n{LONG}\n\nGreen tea.\n\n## Water\n\n{LONG}\n",
        "lamps": "---\nstatus: done\n---\n# Lamps\n\nSee [[tea]] and [[gone]].\n",
    }
    for key, text in pages.items():
        (tmp_path / f"{key}.md").write_text(text)
    desk = Desk(KnowledgeStore.open(tmp_path))
    yield desk
    desk.close()


@pytest.mark.parametrize("given", [{"status": "draft"}, "status: draft", "{$includedBy: index, status: {$ne: done}}"])
def test_a_filter_is_given_as_an_object_or_in_yaml(desk: Desk, given: Any) -> None:
    assert keys(value(desk, "find", filter=given)) == ["tea"]
    assert keys(value(desk, "find", filter=given, lexical="lamps tea")) == ["tea"]
    assert keys(value(desk, "retrieve", filter=given)) == ["tea"]
    assert keys(value(desk, "tree", filter=given)) == ["tea"]
    assert value(desk, "stats", filter=given)["pages"] == 1
    assert keys(value(desk, "find", filter=given, **{"not_in": ["index"]})) == []


def test_a_filter_that_means_nothing_is_one_sentence(desk: Desk) -> None:
    deep: Any = "x"
    for _ in range(3000):
        deep = {"$not": deep}
    for given, says in (
        (["status"], "filter is a mapping"),
        (7, "filter is a mapping"),
        ("status", "The filter is a mapping, such as 'status: draft'."),
        ({"$and": []}, "takes a list of filters"),
        (deep, "nested more than 40 levels deep"),
    ):
        with pytest.raises(MemassayError, match=says):
            desk.call("find", {"filter": given})


def test_stats_of_some_pages(desk: Desk) -> None:
    found = value(desk, "stats", filter={"status": "done"})
    assert found["brokenLinks"] == [{"key": "gone", "sources": ["lamps"]}] and found["longest"][0]["key"] == "lamps"
    assert value(desk, "stats", **{"in": ["index"]})["pages"] == 2
    with pytest.raises(MemassayError, match="give key or a selector, not both"):
        desk.call("stats", {"key": "tea", "in": ["index"]})
    with pytest.raises(MemassayError, match="threshold is 2"):
        desk.call("stats", {"threshold": 2})


def test_a_tree_shows_the_fields_that_are_asked_for(desk: Desk) -> None:
    [index] = value(desk, "tree", project=["key", "status"])
    assert index == {
        "key": "index",
        "children": [
            {"key": "tea", "status": "draft", "children": []},
            {"key": "lamps", "status": "done", "children": []},
        ],
    }


def test_search_by_the_section(desk: Desk) -> None:
    passage, section, page = (
        value(desk, "search", text="green tea", grain=grain, limit=1, max_tokens=0)[0]
        for grain in ("passage", "section", "page")
    )
    assert value(desk, "search", text="green tea", limit=1)[0] == passage
    assert passage["text"].endswith("Green tea.") and passage["text"] in section["text"]
    assert section["text"].startswith("# Tea") and section["text"].endswith("Green tea.")
    assert page["text"].startswith(section["text"]) and "## Water" in page["text"]
    assert section["sectionPath"] == ["Tea"]
    with pytest.raises(MemassayError, match="grain is 'chapter'"):
        desk.call("search", {"text": "tea", "grain": "chapter"})


@pytest.mark.parametrize("budget", [60, 200, 400, 600, 900])
def test_a_section_that_does_not_fit_is_cut_to_its_best_passages(desk: Desk, budget: int) -> None:
    texts = desk.call("search", {"text": "green tea", "grain": "section", "max_tokens": budget})
    counter = tokenizer("o200k_base")
    assert -(-counter.marks(texts[0]) // counter.marks_per_token) <= budget
    pieces = json.loads(texts[0])
    assert "Green tea." in pieces[0]["text"]
    note = json.loads(texts[1])
    assert note["clipped"] == sum("clipped" in piece for piece in pieces) and note["emitted"] == len(pieces)
