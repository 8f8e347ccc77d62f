"""What a memory takes beside its answers: time and money to build, room, time to retrieve, size of a dossier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import JsonValue

from memassay.core.types import BuildReport
from memassay.running.scores import Scores


def footprint(scores: Scores, arm: str, walls: Sequence[float], builds: Sequence[BuildReport]) -> dict[str, Any]:
    """What an arm's stores took, how long it retrieves, and how large its dossiers are.

    Args:
        scores: with the label ``tokens``, of each dossier.
        arm: whose.
        walls: of its retrievals, in milliseconds.
        builds: of its memory; those that hold the marker are left out.
    """
    made = list(
        {b.store.key if b.store else f"-{b.scope}": b for b in builds if not b.scope.endswith("+marker")}.values()
    )
    tokens = scores.labels.get(arm, {}).get("tokens", np.zeros(0))
    costs = [b.usage.cost_usd for b in made if b.usage.cost_usd is not None]
    return {
        "build": {
            "stores": len(made),
            "seconds": round(sum(b.usage.wall_ms for b in made) / 1000, 3),
            "bytes": sum(b.bytes or 0 for b in made),
            "passages": sum(b.passages or 0 for b in made) or None,
            "facts": _facts(made),
            "cost_usd": sum(costs) if costs else None,
        },
        "retrieve_ms": _quantiles(walls),
        "tokens_per_dossier": _quantiles(tokens[~np.isnan(tokens)].tolist()),
    }


def _facts(builds: Sequence[BuildReport]) -> dict[str, list[JsonValue]]:
    """What builds told of themselves: by name, every value that a store has, in the order of the stores."""
    found: dict[str, list[JsonValue]] = {}
    for build in builds:
        for name, value in build.facts.items():
            if value not in found.setdefault(name, []):
                found[name].append(value)
    return found


def _quantiles(values: Sequence[float]) -> dict[str, float | None]:
    if not values:
        return {"p50": None, "p95": None}
    return {"p50": round(float(np.quantile(values, 0.5)), 3), "p95": round(float(np.quantile(values, 0.95)), 3)}
