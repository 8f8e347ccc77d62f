"""The user's own questions as tasks: every line checked, every piece of evidence found in the documents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from memassay.core.errors import suggestion
from memassay.core.types import Document, Evidence, Gold, Task
from memassay.suites.custom.documents import SCOPE
from memassay.suites.custom.lines import MAX_QUESTION_LINE, Row, read_rows, shown
from memassay.suites.custom.quotations import MAX_PLACES, Quotations

CATEGORY = "general"
NO_EVIDENCE = "no evidence"
"""Cluster of the questions that name neither evidence nor cluster: nobody knows how they hang together."""
SPLITS = ("dev", "test", "all")

_KEYS = ("id", "question", "answer", "evidence", "category", "cluster", "as_of", "split", "scope")


def read_questions(path: Path, scopes: Mapping[str, Sequence[Document]]) -> list[Task]:
    """The questions of a JSONL file about these documents, in the order of the file.

    Raises:
        DataError: a wrong line, by number and with the fix.
    """
    return questions_of(read_rows(path, max_line=MAX_QUESTION_LINE), scopes)


def questions_of(rows: Iterable[Row], scopes: Mapping[str, Sequence[Document]]) -> list[Task]:
    """Tasks from objects with ``question`` and whatever else is known of it; see :func:`read_questions`."""
    reader = _Reader(scopes)
    return [reader.task(row) for row in rows]


class _Reader:
    def __init__(self, scopes: Mapping[str, Sequence[Document]]) -> None:
        self._scopes = scopes
        self._quotations: dict[str, Quotations] = {}
        self._lines: dict[str, int] = {}

    def task(self, row: Row) -> Task:
        row.only(_KEYS)
        prompt = row.needed("question")
        scope = self._scope(row)
        evidence, document, places = self._evidence(row, scope)
        cluster = document if len(self._scopes) == 1 or document == NO_EVIDENCE else f"{scope}/{document}"
        payload: dict[str, JsonValue] = {"places": places} if places > 1 else {}
        return Task(
            id=self._id(row),
            suite="custom",
            scope=scope,
            cluster=row.name("cluster") or cluster,
            category=self._category(row),
            split=self._split(row),
            prompt=prompt,
            as_of=row.date("as_of"),
            payload=payload,
            gold={"original": Gold(answer=_answer(row), evidence=evidence)},
        )

    def _id(self, row: Row) -> str:
        name = row.name("id") or f"q{row.line}"
        if name in self._lines:
            row.fail(f"the id {shown(name)} is that of line {self._lines[name]}; give each question its own")
        if name.startswith("marker/"):
            row.fail(f"the id {shown(name)} begins with marker/, which memassay uses itself; rename it")
        self._lines[name] = row.line
        return name

    def _scope(self, row: Row) -> str:
        only = next(iter(self._scopes)) if len(self._scopes) == 1 else SCOPE
        scope = row.name("scope") or only
        if scope in self._scopes:
            return scope
        known = suggestion(scope, self._scopes)
        if row.name("scope") is None:
            row.fail(f"scope is missing, and the documents have several; name one of them.{known}")
        return row.fail(f"no document has the scope {shown(scope)}.{known}")

    def _category(self, row: Row) -> str:
        name = row.name("category") or CATEGORY
        if name.startswith("control:"):
            row.fail(f"the category {shown(name)} begins with control:, which memassay uses itself; rename it")
        return name

    def _split(self, row: Row) -> str:
        name = row.text("split") or "all"
        if name not in SPLITS:
            row.fail(f"split must be dev, test or all, not {shown(name)}.{suggestion(name, SPLITS)}")
        return name

    def _evidence(self, row: Row, scope: str) -> tuple[tuple[Evidence, ...], str, int]:
        """The gold units, the document of the first, and in how many places the most frequent quotation stands."""
        found: dict[tuple[str, str], Evidence] = {}
        document, most = NO_EVIDENCE, 1
        for number, entry in enumerate(row.texts("evidence"), start=1):
            if scope not in self._quotations:
                self._quotations[scope] = Quotations(self._scopes[scope])
            quotations = self._quotations[scope]
            named = quotations.find(entry)
            what = f"evidence {number} ({shown(entry)})"
            if named is None:
                hint = quotations.hint(entry)
                row.fail(f"{what} is neither an id nor a quotation found in the documents; {hint}")
            if named.places > MAX_PLACES:
                row.fail(f"{what} stands in more than {MAX_PLACES} places; quote a longer passage, or give a unit's id")
            if not found:
                document = named.document
            most = max(most, named.places)
            found.update({(gold.id, gold.text): gold for gold in named.evidence})
        return tuple(found.values()), document, most


def _answer(row: Row) -> str | None:
    """The answer as text; a number is taken as it would be written."""
    value = row.value.get("answer")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return json.dumps(value)
    return row.text("answer")
