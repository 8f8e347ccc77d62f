"""The questions of the canary, as JSON Lines: the published schema, ours, and the short form of a user's own.

A line with ``id``, ``family`` and other keys of schema v1, and none beside, is read as published. Any other line is of
schema v2, where only ``query`` is needed: ``id`` is ``q`` and the number of the line, ``family`` is current canonical
text, and the facts that an answer must hold are taken from ``answer`` where ``required`` does not list them; those are
marked weak. A question without any is asked, and decides nothing.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, cast, get_args

from pydantic import Field

from memassay.core.errors import DataError, suggestion
from memassay.core.types import Frozen
from memassay.suites.canary.families import CURRENT, FALSE_PREMISE, FAMILIES
from memassay.suites.custom.lines import MAX_QUESTION_LINE, Row, kind_of, read_rows, shown

Label = Literal["correct", "partial", "incorrect", "abstained", "hallucinated"]
LABELS: tuple[Label, ...] = get_args(Label)
"""What is said of a retrieval; what no rule can decide is ``undetermined``, which is no label of a question."""

Split = Literal["dev", "sealed", "all"]
SPLITS: tuple[Split, ...] = get_args(Split)

SHORT_ANSWER = 6
"""An answer of up to this many words is one fact; of a longer one its names, numbers and quoted words are."""

_TELLING_CHARS = 3  # a number of two digits stands in any text
_V1 = ("id", "family", "query", "expected_label", "expected_doc_id", "notes")
_DOCS = ("doc", "expected_doc_id", "expected_doc_ids")
_ATOM = ("text", "doc", "start", "end", "until", "weak")
_KNOWN = (
    "schema_version", "id", "family", "query", "answer", "expected_label", *_DOCS, "required", "forbidden", "as_of",
    "premise_valid", "aliases", "author", "split", "cluster", "notes",
)  # fmt: skip
# Quoted words; words with a digit, an inner capital or an inner sign (ADR-12, maxRetries, queue_depth); and runs of
# words with a capital that do not begin a sentence.
_TELLING = re.compile(
    r"""`([^`]+)`|"([^"]+)"|\u201c([^\u201d]+)\u201d"""
    r"""|((?:\w+[-_./:])*\w*(?:\d|(?<=[a-z])[A-Z]|(?<=\w)[-_](?=\w))[\w%]*(?:[-_./:,]\w+)*)"""
    r"""|((?<![.!?] )(?<!^)\b[A-Z]\w+(?: [A-Z]\w+)*)"""
)


class Atom(Frozen):
    """A fact as words that stand in a document, or should not stand in an answer.

    Attributes:
        text: the words.
        doc: the document, or None where it is not known.
        start, end: their place in ``Document.text`` in characters, both or neither.
        until: for forbidden words, the date on which they stopped being true (ISO 8601), or None.
        weak: taken from the answer by rule rather than given by somebody.
    """

    text: str
    doc: str | None = None
    start: int | None = None
    end: int | None = None
    until: str | None = None
    weak: bool = False


class Question(Frozen):
    """One paired question. ``query`` and ``as_of`` alone reach a memory.

    Attributes:
        family: one of ``FAMILIES`` once it is checked.
        expected_label: what is expected of any memory, or None.
        expected_doc_ids: the documents in which the answer stands; the first is the main one.
        required: facts that the retrieved text must hold.
        forbidden: words that it must not give as true: stale values, values of something else of the same name.
        as_of: the "now" of the question, ISO 8601, or None.
        premise_valid: False where it asks about something that does not exist.
        aliases: other names of what it asks about.
        cluster: what it is about; questions of one cluster stand and fall together.
        notes: shown to nobody.
        line: where it stands in its file, from 1; 0 where there is none.
    """

    schema_version: Literal[1, 2] = 2
    id: str
    family: str
    query: str
    answer: str = ""
    expected_label: Label | None = None
    expected_doc_ids: tuple[str, ...] = ()
    required: tuple[Atom, ...] = ()
    forbidden: tuple[Atom, ...] = ()
    as_of: str | None = None
    premise_valid: bool = True
    aliases: tuple[str, ...] = ()
    author: str = ""
    split: Split = "all"
    cluster: str = ""
    notes: str = ""
    line: int = Field(default=0, exclude=True, repr=False)


# -- reading -------------------------------------------------------------------------------------------------------


def read_fixture(path: Path, *, checked: bool = True) -> tuple[Question, ...]:
    """The questions of a file, in its order.

    Args:
        path: a JSONL file.
        checked: refuse an unknown family and an id used twice, which the linter, that lists all of them, lets pass.

    Raises:
        DataError: a wrong line, by number and field, in one sentence with the fix; nothing is then read.
    """
    return questions_of(read_rows(path, max_line=MAX_QUESTION_LINE), checked=checked)


def questions_of(rows: Iterable[Row], *, checked: bool = True) -> tuple[Question, ...]:
    """Questions from objects; see :func:`read_fixture`."""
    questions: list[Question] = []
    lines: dict[str, int] = {}
    for row in rows:
        question = _question(row)
        if checked and question.family not in FAMILIES:
            row.fail(f"family {shown(question.family)} is unknown.{suggestion(question.family, FAMILIES)}")
        if checked and question.id in lines:
            row.fail(f"the id {shown(question.id)} is that of line {lines[question.id]}; give each question its own")
        lines[question.id] = row.line
        questions.append(question)
    return tuple(questions)


def _question(row: Row) -> Question:
    row.only(_KNOWN)
    published = {"id", "family"} <= set(row.value) <= set(_V1)
    version = row.value.get("schema_version", 1 if published else 2)
    if type(version) is not int or version not in (1, 2):
        row.fail(f"schema_version must be 1 or 2, found {shown(str(version))}; leave it out if you are not sure")
    first = version == 1
    if first:
        row.only(("schema_version", *_V1))
    given_id, given_family = row.name("id"), row.name("family")
    if first:
        for key, value in (("id", given_id), ("family", given_family)):
            if value is None:
                row.fail(f'{key} is missing; write "{key}": "...", or "schema_version": 2, where it can be left out')
    asked = row.value.get("query")
    if isinstance(asked, str) and not asked.strip():
        row.fail("query is empty; fill it in, or delete the line")
    query, answer, documents = row.needed("query"), _answer(row), _documents(row)
    family = given_family or CURRENT
    premise = _flag(row, "premise_valid", family != FALSE_PREMISE)
    required = _atoms(row, "required")
    if premise and not required:
        required = weak_atoms(answer, documents[0] if documents else None)
    return Question(
        schema_version=version,
        id=given_id or f"q{row.line}",
        family=family,
        query=query,
        answer=answer,
        expected_label=_one_of(row, "expected_label", LABELS),
        expected_doc_ids=documents,
        required=required,
        forbidden=_atoms(row, "forbidden"),
        as_of=row.date("as_of"),
        premise_valid=premise,
        aliases=tuple(row.texts("aliases")),
        author=row.name("author") or "",
        split=cast(Split, _one_of(row, "split", SPLITS) or "all"),
        cluster=row.name("cluster") or (documents[0] if documents else ""),
        notes=(row.text("notes") or "") if row.value.get("notes") else "",
        line=row.line,
    )


def weak_atoms(answer: str, doc: str | None = None) -> tuple[Atom, ...]:
    """What an answer in one's own words must hold: all of a short one, else its names, numbers and quoted words."""
    plain = answer.strip().removesuffix(".")
    if not plain:
        return ()
    found = [next(group for group in match.groups() if group) for match in _TELLING.finditer(plain)]
    telling = list(dict.fromkeys(words for words in found if len(words) >= _TELLING_CHARS))
    texts = [plain] if len(plain.split()) <= SHORT_ANSWER or not telling else telling
    return tuple(Atom(text=text, doc=doc, weak=True) for text in texts)


def _answer(row: Row) -> str:
    """The answer as text; a number is taken as it would be written."""
    value = row.value.get("answer")
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not math.isfinite(value):
            row.fail(f"answer must be text or a number, found {value}; write what an answer must say in quotes")
        return json.dumps(value)
    return row.text("answer") or ""


def _documents(row: Row) -> tuple[str, ...]:
    given = [key for key in _DOCS if row.value.get(key) is not None]
    if len(given) > 1:
        row.fail(f"{given[0]} and {given[1]} say the same; keep one of them")
    if given == ["expected_doc_ids"]:
        return tuple(dict.fromkeys(row.texts("expected_doc_ids")))
    return tuple(row.needed(key) for key in given)


def _atoms(row: Row, key: str) -> tuple[Atom, ...]:
    return tuple(_atom(row, f"{key}[{number}]", item) for number, item in enumerate(row.items(key)))


def _atom(row: Row, what: str, item: Any) -> Atom:
    """An atom from its object, or from its words alone."""
    if isinstance(item, str):
        item = {"text": item}
    if not isinstance(item, dict):
        row.fail(f'{what} must be text or {{"text": ..., "doc": ...}}, found {kind_of(item)}')
    for key in item:
        if key not in _ATOM:
            row.fail(f"{what} has the unknown key {shown(key)}.{suggestion(key, _ATOM)}")
    inner = Row({f"{what}.{key}": value for key, value in item.items()}, row.file, row.line)
    text, doc = inner.needed(f"{what}.text"), inner.text(f"{what}.doc")
    start, end = item.get("start"), item.get("end")
    if start is not None or end is not None:
        whole = all(isinstance(place, int) and not isinstance(place, bool) for place in (start, end))
        if not whole or not 0 <= cast(int, start) < cast(int, end):
            row.fail(f"{what}.start and {what}.end must be whole numbers, 0 or more, start first; give both or neither")
        if doc is None:
            row.fail(f"{what}.doc is missing; say in which document start and end are")
    until, weak = inner.date(f"{what}.until"), _flag(inner, f"{what}.weak", False)
    return Atom(text=text, doc=doc, start=start, end=end, until=until, weak=weak)


def _one_of(row: Row, key: str, known: tuple[Any, ...]) -> Any:
    name = row.text(key)
    if name is not None and name not in known:
        row.fail(f"{key} {shown(name)} is unknown.{suggestion(name, known)}")
    return name


def _flag(row: Row, key: str, default: bool) -> bool:
    value = row.value.get(key)
    if value is not None and not isinstance(value, bool):
        row.fail(f"{key} must be true or false, found {kind_of(value)}")
    return default if value is None else value


# -- writing -------------------------------------------------------------------------------------------------------


def line_of(question: Question) -> str:
    """A question as one line, in the schema that it has; what a reader would assume anyway is left out."""
    if question.schema_version == 1:
        value: dict[str, Any] = {"id": question.id, "family": question.family, "query": question.query}
        expected = question.expected_doc_ids[0] if question.expected_doc_ids else None
        rest = {"expected_label": question.expected_label, "expected_doc_id": expected, "notes": question.notes}
        value |= {key: text for key, text in rest.items() if text}
    else:
        value = {"schema_version": 2, **question.model_dump(mode="json", exclude_defaults=True)}
        if not question.premise_valid or question.family == FALSE_PREMISE:
            value["premise_valid"] = question.premise_valid
    return json.dumps(value, ensure_ascii=False)


def write_fixture(path: Path, questions: Iterable[Question]) -> None:
    """Write questions as JSON Lines; equal questions give equal bytes.

    Raises:
        DataError: the file cannot be written.
    """
    text = "".join(f"{line_of(question)}\n" for question in questions)
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}; choose another place.") from None
