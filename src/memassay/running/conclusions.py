"""What a suite concludes of its own: every cell of the arms, handed to its ``conclude``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from memassay.core.contracts import Outcome
from memassay.core.types import Answer, Judgement
from memassay.running.markers import MARKER
from memassay.running.pairing import pair_verdicts
from memassay.running.plan import Plan
from memassay.runs.classifications import classifications
from memassay.runs.folder import Counted, RunFolder
from memassay.runs.records import Key, key_of


def conclusion_of(
    run: RunFolder, plan: Plan, counted: Mapping[Key, Counted], unavailable: Collection[str]
) -> Mapping[str, Any]:
    """What the suite makes of the run, or nothing where it has no ``conclude``.

    Args:
        run: the folder, judged.
        plan: the run's plan.
        counted: the records that count.
        unavailable: arms that cannot be measured.
    """
    conclude = getattr(plan.suite, "conclude", None)
    if conclude is None:
        return {}
    outcomes, planned = list(_outcomes(run, plan, counted, unavailable)), [arm.name for arm in plan.contenders]
    more = {}
    if hasattr(plan.suite, "pairs"):
        more["verdicts"] = [verdict for judge in run.pair_files() for verdict in pair_verdicts(run, judge, counted)]
    found: Mapping[str, Any] = conclude(outcomes, planned, **more)
    return found


def _outcomes(
    run: RunFolder, plan: Plan, counted: Mapping[Key, Counted], unavailable: Collection[str]
) -> Iterator[Outcome]:
    """One row per counted cell of the contenders, in the order of the plan."""
    tasks = {task.id: task for task in plan.tasks if task.category != MARKER}
    arms = {arm.name: arm for arm in plan.contenders if arm.name not in unavailable}
    read = classifications(run.path)
    verdicts: dict[tuple[Key, str], list[Judgement]] = {}
    for judge in plan.judges:
        for verdict in run.each_judgement(judge.id):
            if verdict.subjects[0].arm in arms:
                verdicts.setdefault((key_of(verdict.subjects[0]), verdict.answer), []).append(verdict)
    answers = {key_of(answer.cell): answer for answer in run.each(counted) if answer.cell.arm in arms}
    for cell in plan.cells():
        key = key_of(cell)
        answer = answers.get(key)
        if answer is None or cell.task not in tasks:
            continue
        said = verdicts.get((key, counted[key].mark), [])
        yield Outcome(
            task=tasks[cell.task],
            arm=cell.arm,
            role=arms[cell.arm].role,
            build=cell.build,
            number=cell.repetition,
            status=answer.status,
            detail=answer.detail,
            scores={name: score for verdict in said for name, score in verdict.scores.items()},
            labels={name: label for verdict in said for name, label in verdict.labels.items()},
            usage=answer.usage,
            text=_text(answer),
            tools=next((step.tools for step in answer.steps if step.tools), {}),
            classified=read.get(key),
        )


def _text(answer: Answer) -> str:
    return next((step.text for step in reversed(answer.steps) if step.text), "")
