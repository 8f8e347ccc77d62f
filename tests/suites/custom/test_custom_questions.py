from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memassay.core.errors import DataError
from memassay.core.types import Document
from memassay.suites.custom.documents import documents_of
from memassay.suites.custom.lines import Row
from memassay.suites.custom.questions import CATEGORY, NO_EVIDENCE, questions_of, read_questions

Write = Callable[..., Path]


def scopes(*names: str | None) -> dict[str, tuple[Document, ...]]:
    rows = []
    for scope in names or (None,):
        for name, text in (("tea", "The kettle is left.\n\nTea is in the tin."), ("attic", "Mind the hatch.")):
            rows.append({"id": name, "text": text} | ({"scope": scope} if scope else {}))
    return dict(documents_of([Row(row, "docs", n) for n, row in enumerate(rows, start=1)]).scopes)


def test_every_field(jsonl: Write) -> None:
    path = jsonl(
        {
            "id": "mine",
            "question": "Where is the tea?",
            "answer": "in the tin",
            "evidence": ["Tea is in the tin.", "attic#1"],
            "category": "kitchen",
            "cluster": "house",
            "as_of": "2026-05-01",
            "split": "dev",
        }
    )
    (task,) = read_questions(path, scopes())
    assert (task.id, task.suite, task.scope, task.cluster) == ("mine", "custom", "documents", "house")
    assert (task.category, task.split, task.as_of) == ("kitchen", "dev", "2026-05-01")
    gold = task.gold["original"]
    assert gold.answer == "in the tin"
    assert [(e.id, e.text) for e in gold.evidence] == [("tea#2", "Tea is in the tin."), ("attic#1", "Mind the hatch.")]


def test_what_is_left_out(jsonl: Write) -> None:
    path = jsonl(
        {"question": "a?"}, "", {"question": "b?", "evidence": ["mind the hatch"]}, {"question": "c?", "id": 7}
    )
    one, two, three = read_questions(path, scopes())
    assert [task.id for task in (one, two, three)] == ["q1", "q3", "7"]
    assert (one.cluster, one.category, one.split, one.as_of) == (NO_EVIDENCE, CATEGORY, "all", None)
    assert one.gold["original"].evidence == () and one.gold["original"].answer is None
    assert two.cluster == "attic"


def test_the_cluster_is_the_document_of_the_first_evidence(jsonl: Write) -> None:
    rows = [{"question": "?", "evidence": e, "scope": s} for e, s in ((["attic#1", "tea"], "b"), (["tea"], "a"))]
    tasks = read_questions(jsonl(*rows), scopes("a", "b"))
    assert [task.cluster for task in tasks] == ["b/attic", "a/tea"]
    assert [e.id for e in tasks[0].gold["original"].evidence] == ["attic#1", "tea#1", "tea#2"]


def test_evidence_twice_counts_once(jsonl: Write) -> None:
    (task,) = read_questions(jsonl({"question": "?", "evidence": ["tea#1", "tea", "tea#2"]}), scopes())
    assert [e.id for e in task.gold["original"].evidence] == ["tea#1", "tea#2"]


@pytest.mark.parametrize(("answer", "text"), [(6, "6"), (0.5, "0.5"), ("six", "six"), (None, None)])
def test_an_answer_may_be_a_number(jsonl: Write, answer: Any, text: str | None) -> None:
    (task,) = read_questions(jsonl({"question": "?", "answer": answer}), scopes())
    assert task.gold["original"].answer == text


def test_the_only_scope_need_not_be_named(jsonl: Write) -> None:
    (task,) = read_questions(jsonl({"question": "?"}), scopes("house"))
    assert task.scope == "house"


def test_a_quotation_in_several_places_says_so(jsonl: Write) -> None:
    rows = [Row({"text": "The same words."}, "docs", n) for n in range(1, 5)]
    (task,) = read_questions(jsonl({"question": "?", "evidence": ["same words"]}), documents_of(rows).scopes)
    assert task.payload == {"places": 4}


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"question": ""}, "question is empty"),
        ({"answer": "x"}, 'question is missing; write "question": "..."'),
        ({"question": 1}, "question must be text in quotes, found a number"),
        ({"quesiton": "?"}, "unknown key \"quesiton\". Did you mean 'question'?"),
        ({"question": "?", "id": "good"}, 'the id "good" is that of line 1; give each question its own'),
        ({"question": "?", "id": "marker/a"}, "begins with marker/"),
        ({"question": "?", "category": "control:marker"}, "begins with control:"),
        ({"question": "?", "split": "tset"}, "split must be dev, test or all, not \"tset\". Did you mean 'test'?"),
        ({"question": "?", "as_of": "now"}, 'as_of "now" is no date'),
        ({"question": "?", "answer": True}, "answer must be text in quotes, found true or false"),
        ({"question": "?", "answer": ["a"]}, "answer must be text in quotes, found a list"),
        ({"question": "?", "evidence": "tea"}, 'evidence must be a list, found text; write "evidence": ["..."]'),
        ({"question": "?", "evidence": [1]}, "item 1 of evidence must be text"),
        ({"question": "?", "evidence": [""]}, "item 1 of evidence is empty"),
        ({"question": "?", "evidence": ["tea#9"]}, "did you mean 'tea#2'?"),
        ({"question": "?", "evidence": ["tea#1", "Tea is in a tin."]}, "evidence 2"),
        ({"question": "?", "evidence": ["Tea is in a tin."]}, "the closest passage is 'Tea is in the tin.' (tea#2)"),
        ({"question": "?", "evidence": ["!!"]}, "neither an id nor a quotation found in the documents"),
        ({"question": "?", "scope": "documnts"}, "no document has the scope \"documnts\". Did you mean 'documents'?"),
        ({"question": "x" * 1024 * 1024}, "the line is longer than 1 MB"),
    ],
)
def test_a_wrong_question_is_named_by_line_with_the_fix(jsonl: Write, bad: dict[str, Any], words: str) -> None:
    path = jsonl({"id": "good", "question": "?"}, bad)
    with pytest.raises(DataError) as caught:
        read_questions(path, scopes())
    text = str(caught.value)
    assert text.startswith(f"{path}, line 2: ") and words in text and text.endswith((".", "?")) and "\n" not in text


def test_a_default_id_that_is_taken(jsonl: Write) -> None:
    with pytest.raises(DataError, match=r'line 2: the id "q2" is that of line 1'):
        read_questions(jsonl({"id": "q2", "question": "?"}, {"question": "?"}), scopes())


def test_several_scopes_must_be_named(jsonl: Write) -> None:
    with pytest.raises(DataError, match=r"line 1: scope is missing, and the documents have several.* Known: a, b\."):
        read_questions(jsonl({"question": "?"}), scopes("a", "b"))


def test_a_quotation_that_is_everywhere_says_nothing(jsonl: Write) -> None:
    rows = [Row({"text": "As we all know."}, "docs", n) for n in range(1, 20)]
    with pytest.raises(DataError, match="stands in more than 10 places; quote a longer passage"):
        read_questions(jsonl({"question": "?", "evidence": ["we all know"]}), documents_of(rows).scopes)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from(["id", "question", "answer", "evidence", "category", "cluster", "as_of", "split", "scope", "x"])


@settings(max_examples=300)
@given(st.lists(st.dictionaries(KEYS, JSON, max_size=6), max_size=4))
def test_any_objects_give_tasks_or_one_clear_line(rows: list[dict[str, Any]]) -> None:
    try:
        tasks = questions_of([Row(row, "f.jsonl", n) for n, row in enumerate(rows, start=1)], scopes())
    except DataError as error:
        assert str(error).startswith("f.jsonl, line ") and "\n" not in str(error)
    else:
        assert len({task.id for task in tasks}) == len(tasks) == len(rows)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=120))
def test_any_bytes_after_a_good_line_give_tasks_or_one_clear_line(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "q.jsonl"
    path.write_bytes(json.dumps({"question": "?"}).encode() + b"\n" + raw)
    try:
        assert read_questions(path, scopes())[0].prompt == "?"
    except DataError as error:
        assert str(error).startswith(f"{path}, line ") and "\n" not in str(error)
