"""HotPotQA's own file format, parsed into frozen values.

The file is a JSON list of questions, or the same objects one per line. Each has ``_id``, ``question``, ``type``,
``supporting_facts`` (pairs of a title and a sentence number) and ``context`` (pairs of a title and its sentences), and
mostly ``answer`` and ``level``. Other keys are not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memassay.core.errors import DataError
from memassay.data.integrity import MAX_BYTES, Located, read_json
from memassay.suites.custom.lines import read_rows

TYPES = ("bridge", "comparison")

MAX_TEXT = 100_000
"""Longest text of a field, in characters. The longest page of the development files has 8,237."""

MAX_ID = 200

_FIX = "correct the file, or get a fresh copy with: memassay data fetch hotpotqa"
_ID = re.compile(r"[\w.:-]+")


@dataclass(frozen=True, slots=True)
class Page:
    """An article as a question's context has it."""

    title: str
    sentences: tuple[str, ...]

    @property
    def body(self) -> str:
        """The sentences joined by a blank, every run of white space as one blank; may be empty."""
        return one_line(" ".join(self.sentences))


@dataclass(frozen=True, slots=True)
class Question:
    """One question.

    Attributes:
        id: the file's ``_id``.
        answer: the gold answer, or None where the file has none.
        type: ``bridge`` or ``comparison``.
        level: ``easy``, ``medium``, ``hard`` or whatever the file says; "" where it says nothing.
        facts: title and sentence number (from 0) of each supporting sentence, as written; either may name nothing.
        context: the gold pages among the pages that distract from them, in the order of the file.
    """

    id: str
    question: str
    answer: str | None
    type: str
    level: str
    facts: tuple[tuple[str, int], ...]
    context: tuple[Page, ...]

    @property
    def titles(self) -> tuple[str, ...]:
        """The titles of the supporting facts, each once, in their order."""
        return tuple(dict.fromkeys(title for title, _ in self.facts))


@dataclass(frozen=True, slots=True)
class Loaded:
    """The questions of a file. ``repeated`` are ids that come again; only the first question of an id is kept."""

    questions: tuple[Question, ...]
    repeated: tuple[str, ...] = ()


def one_line(text: str) -> str:
    """The text with every run of white space as one blank and none around it."""
    return " ".join(text.split())


def load(path: Path) -> Loaded:
    """The questions of a file, JSON or JSONL by its first character.

    Raises:
        DataError: the file is not HotPotQA's format; one line that says where.
    """
    if _is_lines(path):
        return _loaded(list(_rows(path)), str(path))
    return parse(read_json(path), file=str(path))


def parse(value: Any, *, file: str) -> Loaded:
    """The questions of a parsed JSON value; ``file`` is what errors call it.

    Raises:
        DataError: as in :func:`load`.
    """
    root = Located(value, file, fix=_FIX)
    return _loaded([item.named(f"question {n}") for n, item in enumerate(root.items(), start=1)], file)


def _is_lines(path: Path) -> bool:
    if not path.is_file():
        return False  # read_json says what is wrong with it
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError:
        return False
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"


def _rows(path: Path) -> Iterator[Located]:
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise DataError(f"{path} is larger than {MAX_BYTES:,} bytes, which no file of this kind is.")
    for row in read_rows(path):
        item = Located(row.value, row.file, f"line {row.line}", _FIX)
        try:
            json.dumps(row.value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            item.fail("a text holds half of a surrogate pair (\\ud800 to \\udfff), which is not Unicode")
        yield item


def _loaded(items: Sequence[Located], file: str) -> Loaded:
    questions: dict[str, Question] = {}
    repeated: list[str] = []
    for item in items:
        question = _question(item)
        if question.id in questions:
            repeated.append(question.id)
        else:
            questions[question.id] = question
    if not questions:
        raise DataError(f"{file}: there is no question in it; {_FIX}.")
    return Loaded(tuple(questions.values()), tuple(repeated))


def _question(item: Located) -> Question:
    name = item.get("_id").text(max_chars=MAX_ID, empty=False)
    if not _ID.fullmatch(name):
        item.get("_id").fail("an _id holds letters, digits, '.', ':', '_' and '-' only")
    item = item.named(f'{item.where} ("{name}")')
    kind = item.get("type").text(max_chars=MAX_ID)
    if kind not in TYPES:
        item.get("type").fail(f"expected bridge or comparison, found {kind[:40]!r}")
    return Question(
        id=name,
        question=one_line(item.get("question").text(max_chars=MAX_TEXT, empty=False)),
        answer=item.get("answer").text(max_chars=MAX_TEXT) if _given(item, "answer") else None,
        type=kind,
        level=item.get("level").text(max_chars=MAX_ID) if _given(item, "level") else "",
        facts=tuple(_fact(fact) for fact in item.get("supporting_facts").items()),
        context=tuple(_page(page) for page in item.get("context").items()),
    )


def _given(item: Located, key: str) -> bool:
    return item.has(key) and item.get(key).value is not None


def _fact(item: Located) -> tuple[str, int]:
    title, sentence = _pair(item, "a title and a sentence number")
    return _title(title), sentence.whole()


def _page(item: Located) -> Page:
    title, sentences = _pair(item, "a title and a list of sentences")
    return Page(_title(title), tuple(sentence.text(max_chars=MAX_TEXT) for sentence in sentences.items()))


def _title(item: Located) -> str:
    return one_line(item.text(max_chars=MAX_ID * 5, empty=False))


def _pair(item: Located, what: str) -> tuple[Located, Located]:
    parts = list(item.items())
    if len(parts) != 2:
        item.fail(f"expected a pair of {what}, found {len(parts)} items")
    return parts[0], parts[1]
