"""The splitting that documents without units share (memassay.core.paragraphs)."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memassay.core.paragraphs import paragraphs

TEXTS = st.text(st.sampled_from("ab .!?\n\t\r\u2003é。"), max_size=300)


def cut(text: str, **options: int) -> list[str]:
    return [text[start:end] for start, end in paragraphs(text, **options)]


def test_blank_lines_part_paragraphs() -> None:
    assert cut("\n one\ntwo \n\n \t\nthree\n\n\n\n") == ["one\ntwo", "three"]


@pytest.mark.parametrize("text", ["", " ", "\n\n\n", "\t\n \n"])
def test_white_space_is_no_paragraph(text: str) -> None:
    assert paragraphs(text) == []


def test_a_long_one_is_split_after_a_sentence_else_at_a_blank_else_anywhere() -> None:
    assert cut("Aaaa bbb. Cccc dd.", max_chars=12) == ["Aaaa bbb.", "Cccc dd."]
    assert cut("aaaa bbbb cccc", max_chars=10) == ["aaaa bbbb", "cccc"]
    assert cut("a" * 25, max_chars=10) == ["a" * 10, "a" * 10, "a" * 5]


def test_neighbours_are_joined_only_on_request() -> None:
    assert cut("aa\n\nbb\n\ncc", max_chars=6) == ["aa", "bb", "cc"]
    text = "aa\n\nbb\n\ncc"
    assert [text[a:b] for a, b in paragraphs(text, max_chars=6, join=True)] == ["aa\n\nbb", "cc"]


@given(TEXTS, st.integers(1, 40), st.booleans())
def test_every_character_stands_in_exactly_one_span(text: str, most: int, join: bool) -> None:
    spans = paragraphs(text, max_chars=most, join=join)
    assert all(0 < end - start <= most for start, end in spans)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)
    between = [text[a:b] for a, b in zip([0, *(e for _, e in spans)], [*(s for s, _ in spans), len(text)], strict=True)]
    assert not "".join(between).strip()


@given(TEXTS)
def test_paragraphs_of_default_size_hold_no_blank_line(text: str) -> None:
    assert all("\n\n" not in piece for piece in cut(text))
