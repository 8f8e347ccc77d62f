"""Every judge's verdicts of a run as arrays, and the one table that its numbers are made from."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from memassay.core.types import Task
from memassay.running.markers import MARKER
from memassay.running.plan import Plan
from memassay.running.scores import Outcomes, Scores, collect, merged, outcomes
from memassay.runs.folder import RunFolder


@dataclass(frozen=True)
class Gathered:
    """What a run scored.

    Attributes:
        ended: how the cells ended.
        by_judge: scores by judge id.
        scores: the primary judge's, with the metrics of the others beside them.
        answered: the same without the cells that the memory failed, where a task has several cells of an arm; else
            None, and what was answered is ``scores`` where nothing failed.
    """

    ended: Outcomes
    by_judge: dict[str, Scores]
    scores: Scores
    answered: Scores | None = None


def tasks_of(plan: Plan) -> list[Task]:
    """The suite's own tasks, without the planted ones."""
    return [task for task in plan.tasks if task.category != MARKER]


def gather(run: RunFolder, plan: Plan, unavailable: Collection[str]) -> Gathered:
    """Read all verdicts on the records that count; the primary judge's on controls too."""
    tasks = tasks_of(plan)
    ended = outcomes(tasks, [arm.name for arm in plan.arms if arm.name not in unavailable], run.counted()[0])
    by_judge, scores = _read(run, plan, ended, unavailable)
    answered = None
    if ended.failures and any(builds * repetitions > 1 for builds, repetitions in map(plan.replicates, plan.arms)):
        _, answered = _read(run, plan, ended.answered(tasks), unavailable)
        answered.missing = scores.missing
    return Gathered(ended, by_judge, scores, answered)


def _read(
    run: RunFolder, plan: Plan, ended: Outcomes, unavailable: Collection[str]
) -> tuple[dict[str, Scores], Scores]:
    tasks = tasks_of(plan)
    replicates = {arm.name: plan.replicates(arm) for arm in plan.arms}
    by_judge = {
        judge.id: collect(
            tasks,
            [arm.name for arm in plan.arms if arm.name not in unavailable and (not number or arm.role != "control")],
            ended,
            run.each_judgement(judge.id),
            replicates,
            [spec.name for spec in plan.all_metrics],
        )
        for number, judge in enumerate(plan.all_judges)
    }
    primary = by_judge[plan.judges[0].id]
    others = {spec.name: spec.judge for spec in plan.all_metrics if spec.judge and spec.judge != plan.judges[0].id}
    return by_judge, merged(primary, by_judge, others, ended)
