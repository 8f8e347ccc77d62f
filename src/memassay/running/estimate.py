"""What a run would do, before it does it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from memassay.core import registry
from memassay.core.contracts import Priced
from memassay.core.errors import UsageError
from memassay.core.pairs import Pairs
from memassay.core.types import Arm, Task, Usage
from memassay.core.views import original
from memassay.running.experiment import NO_AGENT
from memassay.running.judges import ModelJudge, model_name
from memassay.running.markers import MARKER
from memassay.running.money import Bill, Purse
from memassay.running.pair_judges import PairModelJudge
from memassay.running.plan import Plan, pairs_of
from memassay.running.probes import PROBES
from memassay.running.probes import QUESTIONS as PROBED
from memassay.runs.folder import RunFolder
from memassay.stats import MATERIAL

WANTED_POWER = 0.8

# What an answer is taken to use before there is one: a dossier is as long as its budget, the words around it and the
# answer are short; with tools or files the published runs of 2026 took some five turns and 70,000 tokens a question.
_AROUND, _ANSWER, _TOOL_TOKENS, _TOOL_TURNS = 400, 60, 70_000, 5
_JUDGED, _VERDICT = 700, 80


def primary_power(plan: Plan) -> float | None:
    """The chance of a verdict on the primary if its true difference is ``MATERIAL``; None without a primary.

    Made from the planned questions of its split and the printed defaults, never from a result.
    """
    primary = plan.experiment.primary
    if primary is None:
        return None
    graded = _graded(t for t in plan.tasks if t.category != MARKER)
    sizes = _sizes([t for t in graded if primary.split in ("all", t.split)])
    return plan.design.power(MATERIAL, sizes) if len(sizes) else 0.0


def primary_in_words(power: float) -> str:
    """What the primary can show; ``exploratory`` first where that is too little."""
    found = f"a true difference of {MATERIAL:g} would get a verdict in {power:.0%} of such runs"
    if power >= WANTED_POWER:
        return found
    return f"exploratory: {found}, and {WANTED_POWER:.0%} is asked"


def _controls(plan: Plan) -> list[str]:
    planted = plan.experiment.controls and not plan.own_controls
    return [a.name for a in plan.arms if a.role == "control"] + ([MARKER.partition(":")[2]] if planted else [])


def _graded(tasks: Iterable[Task]) -> list[Task]:
    """The questions whose scores are compared: those with gold evidence, or all where the suite's gold is none."""
    every = list(tasks)
    return [t for t in every if original(t).evidence] or every


def _sizes(tasks: Sequence[Task]) -> npt.NDArray[np.int64]:
    """Questions per cluster, in the order of the clusters' first questions."""
    return np.array(list(Counter(t.cluster for t in tasks).values()), dtype=np.int64)


def estimate_of(plan: Plan) -> dict[str, Any]:
    """Tasks, clusters, cells and stores of a plan, and the smallest difference that it can detect with 80 % power."""
    tasks = [t for t in plan.tasks if t.category != MARKER]
    graded = _graded(tasks)
    sizes = _sizes(graded)
    scopes = {t.scope for t in plan.tasks}
    estimate: dict[str, Any] = {
        "suite": plan.experiment.suite,
        "data": plan.suite.data,
        "arms": ", ".join(a.name for a in plan.contenders),
        "controls": ", ".join(_controls(plan)) or "none",
        "tasks": len(tasks),
        "tasks with evidence": sum(bool(original(t).evidence) for t in tasks),
        "clusters": len(sizes),
        "cells": plan.count(),
        "stores": len(scopes) * sum(plan.replicates(arm)[0] for arm in plan.built),
        "tokenizer": plan.experiment.tokens,
        **_spending(plan),
    }
    power = plan.design.detectable(sizes) if len(sizes) else None
    if power is not None:
        estimate["detectable difference"] = round(power.detectable, 4)
        estimate["at"] = f"{power.power:.0%} power, {power.level:.0%} level (docs/statistics.md)"
        verdicts = plan.design.power(power.detectable, sizes)
        estimate["a verdict there"] = f"in {verdicts:.0%} of runs, since {plan.design.test} must agree"
        estimate["assumed"] = f"paired SD {power.pilot.sd:g}, ICC {power.pilot.icc:g} ({power.pilot.source})"
    else:
        estimate["detectable difference"] = None
        estimate["assumed"] = "too few clusters: no difference can be decided"
    chance = primary_power(plan)
    if chance is not None:
        estimate["primary"] = primary_in_words(chance)
    return estimate


def usage_of(plan: Plan, arm: Arm) -> Usage:
    """What one answer of an arm is assumed to use."""
    if {"tools", "folder"} & set(arm.access):
        return Usage(input=_TOOL_TOKENS, output=_ANSWER * _TOOL_TURNS, turns=_TOOL_TURNS)
    return Usage(input=max(plan.experiment.budgets) + _AROUND, output=_ANSWER, turns=1)


def costs_of(plan: Plan, *, answering: bool = True) -> tuple[dict[str, float | None], float | None]:
    """US dollars that one answer of each arm, and the judgements of one answer, are expected to cost.

    None where a price is not known; an agent without a model costs nothing.
    """
    arms: dict[str, float | None] = {}
    for arm in plan.contenders if answering else ():
        if arm.agent == NO_AGENT:
            arms[arm.name] = 0.0
            continue
        agent = registry.agents.get(arm.agent)(**arm.agent_options)
        free = getattr(agent, "model", "none") != "real"
        known = agent.price(usage_of(plan, arm)) if isinstance(agent, Priced) else None
        arms[arm.name] = known if known is not None else 0.0 if free else None
    judging: float | None = 0.0
    for judge in (judge for judge in plan.model_judges if judge.live):
        cost = cost_of_verdict(judge)
        judging = None if cost is None or judging is None else judging + cost
    return arms, judging


def cost_of_verdict(judge: ModelJudge) -> float | None:
    """US dollars that one verdict is expected to cost; None where the price is not known, 0 where a script judges."""
    cost = judge.price(Usage(input=_JUDGED, output=_VERDICT))
    return 0.0 if cost is None and judge.model != "real" else cost


def cost_of_comparison(judge: PairModelJudge, budget: int) -> float | None:
    """US dollars that one comparison is expected to cost; None where the price is not known, 0 where a script judges.

    Args:
        judge: who compares.
        budget: tokens of each dossier.
    """
    cost = judge.price(Usage(input=2 * budget + _AROUND, output=_VERDICT))
    return 0.0 if cost is None and judge.model != "real" else cost


def comparisons_of(plan: Plan, pairs: Pairs) -> int:
    """How many comparisons each judge of pairs is asked for, its controls and repetitions among them, at the most."""
    tasks = sum(task.category != MARKER for task in plan.tasks)
    builds = max((plan.replicates(arm)[0] for arm in plan.contenders), default=1)
    probes = len(PROBES) * min(PROBED, tasks)
    repeated = min(pairs.repeated, tasks) * (pairs.times - 1) if pairs.between else 0
    return 2 * (tasks * len(pairs.between) * builds + repeated + probes)


def _comparing(plan: Plan) -> dict[str, Any]:
    """Tokens and money of comparing pairs; nothing where nobody compares."""
    pairs = pairs_of(plan)
    if pairs is None or not plan.pair_judges:
        return {}
    each = [cost_of_comparison(judge, pairs.budget) for judge in plan.pair_judges]
    number = comparisons_of(plan, pairs)
    found: dict[str, Any] = {
        "comparisons": f"{number * len(each):,}, {number:,} by each of {len(each)} judges of pairs",
        "comparing in US dollars": None if None in each else _rounded(number * sum(cost or 0.0 for cost in each)),
    }
    unknown = [judge.name for judge, cost in zip(plan.pair_judges, each, strict=True) if cost is None]
    if unknown:
        found["no price is known for the judges of pairs"] = ", ".join(unknown)
    return found


def dollars(value: float | None) -> str:
    """An amount of US dollars for a person, with two digits that say something."""
    if value is None:
        return "not known"
    if value >= 1 or value <= 0:
        return f"{value:,.2f}" if value else "0"
    return f"{value:.{1 - math.floor(math.log10(value))}f}"


def _rounded(value: float) -> float:
    """Cents, or two digits of what is less than a dollar."""
    return round(value, 2) if value >= 1 else float(f"{value:.2g}")


def _unpriced(plan: Plan) -> list[str]:
    """The models that have no price, each once."""
    arms, judging = costs_of(plan)
    named = plan.experiment.agent_options.get("model")
    agent = f"the model {model_name(str(named))} of the agent" if named else f"the agent {plan.experiment.agent!r}"
    found = [agent] if None in arms.values() else []
    if judging is None:
        found += [f"the judge {j.name}" for j in plan.model_judges if j.live and cost_of_verdict(j) is None]
    return list(dict.fromkeys(found))


def _spending(plan: Plan) -> dict[str, Any]:
    """Tokens and money of a plan, with what they are reckoned from."""
    if not plan.answers:
        return {"cost in US dollars": 0.0} | _comparing(plan)
    arms, judging = costs_of(plan)
    unknown = _unpriced(plan)
    asked = len([t for t in plan.tasks if t.category != MARKER])
    answers = {arm.name: asked * plan.replicates(arm)[0] * plan.replicates(arm)[1] for arm in plan.contenders}
    tokens = sum(answers[arm.name] * usage_of(plan, arm).input for arm in plan.contenders)
    speaks = getattr(registry.agents.get(plan.experiment.agent), "model", None) != "none"
    found: dict[str, Any] = {
        "agent": plan.experiment.agent,
        "answers": sum(answers.values()),
        "judgements": sum(answers.values()) * len(plan.model_judges),
        **({"tokens sent": f"about {tokens:,}"} if speaks else {}),
    }
    limit = plan.experiment.max_usd
    pays_for = ""
    if unknown:
        found["cost in US dollars"] = None
        found["no price is known for"] = ", ".join(unknown)
    else:
        per_answer = {name: (cost or 0.0) + (judging or 0.0) for name, cost in arms.items()}
        cost = sum(answers[name] * each for name, each in per_answer.items())
        found["cost in US dollars"] = _rounded(cost)
        if limit is not None and cost > limit:
            pays_for = f", which pays for about {math.floor(asked * limit / cost):,} of {asked:,} questions"
    if speaks:
        found["reckoned from"] = (
            f"{max(plan.experiment.budgets):,} tokens of dossier and {_AROUND} around it, or {_TOOL_TOKENS:,} in "
            f"{_TOOL_TURNS} turns with tools or files, and {_ANSWER} of answer"
        )
    if limit is not None:
        found["stops before"] = f"${limit:g}{pays_for}"
    return found | _comparing(plan)


def unkept(limit: float, unpriced: Sequence[str]) -> UsageError:
    """A limit of money that could not be kept, since a price is not known."""
    return UsageError(
        f"--max-usd {limit:g} cannot be kept: no price is known for {', '.join(unpriced)}; leave it out, or take a "
        "model of the price table (memassay doctor lists them)."
    )


def purse_of(plan: Plan, run: RunFolder, *, answering: bool = True) -> Purse:
    """The money of a run: its limit, what it has cost so far, and what is expected.

    Args:
        plan: with the limit.
        run: with what has been spent and will be.
        answering: whether agents are asked too; else judges alone.

    Raises:
        UsageError: there is a limit and a price is not known, so that it could not be kept.
    """
    if not plan.answers and not plan.model_judges:
        return Purse()
    limit = plan.experiment.max_usd
    if limit is None:
        return Purse()
    arms, judging = costs_of(plan, answering=answering and plan.answers)
    if judging is None or None in arms.values():
        raise unkept(limit, _unpriced(plan))
    judges = [judge.id for judge in plan.model_judges if judge.live]
    bill = Bill(run, [arm.name for arm in plan.contenders if arm.agent != NO_AGENT], judges)
    return Purse(limit, {name: cost or 0.0 for name, cost in arms.items()}, judging, bill)


def comparing_purse(plan: Plan, run: RunFolder, pairs: Pairs) -> Purse:
    """The money of a run for its judges of pairs.

    Raises:
        UsageError: there is a limit and a price is not known, so that it could not be kept.
    """
    limit = plan.experiment.max_usd
    if limit is None:
        return Purse()
    costs = {judge.name: cost_of_comparison(judge, pairs.budget) for judge in plan.pair_judges}
    if None in costs.values():
        raise unkept(limit, [f"the judge {name}" for name, cost in costs.items() if cost is None])
    return Purse(limit, {}, max((cost or 0.0 for cost in costs.values()), default=0.0), Bill(run, [], []))
