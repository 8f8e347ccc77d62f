"""Questions in and out: the published schema, ours, and the short form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memassay.core.errors import DataError
from memassay.suites.canary.fixture import Atom, Question, read_fixture, weak_atoms, write_fixture

PUBLISHED: dict[str, Any] = {
    "id": "current_canonical-001",
    "family": "current_canonical",
    "query": "Which policy holds when a task is queued again?",
    "expected_label": "correct",
    "expected_doc_id": "guide/queue.rst",
    "notes": "One paragraph of one file.",
}
FULL: dict[str, Any] = {
    "schema_version": 2,
    "id": "temporal_supersession-001",
    "family": "temporal_supersession",
    "query": "What is the limit now?",
    "answer": "340 rows",
    "expected_label": "correct",
    "expected_doc_ids": ["adr/2.md", "adr/1.md"],
    "required": [{"text": "340 rows", "doc": "adr/2.md", "start": 4, "end": 12}],
    "forbidden": [{"text": "200 rows", "doc": "adr/1.md", "until": "2026-02-03"}],
    "as_of": "2026-03-01",
    "aliases": ["Tarmere"],
    "author": "ab",
    "split": "sealed",
    "cluster": "limit",
    "notes": "n",
}


def written(folder: Path, *lines: Any) -> Path:
    path = folder / "questions.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


def read(folder: Path, *lines: Any) -> tuple[Question, ...]:
    return read_fixture(written(folder, *lines))


def complaint(folder: Path, *lines: Any) -> str:
    with pytest.raises(DataError) as caught:
        read(folder, *lines)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{folder / 'questions.jsonl'}, ")


def test_a_published_line_is_read_and_written_as_published(tmp_path: Path) -> None:
    (question,) = read(tmp_path, PUBLISHED)
    assert (question.schema_version, question.family) == (1, "current_canonical")
    assert question.expected_doc_ids == ("guide/queue.rst",) and question.required == ()
    assert question.expected_label == "correct" and question.premise_valid
    write_fixture(tmp_path / "out.jsonl", [question])
    assert json.loads((tmp_path / "out.jsonl").read_text()) == PUBLISHED


def test_a_published_false_premise_has_no_true_premise_and_empty_notes_pass(tmp_path: Path) -> None:
    line = {"id": "a-1", "family": "abstention_false_premise", "query": "What did it say?", "notes": ""}
    (question,) = read(tmp_path, line | {"expected_label": "abstained"})
    assert not question.premise_valid and question.expected_label == "abstained" and question.notes == ""


def test_a_full_line_survives_a_round_trip_byte_for_byte(tmp_path: Path) -> None:
    (question,) = read(tmp_path, FULL)
    assert question.required == (Atom(text="340 rows", doc="adr/2.md", start=4, end=12),)
    assert question.forbidden[0].until == "2026-02-03" and question.split == "sealed" and question.line == 1
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    write_fixture(first, [question])
    assert read_fixture(first) == (question,)
    write_fixture(second, read_fixture(first))
    assert first.read_bytes() == second.read_bytes()
    assert set(json.loads(first.read_text())) == set(FULL)


def test_the_short_form_needs_query_answer_and_doc_only(tmp_path: Path) -> None:
    first, second = read(
        tmp_path, {"query": "How long?", "answer": "14 days", "doc": "a.md"}, {"query": "How many?", "answer": 12}
    )
    assert (first.id, first.family, first.schema_version, first.cluster) == ("q1", "current_canonical", 2, "a.md")
    assert first.required == (Atom(text="14 days", doc="a.md", weak=True),) and first.expected_doc_ids == ("a.md",)
    assert second.required == (Atom(text="12", weak=True),) and second.id == "q2"


@pytest.mark.parametrize(
    ("line", "version", "facts", "documents"),
    [
        ({"query": "q?"}, 2, 0, 0),
        ({"query": "q?", "answer": "14 days"}, 2, 1, 0),
        ({"query": "q?", "doc": "a.md"}, 2, 0, 1),
        ({"query": "q?", "answer": "14 days", "doc": "a.md"}, 2, 1, 1),
        ({"id": "a", "query": "q?", "notes": "n"}, 2, 0, 0),
        ({"id": "a", "family": "multi_hop", "query": "q?"}, 1, 0, 0),
        ({"id": "a", "family": "multi_hop", "query": "q?", "expected_doc_id": "a.md"}, 1, 0, 1),
    ],
)
def test_a_query_is_enough_with_gold_or_without(
    tmp_path: Path, line: dict[str, str], version: int, facts: int, documents: int
) -> None:
    (question,) = read(tmp_path, line)
    assert (question.schema_version, len(question.required), len(question.expected_doc_ids)) == (
        version, facts, documents,
    )  # fmt: skip
    assert (question.id, question.family) == (line.get("id", "q1"), line.get("family", "current_canonical"))
    again = tmp_path / "again.jsonl"
    write_fixture(again, [question])
    assert read_fixture(again) == (question,)


def test_atoms_that_are_given_are_not_taken_from_the_answer(tmp_path: Path) -> None:
    (question,) = read(tmp_path, {"query": "q?", "answer": "for 14 days", "required": ["14 days"]})
    assert question.required == (Atom(text="14 days"),)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_is_no_answer(tmp_path: Path, value: str) -> None:
    """Python reads these, and writes them as words that a text might even hold."""
    file = tmp_path / "questions.jsonl"
    file.write_text(f'{{"query": "q?", "answer": {value}}}\n', encoding="utf-8")
    with pytest.raises(DataError, match="line 1: answer must be text or a number, found"):
        read_fixture(file)


def test_a_false_premise_has_no_atoms_even_with_an_answer(tmp_path: Path) -> None:
    (question,) = read(tmp_path, {"query": "q?", "answer": "There is none.", "family": "abstention_false_premise"})
    assert question.required == () and not question.premise_valid


@pytest.mark.parametrize(
    ("answer", "texts"),
    [
        ("", []),
        ("Every other Tuesday.", ["Every other Tuesday"]),
        ("Ask Ana Lopez before 17:00 and never retry it more than 3 times.", ["Ana Lopez", "17:00"]),
        ('It says "exactly once", with maxRetries and the queue_depth of 10,000.', ["exactly once", "maxRetries",
         "queue_depth", "10,000"]),
        ("ADR-0012 took the place of ADR-0007 on 2026-03-01, they say.", ["ADR-0012", "ADR-0007", "2026-03-01"]),
        ("we chose it because it is cheaper to run than the others", ["we chose it because it is cheaper to run than"
         " the others"]),
    ],
)  # fmt: skip
def test_weak_atoms_are_the_whole_of_a_short_answer_or_the_telling_words(answer: str, texts: list[str]) -> None:
    assert [atom.text for atom in weak_atoms(answer)] == texts
    assert all(atom.weak for atom in weak_atoms(answer))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ({"query": "q?", "schema_version": 1}, 'id is missing; write "id": "...", or "schema_version": 2'),
        ({"id": "a", "query": "q?", "schema_version": 1}, "family is missing"),
        ({"answer": "a"}, "query is missing"),
        ({"query": " ", "answer": "a"}, "query is empty; fill it in, or delete the line"),
        ({"query": "q?", "answer": ""}, "answer is empty; fill it in or leave it out"),
        (
            {"query": "q?", "answer": "a", "family": "multihop"},
            "family \"multihop\" is unknown. Did you mean 'multi_hop'",
        ),
        ({"query": "q?", "answer": "a", "famly": "x"}, "unknown key \"famly\". Did you mean 'family'"),
        (
            {"query": "q?", "answer": "a", "doc": "x", "expected_doc_ids": ["x"]},
            "doc and expected_doc_ids say the same",
        ),
        ({"query": "q?", "answer": "a", "as_of": "March"}, 'as_of "March" is no date'),
        ({"query": "q?", "answer": "a", "split": "test"}, 'split "test" is unknown'),
        ({"query": "q?", "answer": "a", "expected_label": "right"}, 'expected_label "right" is unknown'),
        ({"query": "q?", "answer": "a", "premise_valid": "no"}, "premise_valid must be true or false, found text"),
        ({"query": "q?", "required": [{"txt": "a"}]}, "required[0] has the unknown key \"txt\". Did you mean 'text'"),
        ({"query": "q?", "required": [{"text": "a"}, 3]}, "required[1] must be text or"),
        ({"query": "q?", "required": [{"doc": "a"}]}, "required[0].text is missing"),
        ({"query": "q?", "required": [{"text": "a", "doc": "d", "start": 3}]}, "give both or neither"),
        ({"query": "q?", "required": [{"text": "a", "doc": "d", "start": 3, "end": 3}]}, "start first"),
        ({"query": "q?", "required": [{"text": "a", "start": 3, "end": 4}]}, "required[0].doc is missing"),
        ({"query": "q?", "forbidden": [{"text": "a", "until": "soon"}]}, 'forbidden[0].until "soon" is no date'),
        ({**PUBLISHED, "schema_version": 3}, 'schema_version must be 1 or 2, found "3"'),
        ({**PUBLISHED, "schema_version": True}, "schema_version must be 1 or 2"),
        ({**PUBLISHED, "schema_version": 1, "answer": "a"}, 'unknown key "answer"'),
        ("[1]", "expected a JSON object"),
        ('{"query": ', "not JSON"),
    ],
)
def test_a_wrong_line_is_one_sentence_with_line_field_and_fix(line: Any, says: str, tmp_path: Path) -> None:
    message = complaint(tmp_path, FULL, line)
    assert message.startswith("line 2: ") and says in message


def test_an_id_used_twice_is_refused_unless_the_linter_reads(tmp_path: Path) -> None:
    short = {"id": "a", "query": "q?", "answer": "b"}
    assert complaint(tmp_path, short, short).startswith('line 2: the id "a" is that of line 1')
    path = written(tmp_path, short, short | {"family": "no"})
    assert [question.family for question in read_fixture(path, checked=False)] == ["current_canonical", "no"]


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be written"):
        write_fixture(tmp_path / "none" / "q.jsonl", [])
