"""The audit of LOCOMO's labels (dial481/locomo-audit), read and checked against the questions that it is about.

The audit has two sorts of items. A wrong citation leaves the answer as it is and replaces the evidence. The other kinds
say that the answer itself is wrong, so that a system which answers well is marked down: those set the ceiling.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memassay.core.types import Task
from memassay.data.integrity import Located, read_json, sha256_of
from memassay.suites.locomo.load import MAX_ID, MAX_TEXT, Conversation

ORIGINAL, EXCLUDED, CORRECTED = "original", "audit-excluded", "audit-corrected"
"""Keys of ``Task.gold``; the last two only where an audit is given."""

WRONG_CITATION = "WRONG_CITATION"
CORRUPTING = ("HALLUCINATION", "TEMPORAL_ERROR", "ATTRIBUTION_ERROR", "AMBIGUOUS", "INCOMPLETE")
"""Kinds of error that make the answer key wrong."""

_ID = re.compile(r"locomo_(\d{1,6})_qa(\d{1,6})", re.ASCII)
_FIX = "take the audit that belongs to this data file: memassay data fetch locomo-audit"


@dataclass(frozen=True, slots=True)
class Correction:
    """One audited question.

    Attributes:
        task: id of the task.
        kind: the audit's ``error_type``.
        evidence: the evidence as it should be, as written in the audit.
        answer: the answer as it should be; for a wrong citation often a remark rather than an answer.
    """

    task: str
    kind: str
    evidence: tuple[str, ...]
    answer: str

    @property
    def corrupts_answer(self) -> bool:
        return self.kind != WRONG_CITATION


@dataclass(frozen=True, slots=True)
class Corrections:
    """An audit file: its corrections by task id, and the checksum of the file."""

    by_task: Mapping[str, Correction]
    sha256: str = ""

    def count(self, *kinds: str) -> int:
        """How many corrections are of one of ``kinds``; all of them where none is named."""
        return sum(not kinds or correction.kind in kinds for correction in self.by_task.values())


def load_corrections(path: Path, conversations: Sequence[Conversation]) -> Corrections:
    """The corrections of an audit file for these conversations.

    Raises:
        DataError: the file is not such an audit, or speaks of other questions than the data file has at those places.
    """
    return parse_corrections(read_json(path), conversations, file=str(path), sha256=sha256_of(path))


def parse_corrections(value: Any, conversations: Sequence[Conversation], *, file: str, sha256: str = "") -> Corrections:
    """The corrections of a parsed audit; see :func:`load_corrections`."""
    root = Located(value, file, fix=_FIX)
    found: dict[str, Correction] = {}
    for index, item in enumerate(root.items()):
        correction = _correction(item.named(f"item {index}"), conversations)
        if correction.task in found:
            item.named(f"item {index}").fail(f"{correction.task} is corrected twice")
        found[correction.task] = correction
    if not found:
        root.fail("the list of corrections is empty")
    return Corrections(found, sha256)


def _correction(item: Located, conversations: Sequence[Conversation]) -> Correction:
    name = item.get("question_id").text(max_chars=MAX_ID)
    match = _ID.fullmatch(name)
    if not match:
        item.get("question_id").fail(f'expected an id such as "locomo_0_qa12", found {name!r}')
    item = item.named(f"{item.where} ({name})")
    number, place = int(match[1]), int(match[2])
    if number >= len(conversations) or place >= len(conversations[number].questions):
        item.fail("the data file has no such question")
    conversation = conversations[number]
    question = conversation.questions[place]
    asked = item.get("question").text(max_chars=MAX_TEXT)
    if " ".join(asked.split()) != " ".join(question.question.split()):
        item.fail(f"the audit asks {asked[:80]!r}, the data file asks {question.question[:80]!r}")
    kind = item.get("error_type").text(max_chars=MAX_ID)
    if kind not in (WRONG_CITATION, *CORRUPTING):
        item.get("error_type").fail(f"expected one of {', '.join((WRONG_CITATION, *CORRUPTING))}, found {kind[:40]!r}")
    return Correction(
        task=f"{conversation.id}/q{question.index}",
        kind=kind,
        evidence=tuple(entry.text(max_chars=MAX_ID) for entry in item.get("correct_evidence").items()),
        answer=item.get("correct_answer").text(max_chars=MAX_TEXT),
    )


def answer_ceiling(tasks: Iterable[Task]) -> float | None:
    """The share of exactly these tasks whose original answer key is right according to the audit.

    A score above it under the original key is a sign that the grader rewards wrong answers. None where there is no
    task, or where the tasks were made without an audit.
    """
    given = list(tasks)
    if not given or any(EXCLUDED not in task.gold for task in given):
        return None
    return 1 - sum(task.gold[EXCLUDED].excluded is not None for task in given) / len(given)
