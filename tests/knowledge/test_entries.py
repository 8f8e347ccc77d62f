"""What the passages of a page take of a budget, by the plain definition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenes import built

from memassay.core.dossier import block
from memassay.core.tokens import NAMES, BytePairs, tokenizer
from memassay.knowledge.entries import Settings
from memassay.knowledge.pages import parse
from memassay.knowledge.snapshot import Snapshot

PIECES = st.sampled_from(
    [
        "# Top\n", "## Part one\n", "### Deep\n", "\n", "\n\n", "A line. ", "word " * 12, "Some more words, ",
        " ", "\r\n", "- item one\n", "> quoted words\n",
        "[Ada](people/ada.md)", "x" * 70 + " ", "é東京 ", "---\n", "title: T\n",
        "don't ", "12,5 ", "(see) ", "\ud800", "\t", "🙂",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=40).map("".join)


def indexed(text: str, settings: Settings) -> Snapshot:
    return built({"notes/p": text}, settings).snapshot


@pytest.mark.parametrize("tokens", NAMES)
@given(text=TEXTS, max_chars=st.sampled_from([30, 90, 1000]))
def test_marks_are_those_of_what_is_shown(tokens: str, text: str, max_chars: int) -> None:
    snapshot = indexed(text, Settings(tokens=tokens, max_chars=max_chars))
    marks = tokenizer(tokens).marks
    for passage in range(snapshot.passages):
        own, head = snapshot.text(passage), snapshot.head(passage)
        assert snapshot.marks(passage, passage + 1) == marks(block(1, own))
        assert snapshot.marks(passage, passage + 1, heads=True) == marks(block(1, f"{head}\n{own}" if head else own))
    whole = parse("notes/p", text).content
    for _ in range(2):  # counted, and remembered
        assert snapshot.marks(0, snapshot.passages) == marks(block(1, whole))


def test_marks_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = []
    count = BytePairs.marks
    monkeypatch.setattr(BytePairs, "marks", lambda self, text: counted.append(text) or count(self, text))
    text = "# Notes\n\n" + "\n\n".join(f"## Day {day}\n\n" + "We saw the old harbour. " * 60 for day in range(40))
    snapshot = indexed(text, Settings())
    assert snapshot.passages > 40 and not counted  # not when it is indexed
    parts = [snapshot.marks(passage, passage + 1) for passage in range(snapshot.passages)]
    assert len(counted) == snapshot.passages
    assert parts == [snapshot.marks(passage, passage + 1) for passage in range(snapshot.passages)]
    assert len(counted) == snapshot.passages
    assert sum(parts) > snapshot.marks(0, snapshot.passages) == count(tokenizer(), block(1, text))
