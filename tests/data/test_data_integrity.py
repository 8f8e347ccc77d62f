from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memassay.core.errors import DataError
from memassay.data.integrity import Located, kind_of, read_json, sha256_of


def refused(path: Path, says: str, **kwargs: Any) -> None:
    with pytest.raises(DataError) as caught:
        read_json(path, **kwargs)
    message = str(caught.value)
    assert re.search(says, message), message
    assert path.name in message
    assert "\n" not in message and len(message) < 400
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "is empty"),
        (b" \n\t", "is empty"),
        (b'{"a": 1,\n "b": }', r"line 2, column 7: not JSON"),
        (b"[1, 2", r"line 1, column 6: not JSON"),
        (b"[1] trailing", r"not JSON \(extra data\)"),
        (b'["\xff\xfe"]', "line 1: byte 2 is not UTF-8"),
        (b'[\n1,\n"\xe9"]', "line 3: byte 6 is not UTF-8"),
        ("[1]".encode("utf-16"), "is not UTF-8"),
        (b"<!DOCTYPE html><html></html>", "web page"),
        (b"\xef\xbb\xbf\n <html>", "web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS pointer"),
        (b'[1,\n"NaN",\nNaN]', "line 3: NaN is not a JSON number"),
        (b'["Infinity", Infinity]', "line 1: Infinity is not a JSON number"),
        (b"[-Infinity]", "line 1: -Infinity"),
        (b"[\n1e999]", "line 2: a number is too large"),
        (b"[1,\n" + b"9" * 5000 + b"]", "line 2: a number has more than 20 digits"),
        (b'{"a": 1,\n"b": 2,\n"a": 3}', r'line 3: the key "a" stands twice'),
        (b'[{"a": {"x": 1}, "b": {"x": 1}},\n{"a": "{\\"a\\":", "\\u0061": 1}]', r'line 2: the key "a" stands twice'),
        (b'["\\ud800"]', "half of a surrogate pair"),
        (b'{"\\uDFFF": 1}', "half of a surrogate pair"),
    ],
)
def test_hostile_bytes(tmp_path: Path, raw: bytes, says: str) -> None:
    path = tmp_path / "hostile.json"
    path.write_bytes(raw)
    refused(path, says)


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_a_depth_bomb(tmp_path: Path, opening: str) -> None:
    path = tmp_path / "deep.json"
    path.write_text(opening * 200_000, encoding="utf-8")
    refused(path, "nested too deeply")


def test_a_file_above_the_bound_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as file:  # sparse: 10 GB of zeros that take no room
        file.truncate(10 * 1024**3)
    refused(path, "is larger than 67,108,864 bytes")
    path.write_text("[1]  ", encoding="utf-8")
    refused(path, "is larger than 4 bytes", max_bytes=4)
    assert read_json(path, max_bytes=5) == [1]


def test_things_that_are_no_file(tmp_path: Path) -> None:
    refused(tmp_path, "is a folder")
    refused(tmp_path / "none.json", "no such file")
    refused(tmp_path / "none.json" / "below", "no such file")
    (tmp_path / "file").write_text("[]", encoding="utf-8")
    refused(tmp_path / "file" / "below", "cannot be read")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    refused(tmp_path / "loop", "cannot be read")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        refused(tmp_path / "pipe", "not a regular file")


def test_what_json_allows_is_read(tmp_path: Path) -> None:
    path = tmp_path / "fine.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": [1, -2.5, 1e3, true, null], "b": {"a": "\\ud83d\\ude00 NaN \xc3\xa9"}}')
    assert read_json(path) == {"a": [1, -2.5, 1000.0, True, None], "b": {"a": "😀 NaN é"}}


_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(_values, st.booleans())
def test_every_json_value_comes_back(tmp_path_factory: pytest.TempPathFactory, value: Any, ascii_only: bool) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps(value, ensure_ascii=ascii_only), encoding="utf-8")
    assert read_json(path) == value


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_no_bytes_cause_anything_but_a_data_error(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes.json"
    path.write_bytes(raw)
    try:
        read_json(path)
    except DataError as error:
        assert "\n" not in str(error)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["1", '"a"', '"{"', "{}", '[{"a":1}]']))))
def test_a_duplicate_key_is_found_and_only_then(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "pairs.json"
    path.write_text("{" + ",\n".join(f'"{key}": {value}' for key, value in pairs) + "}", encoding="utf-8")
    keys = [key for key, _ in pairs]
    second = next((i for i, key in enumerate(keys) if key in keys[:i]), None)
    if second is None:
        assert list(read_json(path)) == keys
    else:
        refused(path, f'line {second + 1}: the key "{keys[second]}" stands twice')


def test_sha256(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 3_000_000)
    assert sha256_of(path) == hashlib.sha256(b"x" * 3_000_000).hexdigest()
    with pytest.raises(DataError, match="no such file"):
        sha256_of(tmp_path / "none")
    with pytest.raises(DataError, match="is a folder"):
        sha256_of(tmp_path)


def test_a_wrong_value_is_named_by_its_place() -> None:
    root = Located({"qa": [{"question": 3}]}, "f.json", 'conversation 3 ("conv-41")', fix="fetch it again")
    item = next(iter(root.get("qa").items()))
    with pytest.raises(DataError) as caught:
        item.get("question").text(max_chars=10)
    assert str(caught.value) == (
        'f.json: conversation 3 ("conv-41"), qa[0].question: expected text, found a number; fetch it again.'
    )
    with pytest.raises(DataError, match=r'qa\[0\]: the key "answer" is missing'):
        item.get("answer")


@pytest.mark.parametrize(
    ("value", "call", "says"),
    [
        ([], lambda at: at.keys(), "expected an object, found a list"),
        ({}, lambda at: list(at.items()), "expected a list, found an object"),
        (None, lambda at: at.text(max_chars=9), "expected text, found null"),
        ("x" * 10, lambda at: at.text(max_chars=9), "the text has 10 characters, more than the 9"),
        (" ", lambda at: at.text(max_chars=9, empty=False), "expected text, found an empty one"),
        (True, lambda at: at.whole(), "expected a whole number, found true or false"),
        (1.5, lambda at: at.whole(), "expected a whole number, found a number"),
        ("1", lambda at: at.whole(), "expected a whole number, found text"),
    ],
)
def test_wrong_types(value: Any, call: Any, says: str) -> None:
    with pytest.raises(DataError, match=re.escape(f"f: {says}")):
        call(Located(value, "f"))


def test_a_long_key_does_not_flood_the_terminal() -> None:
    with pytest.raises(DataError) as caught:
        Located({}, "f").get("k" * 10_000)
    assert len(str(caught.value)) < 200


def test_kinds() -> None:
    assert [kind_of(v) for v in (None, True, 1, 1.5, "", [], {})] == [
        "null", "true or false", "a number", "a number", "text", "a list", "an object",
    ]  # fmt: skip
