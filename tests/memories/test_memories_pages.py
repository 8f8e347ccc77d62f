"""Documents as pages of a Markdown folder."""

from __future__ import annotations

import pytest

from memassay.core.types import Document, Unit
from memassay.memories.pages import Written, pages


def one(document: Document) -> tuple[Written, str]:
    ((written, text),) = pages([document])
    return written, text


def test_a_conversation_is_one_paragraph_per_turn_and_knows_where_each_stands() -> None:
    units = (
        Unit(id="u1", text="I sold the kettle.", speaker="Ann"),
        Unit(id="u2", text="", speaker="Bob"),
        Unit(id="u3", text="Oh.", speaker="Bob", note="a photo"),
    )
    document = Document(id="s1", title="Session 1", text="ignored", date="2023-05-08T13:56", units=units)
    written, text = one(document)
    assert text == "---\ndate: 2023-05-08T13:56\n---\n\n# Session 1\n\nAnn: I sold the kettle.\n\nBob: Oh. [a photo]\n"
    assert [(name, text[start:end]) for name, start, end in written.units] == [
        ("u1", "Ann: I sold the kettle."),
        ("u3", "Bob: Oh. [a photo]"),
    ]
    start = text.index("kettle")
    assert written.units_in(start, start + 1) == ("u1",)
    assert written.units_in(start, len(text)) == ("u1", "u3")
    assert written.units_in(0, 5) == ()
    assert Written.of(written.row()) == written  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("title", "text", "date", "page"),
    [
        ("Rush", "A trio.", None, "# Rush\n\nA trio."),
        ("Rush", "# Rush\n\nA trio.", None, "# Rush\n\nA trio."),
        ("Rush", "# Another heading\n\nA trio.", None, "# Another heading\n\nA trio."),
        ("", "A trio.", None, "A trio."),
        ("Rush", "A trio.", "2020-01-02", "---\ndate: 2020-01-02\n---\n\n# Rush\n\nA trio."),
        ("Rush", "---\ntags: [a]\n---\n\nA trio.", "2020-01-02", "---\ntags: [a]\n---\n\nA trio."),
        ("Rush", "---\nnot closed", None, "# Rush\n\n---\nnot closed"),
        ("", "---\nnot closed", None, "# d\n\n---\nnot closed"),
        ("", "---\nonly: front matter\n---\n", None, "# d\n\n---\nonly: front matter\n---\n"),
        ("Two\nlines", "A trio.", None, "# Two lines\n\nA trio."),
        ("Rush", "one\r\ntwo", None, "# Rush\n\none\ntwo"),
    ],
)
def test_any_other_text_stays_as_it_is(title: str, text: str, date: str | None, page: str) -> None:
    written, made = one(Document(id="d", title=title, text=text, date=date))
    assert made == page
    assert not written.spoken


def test_units_of_a_text_are_where_they_were() -> None:
    text = "First. Second."
    units = (
        Unit(id="a", text="First.", span=(0, 6)),
        Unit(id="b", text="Second.", span=(7, 14)),
        Unit(id="c", text="x"),
    )
    written, made = one(Document(id="d", title="T", text=text, units=units))
    assert [(name, made[start:end]) for name, start, end in written.units] == [("a", "First."), ("b", "Second.")]


def test_keys_are_ids_so_that_links_lead_somewhere_and_never_meet() -> None:
    names = [
        "house/boiler.md",
        "house/boiler",
        "HOUSE/Boiler",
        "../etc",
        "notes.txt",
        "Ünïcödé/日本語",
        ".hidden",
        "a//b",
    ]
    keys = [written.key for written, _ in pages(Document(id=name, text="x") for name in names)]
    assert keys[0] == "house/boiler"
    assert keys[4:6] == ["notes.txt", "Ünïcödé/日本語"]
    assert len({key.casefold() for key in keys}) == len(names)
    assert not any(part in ("", "..") or part.startswith(".") for key in keys for part in key.split("/"))
    assert [written.id for written, _ in pages(Document(id=name, text="x") for name in names)] == names
