from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memassay.retrieval.times import nearness, spans

SAID = date(2023, 8, 17)  # a Thursday


def days(text: str, said: date = SAID) -> list[tuple[str, str]]:
    return [(first.isoformat(), last.isoformat()) for first, last in spans(text, said)]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("What did she find on 2023-02-01?", "2023-02-01", "2023-02-01"),
        ("on 8 May 2023", "2023-05-08", "2023-05-08"),
        ("on the 8th of May, 2023", "2023-05-08", "2023-05-08"),
        ("on October 13, 2022", "2022-10-13", "2022-10-13"),
        ("on March 3rd", "2023-03-03", "2023-03-03"),
        ("on 24 December", "2022-12-24", "2022-12-24"),  # not yet this year
        ("in February 2024", "2024-02-01", "2024-02-29"),
        ("in May", "2023-05-01", "2023-05-31"),
        ("her June trip", "2023-06-01", "2023-06-30"),
        ("in December", "2022-12-01", "2022-12-31"),
        ("in 2022", "2022-01-01", "2022-12-31"),
        ("two weeks ago", "2023-07-31", "2023-08-06"),
        ("a month ago", "2023-07-01", "2023-07-31"),
        ("three years ago", "2020-01-01", "2020-12-31"),
        ("10 days ago", "2023-08-07", "2023-08-07"),
        ("yesterday", "2023-08-16", "2023-08-16"),
        ("tonight", "2023-08-17", "2023-08-17"),
        ("tomorrow", "2023-08-18", "2023-08-18"),
        ("last week", "2023-08-07", "2023-08-13"),
        ("this weekend", "2023-08-19", "2023-08-20"),
        ("next month", "2023-09-01", "2023-09-30"),
        ("last year", "2022-01-01", "2022-12-31"),
        ("last Friday", "2023-08-11", "2023-08-11"),
        ("last Thursday", "2023-08-10", "2023-08-10"),
        ("next Thursday", "2023-08-24", "2023-08-24"),
    ],
)
def test_a_time_is_resolved_once(text: str, first: str, last: str) -> None:
    assert days(text) == [(first, last)]


@pytest.mark.parametrize("text", ["", "She may march on", "recently", "a marching band", "31 June 2023", "mayor 12"])
def test_what_is_no_time_says_nothing(text: str) -> None:
    assert days(text) == []


def test_several_times_are_all_found() -> None:
    assert days("between 8 May 2023 and July 2023") == [("2023-05-08", "2023-05-08"), ("2023-07-01", "2023-07-31")]


def test_the_first_and_the_last_year_do_not_overflow() -> None:
    assert days("last year, 5 years ago, two months ago, yesterday", date(1, 1, 1)) == []
    assert days("next year and next month and tomorrow", date(9999, 12, 31)) == []


def test_nearness_is_1_then_a_half_then_nothing() -> None:
    may = [(date(2023, 5, 1), date(2023, 5, 31))]
    near = {day: nearness(may, date.fromisoformat(day)) for day in NEAR}
    assert near == NEAR
    assert nearness([], SAID) == 0
    assert nearness([*may, (SAID, SAID)], SAID) == 1


NEAR = {"2023-04-30": 0, "2023-05-01": 1, "2023-06-01": 1, "2023-06-02": 0.5, "2023-07-01": 0.5, "2023-07-02": 0}


@given(st.text(max_size=80), st.dates())
def test_any_text_gives_spans_in_order(text: str, said: date) -> None:
    assert all(first <= last for first, last in spans(text, said))


@given(st.dates(min_value=date(1900, 1, 1), max_value=date(2099, 12, 31)), st.dates())
def test_a_full_date_means_itself_whenever_it_is_said(day: date, said: date) -> None:
    assert spans(f"on {day.isoformat()}", said) == [(day, day)]
