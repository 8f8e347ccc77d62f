"""How every memory did on every question, at one budget: repetitions and builds averaged, cells that are missing gone.

A question counts only where every memory finished it. What the memory itself failed is finished, with outcome 0; what a
provider or the harness failed is not, and takes the question out for all memories.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memassay.core.contracts import Outcome
from memassay.suites.canary.families import FAMILIES, Weights
from memassay.suites.canary.grading import FAILED
from memassay.suites.canary.labels import FOUND
from memassay.suites.canary.pairs import Compared, Pair

MIXED = "mixed"
"""The label of a question whose repetitions were labelled differently."""
LABELS = (*FOUND, FAILED, MIXED)
"""What a question may be labelled, in the order of every table."""

_EQUAL = 1e-9  # means of outcomes that differ by less are rounding


@dataclass(frozen=True, slots=True)
class Standing:
    """One memory on one question.

    Attributes:
        outcome: in [-1, 1], mean of builds of means of repetitions.
        label: one of ``LABELS``.
        covered: share of the required facts that stand there, likewise; None where none is required.
        fabricated: whether any repetition held a fabricated passage.
        unchecked: whether any repetition held a passage that cannot be checked without a model, and none a fabrication.
        stale: whether any repetition held a forbidden fact, at the largest budget.
        tokens: mean of what was given within the budget, or None where it was not counted.
    """

    outcome: float
    label: str
    covered: float | None
    fabricated: bool
    unchecked: bool
    stale: bool
    tokens: float | None


@dataclass(frozen=True, slots=True)
class Asked:
    """A question: its id, its family and its cluster, and whether what it asks about exists."""

    id: str
    family: str
    cluster: str
    premise_valid: bool = True


@dataclass(frozen=True)
class Standings:
    """What the conclusion is drawn from.

    Attributes:
        memories: in the order of their first cell.
        roles: by memory.
        questions: that count, in the order of the families, then as they came.
        left_out: those that do not, each with the memories that did not finish it.
        by: of a memory, by question.
        rows: the cells of each memory that are finished.
    """

    memories: tuple[str, ...]
    roles: Mapping[str, str]
    questions: tuple[Asked, ...]
    left_out: Mapping[str, tuple[str, ...]]
    by: Mapping[str, Mapping[str, Standing]]
    rows: Mapping[str, Sequence[Outcome]]

    def of(self, memory: str) -> list[Standing]:
        """The standings of a memory, in the order of the questions."""
        return [self.by[memory][asked.id] for asked in self.questions]

    def pair(self, a: str, b: str, weights: Weights) -> Pair:
        """Two memories, question by question: the sign of the difference of their outcomes."""
        return Pair(a, b, tuple(self._compared(asked, a, b) for asked in self.questions), weights)

    def ties(self, a: str, b: str) -> dict[str, int]:
        """Why questions of a pair are ties, most frequent first.

        ``both_`` and the label that both have, or ``equal_outcome`` where two labels count the same.
        """
        counted: Counter[str] = Counter()
        for one, other in zip(self.of(a), self.of(b), strict=True):
            if not sign(one.outcome - other.outcome):
                same = one.label == other.label and one.label != MIXED
                counted[f"both_{one.label}" if same else "equal_outcome"] += 1
        return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))

    def _compared(self, asked: Asked, a: str, b: str) -> Compared:
        one, other = self.by[a][asked.id], self.by[b][asked.id]
        return Compared(
            question=asked.id,
            family=asked.family,
            cluster=asked.cluster,
            outcome=sign(one.outcome - other.outcome),
            fabricated=(one.fabricated, other.fabricated),
            undetermined=(one.unchecked, other.unchecked),
        )


def standings(outcomes: Iterable[Outcome], budget: int) -> Standings:
    """The standings of a run, the same whatever the order of its cells of one memory and question.

    Args:
        outcomes: every cell of every arm.
        budget: in tokens; one of the run's.
    """
    cells: dict[str, dict[str, list[Outcome]]] = {}
    tasks: dict[str, Asked] = {}
    roles: dict[str, str] = {}
    for row in outcomes:
        task = row.task
        valid = task.payload.get("premise_valid") is not False
        tasks.setdefault(task.id, Asked(task.id, task.category, task.cluster, valid))
        roles.setdefault(row.arm, row.role)
        cells.setdefault(row.arm, {}).setdefault(task.id, []).append(row)
    finished = {
        arm: {task for task, rows in found.items() if all(f"outcome@{budget}" in row.scores for row in rows)}
        for arm, found in cells.items()
    }
    left_out = {task: tuple(arm for arm in cells if task not in finished[arm]) for task in tasks}
    left_out = {task: missing for task, missing in left_out.items() if missing}
    kept = [asked for asked in tasks.values() if asked.id not in left_out]
    kept.sort(key=lambda asked: FAMILIES.index(asked.family))
    return Standings(
        memories=tuple(cells),
        roles=roles,
        questions=tuple(kept),
        left_out=left_out,
        by={arm: {asked.id: _standing(found[asked.id], budget) for asked in kept} for arm, found in cells.items()},
        rows={arm: [row for asked in kept for row in found[asked.id]] for arm, found in cells.items()},
    )


def _standing(rows: Sequence[Outcome], budget: int) -> Standing:
    labels = {str(row.labels.get(f"label@{budget}")) for row in rows}
    fabricated = any(row.scores.get(f"fabricated@{budget}") for row in rows)
    return Standing(
        outcome=_mean(rows, f"outcome@{budget}") or 0.0,
        label=labels.pop() if len(labels) == 1 else MIXED,
        covered=_mean(rows, f"covered@{budget}"),
        fabricated=fabricated,
        unchecked=not fabricated and any(row.scores.get(f"unchecked@{budget}") for row in rows),
        stale=any(row.labels.get("stale_atoms") for row in rows),
        tokens=_mean_of([[_number(row.labels.get(f"tokens@{budget}"))] for row in rows]),
    )


def _mean(rows: Sequence[Outcome], metric: str) -> float | None:
    """Over repetitions, then over builds."""
    builds: dict[int, list[float | None]] = {}
    for row in sorted(rows, key=lambda row: (row.build, row.number)):
        builds.setdefault(row.build, []).append(row.scores.get(metric))
    return _mean_of(list(builds.values()))


def _mean_of(groups: Sequence[Sequence[float | None]]) -> float | None:
    means = [statistics.fmean(there) for group in groups if (there := [value for value in group if value is not None])]
    return statistics.fmean(means) if means else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def sign(difference: float) -> int:
    """Who is ahead: +1 the first, -1 the second, 0 neither; a difference that is rounding is none."""
    return 0 if abs(difference) < _EQUAL else 1 if difference > 0 else -1
