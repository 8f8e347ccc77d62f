"""Which part of a passage is kept where not all of it fits: the one that holds the question's rare words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from memassay.core.paragraphs import Span, paragraphs

# Lines and sentences of at most so many characters: what an excerpt grows by.
_UNIT = 120
# From here on (CJK) words are not parted by spaces.
_UNSPACED = "\u3000"


class Wanted(NamedTuple):
    """A question, for those who cut: what each of its terms is worth, and the analyzer that found them."""

    worth: Mapping[str, float]
    analyze: Callable[[str], list[str]]


def nested(text: str, wanted: Wanted) -> list[Span]:
    """Ever larger parts of a text, each within the next: whichever fits last holds all that a smaller one holds.

    The first is the line or sentence whose terms are worth most. It grows by the one before or behind it, to that side
    where more is left of what it lacks, else to the end and then to the beginning.

    Returns:
        No part, if none is worth anything.
    """
    units = paragraphs(text, max_chars=_UNIT)
    held = [{term for term in wanted.analyze(text[start:end]) if wanted.worth.get(term, 0) > 0} for start, end in units]
    values = [_value(terms, wanted) for terms in held]
    if not any(values):
        return []
    first = last = values.index(max(values))
    known = set(held[first])
    spans = [units[first]]
    while len(spans) < len(units):
        before = _value(set(chain.from_iterable(held[:first])) - known, wanted)
        behind = _value(set(chain.from_iterable(held[last + 1 :])) - known, wanted)
        if last + 1 == len(units) or (first and before > behind):
            first -= 1
            known |= held[first]
        else:
            last += 1
            known |= held[last]
        spans.append((units[first][0], units[last][1]))
    return spans


def between(text: str, inner: Span, outer: Span) -> Iterator[Span]:
    """The parts between two, which share an end or a beginning, word by word; the smallest first."""
    for end in range(inner[1] + 1, outer[1] + 1):
        if ends_word(text, end):
            yield inner[0], end
    for start in range(inner[0] - 1, outer[0] - 1, -1):
        if _begins_word(text, start):
            yield start, inner[1]


def ends_word(text: str, at: int) -> bool:
    """Whether a word ends before this place; in scripts without spaces that is everywhere."""
    return not text[at - 1].isspace() and (at == len(text) or text[at].isspace() or text[at - 1] >= _UNSPACED)


def _begins_word(text: str, at: int) -> bool:
    return not text[at].isspace() and (at == 0 or text[at - 1].isspace() or text[at] >= _UNSPACED)


def _value(terms: set[str], wanted: Wanted) -> float:
    return sum(wanted.worth[term] for term in sorted(terms))
