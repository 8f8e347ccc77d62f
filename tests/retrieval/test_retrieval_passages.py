from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memassay.core.paragraphs import paragraphs
from memassay.core.types import Document, Unit
from memassay.retrieval.passages import date_words, day, lines, unit_line, windows


@given(st.integers(0, 60), st.integers(1, 12), st.integers(1, 15))
def test_windows_cover_every_line_as_documented(count: int, window: int, stride: int) -> None:
    found = windows(count, window, stride)
    assert {line for first, last in found for line in range(first, last)} == set(range(count))
    assert all(0 < last - first <= window for first, last in found)
    assert all(last - first == window for first, last in found[:-1])
    starts = [first for first, _ in found]
    assert starts == list(range(0, len(found) * min(stride, window), min(stride, window)))
    if found:
        assert found[-1][1] == count
        assert all(last < count for _, last in found[:-1])


def test_windows_by_hand() -> None:
    assert windows(0, 5, 2) == []
    assert windows(3, 5, 2) == [(0, 3)]
    assert windows(8, 5, 2) == [(0, 5), (2, 7), (4, 8)]
    assert windows(4, 1, 2) == [(0, 1), (1, 2), (2, 3), (3, 4)]


TEXTS = st.text(alphabet=st.sampled_from("ab. \n\t。é\r"), max_size=300)


@given(TEXTS, st.integers(1, 40))
def test_paragraphs_hold_every_word_once(text: str, max_chars: int) -> None:
    spans = paragraphs(text, max_chars=max_chars)
    covered = [at for start, end in spans for at in range(start, end)]
    assert covered == sorted(set(covered))
    assert {at for at, c in enumerate(text) if not c.isspace()} <= set(covered)
    for start, end in spans:
        assert end - start <= max_chars
        assert not text[start].isspace() and not text[end - 1].isspace()


def test_paragraphs_join_short_neighbours_and_split_at_sentences() -> None:
    assert paragraphs("one\n\ntwo\n \nthree", max_chars=9, join=True) == [(0, 8), (11, 16)]
    text = "A first sentence here. A second one follows. And a third."
    assert [text[a:b] for a, b in paragraphs(text, max_chars=50, join=True)] == [
        "A first sentence here. A second one follows.",
        "And a third.",
    ]
    assert paragraphs("x" * 25, max_chars=10, join=True) == [(0, 10), (10, 20), (20, 25)]


def test_lines_of_a_conversation() -> None:
    units = (
        Unit(id="D1:1", text="Hi there", speaker="Ann", note="a photo of a dog", span=(0, 8)),
        Unit(id="D1:2", text="  ", speaker="Bob"),
        Unit(id="D1:3", text="", speaker="Bob", note="a boat"),
        Unit(id="D1:4", text="plain"),
    )
    found = lines(Document(id="d", text="not searched", units=units))
    assert [(line.unit, line.text) for line in found] == [
        ("D1:1", "Ann: Hi there [a photo of a dog]"),
        ("D1:3", "Bob: [a boat]"),
        ("D1:4", "plain"),
    ]
    assert found[0].span == (0, 8)
    assert unit_line(units[3]) == "plain"


def test_lines_of_a_text_are_paragraphs_with_their_place() -> None:
    text = "  Alpha beta.\n\nGamma.  "
    (line,) = lines(Document(id="d", text=text))
    assert line.span == (2, 21) and text[2:21] == line.text and line.unit == ""
    assert lines(Document(id="d", text=" \n\n ")) == []


@pytest.mark.parametrize(
    ("date", "short", "spoken"),
    [
        ("2023-05-08T13:56", "2023-05-08", "8 May 2023"),
        ("2023-12-31", "2023-12-31", "31 December 2023"),
        ("8 May, 2023", "8 May, 2023", "8 May, 2023"),
        ("2023-13-08", "2023-13-08", "2023-13-08"),
        ("2023-00-08", "2023-00-08", "2023-00-08"),
    ],
)
def test_dates(date: str, short: str, spoken: str) -> None:
    assert day(date) == short
    assert date_words(date) == spoken
