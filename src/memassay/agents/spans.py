"""What a question asks for, and where a text has something of that kind. English only."""

from __future__ import annotations

import re
from datetime import date
from enum import Enum

from memassay.retrieval.text import ANCHOR
from memassay.retrieval.times import spans


class Kind(Enum):
    """What a question asks for."""

    TIME = "time"
    NUMBER = "number"
    NAME = "name"
    YES_OR_NO = "yes or no"
    ONE_OF_TWO = "one of two"
    WORDS = "words"


_COUNT = (
    r"(?:\d[\d,.]*\d|\d|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty"
    r"|hundred|once|twice|several|a few|a couple)"
)
_NUMBER = re.compile(rf"\b{_COUNT}(?: (?:hundred|thousand|million|billion))?\b", re.IGNORECASE)
_DURATION = re.compile(rf"\b{_COUNT} (?:\w+ )?(?:second|minute|hour|day|week|month|year)s?\b", re.IGNORECASE)
# fmt: off
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")
# fmt: on
_WRITTEN = re.compile(rf"\b(?:\d{{1,2}} )?(?:{'|'.join(_MONTHS)})(?: \d{{1,2}})?,? \d{{4}}\b|\b(?:1\d|20)\d{{2}}\b")
_CAPITAL = r"(?!I\b)[A-Z][\w'’-]*"  # the "I" of a speaker begins no name
_NAME = re.compile(rf"\b{_CAPITAL}(?:(?: (?:of|the|de|and|for|on|&))* {_CAPITAL})*")
_WORD = re.compile(r"[\w'’-]+")
# Bounded, so that a question of nothing but capitals is not read from each of them to its end.
_TWO = re.compile(r"([A-Z][^,?]{0,99}?),? or (?:the )?([A-Z][^,?]{0,99})")
_DENIALS = frozenset({"not", "no", "never", "nobody", "nothing", "neither", "nor", "without", "cannot"})

_CHOICE = re.compile(r"\b(?:which|who|what)\b|^(?:is|are|was|were|did)\b")
_HOW_LONG = re.compile(r"\bhow (?:long|old)\b")
_KINDS = (
    (re.compile(r"^when\b|\b(?:what|which) (?:date|day|month|year)\b"), Kind.TIME),
    (re.compile(r"\bhow (?:many|much|old|long|often|far|tall|big)\b|\bwhat (?:age|number)\b"), Kind.NUMBER),
    (
        re.compile(r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|might)\b"),
        Kind.YES_OR_NO,
    ),
    (re.compile(r"^(?:(?:in|at|to|from|by|with) )?(?:who|whom|whose|where)\b"), Kind.NAME),
)


def kind_of(question: str) -> Kind:
    """What a question asks for, by its words."""
    asked = question.strip().lower()
    if _TWO.search(question) and _CHOICE.search(asked):
        return Kind.ONE_OF_TWO
    return next((kind for pattern, kind in _KINDS if pattern.search(asked)), Kind.WORDS)


def options(question: str) -> tuple[str, str]:
    """The two that a question of the kind ``ONE_OF_TWO`` names.

    Raises:
        ValueError: it names no two.
    """
    found = _TWO.search(question)
    if found is None:
        raise ValueError(f"no choice between two in {question!r}")
    names = _NAME.findall(found[1])
    return (names[-1] if names else found[1]).strip(), found[2].strip()


def denies(text: str) -> bool:
    """Whether a word of the text says no."""
    words = text.lower().replace("’", "'").replace("n't", " not").split()
    return not _DENIALS.isdisjoint(word.strip(".,;:!?\"'") for word in words)


def number_in(text: str, question: str) -> str:
    """The first number as it is written, with its unit of time where the question asks how long; else ""."""
    found = (_DURATION if _HOW_LONG.search(question.lower()) else _NUMBER).search(text)
    return found[0] if found else ""


def time_in(text: str, said: date | None) -> str:
    """The time that a text speaks of, or "".

    Args:
        text: a sentence.
        said: when it was said: "yesterday" becomes a day, "last week" the week before. Without it only what is written
            out counts, as it is written.
    """
    if said is None:
        found = _WRITTEN.search(text)
        return found[0] if found else ""
    for first, last in spans(text, said):
        days = (last - first).days + 1
        if days == 1:
            return written_day(first)
        if days >= 365:
            return str(first.year)
        if days >= 28:
            return f"{_MONTHS[first.month - 1]} {first.year}"
        if last < said:
            return f"The week before {written_day(said)}"
    return ""


def written_day(day: date) -> str:
    """``7 May 2023``."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def capitalised(text: str) -> list[str]:
    """Runs of capitalised words, without stop words and without a lone word at the start of the text."""
    return [
        found[0] for found in _NAME.finditer(text) if not _stops(found[0]) and (found.start() > 0 or " " in found[0])
    ]


def runs(text: str) -> list[str]:
    """What an answer could be: the capitalised runs, then the runs of words without a stop word or a mark between."""
    found: list[str] = capitalised(text)
    start = end = -1
    for word in _WORD.finditer(text):
        if _stops(word[0]):
            start = -1
            continue
        if start >= 0 and not text[end : word.start()].strip():
            found.pop()
        else:
            start = word.start()
        end = word.end()
        found.append(text[start:end])
    return list(dict.fromkeys(found))


def _stops(word: str) -> bool:
    return re.split("['’]", word.lower(), maxsplit=1)[0] in ANCHOR
