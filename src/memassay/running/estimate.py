"""What a run would do, before it does it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from memassay.core.views import original
from memassay.running.markers import MARKER
from memassay.running.plan import Plan
from memassay.stats import detectable_difference


def estimate_of(plan: Plan) -> dict[str, Any]:
    """Tasks, clusters, cells and stores of a plan, and the smallest difference that it can detect with 80 % power."""
    tasks = [t for t in plan.tasks if t.category != MARKER]
    graded = [t for t in tasks if original(t).evidence]
    sizes = np.array(list(Counter(t.cluster for t in graded).values()))
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
    if len(sizes) >= 2:
        power = detectable_difference(sizes)
        estimate["detectable difference"] = round(power.detectable, 4)
        estimate["at"] = f"{power.power:.0%} power, {power.level:.0%} level (docs/statistics.md)"
        estimate["assumed"] = f"paired SD {power.pilot.sd:g}, ICC {power.pilot.icc:g} ({power.pilot.source})"
    else:
        estimate["detectable difference"] = None
        estimate["assumed"] = "fewer than two clusters: no difference can be decided"
    return estimate
