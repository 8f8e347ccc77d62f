"""The grader ``set``: which of the right names an answer gives, and which of the near-misses.

Two scores stand side by side. Both are the share of the right values that the answer names, minus 0.25 for every
near-miss that it names, at least 0, rounded to four digits; they differ in what naming is.

``score`` asks for whole tokens: ``SIMILAR_SIZE`` does not stand in ``SIMILAR_SIZE_STRICT``, nor ``residential`` in
``Non-residential``. ``score_substring`` is the published rule, which finds a value anywhere in the lower-cased text.

A near-miss ``SIMILAR_SIZE`` means the two rules about size (no question is built where one of them would hold). The
published rule catches both with one value, as the longer name holds the shorter. With whole tokens either name counts
as that near-miss, and both together count once, so that the two scores differ only in what naming is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from memassay.core.contracts import Cell
from memassay.core.types import Answer, Gold, Judgement, Task
from memassay.core.wording import normalise

VERSION = 1
PENALTY = 0.25
NEAR = "near"
"""Key of the gold that holds the near-misses."""

_LABELLED = 10
_ALSO_FORBIDDEN: Mapping[str, tuple[str, ...]] = {"SIMILAR_SIZE": ("SIMILAR_SIZE_STRICT",)}
_TOKEN = re.compile(r"[\w-]+")
_HYPHENS = str.maketrans({"\u2010": "-", "\u2011": "-"})


@dataclass(frozen=True, slots=True)
class Marks:
    """What an answer names.

    Attributes:
        found, missed: the right values, in the order of the gold.
        forbidden: the near-misses that it names, in the order of the gold.
    """

    found: tuple[str, ...]
    missed: tuple[str, ...]
    forbidden: tuple[str, ...]

    @property
    def recall(self) -> float:
        """Share of the right values that are named, in [0, 1]; without right values there is none to miss: 1."""
        right = len(self.found) + len(self.missed)
        return len(self.found) / right if right else 1.0

    @property
    def score(self) -> float:
        """Recall less 0.25 per near-miss, at least 0, rounded to four digits."""
        return round(max(0.0, self.recall - PENALTY * len(self.forbidden)), 4)


def by_token(text: str, right: Sequence[str], near: Sequence[str]) -> Marks:
    """What a text names by whole tokens.

    A token is a run of letters, digits, ``_`` and ``-``, as long as it goes, without regard to case; a ``_`` or ``-``
    at its ends is mark-up (``_talent-000001_``, a list's dash) and not part of it. A value of several words is named
    where its tokens follow each other.
    """
    line = _tokens(text)
    named = {value: any(_tokens(name) in line for name in (value, *_ALSO_FORBIDDEN.get(value, ()))) for value in near}
    return _marks({value: _tokens(value) in line for value in right}, named)


def by_substring(text: str, right: Sequence[str], near: Sequence[str]) -> Marks:
    """What a text names by the published rule: the value stands anywhere in it, both in lower case."""
    lowered = text.lower()
    return _marks(*({value: value.lower() in lowered for value in values} for values in (right, near)))


def right_and_near(task: Task) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The right values of a task and its near-misses, as its gold has them (one a line)."""
    return _lines(task.gold.get("original")), _lines(task.gold.get(NEAR))


class SetJudge:
    """Scores ``score``, ``score_substring``, ``recall`` (whole tokens) and ``wrong_extra`` (near-misses named).

    Whatever the memory failed scores 0; a task without gold is undefined. The labels say how many of how many values
    were ``found``, the first ten names that were ``missed``, and the near-misses named (``forbidden``).
    """

    id = "set"

    @property
    def config(self) -> Mapping[str, JsonValue]:
        return {"judge": self.id, "version": VERSION}

    def judge(self, cell: Cell) -> Judgement:
        """The verdict on one answer."""
        right, near = right_and_near(cell.task)
        text = _said(cell.answer)
        marks = by_token(text, right, near)
        scores: dict[str, float | None] = {
            "score": marks.score,
            "score_substring": by_substring(text, right, near).score,
            "recall": round(marks.recall, 4),
            "wrong_extra": float(len(marks.forbidden)),
        }
        labels: dict[str, JsonValue] = {
            "found": len(marks.found),
            "of": len(right),
            "missed": list(marks.missed[:_LABELLED]),
            "forbidden": list(marks.forbidden),
        }
        key, answer = cell.answer.cell, cell.answer
        return Judgement(
            id=f"{self.id}/{key.task}/{key.arm}/{key.build}.{key.repetition}",
            judge=self.id,
            subjects=(key,),
            attempt=answer.attempt,
            data=answer.data,
            model=answer.model,
            status="ok" if right else "undefined",
            labels=labels,
            scores=scores if right else dict.fromkeys(scores),
        )


def _tokens(text: str) -> str:
    """The tokens of a text, each between blanks, so that a run of them is a substring."""
    found = (token.strip("_-") for token in _TOKEN.findall(normalise(text.translate(_HYPHENS))))
    return f" {' '.join(token for token in found if token)} "


def _marks(right: Mapping[str, bool], near: Mapping[str, bool]) -> Marks:
    return Marks(
        found=tuple(value for value, named in right.items() if named),
        missed=tuple(value for value, named in right.items() if not named),
        forbidden=tuple(value for value, named in near.items() if named),
    )


def _lines(gold: Gold | None) -> tuple[str, ...]:
    return () if gold is None or gold.answer is None else tuple(line for line in gold.answer.splitlines() if line)


def _said(answer: Answer) -> str:
    """The last words of the answer; "" where nothing was said, and for every failure of the memory."""
    if answer.status.kind == "memory":
        return ""
    return next((step.text for step in reversed(answer.steps) if step.text is not None), "")
