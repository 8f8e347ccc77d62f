"""What one passage claims, held against the documents: its sources, its words, its dates, its replacements.

A finding is ``fabricated`` only where no reading of the documents saves the claim. What cannot be matched cleanly is
``undetermined``: a paraphrase without a term of its own, a replacement whose two sides are not both known by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from memassay.core.types import Passage
from memassay.core.wording import find, normalise
from memassay.suites.canary.manifest import Manifest, Told
from memassay.suites.canary.reading import dated, day_of, plain, terms, word_run
from memassay.suites.canary.supersessions import Supersession

Decided = Literal["true", "fabricated", "undetermined"]

_VERB = re.compile(
    r"\b(?:replac|supersed|deprecat|obsolet)\w*(?P<by>\s+(?:by|with|in\s+favou?r\s+of))?\b|\bretired\s+in\s+favou?r(?P<of>\s+of)\b"
)
_END = re.compile(
    r"\b(?:until|till|ends?|ended|expir\w+|retir\w+|sunset\w*|withdrawn|abolish\w*|revok\w+|valid\s+to"
    r"|replac\w+|supersed\w+|deprecat\w+|obsolet\w+|no\s+longer|decommission\w*|discontinu\w+|switch\w*|removed)\b",
    re.IGNORECASE,
)
# A replacement that is denied, planned or supposed is none.
_HEDGE = re.compile(
    r"\b(?:not|never|neither|nor|no|without|will|would|may|might|could|should|must|if|propos\w+|plan\w*|consider\w*|instead)\b"
    r"|n't\b"
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n")
_SHORT_NAME = 3  # "5" replaces "7" would find a name in every sentence with a number
_NEXT_DAY = timedelta(days=1)
_NEVER = date(9999, 1, 1)  # the last days of the calendar stand for no end


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with one passage.

    Attributes:
        source: it names a document that does not exist.
        text: it is given as verbatim, and no document that it names has its words.
        elsewhere: as ``text``, but another document of the corpus has them.
        supersession: it says that something ended or was replaced, and nothing did.
        novel: dates, amounts, identifiers and names of a derived passage that the documents it names do not have.
        invented: those of ``novel`` that no document has, nor the question.
        undetermined: nothing is fabricated, and something cannot be checked without a model.
    """

    source: bool = False
    text: bool = False
    elsewhere: bool = False
    supersession: bool = False
    novel: tuple[str, ...] = ()
    invented: tuple[str, ...] = ()
    undetermined: bool = False

    @property
    def fabricated(self) -> bool:
        return self.source or self.text or self.supersession or bool(self.invented)


class Checker:
    """Checks passages against one corpus.

    Args:
        manifest: the documents.
        supersessions: every replacement that is true, or None where nobody listed them: then none is fabricated.
    """

    def __init__(self, manifest: Manifest, supersessions: Iterable[Supersession] | None = None) -> None:
        self.manifest = manifest
        self.supersessions = None if supersessions is None else tuple(supersessions)
        names = dict(manifest.entities)
        for row in self.supersessions or ():
            for name in (row.old, row.new):
                names.setdefault(normalise(name), normalise(name))
        self._names: Mapping[str, str] = {name: key for name, key in names.items() if len(name) >= _SHORT_NAME}
        self._rows: dict[tuple[str, str], list[Supersession]] = {}
        for row in self.supersessions or ():
            self._rows.setdefault((self._entity(row.old), self._entity(row.new)), []).append(row)

    def check(self, passage: Passage, query: str = "", *, cut: bool = False) -> Finding:
        """The finding on one passage.

        Args:
            passage: as a memory gave it, or its beginning.
            query: the question; words of it are no invention.
            cut: only the beginning of the passage is left.
        """
        named = self.manifest.named(passage.doc_ids)
        source = len(named) < len(set(passage.doc_ids))
        if passage.doc_ids and not named:
            return Finding(source=True)
        text = elsewhere = supersession = undetermined = False
        novel: tuple[str, ...] = ()
        invented: tuple[str, ...] = ()
        ids = passage.doc_ids or None
        if not self.manifest.quotes(passage.text, ids, cut=cut):
            # A passage that names no source does not say what it copies, so it is read like a derived one.
            if passage.kind == "verbatim" and named:
                text, elsewhere = True, self.manifest.quotes(passage.text, cut=cut)
            else:
                claimed = self._replacement(passage.text, named)
                novel, invented = self._novel(passage.text, named, query)
                supersession, undetermined = claimed == "fabricated", claimed != "true" or bool(novel)
        if passage.valid_to is not None:
            ended = self._ending(passage, named)
            supersession = supersession or ended == "fabricated"
            undetermined = undetermined or ended == "undetermined"
        found = Finding(source, text, elsewhere, supersession, novel, invented)
        return found if found.fabricated or not undetermined else Finding(novel=novel, undetermined=True)

    # -- terms that no document has --------------------------------------------------------------------------------

    def _novel(self, text: str, named: Sequence[Told], query: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        asked = {(term.kind, term.key) for term in terms(query)}
        words = word_run(query)
        novel, invented = [], []
        for term in terms(text):
            if (term.kind, term.key) in asked or (term.kind in ("name", "identifier") and term.key in words):
                continue
            if any(told.knows(term) for told in named):
                continue
            somewhere = any(told.knows(term) for told in self.manifest)
            if named or not somewhere:
                novel.append(term.shown)
            if not somewhere:
                invented.append(term.shown)
        return tuple(novel), tuple(invented)

    # -- what replaced what ----------------------------------------------------------------------------------------

    def _replacement(self, text: str, named: Sequence[Told]) -> Decided:
        """Whether the replacements that a text tells of are rows of the table; ``true`` if it tells of nothing else."""
        if self.supersessions is None:
            return "undetermined"
        decided = {self._told(sentence, named) for sentence in _SENTENCE.split(text) if plain(sentence)}
        if "fabricated" in decided:
            return "fabricated"
        return "true" if decided == {"true"} else "undetermined"

    def _told(self, sentence: str, named: Sequence[Told]) -> Decided:
        """A sentence with one such verb and exactly one known name on either side of it."""
        line = plain(sentence)
        verbs = list(_VERB.finditer(line))
        if len(verbs) != 1 or _HEDGE.search(line):
            return "undetermined"
        verb = verbs[0]
        before, after = self._found(line[: verb.start()]), self._found(line[verb.end() :])
        if len(before) != 1 or len(after) != 1 or before == after:
            return "undetermined"
        pair = (before[0], after[0]) if verb["by"] or verb["of"] else (after[0], before[0])
        rows = self._rows.get(pair)
        if rows is None:
            return "fabricated"
        days = {day for _, _, day in dated(sentence)}
        if not days or days & {day_of(row.date) for row in rows}:
            return "true"
        return "undetermined" if any(told.dates(day) for told in named for day in days) else "fabricated"

    def _found(self, line: str) -> list[str]:
        """The entities that a line names; of names that overlap the longest."""
        found: list[str] = []
        for name in sorted(self._names, key=lambda name: (-len(name), name)):
            while name in line and (at := find(name, line)) >= 0:
                found.append(self._names[name])
                line = f"{line[:at]}\0{line[at + len(name) :]}"
        return sorted(set(found))

    def _entity(self, name: str) -> str:
        return self._names.get(normalise(name), normalise(name))

    # -- what ended ------------------------------------------------------------------------------------------------

    def _ending(self, passage: Passage, named: Sequence[Told]) -> Decided:
        """Whether ``valid_to`` is the date of a row about it, or an end date that a document it names states."""
        day = day_of(passage.valid_to or "")
        if day is None:
            return "undetermined"
        if day >= _NEVER:
            return "true"
        near = {day, day + _NEXT_DAY, day - _NEXT_DAY if day > date.min else day}
        stated = list(_ends(named))
        if (day, True) in stated:
            return "true"
        rows = [row for row in self.supersessions or () if day_of(row.date) in near]
        if any(day_of(row.date) == day and self._is_about(row, passage) for row in rows):
            return "true"
        if self.supersessions is None or rows or any(other in near for other, _ in stated):
            return "undetermined"
        return "fabricated"

    def _is_about(self, row: Supersession, passage: Passage) -> bool:
        return self._entity(row.old) in passage.doc_ids or (word_run(row.old) or "\0") in word_run(passage.text)


def _ends(named: Sequence[Told]) -> Iterator[tuple[date, bool]]:
    """Every date in these documents, and whether its sentence says that something ends."""
    for told in named:
        for sentence in _SENTENCE.split(told.document.text):
            for _, _, day in dated(sentence):
                yield day, bool(_END.search(sentence))
