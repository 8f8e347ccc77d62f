"""Documents as a store keeps them: their lines, date and title, and how passages are made from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import JsonValue

from memassay.core.paragraphs import PARAGRAPH_CHARS
from memassay.core.types import Document, Passage, Query
from memassay.memories.folder import read_lines, write_lines
from memassay.retrieval.passages import Line, day, lines

SOURCES = "documents.jsonl"

# Characters per token of the budget that a memory hands over; English has about 4, so the harness always cuts, never
# the memory.
CHARS_PER_TOKEN = 8

Dates = Literal["day", "full", "none"]
DATES: tuple[str, ...] = get_args(Dates)


@dataclass(frozen=True, slots=True)
class Source:
    """A document of a store. ``spoken``: at least one unit names its speaker, so it is a conversation."""

    id: str
    title: str
    date: str | None
    spoken: bool
    lines: tuple[Line, ...]

    def head(self, dates: Dates) -> str:
        """What stands once above the lines of a passage: the date, and the title unless it is a conversation."""
        date = "" if self.date is None or dates == "none" else day(self.date) if dates == "day" else self.date
        title = "" if self.spoken else self.title.strip()
        return " ".join(part for part in (date, title) if part)


def source(document: Document, *, whole: bool = False) -> Source:
    """A document as a store keeps it; ``whole`` leaves a document without units in one piece."""
    size = max(1, len(document.text)) if whole else PARAGRAPH_CHARS
    spoken = any(unit.speaker for unit in document.units)
    pieces = tuple(lines(document, paragraph_chars=size))
    return Source(document.id, document.title, document.date, spoken, pieces)


def write_sources(place: Path, sources: Iterable[Source]) -> Path:
    """Write the documents of a store and return the file."""
    path = place / SOURCES
    write_lines(path, (_row(item) for item in sources))
    return path


def read_sources(place: Path) -> list[Source]:
    """Read what :func:`write_sources` wrote."""
    return [_source(row) for row in read_lines(place / SOURCES)]


def passage(
    item: Source, shown: Sequence[Line], *, dates: Dates, rank: int, native_id: str, score: float | None = None
) -> Passage:
    """A verbatim passage: the head of the document and the lines ``shown``, in their order."""
    head = item.head(dates)
    spans = [line.span for line in shown if line.span is not None]
    return Passage(
        text="\n".join([*([head] if head else []), *(line.text for line in shown)]),
        doc_ids=(item.id,),
        unit_ids=tuple(line.unit for line in shown if line.unit),
        span=(spans[0][0], spans[-1][1]) if len(spans) == len(shown) and spans else None,
        valid_from=item.date,
        score=score,
        rank=rank,
        native_id=native_id,
    )


class Filling:
    """Counts what a dossier holds, so that a memory knows when to stop."""

    def __init__(self, query: Query) -> None:
        self._chars = query.budget_tokens * CHARS_PER_TOKEN
        self._limit = query.limit
        self.passages: list[Passage] = []

    @property
    def full(self) -> bool:
        """Whether the limit of passages is reached or the characters exceed the budget by any tokenizer."""
        return self._chars < 0 or (self._limit is not None and len(self.passages) >= self._limit)

    def add(self, item: Passage) -> None:
        """Add a passage."""
        self.passages.append(item)
        self._chars -= len(item.text)


def _row(item: Source) -> JsonValue:
    pieces: list[JsonValue] = [[line.unit, line.text, list(line.span) if line.span else None] for line in item.lines]
    return {"id": item.id, "title": item.title, "date": item.date, "spoken": item.spoken, "lines": pieces}


def _source(row: dict[str, Any]) -> Source:
    pieces = tuple(Line(text, unit, tuple(span) if span else None) for unit, text, span in row["lines"])
    return Source(row["id"], row["title"], row["date"], row["spoken"], pieces)
