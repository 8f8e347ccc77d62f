from __future__ import annotations

from pathlib import Path

import pytest
from memories_corpora import ask, build_and_open, conversation, corpus_of

from memassay.core.types import Document
from memassay.memories.full_context import FullContext


def dated(*dates: str | None) -> list[Document]:
    return [Document(id=f"{n}", text=f"text {n}", date=date) for n, date in enumerate(dates)]


@pytest.mark.parametrize(
    ("dates", "oldest"),
    [
        ((None, None, None), "012"),
        (("2024-03-01", "2024-01-01T09:00", "2024-02-01"), "120"),
        (("2024-03-01", None, "2024-02-01", None), "2301"),
        ((None, "2024-02-01", "2024-01-01"), "021"),
        (("2024-01-01", "2024-01-01", "2024-01-01"), "012"),
    ],
)
def test_order(tmp_path: Path, dates: tuple[str | None, ...], oldest: str) -> None:
    corpus = corpus_of(*dated(*dates))
    for order, expected in (("oldest", oldest), ("newest", oldest[::-1])):
        store = build_and_open(FullContext(order=order), corpus, tmp_path / order)
        assert "".join(p.doc_ids[0] for p in store.retrieve(ask("whatever"))) == expected


def test_a_passage_is_a_whole_document(tmp_path: Path) -> None:
    corpus = conversation(3, 8)
    passages = build_and_open(FullContext(), corpus, tmp_path).retrieve(ask(""))
    assert [p.unit_ids for p in passages] == [tuple(u.id for u in d.units) for d in corpus.documents]
    assert passages[0].text.split("\n")[:2] == ["2023-01-08", f"Ann: {corpus.documents[0].units[0].text}"]


def test_a_page_keeps_its_blank_lines(tmp_path: Path) -> None:
    page = Document(id="p", title="Page", text="One.\n\n\nTwo.\n\n" + "long " * 1000)
    (found,) = build_and_open(FullContext(dates="none"), corpus_of(page), tmp_path).retrieve(ask("", budget=9999))
    assert found.text == f"Page\n{page.text.strip()}"


def test_the_question_does_not_matter(tmp_path: Path) -> None:
    store = build_and_open(FullContext(), conversation(), tmp_path)
    assert store.retrieve(ask("violin")) == store.retrieve(ask("kettle"))
