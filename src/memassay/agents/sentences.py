"""A rendered dossier read as sentences, each with what stands above it: date, title, speaker."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

_BLOCK = re.compile(r"^\[([0-9]{1,6})\] ?", re.MULTILINE)
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?:T[\d:.+Z-]*)?(?: (.*))?$")
_SPEAKER = re.compile(r"([A-Z][\w.'-]*(?: [A-Z][\w.'-]*){0,2}): (.*)$")
_END = re.compile(r"(?<=[.!?])[\"')]*\s+(?=[\"'(]*[A-Z0-9])")
_YEAR = re.compile(r"\b(1\d{3}|20\d{2})\b")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence.

    Attributes:
        rank: number of the passage.
        date: the day that stands above it, or None.
        title: the line above it that is no sentence, or "".
        speaker: who says it, or "".
    """

    text: str
    rank: int
    date: date | None = None
    title: str = ""
    speaker: str = ""

    @property
    def year(self) -> int | None:
        """The first year from 1000 to 2099 that is written in it, or None."""
        found = _YEAR.search(self.text)
        return int(found[1]) if found else None


def sentences(dossier: str) -> list[Sentence]:
    """Every sentence of a rendered dossier, in order; what stands in front of the first number has rank 0."""
    pieces = ["0", *_BLOCK.split(dossier)]
    return [s for rank, text in zip(pieces[::2], pieces[1::2], strict=True) for s in _passage(int(rank), text)]


def _passage(rank: int, text: str) -> list[Sentence]:
    day: date | None = None
    title = ""
    found: list[Sentence] = []
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for number, line in enumerate(lines):
        head = _DAY.match(line)
        if number == 0 and head is not None:
            day, line = _day(head[1]), head[2] or ""
        spoken = _SPEAKER.match(line)
        speaker, words = (spoken[1], spoken[2]) if spoken else ("", line)
        if number == 0 and len(lines) > 1 and not spoken and not words.endswith((".", "!", "?")):
            title = words
            continue
        found += [Sentence(one, rank, day, title, speaker) for one in _END.split(words) if one.strip()]
    return found


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
