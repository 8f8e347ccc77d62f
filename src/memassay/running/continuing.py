"""Which judges of a run go on by themselves: those with answers left that can be reached from here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from memassay.core.contracts import Suite
from memassay.core.errors import EnvironmentProblem, MemassayError
from memassay.running.estimate import cost_of_verdict, dollars
from memassay.running.judge import unjudged
from memassay.running.judges import ModelJudge, of_models, reopened
from memassay.running.pipeline import plan_of
from memassay.runs.folder import RunFolder
from memassay.runs.guard import differences


def continuing(run: RunFolder, max_usd: float | None, say: Callable[[str], None]) -> tuple[ModelJudge, ...]:
    """The judges with a model that have judged a run, are not done, and can go on as they were.

    Args:
        run: the run.
        max_usd: the limit that is to be kept, or None.
        say: gets a line for each judge that is not done: what is left for it and what that is expected to cost, or why
            it is left out.
    """
    known = of_models(run.judge_manifests())
    if not known:
        return ()
    plan = plan_of(run)
    counted, _ = run.counted()
    controls = {arm.name for arm in plan.arms if arm.role == "control"}
    found = []
    for name, manifest in known.items():
        left = unjudged(run, name, plan.tasks, counted, controls)
        if not left:
            continue
        answers = f"{left:,} {'answer' if left == 1 else 'answers'}"
        try:
            judge, cost = _reached(name, manifest, plan.suite, max_usd)
        except MemassayError as error:
            say(f"judge {name} is left out, with {answers} to judge: {error}")
            continue
        say(f"judge {name} goes on: {answers}; cost in US dollars: {dollars(None if cost is None else left * cost)}")
        found.append(judge)
    return tuple(found)


def _reached(
    name: str, manifest: Mapping[str, Any], suite: Suite, max_usd: float | None
) -> tuple[ModelJudge, float | None]:
    judge = reopened(name, manifest, suite)
    changed = [field for field, _, _ in differences(dict(manifest), dict(judge.config))]
    if changed:
        raise EnvironmentProblem(
            f"made again here it differs in {', '.join(changed)}, so its verdicts would be those of another judge; "
            "give it what it had."
        )
    asyncio.run(_ready(judge))
    cost = cost_of_verdict(judge)
    if cost is None and max_usd is not None:
        raise EnvironmentProblem(f"no price is known for it, so --max-usd {max_usd:g} could not be kept.")
    return judge, cost


async def _ready(judge: ModelJudge) -> None:
    try:
        await judge.prepare()
    finally:
        await judge.close()
