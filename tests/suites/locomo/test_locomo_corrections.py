from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from locomo_files import conversation, question, turn

from memassay.core.errors import DataError
from memassay.core.types import Task
from memassay.suites.locomo.corrections import (
    CORRUPTING,
    Corrections,
    answer_ceiling,
    load_corrections,
    parse_corrections,
)
from memassay.suites.locomo.load import Conversation, load, parse
from memassay.suites.locomo.tasks import tasks

TALK = {"session_1": [turn("D1:1", "One."), turn("D1:2", "Two."), turn("D1:3", "Three.")]}
QA = [question("A?"), question("B?"), question("C?"), question("D?", evidence=[])]


def item(place: int, kind: str = "WRONG_CITATION", **more: Any) -> dict[str, Any]:
    return {
        "question_id": f"locomo_1_qa{place}",
        "question": QA[place]["question"],
        "error_type": kind,
        "correct_evidence": ["D1:2"],
        "correct_answer": "corrected",
    } | more


@pytest.fixture
def conversations() -> tuple[Conversation, ...]:
    return parse([conversation("conv-1"), conversation("conv-2", qa=QA, **TALK)], file="f")


def corrected(conversations: tuple[Conversation, ...], *items: dict[str, Any]) -> dict[str, Task]:
    return {t.id: t for t in tasks(conversations, parse_corrections(list(items), conversations, file="audit.json"))}


def test_a_wrong_citation_changes_the_evidence_and_keeps_the_answer(conversations: tuple[Conversation, ...]) -> None:
    task = corrected(conversations, item(1))["conv-2/q1"]
    original, excluded, fixed = (task.gold[key] for key in ("original", "audit-excluded", "audit-corrected"))
    assert list(task.gold) == ["original", "audit-excluded", "audit-corrected"]
    assert [e.id for e in original.evidence] == ["D1:1"]
    assert (excluded.excluded, excluded.evidence, excluded.answer) == (None, (), "that")
    assert ([e.text for e in fixed.evidence], fixed.answer, fixed.excluded) == (["Two."], "that", None)
    assert task.payload["audit"] == "WRONG_CITATION"


@pytest.mark.parametrize("kind", CORRUPTING)
def test_a_corrupt_answer_leaves_one_key_and_is_replaced_in_the_other(
    conversations: tuple[Conversation, ...], kind: str
) -> None:
    task = corrected(conversations, item(1, kind))["conv-2/q1"]
    assert task.gold["original"].excluded is None
    assert task.gold["audit-excluded"].excluded == f"{kind}: the audit found the answer key wrong"
    assert task.gold["audit-corrected"].answer == "corrected"


@pytest.mark.parametrize("evidence", [[], ["D7:7"], ["nothing of the kind"]])
def test_a_correction_without_evidence_says_so(conversations: tuple[Conversation, ...], evidence: list[str]) -> None:
    gold = corrected(conversations, item(1, "TEMPORAL_ERROR", correct_evidence=evidence))["conv-2/q1"].gold
    assert gold["audit-corrected"].evidence == ()
    assert gold["audit-corrected"].excluded == "TEMPORAL_ERROR: the audit names no turn as evidence"
    assert gold["audit-corrected"].unresolved == tuple(" ".join(evidence).split())


def test_corrected_evidence_is_parsed_like_any_other(conversations: tuple[Conversation, ...]) -> None:
    gold = corrected(conversations, item(1, correct_evidence=["D1:2; D1:03"]))["conv-2/q1"].gold["audit-corrected"]
    assert [e.id for e in gold.evidence] == ["D1:2", "D1:3"]


def test_what_the_audit_does_not_name_is_the_same_under_every_key(conversations: tuple[Conversation, ...]) -> None:
    found = corrected(conversations, item(1))
    for name in ("conv-1/q0", "conv-2/q0", "conv-2/q3"):
        assert len({gold.model_dump_json() for gold in found[name].gold.values()}) == 1
        assert "audit" not in found[name].payload


def test_without_an_audit_there_is_one_key(conversations: tuple[Conversation, ...]) -> None:
    assert all(list(task.gold) == ["original"] for task in tasks(conversations))


def test_the_ceiling_is_that_of_the_tasks_given(conversations: tuple[Conversation, ...]) -> None:
    found = corrected(conversations, item(0, "AMBIGUOUS"), item(1), item(2, "INCOMPLETE"))
    everything = list(found.values())
    assert answer_ceiling(everything) == pytest.approx(3 / 5)
    assert answer_ceiling(everything[1:3]) == pytest.approx(1 / 2)
    assert answer_ceiling([found["conv-2/q1"]]) == 1
    assert answer_ceiling([]) is None
    assert answer_ceiling(tasks(conversations)) is None


@pytest.mark.parametrize(
    ("items", "says"),
    [
        ([], "the list of corrections is empty"),
        ({}, "expected a list, found an object"),
        ([3], "item 0: expected an object, found a number"),
        ([item(1, question="B!")], r"item 0 (locomo_1_qa1): the audit asks 'B!', the data file asks 'B?'"),
        ([item(1), item(2, question_id="locomo_1_qa9")], "item 1 (locomo_1_qa9): the data file has no such question"),
        ([item(1, question_id="locomo_7_qa1")], "item 0 (locomo_7_qa1): the data file has no such question"),
        ([item(1, question_id="conv-2/q1")], "item 0.question_id: expected an id such as"),
        ([item(1, question_id="locomo_1_qa-1")], "item 0.question_id: expected an id such as"),
        ([item(1, question_id=7)], "item 0.question_id: expected text, found a number"),
        ([item(1), item(1)], "item 1: conv-2/q1 is corrected twice"),
        ([item(1, "TYPO")], "item 0 (locomo_1_qa1), error_type: expected one of WRONG_CITATION, HALLUCINATION"),
        ([item(1, correct_evidence="D1:2")], "correct_evidence: expected a list, found text"),
        ([item(1, correct_evidence=[None])], "correct_evidence[0]: expected text, found null"),
        ([item(1, correct_answer=None)], "correct_answer: expected text, found null"),
        ([{k: v for k, v in item(1).items() if k != "question"}], 'the key "question" is missing'),
    ],
)
def test_a_wrong_audit_is_refused(conversations: tuple[Conversation, ...], items: Any, says: str) -> None:
    with pytest.raises(DataError, match=re.escape(says)) as caught:
        parse_corrections(items, conversations, file="audit.json")
    message = str(caught.value)
    assert message.startswith("audit.json: ") and message.endswith("memassay data fetch locomo-audit.")
    assert "\n" not in message


def test_an_audit_of_another_file_is_named(conversations: tuple[Conversation, ...], tmp_path: Path) -> None:
    path = tmp_path / "audit.json"
    path.write_text("[", encoding="utf-8")
    with pytest.raises(DataError, match=r"audit\.json, line 1"):
        load_corrections(path, conversations)


@pytest.mark.data
def test_the_real_audit(real: Callable[[str], Path]) -> None:
    conversations = load(real("locomo10.json"))
    audit: Corrections = load_corrections(real("locomo_audit_errors.json"), conversations)
    assert audit.count() == 156
    assert audit.count("WRONG_CITATION") == 57
    assert {kind: audit.count(kind) for kind in CORRUPTING} == {
        "HALLUCINATION": 33,
        "TEMPORAL_ERROR": 26,
        "ATTRIBUTION_ERROR": 24,
        "AMBIGUOUS": 13,
        "INCOMPLETE": 3,
    }
    run = [t for t in tasks(conversations, audit) if t.category != "adversarial"]
    assert answer_ceiling(run) == pytest.approx(1 - 99 / 1540)
    per_category = {c: answer_ceiling([t for t in run if t.category == c]) for c in {t.category for t in run}}
    assert {c: round(v, 3) for c, v in per_category.items() if v} == {
        "multi-hop": 0.901,
        "temporal": 0.919,
        "open-domain": 0.906,
        "single-hop": 0.957,
    }
    n_recall, n_answers = {}, {}
    for key in ("original", "audit-excluded", "audit-corrected"):
        kept = [t.gold[key] for t in run if t.gold[key].excluded is None]
        n_answers[key], n_recall[key] = len(kept), sum(bool(gold.evidence) for gold in kept)
    assert n_recall == {"original": 1536, "audit-excluded": 1380, "audit-corrected": 1535}
    assert n_answers == {"original": 1540, "audit-excluded": 1441, "audit-corrected": 1539}
    assert [t.id for t in run if t.gold["audit-corrected"].excluded] == ["conv-47/q11"]
