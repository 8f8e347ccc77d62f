"""The JSON of a tool's result, as text."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from memassay.core.blocks import merged, objects

_OBJECT = st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.booleans()))


@given(st.lists(_OBJECT), st.sampled_from([None, 1]))
def test_what_was_written_in_blocks_is_read_again(values: list[dict[str, object]], indent: int | None) -> None:
    text = "\n".join(json.dumps(value, indent=indent) for value in values)
    assert objects(text) == values


def test_words_between_blocks_are_passed_over() -> None:
    text = '## A table\n| a | b |\n{"a": 1}\nand {no object}\n{broken\n{"a": 2, "b": "x\\ny"}\n[1, 2]'
    assert objects(text) == [{"a": 1}, {"a": 2, "b": "x\ny"}]
    assert merged(text) == {"a": 1, "b": "x\ny"}


def test_what_holds_none_gives_none() -> None:
    assert merged("") == merged("a refusal (code: search_required)") == merged("[" * 100_000) == {}
    assert merged('{"a":' * 100_000) == {}
