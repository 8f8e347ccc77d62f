"""Repeated measures of one task: averaged away before anything is estimated, never counted as observations."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memassay.stats.clusters import ClusterLabels, Clusters, FloatArray, scores


@dataclass(frozen=True)
class RerunNoise:
    """How much a score moves when the same run is made again; never an error bar of the score.

    Attributes:
        sd: standard deviation over repetitions of the mean over tasks; None below two repetitions.
        within_task_sd: pooled standard deviation over repetitions inside a task; None below two repetitions.
        repetitions: planned repetitions.
        effective_repetitions: 1 where every repetition gave the same scores (a deterministic agent).
        tasks: tasks with every repetition present.
        reason: why sd is None, else None.
    """

    sd: float | None
    within_task_sd: float | None
    repetitions: int
    effective_repetitions: int
    tasks: int
    reason: str | None


def average_within(values: npt.ArrayLike, labels: ClusterLabels) -> tuple[tuple[Hashable, ...], FloatArray]:
    """Averages repeated measures that share a label.

    Levels are averaged from the inside out, one call each (orders within a judgement, judges within an answer,
    repetitions within a build, builds within a task), so that a task with one judgement missing weighs as much as any.

    Args:
        values: shape (N,), finite scores in any range.
        labels: N labels, each the identity of the next level up: the task, or a tuple such as (task, build).

    Returns:
        The K distinct labels, sorted, and their means, shape (K,).

    Raises:
        ValueError: NaN, or lengths that differ.
    """
    groups = Clusters.of(labels)
    array = scores(values, groups, unit=False)
    return groups.labels, groups.sums(array) / groups.sizes


def rerun_noise(values: npt.ArrayLike) -> RerunNoise:
    """The spread of repeated runs.

    Args:
        values: shape (n, k): scores of n tasks in k repetitions; NaN where a repetition is missing. Tasks with a
            missing repetition are left out.

    Raises:
        ValueError: wrong shape.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"Repetitions come as (tasks, repetitions), not as shape {table.shape}.")
    k = table.shape[1]
    whole = table[~np.isnan(table).any(axis=1)]
    n = len(whole)
    if k < 2 or n == 0:
        reason = "fewer than two repetitions" if k < 2 else "no task has every repetition"
        return RerunNoise(None, None, k, min(k, 1), n, reason)
    if (whole == whole[:, :1]).all():
        reason = "every repetition gave the same scores: a deterministic agent has one repetition"
        return RerunNoise(None, None, k, 1, n, reason)
    sd = float(whole.mean(axis=0).std(ddof=1))
    within = float(np.sqrt(whole.var(axis=1, ddof=1).mean()))
    return RerunNoise(sd, within, k, k, n, None)
