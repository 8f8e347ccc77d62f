"""Days that a text speaks of, resolved against the day on which it was said.

English only, and only what is written out: ``8 May 2023``, ``in June``, ``yesterday``, ``two weeks ago``,
``last Friday``.
What is vague ("recently", "back then") says nothing here. Nothing depends on the clock of the machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import MINYEAR, date, timedelta

Span = tuple[date, date]
"""First and last day, both included."""

# fmt: off
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
           "december")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "couple": 2, "three": 3, "few": 3, "four": 4, "five": 5, "six": 6,
           "seven": 7, "eight": 8, "nine": 9, "ten": 10}
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
# fmt: on

_NAME = rf"(?P<month>{'|'.join(_MONTHS)})"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d{2})"
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(_COUNTS)})"

_DAY_AFTER = timedelta(days=1)
_TOLD_WITHIN = timedelta(days=31)


def spans(text: str, said: date) -> list[Span]:
    """The times that ``text`` speaks of, in the order of their kinds; ``said`` is the day it was said.

    A month without a year is the last one that began by then, and so is a weekday. Times before year 1 or after 9999
    are left out. "may" and "march" count only where a day, a year or a preposition makes them months.
    """
    found: list[Span] = []
    rest = text.lower()
    for pattern, resolve in _RULES:
        for match in pattern.finditer(rest):
            try:
                found.append(resolve(match, said))
            except (ValueError, OverflowError):  # 31 June, year 0: no day of the calendar
                continue
        rest = pattern.sub(" ", rest)  # what one rule has read is not read again by a vaguer one
    return found


def nearness(wanted: Iterable[Span], said: date) -> float:
    """How well a day fits the times that a question asks about.

    Returns:
        1 in a wanted time or the day after, 0.5 within 31 days after one (people tell of last month), else 0.
    """
    best = 0.0
    for first, last in wanted:
        if first <= said <= last + _DAY_AFTER:
            return 1.0
        if last < said <= last + _TOLD_WITHIN:
            best = 0.5
    return best


def _month(year: int, month: int) -> Span:
    after = date(year + month // 12, month % 12 + 1, 1)
    return date(year, month, 1), after - timedelta(days=1)


def _number(match: re.Match[str]) -> int:
    count = match["count"]
    return int(count) if count.isdigit() else _COUNTS[count]


def _iso(match: re.Match[str], said: date) -> Span:
    day = date(int(match["year"]), int(match["number"]), int(match["day"]))
    return day, day


def _named_day(match: re.Match[str], said: date) -> Span:
    month, day = _MONTHS.index(match["month"]) + 1, int(match["day"])
    year = int(match["year"]) if match["year"] else said.year - ((month, day) > (said.month, said.day))
    found = date(year, month, day)
    return found, found


def _named_month(match: re.Match[str], said: date) -> Span:
    month = _MONTHS.index(match["month"]) + 1
    year = match.groupdict().get("year")
    return _month(int(year) if year else said.year - (month > said.month), month)


def _year(match: re.Match[str], said: date) -> Span:
    year = int(match["year"])
    return date(year, 1, 1), date(year, 12, 31)


def _ago(match: re.Match[str], said: date) -> Span:
    unit, count = match["unit"], _number(match)
    if unit == "year":
        return date(said.year - count, 1, 1), date(said.year - count, 12, 31)
    if unit == "month":
        months = said.year * 12 + said.month - 1 - count
        if months < MINYEAR * 12:
            raise ValueError(months)
        return _month(months // 12, months % 12 + 1)
    middle = said - timedelta(days=count * _UNIT_DAYS[unit])
    slack = timedelta(days=_UNIT_DAYS[unit] // 2)
    return middle - slack, middle + slack


def _day_word(match: re.Match[str], said: date) -> Span:
    day = said + timedelta(days={"yesterday": -1, "last night": -1, "tomorrow": 1}.get(match[0], 0))
    return day, day


def _shifted(match: re.Match[str], said: date) -> Span:
    shift, unit = {"last": -1, "this": 0, "next": 1}[match["which"]], match["unit"]
    if unit == "year":
        return date(said.year + shift, 1, 1), date(said.year + shift, 12, 31)
    if unit == "month":
        months = said.year * 12 + said.month - 1 + shift
        return _month(months // 12, months % 12 + 1)
    monday = said - timedelta(days=said.weekday()) + timedelta(days=7 * shift)
    return monday + timedelta(days=5 if unit == "weekend" else 0), monday + timedelta(days=6)


def _weekday(match: re.Match[str], said: date) -> Span:
    if match["which"] == "next":
        day = said + timedelta(days=(_WEEKDAYS.index(match["weekday"]) - said.weekday() - 1) % 7 + 1)
    else:
        day = said - timedelta(days=(said.weekday() - _WEEKDAYS.index(match["weekday"]) - 1) % 7 + 1)
    return day, day


Rule = tuple[re.Pattern[str], Callable[[re.Match[str], date], Span]]

_RULES: tuple[Rule, ...] = tuple(
    (re.compile(rf"\b{pattern}\b"), resolve)
    for pattern, resolve in (
        (rf"{_YEAR}-(?P<number>\d{{2}})-(?P<day>\d{{2}})", _iso),
        (rf"{_DAY}(?: of)? {_NAME}(?:,? {_YEAR})?", _named_day),
        (rf"{_NAME} {_DAY}(?:,? {_YEAR})?", _named_day),
        (rf"{_NAME},? (?:of )?{_YEAR}", _named_month),
        (rf"(?:in|by|during|since|of|last|this|next|until|early|late|mid) {_NAME}", _named_month),
        (_NAME.replace("march|", "").replace("may|", ""), _named_month),
        (rf"{_COUNT}(?: of)? (?P<unit>day|week|month|year)s? ago", _ago),
        (r"(?:today|tonight|yesterday|tomorrow|last night)", _day_word),
        (r"(?P<which>last|this|next) (?P<unit>week|weekend|month|year)", _shifted),
        (rf"(?:(?P<which>last|this|next|on) )?(?P<weekday>{'|'.join(_WEEKDAYS)})", _weekday),
        (_YEAR, _year),
    )
)
