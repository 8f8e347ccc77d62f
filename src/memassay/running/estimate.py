"""What a run would do, before it does it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from memassay.core.types import Task
from memassay.core.views import original
from memassay.running.markers import MARKER
from memassay.running.plan import Plan
from memassay.stats import MATERIAL

WANTED_POWER = 0.8


def primary_power(plan: Plan) -> float | None:
    """The chance of a verdict on the primary if its true difference is ``MATERIAL``; None without a primary.

    Made from the planned questions of its split and the printed defaults, never from a result.
    """
    primary = plan.experiment.primary
    if primary is None:
        return None
    graded = [t for t in plan.tasks if t.category != MARKER and original(t).evidence]
    sizes = _sizes([t for t in graded if primary.split in ("all", t.split)])
    return plan.design.power(MATERIAL, sizes) if len(sizes) else 0.0


def primary_in_words(power: float) -> str:
    """What the primary can show; ``exploratory`` first where that is too little."""
    found = f"a true difference of {MATERIAL:g} would get a verdict in {power:.0%} of such runs"
    if power >= WANTED_POWER:
        return found
    return f"exploratory: {found}, and {WANTED_POWER:.0%} is asked"


def _sizes(tasks: Sequence[Task]) -> npt.NDArray[np.int64]:
    """Questions per cluster, in the order of the clusters' first questions."""
    return np.array(list(Counter(t.cluster for t in tasks).values()), dtype=np.int64)


def estimate_of(plan: Plan) -> dict[str, Any]:
    """Tasks, clusters, cells and stores of a plan, and the smallest difference that it can detect with 80 % power."""
    tasks = [t for t in plan.tasks if t.category != MARKER]
    graded = [t for t in tasks if original(t).evidence]
    sizes = _sizes(graded)
    scopes = {t.scope for t in plan.tasks}
    estimate: dict[str, Any] = {
        "suite": plan.experiment.suite,
        "data": plan.suite.data,
        "arms": ", ".join(a.name for a in plan.contenders),
        "controls": ", ".join([a.name for a in plan.arms if a.role == "control"] + [MARKER.partition(":")[2]])
        if plan.experiment.controls
        else "none",
        "tasks": len(tasks),
        "tasks with evidence": len(graded),
        "clusters": len(sizes),
        "cells": plan.count(),
        "stores": len(scopes) * len(plan.contenders) * plan.experiment.builds,
        "tokenizer": plan.experiment.tokens,
        "cost in US dollars": 0.0,
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
