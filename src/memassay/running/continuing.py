"""Which judges of a run go on by themselves: those with answers left that can be reached from here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from memassay.core.contracts import Suite
from memassay.core.errors import EnvironmentProblem, MemassayError, UsageError
from memassay.running.estimate import cost_of_comparison, cost_of_verdict, dollars
from memassay.running.experiment import JudgeEntry
from memassay.running.judge import unjudged
from memassay.running.judges import (
    ENTRY,
    ModelJudge,
    begun,
    model_name,
    of_models,
    reopened,
)
from memassay.running.pair_judges import PairModelJudge, pair_judge_again
from memassay.running.pairing import uncompared, unfit, wanted
from memassay.running.plan import Plan, pairs_of
from memassay.running.rereading import plan_of, unavailable_arms
from memassay.runs.folder import RunFolder
from memassay.runs.guard import differences


class _Named(NamedTuple):
    """A judge that a run names: what it is called, what it does now, and how it is made again."""

    name: str
    does: str
    make: Callable[[], ModelJudge]


def continuing(run: RunFolder, max_usd: float | None, say: Callable[[str], None]) -> tuple[ModelJudge, ...]:
    """The judges with a model that are not done with a run and can go on as they were.

    They are those that have judged it, and those of its experiment that it never came to because it was stopped while
    it was still answering.

    Args:
        run: the run.
        max_usd: the limit that is to be kept, or None.
        say: gets a line for each judge that is not done: what is left for it and what that is expected to cost, or why
            it is left out.
    """
    known = of_models(run.judge_manifests())
    if not known and not run.manifest["experiment"].get("judges"):
        return ()
    plan = plan_of(run)
    counted, _ = run.counted()
    controls = {arm.name for arm in plan.arms if arm.role == "control"}
    found = []
    for name, does, make in _named(plan, known):
        left = unjudged(run, name, plan.tasks, counted, controls)
        if not left:
            continue
        answers = f"{left:,} {'answer' if left == 1 else 'answers'}"
        try:
            judge = make()
            cost = _cost(judge, max_usd)
        except MemassayError as error:
            say(f"judge {name} is left out, with {answers} to judge: {error}")
            continue
        say(f"judge {judge.id} {does}: {answers}; cost in US dollars: {dollars(None if cost is None else left * cost)}")
        found.append(judge)
    return tuple(found)


def continuing_pairs(run: RunFolder, max_usd: float | None, say: Callable[[str], None]) -> tuple[PairModelJudge, ...]:
    """The judges of pairs that are not done with a run and can go on as they were; arguments as of ``continuing``."""
    if not run.pair_manifests() and not run.manifest["experiment"].get("judges"):
        return ()
    plan = plan_of(run)
    unavailable = unavailable_arms(run)
    pairs = pairs_of(plan, unavailable)
    if pairs is None:
        return ()
    counted, _ = run.counted()
    work = list(wanted(run, plan, counted, pairs))
    known = dict(run.pair_manifests())
    makers = [(name, "goes on", partial(pair_judge_again, name, about, plan.suite)) for name, about in known.items()]
    there = {(about[ENTRY]["use"], about[ENTRY]["model"]) for about in known.values()}
    for entry in plan.experiment.judges:
        if (entry.use, model_name(entry.model)) not in there and entry.of_pairs:
            name = f"{entry.use}:{entry.model}"
            about = {ENTRY: entry.model_dump(mode="json")}
            makers.append((name, "begins", partial(pair_judge_again, name, about, plan.suite)))
    found = []
    for name, does, make in makers:
        left = uncompared(run, name, work)
        if not left or unfit(run, plan, name, work):
            continue
        try:
            judge = make()
            if name in known:
                _refuse_changed(known[name], judge.config)
            asyncio.run(_ready(judge))
            cost = cost_of_comparison(judge, pairs.budget)
            if cost is None and max_usd is not None:
                raise EnvironmentProblem(f"no price is known for it, so --max-usd {max_usd:g} could not be kept.")
        except MemassayError as error:
            say(f"judge {name} is left out, with {left:,} comparisons to make: {error}")
            continue
        money = dollars(None if cost is None else left * cost)
        say(f"judge {judge.id} {does}: {left:,} comparisons; cost in US dollars: {money}")
        found.append(judge)
    return tuple(found)


def _named(plan: Plan, known: Mapping[str, Mapping[str, Any]]) -> Iterator[_Named]:
    """Those with a manifest, by id; then those that the experiment alone names, in its order."""
    for name, manifest in known.items():
        yield _Named(name, "goes on", partial(_as_it_was, name, manifest, plan.suite))
    there = {(manifest[ENTRY]["use"], manifest[ENTRY]["model"]) for manifest in known.values()}
    judges = plan.experiment.judges
    for place, entry in enumerate(judges):
        if (entry.use, model_name(entry.model)) not in there and not entry.of_pairs:
            yield _Named(
                f"{entry.use}:{entry.model}", "begins", partial(_anew, entry, judges[:place], plan.suite, known)
            )


def _as_it_was(name: str, manifest: Mapping[str, Any], suite: Suite) -> ModelJudge:
    judge = reopened(name, manifest, suite)
    _refuse_changed(manifest, judge.config)
    return judge


def _refuse_changed(manifest: Mapping[str, Any], config: Mapping[str, Any]) -> None:
    changed = [field for field, _, _ in differences(dict(manifest), dict(config))]
    if changed:
        raise EnvironmentProblem(
            f"made again here it differs in {', '.join(changed)}, so its verdicts would be those of another judge; "
            "give it what it had."
        )


def _anew(entry: JudgeEntry, before: Sequence[JudgeEntry], suite: Suite, known: Collection[str]) -> ModelJudge:
    judge = begun(entry, before, suite)
    if judge.id in known:
        raise UsageError(f"a judge {judge.id} that is reached in another way has judged here; its verdicts count.")
    return judge


def _cost(judge: ModelJudge, max_usd: float | None) -> float | None:
    """US dollars for a verdict of a judge that can be reached from here, None where no price is known."""
    asyncio.run(_ready(judge))
    cost = cost_of_verdict(judge)
    if cost is None and max_usd is not None:
        raise EnvironmentProblem(f"no price is known for it, so --max-usd {max_usd:g} could not be kept.")
    return cost


async def _ready(judge: ModelJudge | PairModelJudge) -> None:
    try:
        await judge.prepare()
    finally:
        await judge.close()
