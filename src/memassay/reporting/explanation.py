"""What ``memassay show`` says about a task, as values."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memassay.reporting import figures
from memassay.reporting.given import Given
from memassay.reporting.text import clean


@dataclass(frozen=True, slots=True)
class GoldTurn:
    """A gold unit beside the question; ``shared`` are its words that the question has too (stemmed, no stop words)."""

    id: str
    speaker: str
    text: str
    shared: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sighting:
    """Where a dossier holds a gold turn.

    Attributes:
        id: the gold turn.
        rank: the first passage that holds its words, from 1, or None.
        offset: tokens in front of that passage.
        needs: the smallest budget at which the turn counts, or None.
        found: for each budget, whether it counts there.
        claimed: the first passage that claims it as a source, or None.
        nearest: the passage that holds most of its words without holding the turn, with the share, or None.
    """

    id: str
    rank: int | None
    offset: int | None
    needs: int | None
    found: tuple[bool, ...]
    claimed: int | None
    nearest: tuple[int, float] | None


@dataclass(frozen=True, slots=True)
class Shown:
    """One of the first passages; ``gold`` are the turns it holds."""

    rank: int
    offset: int
    kind: str
    text: str
    gold: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ArmView:
    """What one arm did with the task.

    ``scores`` is metric to value (or None) by judge; ``given`` is what its agent answered, where one did.
    """

    arm: str
    status: str
    kind: str
    detail: str
    passages: int
    tokens: int
    sightings: tuple[Sighting, ...]
    why: tuple[str, ...]
    shown: tuple[Shown, ...]
    scores: Mapping[str, Mapping[str, float | None]]
    given: Given | None = None


@dataclass(frozen=True, slots=True)
class OtherKey:
    """Another gold key of the task: its evidence, or why it leaves the task out."""

    key: str
    ids: tuple[str, ...]
    excluded: str | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything that ``memassay show`` says about a task."""

    task: str
    question: str
    category: str
    split: str
    as_of: str | None
    answer: str | None
    key: str
    gold: tuple[GoldTurn, ...]
    unresolved: tuple[str, ...]
    excluded: str | None
    others: tuple[OtherKey, ...]
    tokens: str
    budgets: tuple[int, ...]
    arms: tuple[ArmView, ...]

    def as_json(self) -> dict[str, Any]:
        """Plain values, for ``--json``; strings without controls, so that they may be printed anywhere."""
        plain: dict[str, Any] = _plain(dataclasses.asdict(self))
        return plain


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(k)): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and figures.finite(value) is None else value
