"""An answer within a budget: no more is taken away than must be, and the note says what."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memassay.core.tokens import tokenizer
from memassay.knowledge.fitting import fitted
from memassay.knowledge.listing import as_json

COUNT = tokenizer("o200k_base")


def tokens(value: Any) -> int:
    return COUNT.marks(value if isinstance(value, str) else as_json(value))


def page(number: int, words: int) -> dict[str, Any]:
    return {"key": f"p{number}", "content": f"# Page {number}\n\n" + "boiler kettle " * words}


@pytest.mark.parametrize("value", ["some words", [], {"pages": 3, "orphans": ["a", "b"]}])
def test_what_fits_or_has_no_budget_is_given_as_it_is(value: Any) -> None:
    assert fitted(value, 0) == (value, None)
    assert fitted(value, tokens(value)) == (value, None)


def test_a_text_is_cut_and_says_so() -> None:
    shown, note = fitted("boiler kettle " * 500, 100)
    assert shown.startswith("boiler kettle boiler") and shown.endswith(" tokens omitted)")
    assert note == {
        "truncated": False, "emitted": 1, "matched": 1, "clipped": 1, "tokens": tokens(shown), "budget": 100,
        "hint": "Raise max_tokens, or ask for less.",
    }  # fmt: skip
    assert 95 <= tokens(shown) <= 100


def test_contents_go_before_the_names_of_pages() -> None:
    value = {"creates": [page(0, 3)], "updates": [page(n, 400) for n in range(1, 9)], "removes": ["gone"]}
    shown, note = fitted(value, 600)
    assert [item["key"] for item in shown["updates"]] == [f"p{n}" for n in range(1, 9)]
    assert shown["creates"] == value["creates"] and shown["removes"] == ["gone"]
    assert note is not None and (note["truncated"], note["emitted"], note["matched"]) == (False, 10, 10)
    assert note["clipped"] == 8
    assert 500 < tokens(shown) == note["tokens"] <= 600


def test_lists_are_shortened_where_names_alone_are_too_many() -> None:
    value = {"pages": 900, "orphans": [f"orphan-{n}" for n in range(900)], "problems": [{"key": "a", "problem": "b"}]}
    shown, note = fitted(value, 200)
    assert shown["pages"] == 900 and shown["problems"] == value["problems"]
    assert 10 < len(shown["orphans"]) < 900 and shown["orphans"] == value["orphans"][: len(shown["orphans"])]
    assert note is not None and (note["truncated"], note["clipped"], note["matched"]) == (True, 0, 901)
    assert note["emitted"] == len(shown["orphans"]) + 1
    assert tokens(value | {"orphans": value["orphans"][: len(shown["orphans"]) + 1]}) > 200 >= tokens(shown)


leaves = st.text(max_size=30) | st.integers() | st.none()
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.sampled_from(["key", "content", "x"]), inner),
    max_leaves=30,
)


@given(st.lists(values, max_size=8), st.integers(2, 120))
@settings(max_examples=150)
def test_a_list_never_breaks_its_budget(value: list[Any], budget: int) -> None:
    shown, note = fitted(value, budget)
    assert tokens(shown) <= budget
    assert (note is None) == (shown == value)
