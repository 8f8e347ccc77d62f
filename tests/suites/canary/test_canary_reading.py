"""How texts are read: words without markup, dates, terms that a paraphrase must copy."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memassay.suites.canary.reading import dated, day_of, numbers, plain, plain_lines, terms, word_run


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("## Limits", "limits"),
        ("> - [ ] **Ask** the _pager_ holder", "ask the pager holder"),
        ("3. see [the runbook](../run.md#top) now", "see the runbook now"),
        ("| a cell | `order_stream` |\n|---|:-:|", "a cell order_stream"),
        ("keep snake_case_names and 2 * 3", "keep snake_case_names and 2 3"),
        ("Ｆull\u00a0width\r\nand\ttabs", "full width and tabs"),
        ("\u201cquoted\u201d it\u2019s", '"quoted" it\'s'),
    ],
)
def test_marks_of_markdown_are_no_words(text: str, words: str) -> None:
    assert plain(text) == words


def test_a_line_without_words_is_none() -> None:
    assert plain_lines("one\n---\n\n***\ntwo") == ("one", "two")
    assert word_run("--- ***") == ""


@given(st.text())
def test_reading_twice_changes_nothing(text: str) -> None:
    assert word_run(word_run(text)) == word_run(text)


@pytest.mark.parametrize(
    "text", ["2025-06-02", "2025-06-02T10:00:00Z", "2 June 2025", "2nd of June, 2025", "Jun 2, 2025", "02.06.2025"]
)
def test_a_day_is_found_however_it_is_written(text: str) -> None:
    assert [day for _, _, day in dated(f"since {text}.")] == [date(2025, 6, 2)]


def test_what_is_no_day_is_none() -> None:
    assert dated("31 June 2025, version 2025-13-40, may 2025") == []
    assert day_of("soon") is None
    assert day_of("2025-06-02T10:00") == date(2025, 6, 2)


def test_terms_of_a_sentence() -> None:
    found = terms(
        "The worker of Borealis keeps 2,500 rows (ADR-0007) in order_stream since 2 June 2025, says Wilma Quist."
    )
    assert [(term.kind, term.key) for term in found] == [
        ("date", "2025-06-02"),
        ("name", " borealis "),
        ("number", "2.5E+3"),
        ("identifier", " adr 0007 "),
        ("identifier", " order stream "),
        ("name", " wilma "),
        ("name", " quist "),
    ]


def test_a_capital_that_begins_a_sentence_is_no_name_unless_another_follows() -> None:
    assert terms("Nobody knows. Perhaps: Everything waits.\nStill so") == []
    assert [term.shown for term in terms("Wilma Quist knows it.")] == ["Wilma", "Quist"]
    assert [term.shown for term in terms("It is due on Monday, in March.")] == []


def test_amounts_are_equal_however_they_are_written() -> None:
    assert {"2.5E+3", "12", "9"} <= numbers("2,500 lines, twelve retries, nine")
    assert terms("40s")[0].key == terms("40 times")[0].key == "4E+1"
