"""From judgements to arrays: one score per task, arm and metric, paired over the same tasks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from memassay.core.errors import DataError
from memassay.core.types import Judgement, Task
from memassay.runs.folder import FINAL, Counted
from memassay.runs.records import Key, key_of
from memassay.stats import Clusters

Vector = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass
class Scores:
    """Scores of one judge configuration over the suite's tasks (markers left out).

    Attributes:
        tasks: in frozen order.
        values: arm, then metric, to one number per task; NaN where the metric is undefined or the cell unfinished.
            Builds and repetitions are averaged inside the task.
        labels: arm, then label, to one number per task (tokens, passages).
        missing: per task, whether any arm's cell is unfinished; such a task leaves every arm.
        failed: arm to a mask of the tasks whose memory failed.
        judged: arm to how many of each task's cells have a verdict.
        repeated: arm, then metric, to one row per task and one column per repetition, where there are several.
    """

    tasks: Sequence[Task]
    values: dict[str, dict[str, Vector]] = field(default_factory=dict)
    labels: dict[str, dict[str, Vector]] = field(default_factory=dict)
    missing: Mask = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    failed: dict[str, Mask] = field(default_factory=dict)
    judged: dict[str, npt.NDArray[np.int64]] = field(default_factory=dict)
    repeated: dict[str, dict[str, npt.NDArray[np.float64]]] = field(default_factory=dict)

    def clusters(self, keep: Mask) -> Clusters:
        return Clusters.of([task.cluster for task, k in zip(self.tasks, keep, strict=True) if k])

    def defined(self, arm: str, metric: str) -> Mask:
        """Tasks that count for an arm and a metric."""
        vector = self.values.get(arm, {}).get(metric)
        if vector is None:
            return np.zeros(len(self.tasks), dtype=np.bool_)
        return ~np.isnan(vector) & ~self.missing

    def where(self, **fields: str) -> Mask:
        """Tasks whose attributes have these values (``split="test"``)."""
        return np.array([all(getattr(t, k) == v for k, v in fields.items()) for t in self.tasks], dtype=np.bool_)


@dataclass
class Outcomes:
    """How the cells of the suite's tasks ended.

    Attributes:
        finished: arm to how many of each task's cells were answered or failed by the memory.
        failed: arm to a mask of the tasks whose memory failed.
        attempts: the counted attempt by cell.
        kinds: arm to counts per kind.
        failures: the cells that the memory failed.
    """

    finished: dict[str, npt.NDArray[np.int64]]
    failed: dict[str, Mask]
    attempts: dict[Key, tuple[int, str]]
    kinds: dict[str, Counter[str]]
    failures: list[Key] = field(default_factory=list)

    def answered(self, tasks: Sequence[Task]) -> Outcomes:
        """The same without the cells that the memory failed."""
        index = {task.id: i for i, task in enumerate(tasks)}
        finished = {arm: counts.copy() for arm, counts in self.finished.items()}
        for key in self.failures:
            finished[key[1]][index[key[0]]] -= 1
        left_out = set(self.failures)
        attempts = {key: attempt for key, attempt in self.attempts.items() if key not in left_out}
        return Outcomes(finished, {arm: np.zeros_like(mask) for arm, mask in self.failed.items()}, attempts, self.kinds)


def outcomes(tasks: Sequence[Task], arms: Sequence[str], counted: Mapping[Key, Counted]) -> Outcomes:
    """Gather how every cell ended.

    Args:
        tasks: the suite's tasks.
        arms: arms to gather; an unmeasurable arm is not among them.
        counted: the records that count, those of other tasks and arms among them.
    """
    index = {task.id: i for i, task in enumerate(tasks)}
    found = Outcomes(
        finished={arm: np.zeros(len(tasks), dtype=np.int64) for arm in arms},
        failed={arm: np.zeros(len(tasks), dtype=np.bool_) for arm in arms},
        attempts={},
        kinds={arm: Counter() for arm in arms},
    )
    for key, record in counted.items():
        i = index.get(key[0])
        if i is None or key[1] not in found.finished:
            continue
        kind = record.status.kind
        found.kinds[key[1]][kind] += 1
        found.attempts[key] = record.attempt, record.mark
        if kind in FINAL:
            found.finished[key[1]][i] += 1
            found.failed[key[1]][i] |= kind == "memory"
            if kind == "memory":
                found.failures.append(key)
    return found


def collect(
    tasks: Sequence[Task],
    arms: Sequence[str],
    ended: Outcomes,
    judgements: Iterable[Judgement],
    replicates: Mapping[str, tuple[int, int]],
    shares: Collection[str] = (),
) -> Scores:
    """Gather one judge's verdicts.

    Args:
        tasks: the suite's tasks.
        arms: arms to gather.
        ended: how the cells ended, for what is unfinished and what the memory failed.
        judgements: the judge's verdicts; only those on the attempt that counts are used.
        replicates: planned builds, and repetitions of each, per arm.
        shares: metrics that are from 0 to 1.

    Raises:
        DataError: a score is not.
    """
    index = {task.id: i for i, task in enumerate(tasks)}
    n = len(tasks)
    scores = Scores(tasks=tasks, failed={arm: ended.failed[arm] for arm in arms})
    scores.missing = np.zeros(n, dtype=np.bool_)
    for arm in arms:
        builds, repetitions = replicates.get(arm, (1, 1))
        scores.missing |= ended.finished[arm] < builds * repetitions
        scores.judged[arm] = np.zeros(n, dtype=np.int64)
    sums: dict[tuple[str, str], tuple[Vector, Vector]] = {}
    tables: dict[tuple[str, str], tuple[Vector, Vector]] = {}
    open_cells = {key: attempt for key, attempt in ended.attempts.items() if key[1] in scores.failed}
    for verdict in judgements:
        key = key_of(verdict.subjects[0])
        # Popped: a second verdict on the same attempt is never counted.
        if verdict.status == "failed" or open_cells.get(key) != (verdict.attempt, verdict.answer):
            continue
        del open_cells[key]
        task, arm, _, repetition = key
        i = index[task]
        scores.judged[arm][i] += 1
        several = replicates.get(arm, (1, 1))[1]
        for metric, value in verdict.scores.items():
            if value is not None:
                if not math.isfinite(value) or (metric in shares and not 0 <= value <= 1):
                    raise DataError(
                        f"judgements/{verdict.judge}.jsonl: {metric} of {task} in {arm} is {value:g}, and a score is "
                        "from 0 to 1; restore the file from a copy, or delete it and judge again."
                    )
                if (arm, metric) not in sums:
                    sums[arm, metric] = np.zeros(n), np.zeros(n)
                total, count = sums[arm, metric]
                total[i] += value
                count[i] += 1
                if several > 1 and repetition < several:
                    if (arm, metric) not in tables:
                        tables[arm, metric] = np.zeros((n, several)), np.zeros((n, several))
                    tables[arm, metric][0][i, repetition] += value
                    tables[arm, metric][1][i, repetition] += 1
        for label, amount in verdict.labels.items():
            if isinstance(amount, (int, float)):
                held = scores.labels.setdefault(arm, {})
                if label not in held:
                    held[label] = np.full(n, np.nan)
                held[label][i] = amount
    for (arm, metric), (total, count) in sums.items():
        scores.values.setdefault(arm, {})[metric] = _means(total, count)
    for (arm, metric), (total, count) in tables.items():
        scores.repeated.setdefault(arm, {})[metric] = _means(total, count)
    return scores


def _means(total: Vector, count: Vector) -> Vector:
    means: Vector = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return means


def merged(primary: Scores, others: Mapping[str, Scores], metrics: Mapping[str, str], ended: Outcomes) -> Scores:
    """The primary judge's scores with the metrics of other judges beside them.

    A metric of a judge that has not yet judged every finished cell of a task has no value for that task in any arm, so
    that arms are always compared on the same tasks.

    Args:
        primary: of the primary judge.
        others: scores by judge id.
        metrics: by name, the id of the judge that gives it.
        ended: how the cells ended.
    """
    found = Scores(
        tasks=primary.tasks,
        values={arm: dict(values) for arm, values in primary.values.items()},
        labels=primary.labels,
        missing=primary.missing,
        failed=primary.failed,
        judged=primary.judged,
        repeated={arm: dict(tables) for arm, tables in primary.repeated.items()},
    )
    for metric, judge in metrics.items():
        scores = others[judge]
        judging = [arm for arm in scores.judged if scores.judged[arm].any()]
        unjudged = np.zeros(len(primary.tasks), dtype=np.bool_)
        for arm in judging:
            unjudged |= scores.judged[arm] < ended.finished[arm]
        for arm, values in scores.values.items():
            if metric in values:
                found.values.setdefault(arm, {})[metric] = np.where(unjudged, np.nan, values[metric])
            if metric in scores.repeated.get(arm, {}):
                table = scores.repeated[arm][metric]
                found.repeated.setdefault(arm, {})[metric] = np.where(unjudged[:, None], np.nan, table)
    return found
