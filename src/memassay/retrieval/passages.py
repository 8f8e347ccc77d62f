"""What a document is made of, and how it is cut into passages.

A document with units becomes one line per unit, and windows run over the lines. A document without units is cut into
paragraphs with their place in the text. No passage ever crosses the border between two documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memassay.core.types import Document, Unit

PARAGRAPH_CHARS = 1000

_DAY = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_BLANK_LINES = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+")
_SENTENCE_END = re.compile(r"[.!?\u3002\uff01\uff1f][\"')\]\u201d]*\s|\n")
# English whatever the locale of the machine: an index must not depend on it.
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


@dataclass(frozen=True, slots=True)
class Line:
    """A piece that is shown whole or not at all.

    Attributes:
        text: what is shown: ``Speaker: text [note]`` for a unit, the words themselves for a paragraph.
        unit: id of the unit, or "" for a paragraph.
        span: place in ``Document.text`` in characters, or None where it is unknown.
    """

    text: str
    unit: str = ""
    span: tuple[int, int] | None = None


def unit_line(unit: Unit) -> str:
    """How a unit is shown: ``Speaker: text [note]``, without the parts that are empty."""
    parts = [f"{unit.speaker}:" if unit.speaker else "", unit.text, f"[{unit.note}]" if unit.note else ""]
    return " ".join(part for part in parts if part)


def has_words(unit: Unit) -> bool:
    """Whether there is anything to show of a unit but its speaker."""
    return bool(unit.text.strip() or unit.note.strip())


def lines(document: Document, *, paragraph_chars: int = PARAGRAPH_CHARS) -> list[Line]:
    """The pieces of a document in order: its units that have words, or else its paragraphs."""
    if document.units:
        return [Line(unit_line(unit), unit.id, unit.span) for unit in document.units if has_words(unit)]
    return [
        Line(document.text[start:end], "", (start, end))
        for start, end in paragraphs(document.text, max_chars=paragraph_chars)
    ]


def paragraphs(text: str, *, max_chars: int = PARAGRAPH_CHARS) -> list[tuple[int, int]]:
    """Spans of the paragraphs of a text, without the white space around them.

    Paragraphs are parted by blank lines. Neighbours are joined while they stay within ``max_chars``; a longer one is
    split after a sentence or a line, else at white space, else at ``max_chars`` exactly. Every character that is not
    white space is in exactly one span.
    """
    joined: list[tuple[int, int]] = []
    for start, end in _split_paragraphs(text):
        if joined and end - joined[-1][0] <= max_chars:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.extend(_split_long(text, start, end, max_chars))
    return joined


def windows(count: int, window: int, stride: int) -> list[tuple[int, int]]:
    """Half-open ranges over ``count`` lines: every ``stride`` lines a window of ``window``, the last one maybe shorter.

    The last window is the first that reaches the end, so it may hold fewer lines and every line is in at least one. A
    stride longer than the window would leave lines out and is taken as the window.
    """
    step = min(stride, window)
    ranges: list[tuple[int, int]] = []
    start = 0
    while start < count:
        ranges.append((start, min(start + window, count)))
        if start + window >= count:
            break
        start += step
    return ranges


def day(date: str) -> str:
    """The day of an ISO date or date and time; anything else as it is."""
    found = _DAY.match(date)
    return found.group() if found else date


def date_words(date: str) -> str:
    """An ISO date as a person would ask for it (``8 May 2023``); anything else as it is."""
    found = _DAY.match(date)
    if found is None or not 1 <= int(found[2]) <= 12:
        return date
    return f"{int(found[3])} {_MONTHS[int(found[2]) - 1]} {found[1]}"


def _split_paragraphs(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for gap in [*(m.span() for m in _BLANK_LINES.finditer(text)), (len(text), len(text))]:
        span = _stripped(text, start, gap[0])
        if span is not None:
            yield span
        start = gap[1]


def _split_long(text: str, start: int, end: int, max_chars: int) -> Iterator[tuple[int, int]]:
    while end - start > max_chars:
        limit = start + max_chars
        cut = _last_sentence_end(text, start, limit) or _last_space(text, start, limit) or limit
        span = _stripped(text, start, cut)
        if span is not None:
            yield span
        start = cut
    span = _stripped(text, start, end)
    if span is not None:
        yield span


def _last_sentence_end(text: str, start: int, limit: int) -> int | None:
    # Not in the first half: a short head and a long tail are worse than a cut between two words.
    ends = [found.end() for found in _SENTENCE_END.finditer(text, (start + limit) // 2, limit)]
    return ends[-1] if ends else None


def _last_space(text: str, start: int, limit: int) -> int | None:
    return next((i + 1 for i in range(limit - 1, start, -1) if text[i].isspace()), None)


def _stripped(text: str, start: int, end: int) -> tuple[int, int] | None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return (start, end) if start < end else None
