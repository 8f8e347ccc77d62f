"""Which part of a passage is kept where not all of it fits: the one that holds the question's rare words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from memassay.core.paragraphs import Span, paragraphs
from memassay.core.tokens import Tokenizer

# Lines and sentences of at most so many characters: what an excerpt grows by.
_UNIT = 120
# Where a word ends or begins. From U+3000 on (CJK) words are not parted by spaces.
_END = re.compile(r"(?<=\S)(?=\s|\Z|(?<=[\u3000-\U0010ffff]))")
_BEGINNING = re.compile(r"(?=\S)(?:(?<!\S)|(?=[\u3000-\U0010ffff]))")


class Wanted(NamedTuple):
    """A question, for those who cut: what each of its terms is worth, and the analyzer that found them."""

    worth: Mapping[str, float]
    analyze: Callable[[str], list[str]]


class Measure:
    """Counts the parts of a text that grow: only what is more or less than in the part before is counted.

    The marks of two pieces of a text add up where a blank stands between what is no white space and a letter: both
    encodings begin anew there, whatever stands around.

    Args:
        tokens: what counts.
        before, after: what stands before and behind every part, and is counted with it.
        text: the text.
    """

    def __init__(self, tokens: Tokenizer, before: str, text: str, after: str) -> None:
        self._marks, self._before, self._text, self._after = tokens.marks, before, text, after
        self._known, self._inner = (0, 0), 0
        self._left, self._left_marks = (-1, -1), 0

    def __call__(self, part: Span) -> int:
        """The marks of ``before``, the part and ``after``."""
        (start, end), text = part, self._text
        low, high = self._border(start, end, 1), self._border(start, end, -1)
        if low == high:
            return self._marks(self._before + text[start:end] + self._after)
        known = self._known if self._inner else (low, low)
        self._inner += self._signed(low, known[0]) + self._signed(known[1], high)
        self._known = low, high
        if self._left != (start, low):
            self._left, self._left_marks = (start, low), self._marks(self._before + text[start:low])
        return self._left_marks + self._inner + self._marks(text[high:end] + self._after)

    def _border(self, start: int, end: int, step: int) -> int:
        """The first or last place inside a part where marks add up; ``start`` if there is none."""
        text = self._text
        find = text.find if step > 0 else text.rfind
        first, last = start + 1, max(end - 1, 0)
        while (at := find(" ", first, last)) >= 0:
            if not text[at - 1].isspace() and text[at + 1].isalpha():
                return at
            first, last = (at + 1, last) if step > 0 else (first, at)
        return start

    def _signed(self, start: int, end: int) -> int:
        return self._marks(self._text[start:end]) if start <= end else -self._marks(self._text[end:start])


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
    yield from ((inner[0], end) for end in word_ends(text, inner[1] + 1, outer[1]))
    begins = [found.start() for found in _BEGINNING.finditer(text, outer[0], inner[0])]
    yield from ((start, inner[1]) for start in reversed(begins) if start < inner[0])


def word_ends(text: str, first: int, last: int) -> Iterator[int]:
    """The places from ``first`` to ``last`` where a word ends; in scripts without spaces that is everywhere."""
    return (end for found in _END.finditer(text, first, last + 1) if first <= (end := found.start()) <= last)


def _value(terms: set[str], wanted: Wanted) -> float:
    return sum(wanted.worth[term] for term in sorted(terms))
