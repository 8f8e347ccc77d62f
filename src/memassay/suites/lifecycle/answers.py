"""How an answer is graded: by the published rules, exactly, and by strict ones beside them. Pure functions of text.

Published: what follows the last ``FINAL ANSWER:``, or else everything, and of that the first line. A number is the
first one with a dot or comma, else the first; a name must stand there as a word, and no wrong name may.

Strict: an answer that names both the fact and what it replaced is *hedged*, one that names only the old is *stale*, and
an abstention that comes with a number of its own is none.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from memassay.suites.lifecycle.protocol import Grading

Verdict = Literal["current", "stale", "hedged", "missing"]

# Go's \s, \d and TrimSpace, which differ from Python's outside ASCII.
_MARKER = re.compile(r"FINAL ANSWER:[\t\n\f\r ]*", re.IGNORECASE)
_NUMBER = re.compile(r"-?[0-9][0-9,]*(?:\.[0-9]+)?")
_BLANK = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))

# The published wordings of "I cannot say", in their lower case; any of them in the final line is an abstention.
ABSTENTIONS = (
    "insufficient information", "insufficient data", "not enough information", "no information",
    "cannot determine", "cannot be determined", "can't determine", "unable to determine",
    "do not know", "don't know", "not able to answer", "cannot answer", "can't answer", "unknown",
)  # fmt: skip

# A number that an answer claims. A minus belongs to it only where nothing ends just before: "10-20" are 10 and 20.
_CLAIMED = re.compile(
    r"(?:(?<![\w)\].])-)?(?<![\w.])(?<![0-9],)(?:[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?|\.[0-9]+)(?!\w)(?![.,][0-9])"
)


@dataclass(frozen=True, slots=True)
class Graded:
    """How an answer was graded.

    Attributes:
        correct: by the published rules.
        verdict: by ours: it names the current answer, a stale one, both, or neither.
        line: the line that was graded.
    """

    correct: bool
    verdict: Verdict
    line: str


@dataclass(frozen=True, slots=True)
class Abstention:
    """How an answer to an unanswerable question was graded.

    Attributes:
        correct: by the published rules: the line says that it cannot say.
        strict: it does, and claims nothing beside.
        claimed: the numbers that the line claims, as written; those of the question are no claim.
        line: the line that was graded.
    """

    correct: bool
    strict: bool
    claimed: tuple[str, ...]
    line: str


def final_line(text: str) -> str:
    """The line that is graded: the first after the last ``FINAL ANSWER:``, or of the whole text without one."""
    end = 0
    for match in _MARKER.finditer(text):
        end = match.end()
    return text[end:].strip(_BLANK).partition("\n")[0].strip(_BLANK)


def published_number(line: str) -> float | None:
    """The number that the published grader reads in a line: the first with a dot or comma, else the first."""
    found = _NUMBER.findall(line)
    if not found:
        return None
    chosen = next((number for number in found if "." in number or "," in number), found[0])
    value = float(chosen.replace(",", ""))
    return value if math.isfinite(value) else None


def published_correct(text: str, grading: Grading) -> bool:
    """Whether an answer is right by the published rules."""
    line = final_line(text)
    if grading.kind == "numeric":
        number = published_number(line)
        return number is not None and grading.value is not None and _near(number, grading)
    lowered = _lower(line)
    if any(_has_word(lowered, _lower(wrong)) for wrong in grading.wrong_aliases):
        return False
    return any(_has_word(lowered, _lower(alias)) for alias in grading.aliases)


def grade(text: str, grading: Grading, stale: Grading | None = None) -> Graded:
    """Grade the answer to a question.

    Args:
        text: all that the agent said.
        grading: the key.
        stale: the key that was right before a correction, if there was one.
    """
    line = final_line(text)
    now = _names(line, grading)
    before = stale is not None and _names(line, stale)
    verdict: Verdict = "hedged" if now and before else "current" if now else "stale" if before else "missing"
    return Graded(published_correct(text, grading), verdict, line)


def grade_abstention(text: str, prompt: str = "") -> Abstention:
    """Grade the answer to a question that nobody can answer.

    Args:
        text: all that the agent said.
        prompt: the question; the numbers in it may be repeated.
    """
    line = final_line(text)
    correct = any(wording in _lower(line) for wording in ABSTENTIONS)
    plain = _lower(line).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    given = set(_numbers(prompt))
    claimed = tuple(written for written, number in _written_numbers(line) if number not in given)
    strict = any(wording in plain for wording in ABSTENTIONS) and not claimed
    return Abstention(correct, strict, claimed, line)


def same_answer(a: Grading, b: Grading) -> bool:
    """Whether an answer could be right by both keys."""
    if a.kind != b.kind:
        return False
    if a.kind == "numeric":
        assert a.value is not None and b.value is not None
        return abs(a.value - b.value) <= a.abs_tolerance + b.abs_tolerance
    return not {_lower(alias) for alias in a.aliases}.isdisjoint(_lower(alias) for alias in b.aliases)


def _names(line: str, grading: Grading) -> bool:
    """Whether the line names an answer, whatever else it names."""
    if grading.kind == "numeric":
        return any(_near(number, grading) for number in _numbers(line))
    lowered = _lower(line)
    return any(_has_word(lowered, _lower(alias)) for alias in grading.aliases)


def _near(number: float, grading: Grading) -> bool:
    return grading.value is not None and abs(number - grading.value) <= grading.abs_tolerance


def _numbers(line: str) -> Iterable[float]:
    return (number for _, number in _written_numbers(line))


def _written_numbers(line: str) -> Iterable[tuple[str, float]]:
    for written in _CLAIMED.findall(line.replace("\N{MINUS SIGN}", "-")):
        number = float(written.replace(",", ""))
        if math.isfinite(number):
            yield written, number


def _has_word(line: str, word: str) -> bool:
    """Whether a word stands in a line with no letter, digit or underscore beside it; "" stands nowhere."""
    start = line.find(word) if word else -1
    while start >= 0:
        end = start + len(word)
        if not (start and _in_word(line[start - 1])) and not (end < len(line) and _in_word(line[end])):
            return True
        start = line.find(word, start + 1)
    return False


def _in_word(character: str) -> bool:
    category = unicodedata.category(character)
    return character == "_" or category[0] == "L" or category == "Nd"


def _lower(text: str) -> str:
    """Lower case, letter by letter as Go has it; Python's own turns some letters into two."""
    return text.lower() if text.isascii() else "".join(character.lower()[0] for character in text)
