"""Statistics of pages and of one page."""

from __future__ import annotations

import pytest
from knowledge_texts import shelf

from memassay.core.errors import UsageError
from memassay.knowledge.census import page_stats, stats

LIBRARY = shelf(
    index="# Index\n\n[a](a)\n\n[gone](gone)\n",
    a="# A\n\nsee [b](b) and [b](b) and [a](a)\n\n## Part\n",
    b="---\nx: *y\n---\ntwo words [lost](gone)\n",
    sub_index="x",
    lone="y",
)


def test_counters_and_lists() -> None:
    found = stats(LIBRARY)
    assert {name: found[name] for name in ("pages", "words", "sections", "blocks", "inclusions", "references")} == {
        "pages": 5, "words": 16, "sections": 3, "blocks": 9, "inclusions": 2, "references": 3,
    }  # fmt: skip
    assert found["orphans"] == ["lone"]
    assert found["brokenLinks"] == [{"key": "gone", "sources": ["b", "index"]}]
    assert [problem["key"] for problem in found["problems"]] == ["b"]
    assert found["mostReferenced"] == [{"key": "a", "title": "A", "count": 1}, {"key": "b", "title": "b", "count": 1}]
    assert found["mostIncluding"] == [{"key": "index", "title": "Index", "count": 2}]
    assert found["longest"][0] == {"key": "a", "title": "A", "count": 8}
    assert "similarPages" not in found


def test_pages_that_are_alike_are_told_once() -> None:
    scores = {"a": [("b", 0.9), ("lone", 0.2)], "b": [("a", 0.95)]}
    found = stats(LIBRARY, similar=lambda key: scores.get(key, []))
    assert found["similarPages"] == [{"keys": ["a", "b"], "score": 0.95}]
    assert page_stats(LIBRARY, "a", similar=lambda key: scores[key])["similarPages"] == [
        {"key": "b", "title": "b", "score": 0.9}
    ]


def test_the_figures_of_one_page() -> None:
    found = page_stats(LIBRARY, "b")
    assert (found["words"], found["sections"], found["blocks"]) == (3, 0, 1)
    assert found["brokenLinks"] == ["gone"] and found["referencedBy"][0]["key"] == "a"
    assert found["problem"].startswith("The front matter uses YAML aliases")
    with pytest.raises(UsageError, match="There is no page 'c'"):
        page_stats(LIBRARY, "c")
