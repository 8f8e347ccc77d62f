"""How the canary reads a text: as plain words, as words alone, as dates, and as terms that nobody can paraphrase."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Literal

from memassay.core.wording import normalise

# What begins a line and is no word of it: quotation, list, box, number of an item, heading, border of a table.
_OPENING = re.compile(r"(?:\s*(?:>|[-*+\u2022](?=\s)|\[[ xX]\](?=\s)|\d{1,3}[.)](?=\s)|#{1,6}(?=\s)|\|))+")
_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\[\]]*+\])*+)\]\([^()\s]*+\)")
_EMPHASIS = re.compile(r"[*`]+|~~|\\(?=[^\w\s])|(?<!\w)_+|_+(?!\w)")
_WORD = re.compile(r"[^\W_]+")

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTH = rf"(?P<name>{'|'.join(f'{name[:3]}(?:{name[3:]})?' for name in _MONTHS)})\.?"
_DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?P<year>\d{4})[-/](?P<month>\d{2})[-/](?P<day>\d{2})(?!\d)",
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH},?\s+(?P<year>\d{{4}})\b",
        rf"\b{_MONTH}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year>\d{{4}})\b",
        r"\b(?P<day>\d{2})\.(?P<month>\d{2})\.(?P<year>\d{4})\b",
    )
)
_WRITTEN = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBER_WORDS = {word: str(number) for number, word in enumerate(_WRITTEN)}
_TOKEN = re.compile(r"[^\W_](?:\w|[-./:,'\u2019](?=\w))*")
_AMOUNT = re.compile(r"(\d+(?:,\d{3})*(?:\.\d+)?)[a-z\u00b5]{0,3}", re.IGNORECASE)
_DIGITS = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_NAMED_FILE = re.compile(r"\w{2,}\.[a-z]{2,5}")
_SENTENCE_END = re.compile(r"(?:^|[.!?:;]|[-*+\u2022#>|])[\s\"'(\u201c\u2018]*$|\n\s*$")


@functools.lru_cache(maxsize=1 << 14)
def plain_lines(text: str) -> tuple[str, ...]:
    """The lines that have words, each normalised, without the marks of Markdown and with links read as their words."""
    shown = _LINK.sub(r"\1", text)
    lines = (normalise(_EMPHASIS.sub("", _bare(line)).replace("|", " ")) for line in shown.splitlines())
    return tuple(line for line in lines if _WORD.search(line))


def plain(text: str) -> str:
    """All lines of :func:`plain_lines` as one."""
    return " ".join(plain_lines(text))


def word_run(text: str) -> str:
    """The words alone, between blanks, so that words which follow each other are a substring; "" if there are none."""
    found = _WORD.findall(normalise(text))
    return f" {' '.join(found)} " if found else ""


def _bare(line: str) -> str:
    found = _OPENING.match(line)
    return line[found.end() :] if found else line


# -- dates ---------------------------------------------------------------------------------------------------------


def day_of(text: str) -> date | None:
    """The day of an ISO date or date and time, or None where there is none."""
    try:
        return date.fromisoformat(text.strip()[:10])
    except ValueError:
        return None


def dated(text: str) -> list[tuple[int, int, date]]:
    """Every full date that is written out, with its place, in the order of the places."""
    found: list[tuple[int, int, date]] = []
    for pattern in _DATES:
        for match in pattern.finditer(text):
            parts = match.groupdict()
            month = parts.get("month") or str(1 + [name[:3] for name in _MONTHS].index(parts["name"][:3].lower()))
            try:
                day = date(int(parts["year"]), int(month), int(parts["day"]))
            except ValueError:  # 31 June is no day
                continue
            found.append((match.start(), match.end(), day))
    return sorted(found)


# -- terms ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Term:
    """Something that a paraphrase must copy: a date, an amount, an identifier or a proper name.

    Attributes:
        key: what is compared: an ISO day, the value of a number, or words as of :func:`word_run`.
        shown: as it is written.
    """

    kind: Literal["date", "number", "identifier", "name"]
    key: str
    shown: str


def terms(text: str) -> list[Term]:
    """The terms of a text, in order, each once."""
    found: dict[tuple[str, str], Term] = {}
    for term in _terms(_LINK.sub(r"\1", text)):
        found.setdefault((term.kind, term.key), term)
    return list(found.values())


def numbers(text: str) -> frozenset[str]:
    """The value of every run of digits in a text, and of the numbers up to twelve that it writes out."""
    digits = {_value(digits) for digits in _DIGITS.findall(text)} | {_value(run) for run in re.findall(r"\d+", text)}
    return frozenset(digits | {_NUMBER_WORDS[word] for word in word_run(text).split() if word in _NUMBER_WORDS})


def _value(digits: str) -> str:
    return str(Decimal(digits.replace(",", "")).normalize())


def _terms(text: str) -> Iterator[Term]:
    rest = text
    for start, end, day in dated(text):
        yield Term("date", day.isoformat(), text[start:end])
        rest = rest[:start] + " " * (end - start) + rest[end:]
    shown = "\n".join(" " * (len(line) - len(_bare(line))) + _bare(line) for line in rest.split("\n"))
    tokens = list(_TOKEN.finditer(shown))
    for position, match in enumerate(tokens):
        token = re.sub(r"['\u2019]s$", "", match.group())
        follows = tokens[position + 1] if position + 1 < len(tokens) else None
        term = _term(token)
        if term is not None:
            yield term
        elif token[:1].isupper() and token.casefold() not in (*_MONTHS, *_WEEKDAYS):
            beside = (
                follows is not None and shown[match.end() : follows.start()] == " " and follows.group()[0].isupper()
            )
            # A capital that begins a sentence is no name, unless another one follows it.
            if beside or not _SENTENCE_END.search(shown[: match.start()]):
                yield Term("name", word_run(token), token)


def _term(token: str) -> Term | None:
    if any(letter.isdigit() for letter in token):
        amount = _AMOUNT.fullmatch(token)
        return Term("number", _value(amount[1]), token) if amount else Term("identifier", word_run(token), token)
    inner_capital = any(a.islower() and b.isupper() for a, b in itertools.pairwise(token))
    if inner_capital or "_" in token or _NAMED_FILE.fullmatch(token):
        return Term("identifier", word_run(token), token)
    return None
