"""Where a quotation stands among the units of a scope, in the form in which the grader compares words."""

from __future__ import annotations

import difflib
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memassay.core.types import Document, Evidence, Unit
from memassay.core.wording import find, normalise

MAX_PLACES = 10
"""A quotation that stands in more units than this says too little to be evidence."""

_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_HINT_CHARS = 160
_CLOSE = 20
_ALIKE = 0.5  # below this, difflib's "closest" passage has little more than "the" in common


@dataclass(frozen=True, slots=True)
class Found:
    """What one evidence entry names.

    Attributes:
        evidence: the gold units; several where a quotation runs over the border of units, or a document is named.
        document: id of the document of the first.
        places: units, or runs of units, in which a quotation stands; 1 for an id.
    """

    evidence: tuple[Evidence, ...]
    document: str
    places: int = 1


class Quotations:
    """Resolves evidence entries against the documents of one scope."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = {document.id: document for document in documents}
        self._units: list[Unit] = []
        self._owners: list[str] = []
        self._starts: list[int] = []
        pieces: list[str] = []
        at = 0
        for document in documents:
            for unit in document.units:
                words = normalise(unit.text)
                self._units.append(unit)
                self._owners.append(document.id)
                self._starts.append(at)
                pieces.append(words)
                at += len(words) + 1
            # A line end, which no normalised text holds, keeps a quotation from running into the next document.
            if document.units:
                pieces[-1] += "\n"
                at += 1
        self._text = " ".join(pieces)
        self._by_id = {unit.id: number for number, unit in enumerate(self._units)}

    def find(self, entry: str) -> Found | None:
        """What an entry names: a unit by id, a document by id (all its units), or a quotation; None if nothing."""
        name = entry.strip()
        if name in self._by_id:
            number = self._by_id[name]
            return Found((_whole(self._units[number]),), self._owners[number])
        if name in self._documents:
            units = self._documents[name].units
            return Found(tuple(_whole(unit) for unit in units), name) if units else None
        return self._quotation(entry)

    def _quotation(self, entry: str) -> Found | None:
        want = normalise(entry)
        if not _WORD.search(want):
            return None
        best: tuple[int, int] | None = None
        places = 0
        for start in self._occurrences(want):
            first, last = self._unit_at(start), self._unit_at(start + len(want) - 1)
            if best is None or (first == last and self._unit_at(best[0]) != self._unit_at(best[1] - 1)):
                best = (start, start + len(want))
            places += 1
            if places > MAX_PLACES:
                break
        if best is None:
            return None
        return Found(self._evidence(entry, *best), self._owners[self._unit_at(best[0])], places)

    def _occurrences(self, want: str) -> Iterator[int]:
        """Places where the words stand as words ("art" does not stand in "start"), at most one per unit."""
        at = find(want, self._text)
        while at >= 0:
            yield at
            following = self._unit_at(at) + 1
            if following == len(self._starts):
                return
            at = find(want, self._text, max(at + 1, self._starts[following]))

    def _unit_at(self, at: int) -> int:
        return bisect_right(self._starts, at) - 1

    def _evidence(self, entry: str, start: int, end: int) -> tuple[Evidence, ...]:
        first, last = self._unit_at(start), self._unit_at(end - 1)
        if first == last:
            return (Evidence(id=self._units[first].id, text=entry.strip()),)
        parts = []
        for number in range(first, last + 1):
            begin = self._starts[number]
            stop = begin + len(normalise(self._units[number].text))
            words = self._text[max(begin, start) : min(stop, end)].strip()
            whole = begin >= start and stop <= end
            if _WORD.search(words):
                parts.append(_whole(self._units[number]) if whole else Evidence(id=self._units[number].id, text=words))
        return tuple(parts)

    # -- what to say where nothing was found -----------------------------------------------------------------------

    def hint(self, entry: str) -> str:
        """What was probably meant, as the end of a message: an id that is close, or the closest passage."""
        ids = difflib.get_close_matches(entry.strip(), [*self._documents, *self._by_id][:50_000], n=1, cutoff=0.75)
        if ids:
            return f"did you mean {ids[0]!r}?"
        closest = self._closest(entry)
        if closest is None:
            return "no passage is like it; copy the words from a document, or name one of its units"
        unit, words = closest
        return f"the closest passage is {words!r} ({unit})"

    def _closest(self, entry: str) -> tuple[str, str] | None:
        want = normalise(entry)[:1000]
        words = set(_WORD.findall(want))
        scored = sorted(
            (-len(words & set(_WORD.findall(normalise(unit.text)))), number) for number, unit in enumerate(self._units)
        )
        best: tuple[float, str, str] | None = None
        for missing, number in scored[:_CLOSE]:
            if not missing:
                break
            for sentence in _SENTENCE.split(self._units[number].text)[:50]:
                like = difflib.SequenceMatcher(None, want, normalise(sentence)[:1000], autojunk=False).ratio()
                if best is None or like > best[0]:
                    best = (like, self._units[number].id, " ".join(sentence.split()))
        if best is None or best[0] < _ALIKE:
            return None
        return best[1], best[2] if len(best[2]) <= _HINT_CHARS else f"{best[2][:_HINT_CHARS]}..."


def _whole(unit: Unit) -> Evidence:
    return Evidence(id=unit.id, text=unit.text)
