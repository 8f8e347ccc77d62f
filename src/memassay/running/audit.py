"""How often a judge is wrong, measured with answers whose verdict is known: false-accept and false-reject rates.

A score by a judge is worth what the judge is worth: a generous one takes answers that are vague and wrong for right.
So these rates stand beside every J.
"""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from memassay.core.contracts import Cell, Judge
from memassay.core.errors import EnvironmentProblem, UsageError
from memassay.core.types import Answer, CellKey, Estimate, Judgement, Status, Step, Usage
from memassay.running import planted
from memassay.running.planted import KINDS, Planted
from memassay.stats import DEFAULT_DESIGN, DESIGNS, Clusters, wilson

SCHEMA = 1
ENOUGH = 100
"""Planted answers of a kind below which its rate says little (docs/statistics.md, row "judges")."""

_IN_A_ROW = 5


async def audit(
    items: Sequence[Planted],
    judges: Sequence[Judge],
    *,
    design: str = DEFAULT_DESIGN,
    workers: int = 4,
    on_verdict: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Let every judge judge every planted answer.

    Args:
        items: from :func:`memassay.running.planted.plant`.
        judges: those that score 1 for an answer that they take for right; the first score of a verdict counts, from .5
            on as accepted.
        design: how the suite's tasks were sampled (``memassay.stats.DESIGNS``), which decides the intervals.
        workers: verdicts in flight.
        on_verdict: called after each.

    Returns:
        JSON-ready. ``kinds``: what was planted. ``judges``: by id its ``config`` and ``model``; under ``kinds`` for
        each kind ``n`` (verdicts given), ``failed`` (verdicts not given), ``accepted``, ``error`` (``false accept`` or
        ``false reject``), ``rate`` (the share of n with that error, an ``Estimate`` by the design) and ``wilson`` (the
        ends of the interval as if all answers were independent); ``false_accept`` and ``false_reject`` over all kinds,
        each task's answers averaged first; ``usage``, tokens and the money that is known; ``errors``, the verdicts that
        were wrong, to be read.

    Raises:
        UsageError: no answer could be planted.
        EnvironmentProblem: a judge failed five times in a row.
    """
    if not items:
        raise UsageError("There is no task with a gold answer to plant answers for; choose tasks that have one.")
    counts = {kind: sum(item.kind == kind for item in items) for kind in KINDS}
    return {
        "schema_version": SCHEMA,
        "version": planted.VERSION,
        "data": "generated",
        "design": design,
        "tasks": len({item.task.id for item in items}),
        "kinds": {
            kind: {"right": kind in planted.RIGHT, "planted": count, "enough": count >= ENOUGH}
            for kind, count in counts.items()
        },
        "judges": {
            judge.id: _account(judge, items, await _verdicts(judge, items, workers, on_verdict), design)
            for judge in judges
        },
    }


async def _verdicts(
    judge: Judge, items: Sequence[Planted], workers: int, on_verdict: Callable[[], None]
) -> list[Judgement | None]:
    found: list[Judgement | None] = [None] * len(items)
    failed = 0

    async def work(queue: Iterator[tuple[int, Planted]]) -> None:
        nonlocal failed
        for number, item in queue:
            given = judge.judge(_cell(item))
            verdict = await given if inspect.isawaitable(given) else given
            found[number] = verdict
            failed = failed + 1 if verdict is not None and verdict.status == "failed" else 0
            if failed >= _IN_A_ROW and verdict is not None:
                raise EnvironmentProblem(
                    f"The judge {judge.id} failed {failed} times in a row ({verdict.explanation}); try again later."
                )
            on_verdict()

    queue = iter(list(enumerate(items)))
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(max(1, workers)):
                group.create_task(work(queue))
    except BaseExceptionGroup as group_error:
        raise group_error.exceptions[0] from None
    return found


def _cell(item: Planted) -> Cell:
    key = CellKey(task=item.task.id, arm=f"audit-{item.kind}")
    step = Step(name="answer", text=item.text)
    return Cell(item.task, Answer(cell=key, status=Status.OK, data="generated", steps=(step,)), None)


# -- the account ---------------------------------------------------------------------------------------------------


def _account(
    judge: Judge, items: Sequence[Planted], verdicts: Sequence[Judgement | None], design: str
) -> dict[str, Any]:
    scored = [(item, verdict, _accepted(verdict)) for item, verdict in zip(items, verdicts, strict=True)]
    given = [(item, accepted) for item, _, accepted in scored if accepted is not None]
    wrong = [(item, verdict) for item, verdict, accepted in scored if accepted not in (None, item.right)]
    kinds: dict[str, Any] = {}
    for kind in KINDS:
        mine = [(item, accepted) for item, accepted in given if item.kind == kind]
        errors = [accepted != item.right for item, accepted in mine]
        ends = wilson(sum(errors), len(errors)) if errors else None
        kinds[kind] = {
            "n": len(mine),
            "failed": sum(item.kind == kind for item in items) - len(mine),
            "accepted": sum(accepted for _, accepted in mine),
            "error": "false reject" if kind in planted.RIGHT else "false accept",
            "rate": _rate(mine, design),
            "wilson": None if ends is None else {"low": ends[0], "high": ends[1]},
        }
    return {
        "config": dict(judge.config),
        "model": getattr(judge, "model", "none"),
        "kinds": kinds,
        "false_accept": _rate([(item, accepted) for item, accepted in given if not item.right], design),
        "false_reject": _rate([(item, accepted) for item, accepted in given if item.right], design),
        "usage": _usage([verdict.usage for verdict in verdicts if verdict is not None]),
        "errors": [_error(item, verdict) for item, verdict in wrong],
    }


def _usage(usages: Sequence[Usage]) -> dict[str, float | None]:
    costs = [usage.cost_usd for usage in usages if usage.cost_usd is not None]
    tokens = {
        name: sum(getattr(usage, name) for usage in usages) for name in ("input", "output", "cache_read", "cache_write")
    }
    return tokens | {"cost_usd": math.fsum(costs) if costs else None}


def _accepted(verdict: Judgement | None) -> bool | None:
    """Whether the judge took the answer for right; None where it gave no verdict."""
    score = next(iter(verdict.scores.values()), None) if verdict is not None else None
    return None if score is None else score >= 0.5


def _rate(verdicts: Sequence[tuple[Planted, bool]], design: str) -> dict[str, Any]:
    """The share of verdicts that are wrong; several answers to one task are one observation."""
    by_task: dict[str, list[bool]] = {}
    clusters: dict[str, str] = {}
    for item, accepted in verdicts:
        by_task.setdefault(item.task.id, []).append(accepted != item.right)
        clusters[item.task.id] = item.task.cluster
    values = np.array([sum(errors) / len(errors) for errors in by_task.values()], dtype=np.float64)
    estimate: Estimate = DESIGNS[design].one_arm(values, Clusters.of(list(clusters.values())))
    return estimate.model_dump(mode="json")


def _error(item: Planted, verdict: Judgement | None) -> Mapping[str, Any]:
    return {
        "kind": item.kind,
        "task": item.task.id,
        "question": item.task.prompt,
        "answer": item.text,
        "explanation": "" if verdict is None else verdict.explanation,
    }
