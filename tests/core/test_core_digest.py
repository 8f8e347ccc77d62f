from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memassay.core.digest import canonical_json, digest_file, digest_folder, digest_of, digest_text
from memassay.core.types import Estimate, Passage, StoreSpec

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(value=JSON)
def test_canonical_form_is_json_and_a_fixed_point(value: Any) -> None:
    text = canonical_json(value)
    assert canonical_json(json.loads(text)) == text
    assert "\n" not in text


@given(a=JSON, b=JSON)
def test_equal_digests_exactly_for_equal_content(a: Any, b: Any) -> None:
    assert (digest_of(a) == digest_of(b)) == (json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True))


@given(keys=st.lists(st.text(max_size=6), min_size=2, max_size=6, unique=True))
def test_order_of_keys_does_not_matter_order_of_lists_does(keys: list[str]) -> None:
    forward, backward = dict.fromkeys(keys, 1), dict.fromkeys(reversed(keys), 1)
    assert digest_of(forward) == digest_of(backward)
    assert digest_of(keys) != digest_of(keys[::-1])


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_what_json_cannot_say_is_refused(number: float) -> None:
    for value in (number, [1, {"x": number}], {"s": {number}}):
        with pytest.raises(ValueError):
            digest_of(value)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_nan_inside_a_model_is_refused_or_told_apart(number: float) -> None:
    try:
        found = digest_of(Estimate(value=number))
    except ValueError:
        return
    assert found != digest_of(Estimate(value=None)), "NaN must not have the digest of 'undefined'"


def test_models_and_their_dumps_agree() -> None:
    spec = StoreSpec(memory="lexical", options={"k": [1, 2]}, corpus_digest="d")
    assert digest_of(spec) == digest_of(spec.model_dump(mode="json"))
    assert digest_of([spec]) == digest_of([spec.model_dump(mode="json")])
    assert digest_of(spec) != digest_of(spec.model_copy(update={"seed": 1}))


def test_sets_have_no_order() -> None:
    words = [f"w{i}" for i in range(50)]
    assert digest_of(set(words)) == digest_of(frozenset(reversed(words)))


def test_what_has_no_canonical_form_is_an_error() -> None:
    with pytest.raises(TypeError, match="canonical"):
        digest_of({"x": object()})


def test_lone_surrogates_are_kept_apart() -> None:
    assert len({digest_text(t) for t in ("\ud800", "\ud801", "?", "\ufffd", "")}) == 5


def test_digests_do_not_depend_on_the_process() -> None:
    code = (
        "from memassay.core.digest import digest_of\n"
        "from memassay.core.types import Passage\n"
        "words = {f'word {i}' for i in range(40)}\n"
        "print(digest_of({'s': words, 'd': {w: 1 for w in words}, 'p': [Passage(text='é', unit_ids=('a', 'b'))]}))"
    )
    words = {f"word {i}" for i in range(40)}
    value = {"s": words, "d": dict.fromkeys(words, 1), "p": [Passage(text="é", unit_ids=("a", "b"))]}
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": locale},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        for seed, locale in (("0", "C"), ("4711", "C.UTF-8"))
    }
    assert found == {digest_of(value)}


def test_files_and_folders(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        (folder / "sub").mkdir(parents=True)
        (folder / "sub" / "x").write_bytes(b"12")
        (folder / "y").write_bytes(b"3")
    assert digest_folder(one) == digest_folder(two)
    assert digest_file(one / "y") == digest_file(two / "y")
    (two / "y").write_bytes(b"4")
    changed = digest_folder(two)
    assert changed != digest_folder(one)
    (two / "y").write_bytes(b"3")
    (two / "y").rename(two / "z")
    assert digest_folder(two) not in (changed, digest_folder(one))


def test_a_byte_that_moves_between_files_changes_the_folder(tmp_path: Path) -> None:
    for name, a, b in (("one", b"ab", b"c"), ("two", b"a", b"bc")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_bytes(a)
        (tmp_path / name / "b").write_bytes(b)
    assert digest_folder(tmp_path / "one") != digest_folder(tmp_path / "two")
