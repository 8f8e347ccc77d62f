from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memassay.suites.lifecycle.answers import (
    ABSTENTIONS,
    final_line,
    grade,
    grade_abstention,
    published_correct,
    published_number,
    same_answer,
)
from memassay.suites.lifecycle.protocol import Grading

COUNT = Grading(kind="numeric", value=820.0, abs_tolerance=0.5)
MONEY = Grading(kind="numeric", value=1430603.83, abs_tolerance=0.01)
RIGA = Grading(kind="entity", aliases=("Riga", "port of riga"), wrong_aliases=("Turku", "Gdansk"))
TURKU = Grading(kind="entity", aliases=("Turku",), wrong_aliases=("Riga", "Gdansk"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("FINAL ANSWER: 3", "3"),
        ("final answer:\n\n  3  \nand more", "3"),
        ("FINAL ANSWER: 1\nno wait\nFinal Answer: 2", "2"),
        ("  first line\nsecond", "first line"),
        ("", ""),
        ("FINAL ANSWER:", ""),
        ("FINAL ANSWER: FINAL ANSWER: 4", "4"),
        ("FINAL ANSWER 5", "FINAL ANSWER 5"),
        ("FINAL ANSWER:\u00a0\u20036", "6"),
        ("FINAL ANSWER: \x1c7", "\x1c7"),
    ],
)
def test_the_line_that_is_graded(text: str, line: str) -> None:
    assert final_line(text) == line


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("820", 820), ("There are 820 orders", 820), ("2025 had 1,430,603.83 USD", 1430603.83), ("in Q1: 3 or 4", 1),
        ("2025, so 820", 2025), ("-5", -5), ("10-20", 10), ("$1.5", 1.5), ("no number", None), ("1,2,3", 123),
        ("12,", 12), ("٣", None), ("9" * 400, None), (".5", 5), ("3. 820", 3), ("7 of 8.0", 8),
    ],
)  # fmt: skip
def test_the_number_that_the_published_grader_reads(line: str, number: float | None) -> None:
    assert published_number(line) == number


@pytest.mark.parametrize(
    ("text", "grading", "correct"),
    [
        ("FINAL ANSWER: 820", COUNT, True),
        ("FINAL ANSWER: 820.5", COUNT, True),
        ("FINAL ANSWER: 820.51", COUNT, False),
        ("820 it was\nFINAL ANSWER: 819", COUNT, False),
        ("FINAL ANSWER: $1,430,603.83", MONEY, True),
        ("FINAL ANSWER: 1430603.85", MONEY, False),
        ("FINAL ANSWER: Riga", RIGA, True),
        ("FINAL ANSWER: the PORT OF RIGA.", RIGA, True),
        ("FINAL ANSWER: Riga, not Turku", RIGA, False),
        ("FINAL ANSWER: Rigas", RIGA, False),
        ("FINAL ANSWER: x.riga.y", RIGA, True),
        ("FINAL ANSWER: riga_2", RIGA, False),
        ("FINAL ANSWER: éRiga", RIGA, False),
        ("FINAL ANSWER: Rigas Riga", RIGA, True),
        ("FINAL ANSWER: neither", RIGA, False),
        ("FINAL ANSWER: İ", Grading(kind="entity", aliases=("i",)), True),
        ("FINAL ANSWER: x", Grading(kind="entity", aliases=("",), wrong_aliases=("",)), False),
    ],
)
def test_published_grading(text: str, grading: Grading, correct: bool) -> None:
    assert published_correct(text, grading) is correct
    assert grade(text, grading).correct is correct


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("FINAL ANSWER: Turku", "current"),
        ("FINAL ANSWER: Riga", "stale"),
        ("FINAL ANSWER: Turku (was Riga)", "hedged"),
        ("FINAL ANSWER: Gdansk", "missing"),
        ("Riga\nFINAL ANSWER: Turku\nRiga", "current"),
        ("", "missing"),
    ],
)
def test_an_answer_by_name_is_current_stale_hedged_or_missing(text: str, verdict: str) -> None:
    assert grade(text, TURKU, RIGA).verdict == verdict


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("FINAL ANSWER: 231", "current"),
        ("FINAL ANSWER: 224", "stale"),
        ("FINAL ANSWER: 231 (formerly 224)", "hedged"),
        ("FINAL ANSWER: 224-231", "hedged"),
        ("FINAL ANSWER: 1,231", "missing"),
        ("FINAL ANSWER: 231.7", "missing"),
        ("FINAL ANSWER: -231", "missing"),
        ("FINAL ANSWER: \u2212231", "missing"),
        ("FINAL ANSWER: no. 231st", "missing"),
        ("FINAL ANSWER: **231**.", "current"),
        ("FINAL ANSWER: 231%", "current"),
        ("FINAL ANSWER: $231", "current"),
        ("FINAL ANSWER: (231)", "current"),
        ("FINAL ANSWER: 2024: 231", "current"),
    ],
)
def test_an_answer_by_number_is_current_stale_hedged_or_missing(text: str, verdict: str) -> None:
    now, before = (Grading(kind="numeric", value=value, abs_tolerance=0.5) for value in (231.0, 224.0))
    assert grade(text, now, before).verdict == verdict


def test_without_a_correction_nothing_is_stale() -> None:
    assert grade("FINAL ANSWER: 224", Grading(kind="numeric", value=231.0)).verdict == "missing"


@pytest.mark.parametrize("wording", ABSTENTIONS)
def test_every_published_wording_is_an_abstention(wording: str) -> None:
    found = grade_abstention(f"FINAL ANSWER: I {wording.upper()} that.")
    assert found.correct and found.strict
    assert not grade_abstention(f"I {wording}\nFINAL ANSWER: 7 stars").correct


def test_the_published_wordings() -> None:
    assert len(ABSTENTIONS) == len(set(ABSTENTIONS)) == 14


@pytest.mark.parametrize(
    ("text", "correct", "strict", "claimed"),
    [
        ("FINAL ANSWER: INSUFFICIENT INFORMATION", True, True, ()),
        ("FINAL ANSWER: INSUFFICIENT INFORMATION, but about 4.2 stars", True, False, ("4.2",)),
        ("FINAL ANSWER: unknown in 2024", True, True, ()),
        ("FINAL ANSWER: unknown in 2023", True, False, ("2023",)),
        ("FINAL ANSWER: I don\N{RIGHT SINGLE QUOTATION MARK}t know", False, True, ()),
        ("FINAL ANSWER: 4.2", False, False, ("4.2",)),
        ("FINAL ANSWER: none", False, False, ()),
        ("I cannot determine it", True, True, ()),
        ("", False, False, ()),
    ],
)
def test_an_abstention_with_a_number_is_none(text: str, correct: bool, strict: bool, claimed: tuple[str, ...]) -> None:
    found = grade_abstention(text, "How happy were they in 2024?")
    assert (found.correct, found.strict, found.claimed) == (correct, strict, claimed)


def test_keys_that_one_answer_could_meet() -> None:
    def number(value: float) -> Grading:
        return Grading(kind="numeric", value=value, abs_tolerance=0.5)

    assert same_answer(number(5), number(6))
    assert not same_answer(number(5), number(6.5))
    assert same_answer(RIGA, Grading(kind="entity", aliases=("RIGA",)))
    assert not same_answer(RIGA, TURKU)
    assert not same_answer(RIGA, COUNT)


@given(st.text(), st.sampled_from([COUNT, MONEY, RIGA]))
def test_any_text_is_graded_and_nothing_after_the_line_counts(text: str, grading: Grading) -> None:
    found = grade(text, grading)
    assert "\n" not in found.line
    assert grade(f"{text}\nFINAL ANSWER: x{found.line}\nRiga 820", grading) == grade(f"x{found.line}", grading)
    grade_abstention(text)


@given(st.integers(-(10**9), 10**9), st.integers(0, 99))
def test_money_is_read_with_and_without_commas(dollars: int, cents: int) -> None:
    amount = float(f"{dollars}.{cents:02}")
    key = Grading(kind="numeric", value=amount, abs_tolerance=0.001)
    for written in (f"{dollars}.{cents:02}", f"{dollars:,}.{cents:02}", f"{dollars:,}.{cents:02} USD in 2024"):
        found = grade(f"FINAL ANSWER: {written}", key)
        assert found.correct and found.verdict == "current"
