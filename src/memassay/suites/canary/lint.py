"""What is wrong with a set of questions, all of it at once, each with the line and the fix."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from memassay.core.errors import suggestion
from memassay.core.types import Document, Frozen
from memassay.core.wording import find, normalise
from memassay.suites.canary.families import FALSE_PREMISE, FAMILIES, FLOOR
from memassay.suites.canary.fixture import Atom, Question
from memassay.suites.custom.lines import shown

Severity = Literal["error", "warning"]

QUOTED_WORDS = 8
"""A query with so many words in a row of a gold document finds it by quoting, not by asking."""
COMMON = 8
"""A required fact in so many documents and in more than half of them needs no retrieval: any text holds it."""
LATE_DAYS = 366
"""A question asked so long after the last document has the wrong year."""

_LOOKED_AT = 200  # documents, evenly spread: enough to tell what stands in more than half of them
_WORD = re.compile(r"\w+")
# Names of what may be compared. Ordinary words that also name a memory (files, graph, markdown) are no sign of a bias.
_MEMORIES = re.compile(
    r"\b(?:lightrag|graphiti|mem0|zep|letta|cognee|bm25|grep|rag|lexical|hybrid|full-context|vector (?:store|search)"
    r"|knowledge graph|embeddings?)\b",
    re.IGNORECASE,
)


class Finding(Frozen):
    """One thing that is wrong.

    Attributes:
        line: of the question in its file, or 0 where it is about all of them.
        id: of the question, or "".
        field: which key of the line.
        message: one sentence with the fix.
        severity: with an ``error`` the questions cannot be used; a ``warning`` says what they can show less well.
    """

    line: int
    id: str
    field: str
    message: str
    severity: Severity = "error"


class _Found(NamedTuple):
    field: str
    message: str
    severity: Severity = "error"


def lint(questions: Sequence[Question], documents: Sequence[Document]) -> list[Finding]:
    """Everything that is wrong with these questions about these documents, by line; what is about all comes last."""
    checker = _Checker(documents)
    findings = [
        Finding(line=question.line, id=question.id, **found._asdict())
        for question in questions
        for found in checker.of(question)
    ]
    findings.sort(key=lambda finding: finding.line)
    return findings + [Finding(line=0, id="", **found._asdict()) for found in _sizes(questions)]


def _sizes(questions: Sequence[Question]) -> Iterator[_Found]:
    counts = Counter(question.family for question in questions)
    for family in FAMILIES:
        if 0 < counts[family] < FLOOR:
            what = f"{family} has {counts[family]} question{'s' if counts[family] > 1 else ''}"
            yield _Found("family", f"{what}; write {FLOOR} or more, or its result says little.", "warning")
    missing = [family for family in FAMILIES if not counts[family]]
    if missing:
        named = ", ".join(missing)
        yield _Found("family", f"no question is of {named}; what nobody asks is not measured.", "warning")


class _Checker:
    """Checks one question after the other and remembers which ids and words it has seen."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._texts = {document.id: document.text for document in documents}
        self._some = [document.id for document in documents][:: max(1, len(documents) // _LOOKED_AT)]
        self._words: dict[str, str] = {}
        dates = sorted(document.date[:10] for document in documents if document.date)
        self._dates = (dates[0], dates[-1]) if dates else None
        self._ids: dict[str, int] = {}
        self._queries: dict[tuple[tuple[str, ...], str | None], int] = {}

    def of(self, question: Question) -> Iterator[_Found]:
        yield from self._identity(question)
        yield from self._gold(question)
        for key, atoms in (("required", question.required), ("forbidden", question.forbidden)):
            for number, atom in enumerate(atoms):
                yield from self._atom(f"{key}[{number}]", atom)
        yield from self._as_of(question)
        yield from self._leaks(question)

    def _identity(self, question: Question) -> Iterator[_Found]:
        if question.id in self._ids:
            yield _Found("id", f"the id is that of line {self._ids[question.id]}; give each question its own.")
        self._ids.setdefault(question.id, question.line)
        if question.family not in FAMILIES:
            hint = suggestion(question.family, FAMILIES)
            yield _Found("family", f"the family {shown(question.family)} is unknown.{hint}")
        key = (tuple(_WORD.findall(normalise(question.query))), question.as_of)
        if key in self._queries:
            yield _Found("query", f"these are the words of line {self._queries[key]}; drop one or ask something else.")
        self._queries.setdefault(key, question.line)

    def _gold(self, question: Question) -> Iterator[_Found]:
        for name in question.expected_doc_ids:
            if name not in self._texts:
                yield _Found("expected_doc_ids", f"no document is {shown(name)}.{suggestion(name, self._texts)}")
        if question.premise_valid:
            if question.family == FALSE_PREMISE:
                yield _Found("premise_valid", f"a question of {FALSE_PREMISE} has no true premise; write false.")
            if not question.required and question.family in FAMILIES:
                message = "nothing says what an answer must hold; give answer or required, or only judges can label it."
                yield _Found("required", message, "warning")
        elif question.required or question.expected_doc_ids:
            field = "required" if question.required else "expected_doc_ids"
            yield _Found(field, "the premise is false, so there is nothing to be found; drop the gold, or the premise.")
        forbidden = {normalise(atom.text) for atom in question.forbidden}
        for number, atom in enumerate(question.required):
            if normalise(atom.text) in forbidden:
                yield _Found(f"required[{number}]", f"{shown(atom.text)} is forbidden as well; keep one of the two.")
            having = sum(find(normalise(atom.text), self._normalised(name)) >= 0 for name in self._some)
            if having >= COMMON and 2 * having > len(self._some):
                message = f"{shown(atom.text)} stands in {having} of {len(self._some)} documents, so that any of them "
                yield _Found(f"required[{number}].text", f"{message}would do; ask for words of the answer.", "warning")

    def _atom(self, field: str, atom: Atom) -> Iterator[_Found]:
        if atom.doc is None:
            return
        text = self._texts.get(atom.doc)
        if text is None:
            yield _Found(f"{field}.doc", f"no document is {shown(atom.doc)}.{suggestion(atom.doc, self._texts)}")
        elif atom.start is None or atom.end is None:
            if find(normalise(atom.text), self._normalised(atom.doc)) < 0:
                message = f"{shown(atom.text)} does not stand in {atom.doc}; copy the words from there."
                yield _Found(f"{field}.text", message, "warning" if atom.weak else "error")
        elif text[atom.start : atom.end] != atom.text:
            at = text.find(atom.text)
            if at >= 0:
                fix = f"the words stand at {at} to {at + len(atom.text)}; write these."
            else:
                fix = f"there stands {shown(text[atom.start : atom.end])}, and the words are nowhere; copy them."
            yield _Found(f"{field}.start", f"{atom.start} to {atom.end} of {atom.doc} is another text: {fix}")

    def _as_of(self, question: Question) -> Iterator[_Found]:
        if question.as_of is None or self._dates is None:
            return
        first, last = self._dates
        if question.as_of[:10] < first:
            yield _Found("as_of", f"{question.as_of} is before the first document ({first}); nothing was known then.")
        elif _days(last, question.as_of) > LATE_DAYS:
            message = f"{question.as_of} is more than a year after the last document ({last}); check the year."
            yield _Found("as_of", message, "warning")

    def _leaks(self, question: Question) -> Iterator[_Found]:
        query = normalise(question.query)
        if question.required and all(find(normalise(atom.text), query) >= 0 for atom in question.required):
            weak = all(atom.weak for atom in question.required)
            message = "the question holds its own answer; ask so that something has to be found."
            yield _Found("query", message, "warning" if weak else "error")
        words = _WORD.findall(query)
        gold = dict.fromkeys([*question.expected_doc_ids, *(atom.doc for atom in question.required if atom.doc)])
        for name in gold:
            run = next(
                (
                    words[at : at + QUOTED_WORDS]
                    for at in range(len(words) - QUOTED_WORDS + 1)
                    if f" {' '.join(words[at : at + QUOTED_WORDS])} " in self._plain(name)
                ),
                None,
            )
            if run:
                message = f"it quotes {name} ({shown(' '.join(run))}); ask in words of your own."
                yield _Found("query", message, "warning")
                break
        named = _MEMORIES.search(question.notes)
        if named:
            message = f"the notes name a memory ({named[0]}); a question is written without thinking of who will win."
            yield _Found("notes", message, "warning")

    def _normalised(self, name: str) -> str:
        if name not in self._words:
            self._words[name] = normalise(self._texts.get(name, ""))
        return self._words[name]

    def _plain(self, name: str) -> str:
        return f" {' '.join(_WORD.findall(self._normalised(name)))} "


def _days(first: str, last: str) -> int:
    """Days from one ISO date to another; 0 where one of them is none."""
    try:
        return (datetime.date.fromisoformat(last[:10]) - datetime.date.fromisoformat(first[:10])).days
    except ValueError:
        return 0
