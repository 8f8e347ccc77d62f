"""A corrupt or hostile data file is one clear line on standard error and exit code 2 or 3."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit import Cli, small_conversation

Change = Callable[[list[Any]], Any]


def turns(data: list[Any]) -> list[Any]:
    found: list[Any] = data[0]["conversation"]["session_1"]
    return found


def at(*path: str | int) -> Callable[[Any], Change]:
    """A change that puts a value at a place."""

    def to(value: Any) -> Change:
        def change(data: list[Any]) -> Any:
            inner: Any = data
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = value
            return data

        return change

    return to


def without(*path: str | int) -> Change:
    def change(data: list[Any]) -> Any:
        inner: Any = data
        for key in path[:-1]:
            inner = inner[key]
        del inner[path[-1]]
        return data

    return change


QA, TALK, TURN = (0, "qa"), (0, "conversation"), (0, "conversation", "session_1", 0)
HOSTILE: dict[str, Change] = {
    # wrong types
    "an object": lambda d: {"data": d},
    "a number": lambda d: 3,
    "null": lambda d: None,
    "a list of numbers": lambda d: [1, 2],
    "a nested list": lambda d: [d],
    "qa is an object": at(*QA)({"a": 1}),
    "qa is null": at(*QA)(None),
    "a question is a number": at(*QA, 0, "question")(7),
    "a question is empty": at(*QA, 0, "question")(" "),
    "a question is a list": at(*QA, 0)([]),
    "a category is text": at(*QA, 0, "category")("multi-hop"),
    "a category is true": at(*QA, 0, "category")(True),
    "a category is 6": at(*QA, 0, "category")(6),
    "a category is 1.5": at(*QA, 0, "category")(1.5),
    "an answer is a list": at(*QA, 0, "answer")(["a"]),
    "evidence is text": at(*QA, 0, "evidence")("D1:1"),
    "evidence holds a number": at(*QA, 0, "evidence")([1]),
    "evidence holds null": at(*QA, 0, "evidence")([None]),
    "the conversation is a list": at(*TALK)([]),
    "a session is text": at(*TALK, "session_1")("hello"),
    "a session is null": at(*TALK, "session_1")(None),
    "a turn is text": at(*TURN)("hello"),
    "a turn's text is a number": at(*TURN, "text")(5),
    "a turn's text is null": at(*TURN, "text")(None),
    "a speaker is null": at(*TURN, "speaker")(None),
    "a dia_id is a number": at(*TURN, "dia_id")(11),
    "a caption is a list": at(*TURN, "blip_caption")(["x"]),
    "a date is a number": at(*TALK, "session_1_date_time")(20230508),
    "a date is nonsense": at(*TALK, "session_1_date_time")("yesterday"),
    "a date that does not exist": at(*TALK, "session_1_date_time")("1:09 pm on 31 February, 2023"),
    "an hour that does not exist": at(*TALK, "session_1_date_time")("13:09 pm on 3 May, 2023"),
    "a sample_id is a number": at(0, "sample_id")(26),
    "a sample_id is a path": at(0, "sample_id")("../../etc/passwd"),
    "a sample_id is empty": at(0, "sample_id")(""),
    # missing keys
    "no qa": without(*QA),
    "no conversation": without(*TALK),
    "no sample_id": without(0, "sample_id"),
    "no question": without(*QA, 0, "question"),
    "no category": without(*QA, 0, "category"),
    "no evidence": without(*QA, 0, "evidence"),
    "no answer": without(*QA, 0, "answer"),
    "no dia_id": without(*TURN, "dia_id"),
    "no text": without(*TURN, "text"),
    "no speaker": without(*TURN, "speaker"),
    "no date": without(*TALK, "session_1_date_time"),
    # duplicates
    "one conversation twice": lambda d: [*d, d[0]],
    "one dia_id twice": lambda d: (turns(d).append(copy.deepcopy(turns(d)[0])), d)[1],
    "one session twice": at(*TALK, "session_01")([]),
    # nothing in it
    "no conversations": lambda d: [],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_of_the_wrong_shape(name: str, cli: Cli, tmp_path: Path, workplace: Path) -> None:
    path = tmp_path / "data é.json"
    path.write_text(json.dumps(HOSTILE[name]([small_conversation(n) for n in range(2)])), encoding="utf-8")
    refuse(cli, path, workplace)


RAW: dict[str, bytes] = {
    "empty": b"",
    "white space": b" \n\t",
    "truncated": json.dumps([small_conversation(0)]).encode()[:-100],
    "invalid UTF-8": json.dumps([small_conversation(0)])
    .encode()
    .replace(b"kettle", b"k\xffttle")
    .replace(b"lovely", b"\xc3"),
    "UTF-16": json.dumps([small_conversation(0)]).encode("utf-16"),
    "HTML": b"<!DOCTYPE html>\n<html><body>Please log in</body></html>",
    "HTML after white space": b"\n\n  <html></html>",
    "an LFS pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:79fa\nsize 2805274\n",
    "JSON lines": b'{"a": 1}\n{"a": 2}\n',
    "a gzip file": b"\x1f\x8b\x08\x00" + bytes(range(256)),
    "NUL bytes": b"\0" * 1000,
    "NaN": b'[{"sample_id": NaN}]',
    "a huge number": b'[{"sample_id": 1e999}]',
    "a number of 10,000 digits": b"[" + b"9" * 10_000 + b"]",
    "deep nesting": b"[" * 200_000 + b"]" * 200_000,
    "deep objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "a key twice": b'[{"sample_id": "a", "sample_id": "b", "qa": [], "conversation": {}}]',
    "half a surrogate pair": json.dumps([small_conversation(0)]).replace("kettle", "k\\ud800e").encode(),
    "a YAML file": b"- sample_id: conv-26\n  qa: []\n",
    "Python": b"[{'sample_id': 'conv-26'}]",
}


@pytest.mark.parametrize("name", RAW)
def test_bytes_that_are_no_data_file(name: str, cli: Cli, tmp_path: Path, workplace: Path) -> None:
    path = tmp_path / "data.json"
    path.write_bytes(RAW[name])
    refuse(cli, path, workplace)


@pytest.mark.parametrize(
    "place", [(*TURN, "text"), (*QA, 0, "question"), (*QA, 0, "answer"), (0, "sample_id"), (*TURN, "dia_id")]
)
def test_a_string_of_100_megabytes(place: tuple[str | int, ...], cli: Cli, tmp_path: Path, workplace: Path) -> None:
    data = [small_conversation(0)]
    path = tmp_path / "data.json"
    text = json.dumps(at(*place)("PLACE")(data))
    head, tail = text.split('"PLACE"')
    with path.open("w", encoding="utf-8") as file:
        file.write(f'{head}"')
        for _ in range(100):
            file.write("x" * 1_000_000)
        file.write(f'"{tail}')
    line = refuse(cli, path, workplace)
    assert len(line) < 500


def test_a_string_of_30_megabytes_is_under_the_size_of_a_file_and_still_refused(
    cli: Cli, tmp_path: Path, workplace: Path
) -> None:
    path = tmp_path / "data.json"
    path.write_text(json.dumps(at(*TURN, "text")("x" * 30_000_000)([small_conversation(0)])), encoding="utf-8")
    line = refuse(cli, path, workplace)
    assert len(line) < 500
    assert "session_1" in line


def test_control_characters_do_not_reach_the_terminal(cli: Cli, tmp_path: Path, workplace: Path) -> None:
    path = tmp_path / "data.json"
    evil = "\x1b[2J\x1b]0;owned\x07\rmemassay: all is well"
    path.write_text(json.dumps(at(*TALK, "session_1_date_time")(evil)([small_conversation(0)])), encoding="utf-8")
    line = refuse(cli, path, workplace)
    assert not [c for c in line if ord(c) < 32 or c == "\x7f"]


@pytest.mark.parametrize("kind", ["missing", "a folder", "a device", "a fifo"])
def test_no_file_at_all(kind: str, cli: Cli, tmp_path: Path, workplace: Path) -> None:
    import os

    path = tmp_path / "data.json"
    match kind:
        case "a folder":
            path.mkdir()
        case "a device":
            path = Path("/dev/zero")
        case "a fifo":
            os.mkfifo(path)
    refuse(cli, path, workplace)


AUDIT: dict[str, Any] = {
    "an object": {},
    "nothing": [],
    "another question": [
        {"question_id": "locomo_0_qa0", "question": "Another?", "error_type": "AMBIGUOUS", "correct_evidence": [],
         "correct_answer": "x"}
    ],
    "no such question": [
        {"question_id": "locomo_77_qa0", "question": "?", "error_type": "AMBIGUOUS", "correct_evidence": [],
         "correct_answer": "x"}
    ],
    "no id": [{"question": "?"}],
}  # fmt: skip


@pytest.mark.parametrize("name", AUDIT)
def test_an_audit_that_does_not_fit(
    name: str, cli: Cli, tmp_path: Path, workplace: Path, small_file: Callable[..., Path]
) -> None:
    path = tmp_path / "audit.json"
    path.write_text(json.dumps(AUDIT[name]), encoding="utf-8")
    refuse(cli, small_file(), workplace, "--corrections", path, named=path)


def refuse(cli: Cli, path: Path, workplace: Path, *more: str | Path, named: Path | None = None) -> str:
    out = workplace / "runs" / "r"
    ran = cli("run", "locomo", "--memory", "files", "--tokens", "chars4", "--data", path, *more, "--out", out, "--json")
    assert ran.code in (2, 3), ran.out[:300]
    assert (named or path).name in ran.complaint
    assert ran.out == ""
    assert list(workplace.iterdir()) == [], "nothing may be written for a file that is refused"
    return ran.complaint
