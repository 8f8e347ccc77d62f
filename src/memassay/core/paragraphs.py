"""Paragraphs of a plain text as places in it: what a document is made of where nobody has said it."""

from __future__ import annotations

import re
from collections.abc import Iterator

PARAGRAPH_CHARS = 1000

Span = tuple[int, int]

_BLANK_LINES = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+")
_SENTENCE_END = re.compile(r"[.!?\u3002\uff01\uff1f][\"')\]\u201d]*\s|\n")


def paragraphs(text: str, *, max_chars: int = PARAGRAPH_CHARS, join: bool = False) -> list[Span]:
    """Spans of the paragraphs of a text, without the white space around them.

    Paragraphs are parted by blank lines. One of more than ``max_chars`` is split after a sentence or a line, else at
    white space, else at ``max_chars`` exactly. Every character that is not white space is in exactly one span.

    Args:
        text: any text.
        max_chars: the most characters of a span, at least 1.
        join: join neighbours for as long as they stay within ``max_chars`` together.
    """
    found: list[Span] = []
    for start, end in _blocks(text):
        if join and found and end - found[-1][0] <= max_chars:
            found[-1] = (found[-1][0], end)
        else:
            found.extend(_pieces(text, start, end, max_chars))
    return found


def _blocks(text: str) -> Iterator[Span]:
    start = 0
    for gap in [*(match.span() for match in _BLANK_LINES.finditer(text)), (len(text), len(text))]:
        span = _stripped(text, start, gap[0])
        if span is not None:
            yield span
        start = gap[1]


def _pieces(text: str, start: int, end: int, max_chars: int) -> Iterator[Span]:
    while end - start > max_chars:
        limit = start + max_chars
        cut = _after_sentence(text, start, limit) or _after_space(text, start, limit) or limit
        span = _stripped(text, start, cut)
        if span is not None:
            yield span
        start = cut
    span = _stripped(text, start, end)
    if span is not None:
        yield span


def _after_sentence(text: str, start: int, limit: int) -> int | None:
    # Not in the first half: a short head and a long tail are worse than a cut between two words.
    ends = [found.end() for found in _SENTENCE_END.finditer(text, (start + limit) // 2, limit)]
    return ends[-1] if ends else None


def _after_space(text: str, start: int, limit: int) -> int | None:
    return next((at + 1 for at in range(limit - 1, start, -1) if text[at].isspace()), None)


def _stripped(text: str, start: int, end: int) -> Span | None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return (start, end) if start < end else None
