from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memassay.core.errors import DataError
from memassay.suites.custom import lines
from memassay.suites.custom.lines import Row, read_rows

Write = Callable[..., Path]


def message(path: Path, **options: int) -> str:
    with pytest.raises(DataError) as caught:
        list(read_rows(path, **options))
    text = str(caught.value)
    assert "\n" not in text and len(text) < 400 and text.endswith((".", "?"))
    return text


def test_rows_know_their_line(jsonl: Write) -> None:
    path = jsonl({"a": 1}, "", "  ", {"a": 2})
    assert [(row.line, row.value) for row in read_rows(path)] == [(1, {"a": 1}), (4, {"a": 2})]
    assert {row.file for row in read_rows(path)} == {str(path)}


def test_a_byte_order_mark_crlf_and_a_missing_last_line_end_are_tolerated(tmp_path: Path) -> None:
    path = tmp_path / "windows.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n\r\n{"a": 2}')
    assert [row.value for row in read_rows(path)] == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"a": 1', "not JSON"),
        ("{'a': 1}", "one whole JSON object per line"),
        ('{"a": 1} {"b": 2}', "extra data at column 10"),
        ("[1, 2]", "found a list"),
        ('"text"', "found text"),
        ("12", "found a number"),
        ("true", "found true or false"),
        ("null", "found null"),
        ('{"a": 1, "a": 2}', 'the key "a" stands twice'),
        ('{"a": ' + "9" * 5000 + "}", "too many digits"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_line_that_is_no_object_is_named(jsonl: Write, line: str, words: str) -> None:
    found = message(jsonl({"good": 1}, line))
    assert "questions.jsonl, line 2: " in found and words in found


def test_bytes_that_are_not_utf8_are_named(tmp_path: Path) -> None:
    path = tmp_path / "latin.jsonl"
    path.write_bytes('{"a": 1}\n{"a": "caf\u00e9"}\n'.encode("latin-1"))
    assert "latin.jsonl, line 2: byte 11 is not UTF-8; save the file as UTF-8." in message(path)


def test_an_empty_file_a_folder_and_no_file(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n\n", encoding="utf-8")
    assert "is empty" in message(tmp_path / "empty.jsonl")
    assert "is a folder" in message(tmp_path)
    assert "there is no such file" in message(tmp_path / "none.jsonl")
    assert "cannot be read" in message(Path("with\0nul"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "is not a regular file" in message(tmp_path / "pipe")


def test_a_line_of_100_mb_is_refused_without_being_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "long.jsonl"
    with path.open("wb") as file:
        file.write(b'{"a": 1}\n{"a": "')
        file.truncate(100 * 1024 * 1024)  # a hole in the file: nothing is written
    assert "long.jsonl, line 2: the line is longer than 64 MB" in message(path)
    assert "longer than 1 MB" in message(path, max_line=lines.MAX_QUESTION_LINE)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_any_bytes_give_rows_or_one_clear_line(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "any.jsonl"
    path.write_bytes(raw)
    try:
        assert all(isinstance(row.value, dict) for row in read_rows(path))
    except DataError as error:
        assert str(error).startswith(str(path)) and "\n" not in str(error)


# -- what a row says of its values ---------------------------------------------------------------------------------


def row(**values: Any) -> Row:
    return Row(values, "f.jsonl", 7)


def test_an_unknown_key_gets_a_suggestion() -> None:
    with pytest.raises(DataError, match=r"f.jsonl, line 7: unknown key \"evidance\"\. Did you mean 'evidence'\?"):
        row(evidance=1).only(("evidence", "question"))


@pytest.mark.parametrize(
    ("method", "value", "words"),
    [
        ("text", 3, "key must be text in quotes, found a number"),
        ("text", "  ", "key is empty"),
        ("text", "\ud800", "surrogate"),
        ("text", ["a"], "found a list"),
        ("needed", None, "key is missing"),
        ("name", "two\nlines", "must be one line"),
        ("name", "x" * 201, "must be one line of at most 200"),
        ("name", " a", "without blanks"),
        ("name", True, "found true or false"),
        ("name", 1.5, "found a number"),
        ("date", "yesterday", "is no date"),
        ("date", "2026-02-30", "is no date"),
        ("date", "20260101", "write it as 2026-03-31"),
        ("items", "a", "must be a list, found text"),
        ("texts", ["a", 1], "item 2 of key must be text"),
        ("texts", [""], "item 1 of key is empty"),
        ("texts", [None], "item 1 of key is missing"),
        ("texts", {"a": 1}, "found an object"),
    ],
)
def test_a_wrong_value_is_named_with_the_fix(method: str, value: Any, words: str) -> None:
    with pytest.raises(DataError) as caught:
        getattr(row(key=value), method)("key")
    assert str(caught.value).startswith("f.jsonl, line 7: ") and words in str(caught.value)


def test_right_values() -> None:
    assert row(key="a").text("key") == "a" and row().text("key") is None and row(key=None).text("key") is None
    assert row(key=12).name("key") == "12" and row(key="a b").name("key") == "a b"
    assert row(key="2026-03-31").date("key") == "2026-03-31"
    assert row(key="2026-03-31T09:30:00Z").date("key") == "2026-03-31T09:30:00Z"
    assert row().items("key") == row(key=[]).items("key") == []
    assert row(key=["a", "b"]).texts("key") == ["a", "b"]


@given(st.text())
def test_what_is_shown_is_short_and_one_line(text: str) -> None:
    shown = lines.shown(text)
    assert len(shown) <= 63 * 12 + 2 and shown.isprintable() and json.loads(shown)[:60] == text[:60]
