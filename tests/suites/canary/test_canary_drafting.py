from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memassay.core.errors import DataError, UsageError
from memassay.core.types import Document
from memassay.suites.canary.drafting import draft, refuse_unfilled, write_draft
from memassay.suites.canary.families import (
    CURRENT,
    ENTITY,
    FALSE_PREMISE,
    FAMILIES,
    HANDOFF,
    LINKS,
    MULTI_HOP,
    SUPERSESSION,
    UPDATE,
)
from memassay.suites.canary.fixture import read_fixture
from memassay.suites.canary.lint import lint
from memassay.suites.canary.spans import _sentences, quotable

PAGES = {
    "limits.md": "# Limits\n\nA client may send at most 250 requests, see [the plan](plans/one.md).\n\nSoft words.",
    "plans/one.md": "# Plan one\n\nThe limit replaced the quota on 2026-03-02. The [next](two.md) step is still open.",
    "plans/two.md": "# Plan two\n\nFrom now on the queue keeps 40 messages. It follows [[plans/one]].\n\n## Storage",
    "a/storage.md": "# Storage\n\nThe store must be copied twice a day, as [plan two](../plans/two.md) says.",
    "form.md": "# Form\n\nEvery page must have an owner of its own.",
    "form2.md": "# Form two\n\nEvery page must have an owner of its own.",
}


@pytest.fixture
def documents() -> list[Document]:
    return [
        Document(id=name, title=text.partition("\n")[0].removeprefix("# "), text=text) for name, text in PAGES.items()
    ]


def by_family(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    return {family: [row for row in rows if row["family"] == family] for family in FAMILIES}


def test_each_family_gets_words_of_the_documents(documents: list[Document]) -> None:
    rows = by_family(draft(documents))
    picked = {family: {row.get("answer") for row in rows[family]} for family in FAMILIES}
    assert picked[CURRENT] >= {
        "A client may send at most 250 requests, see the plan.",
        "The store must be copied twice a day, as plan two says.",
    }
    assert picked[HANDOFF] == {"The next step is still open."}
    assert picked[SUPERSESSION] == {"The limit replaced the quota on 2026-03-02."}
    assert picked[UPDATE] == {"From now on the queue keeps 40 messages."}
    assert "Every page must have an owner of its own." not in picked[CURRENT]
    (same,) = rows[ENTITY]
    assert same["doc"] == "a/storage.md" and "'Storage', in a/storage.md, plans/two.md." in same["notes"]
    chains = {tuple(row["expected_doc_ids"]) for row in rows[MULTI_HOP]}
    assert ("limits.md", "plans/one.md", "plans/two.md") in chains
    linked = {row["notes"].rpartition("Linked to: ")[2]: row for row in rows[LINKS]}
    assert set(linked) == {"plans/one.md.", "plans/two.md."}
    assert linked["plans/one.md."]["required"] == [
        {"text": "Limits", "doc": "limits.md", "start": 2, "end": 8},
        {"text": "Plan two", "doc": "plans/two.md", "start": 2, "end": 10},
    ]
    assert len(rows[FALSE_PREMISE]) == 8 and all(row["premise_valid"] is False for row in rows[FALSE_PREMISE])
    assert all(row["query"] == "" and row["notes"] for family in FAMILIES for row in rows[family])


def test_the_draft_depends_on_the_documents_alone(documents: list[Document]) -> None:
    rows = draft(documents)
    assert draft(documents[::-1]) == rows
    assert max(Counter(row["family"] for row in draft(documents, 2)).values()) == 2
    assert len({row["id"] for row in rows}) == len(rows)


def test_every_document_comes_once_before_one_comes_twice() -> None:
    documents = [
        Document(id=f"{letter}.md", text=f"The limit of {letter} is 20 parts. The rule of {letter} is 30 parts here.")
        for letter in "abcde"
    ]
    found = [row["doc"] for row in by_family(draft(documents))[CURRENT]]
    assert sorted(found[:5]) == ["a.md", "b.md", "c.md", "d.md", "e.md"] and found[:5] != sorted(found[:5])


def test_a_filled_draft_is_a_fixture_without_errors(documents: list[Document], tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    write_draft(path, draft(documents))
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for number, row in enumerate(rows):
        row["query"] = f"What is asked in number {number}?"
        if row.get("answer") == "":
            row["answer"] = "Storage"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    refuse_unfilled(path)
    questions = read_fixture(path)
    assert [q.family for q in questions] == [row["family"] for row in rows]
    assert all(q.required for q in questions if q.premise_valid)
    assert [f for f in lint(questions, documents) if f.severity == "error"] == []
    picked = [row for row in rows if row["family"] in (CURRENT, HANDOFF, SUPERSESSION, UPDATE, LINKS)]
    for row in picked:
        for fact in row["required"]:
            assert PAGES[fact["doc"]][fact["start"] : fact["end"]] == fact["text"]
    named = {row["id"] for row in picked}
    assert len(named) >= 7 and not any(atom.weak for q in questions if q.id in named for atom in q.required)


def test_a_picked_fact_has_its_links_as_they_stand_in_the_document(documents: list[Document]) -> None:
    (row,) = (row for row in by_family(draft(documents))[CURRENT] if row["doc"] == "limits.md")
    assert row["answer"] == "A client may send at most 250 requests, see the plan."
    (fact,) = row["required"]
    assert fact["text"] == "A client may send at most 250 requests, see [the plan](plans/one.md)."


def test_a_file_that_is_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="is there already and stays as it is; name a new file with --out"):
        write_draft(path, [])
    assert path.read_text(encoding="utf-8") == "mine"
    with pytest.raises(DataError, match=r"cannot be written: .*; choose another place"):
        write_draft(tmp_path / "none" / "q.jsonl", [])


def test_an_open_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"query": "a"}\n\n{"query": " "}\n{"query": ""}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"line 3: query is not filled in yet \(2 of 3 are open\); write the question"):
        refuse_unfilled(path)
    path.write_text('{"query": "a"}\n{"query": ""}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"line 2: query is not filled in yet \(this one is open\)"):
        refuse_unfilled(path)


def test_what_can_be_quoted() -> None:
    text = (
        "# A heading with enough words in it\n| a | table of words and more words |\n```\nprint('never quoted, this')\n"
        "```\n- The first item is long enough here. Short.\n> A quotation that is long enough too!\n"
    )
    found = quotable(text)
    assert [quote.words for quote in found] == [
        "The first item is long enough here.",
        "A quotation that is long enough too!",
    ]
    assert all(text[quote.start : quote.end] == quote.words for quote in found)


def test_the_place_of_a_sentence_takes_in_its_links() -> None:
    text = (
        "intro\n  1. [The first](a.md) of the things is here.  "
        "[It ends. Another](b.md) one is said by [the last](c.md)\r\n"
    )
    assert [(quote.words, text[quote.start : quote.end]) for quote in quotable(text)] == [
        ("The first of the things is here.", "[The first](a.md) of the things is here."),
        ("Another one is said by the last", "[It ends. Another](b.md) one is said by [the last](c.md)"),
    ]


@given(st.text(st.sampled_from("ab .!?[]()-\n\r#`1"), max_size=200))
def test_a_place_is_always_that_of_the_words(text: str) -> None:
    for words, start, end in (quote for line in text.split("\n") for quote in _sentences(line)):
        assert words and 0 <= start < end <= len(text)
    for words, start, end in quotable(text):
        assert text[start:end] == words or "](" in text[start:end]
