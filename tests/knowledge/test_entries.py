"""What an entry says of its page, by the plain definitions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memassay.core.dossier import block
from memassay.core.tokens import NAMES, tokenizer
from memassay.knowledge.entries import Entry, Indexing, Settings
from memassay.knowledge.links import Resolver
from memassay.knowledge.pages import parse

PIECES = st.sampled_from(
    [
        "# Top\n", "## Part one\n", "### Deep\n", "\n", "\n\n", "A line. ", "word " * 12, "Some more words, ",
        " ", "\r\n", "- item one\n", "> quoted words\n",
        "[Ada](people/ada.md)", "x" * 70 + " ", "é東京 ", "---\n", "title: T\n",
        "don't ", "12,5 ", "(see) ", "\ud800", "\t", "🙂",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=40).map("".join)


def entry(text: str, settings: Settings) -> Entry:
    (made,) = Indexing(settings).entries([parse("notes/p", text)], Resolver(["notes/p"]).aim)
    return made


@pytest.mark.parametrize("tokens", NAMES)
@given(text=TEXTS, max_chars=st.sampled_from([30, 90, 1000]))
def test_marks_are_those_of_what_is_shown(tokens: str, text: str, max_chars: int) -> None:
    made = entry(text, Settings(tokens=tokens, max_chars=max_chars))
    marks = tokenizer(tokens).marks
    for shape, head in zip(made.shapes, made.heads, strict=True):
        own = text[shape.start : shape.end]
        assert shape.marks == marks(block(1, own))
        assert shape.headed == (marks(block(1, f"{head}\n{own}")) if head else shape.marks)
    assert made.page_marks == marks(block(1, made.page.content))


def test_a_long_page_is_counted_in_parts() -> None:
    text = "# Notes\n\n" + "\n\n".join(f"## Day {day}\n\n" + "We saw the old harbour. " * 60 for day in range(40))
    made = entry(text, Settings())
    assert len(made.shapes) > 40
    assert made.page_marks == tokenizer().marks(block(1, text))
    assert sum(shape.marks for shape in made.shapes) > made.page_marks
