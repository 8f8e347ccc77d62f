"""What was measured in a cell, and the means of it over a task: the rows that every conclusion of the suite reads.

A number that a cell does not have is None and stays out of means and of paired differences; it is never read as 0,
which would make an arm that crashed look cheap.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence

from memassay.core.contracts import Outcome
from memassay.core.types import Task

Measure = Callable[[Outcome], float | None]


def order(task: Task) -> tuple[float, str]:
    """Sorts tasks by their published number, then by id. A bootstrap depends on the order of its differences."""
    number = task.payload.get("number")
    return (float(number) if isinstance(number, int) else float("inf"), task.id)


def score(row: Outcome) -> float | None:
    """The suite's own score, in [0, 1]; None where the cell is unfinished."""
    return row.scores.get("score")


def cost(row: Outcome) -> float | None:
    """US dollars by our table of prices, else by the provider's client. Nothing paid is no price: None."""
    usage = row.usage
    found = usage.reported_usd if usage.cost_usd is None else usage.cost_usd
    return found or None


def total_tokens(row: Outcome) -> float | None:
    """Tokens of all four kinds together; None where none was counted."""
    usage = row.usage
    return usage.input + usage.output + usage.cache_read + usage.cache_write or None


def turns(row: Outcome) -> float | None:
    """Turns of the session; None where none was counted."""
    return row.usage.turns or None


def cache_hit_ratio(row: Outcome) -> float | None:
    """Share of the sent tokens that a cache served, rounded to four digits as the study does; None where none was."""
    usage = row.usage
    sent = usage.input + usage.cache_read + usage.cache_write
    return round(usage.cache_read / sent, 4) if sent else None


def measured(row: Outcome) -> bool:
    """Whether anything of the session was counted: else its zeros are unknown."""
    return row.status.kind == "answered" or bool(total_tokens(row) or turns(row))


class Cells:
    """The cells of a run by arm and task.

    Attributes:
        rows: sorted by task, arm, build and repetition.
        tasks: in their order.
        arms: names, sorted.
        baseline: what the others are held against; it may have no row.
        gated: the arms under the gate.
    """

    def __init__(self, rows: Iterable[Outcome], baseline: str, gated: Sequence[str]) -> None:
        self.rows = sorted(rows, key=lambda row: (order(row.task), row.arm, row.build, row.number))
        self.tasks = list({row.task.id: row.task for row in self.rows}.values())
        self.arms = tuple(sorted({row.arm for row in self.rows}))
        self.baseline = baseline
        self.gated = tuple(arm for arm in gated if arm in self.arms and arm != baseline)
        self._cells: dict[tuple[str, str], list[Outcome]] = {}
        for row in self.rows:
            self._cells.setdefault((row.arm, row.task.id), []).append(row)

    def of(self, arm: str, task: str | None = None) -> Sequence[Outcome]:
        """The cells of an arm, or of an arm on a task."""
        return [r for r in self.rows if r.arm == arm] if task is None else self._cells.get((arm, task), ())

    def mean(self, arm: str, measure: Measure) -> float | None:
        """Over the cells of an arm that have the number."""
        return mean(map(measure, self.of(arm)))

    def missing(self, arm: str, measure: Measure) -> int:
        """How many cells of an arm lack the number."""
        return sum(measure(row) is None for row in self.of(arm))

    def task_mean(self, arm: str, task: str, measure: Measure) -> float | None:
        """Over repetitions, then over builds."""
        builds: dict[int, list[float | None]] = {}
        for row in self.of(arm, task):
            builds.setdefault(row.build, []).append(measure(row))
        return mean(map(mean, builds.values()))

    def pairs(
        self, arm: str, measure: Measure, among: Iterable[Task] | None = None
    ) -> Mapping[str, tuple[float, float]]:
        """By task, in order, the means of an arm and of the baseline; tasks where either has none are left out."""
        found = {}
        for task in self.tasks if among is None else among:
            mine, theirs = (self.task_mean(name, task.id, measure) for name in (arm, self.baseline))
            if mine is not None and theirs is not None:
                found[task.id] = (mine, theirs)
        return found

    def complete(self) -> list[Task]:
        """The tasks on which every cell of every arm was finished and scored.

        What a provider did not answer, even after it was asked again, leaves the task out for all arms.
        """
        return [
            task
            for task in self.tasks
            if all(
                self.of(arm, task.id) and all(score(row) is not None for row in self.of(arm, task.id))
                for arm in self.arms
            )
        ]


def mean(values: Iterable[float | None]) -> float | None:
    """Of those that are there; None where none is."""
    there = [value for value in values if value is not None]
    return statistics.fmean(there) if there else None
