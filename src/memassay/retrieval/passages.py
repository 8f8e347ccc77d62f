"""What a document is made of, and how it is cut into passages.

A document with units becomes one line per unit, and windows run over the lines. A document without units is cut into
paragraphs with their place in the text. No passage ever crosses the border between two documents.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from memassay.core.paragraphs import PARAGRAPH_CHARS, paragraphs
from memassay.core.types import Document, Unit

_DAY = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
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
        for start, end in paragraphs(document.text, max_chars=paragraph_chars, join=True)
    ]


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
