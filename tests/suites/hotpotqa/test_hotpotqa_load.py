from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hotpotqa_files import record

from memassay.core.errors import DataError
from memassay.suites.hotpotqa.load import load, parse

Write = Callable[..., Path]


def test_a_question_is_read_whole() -> None:
    (found,) = parse([record()], file="f").questions
    assert (found.id, found.question, found.answer, found.type, found.level) == (
        "q1", "What of q1?", "oats", "bridge", "hard",
    )  # fmt: skip
    assert found.facts == (("Alder Mill", 0), ("Brankton", 1))
    assert found.titles == ("Alder Mill", "Brankton")
    assert found.context[0].body == "Alder Mill is a mill in Brankton. It grinds oats."


def test_json_and_json_lines_say_the_same(write: Write) -> None:
    records = [record("a"), record("b", kind="comparison")]
    assert load(write(records)) == load(write(records, "mine.jsonl", lines=True))
    marked = write(records, "marked.jsonl", lines=True)
    marked.write_bytes(b"\xef\xbb\xbf" + marked.read_bytes().replace(b"\n", b"\r\n\r\n"))
    assert load(marked) == load(write(records))


def test_a_reader_that_forgives() -> None:
    odd = record("b", facts=[["Nowhere", 3], ["Dunes", 99], ["Dunes", -1]], extra={"deep": [1]})
    del odd["answer"], odd["level"]
    odd["question"] = "  What \n of it? "
    found = parse([record("a"), odd, record("a", kind="comparison")], file="f")
    assert [q.id for q in found.questions] == ["a", "b"]
    assert found.questions[0].type == "bridge", "the first question of an id is kept"
    assert found.repeated == ("a",)
    assert (found.questions[1].answer, found.questions[1].level, found.questions[1].question) == (
        None,
        "",
        "What of it?",
    )
    assert found.questions[1].titles == ("Nowhere", "Dunes")


BROKEN: dict[str, tuple[Any, str]] = {
    "an object": ({"a": 1}, r'line 1: the key "_id" is missing'),
    "nothing": ([], "there is no question in it"),
    "a number": ([3], r"question 1: expected an object, found a number"),
    "no id": ([{k: v for k, v in record().items() if k != "_id"}], r'question 1: the key "_id" is missing'),
    "an odd id": ([record("a b")], r"question 1\._id: an _id holds letters"),
    "no question": ([record("a"), record("b", question=" ")], r'question 2 \("b"\), question: expected text'),
    "another type": ([record(kind="multi")], r"type: expected bridge or comparison, found 'multi'"),
    "an answer of a number": ([record(answer=3)], r"answer: expected text, found a number"),
    "no facts": ([{k: v for k, v in record().items() if k != "supporting_facts"}], r'"supporting_facts" is missing'),
    "facts of another form": (
        [record(supporting_facts={"title": []})],
        r"supporting_facts: expected a list, found an obj",
    ),
    "half a fact": ([record(facts=[["Dunes"]])], r"supporting_facts\[0\]: expected a pair of a title and a sentence n"),
    "a fact in words": ([record(facts=[["Dunes", "0"]])], r"supporting_facts\[0\]\[1\]: expected a whole number"),
    "a page without sentences": ([record(context=[["Dunes"]])], r"context\[0\]: expected a pair of a title and a list"),
    "a page of one text": ([record(context=[["Dunes", "Sand."]])], r"context\[0\]\[1\]: expected a list, found text"),
    "a sentence of a number": ([record(context=[["Dunes", [1]]])], r"context\[0\]\[1\]\[0\]: expected text"),
    "a page without a title": ([record(context=[["", []]])], r"context\[0\]\[0\]: expected text"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_wrong_file_is_one_line_that_says_where(name: str, write: Write) -> None:
    value, says = BROKEN[name]
    with pytest.raises(DataError, match=says) as caught:
        load(write(value))
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith("memassay data fetch hotpotqa.")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{nonsense", r"mine\.jsonl, line 2: not JSON"),
        ("[1]", r"mine\.jsonl, line 2: expected a JSON object"),
        (json.dumps(record("b", question="")), r'mine\.jsonl: line 2 \("b"\), question: expected text'),
        (json.dumps(record("b")).replace("oats", "\\ud800"), r"line 2: a text holds half of a surrogate pair"),
    ],
)
def test_a_wrong_line_is_named(line: str, says: str, write: Write) -> None:
    path = write([record("a")], "mine.jsonl", lines=True)
    path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=says):
        load(path)


def test_no_file(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path, Path("/dev/zero")):
        with pytest.raises(DataError):
            load(path)
