"""A new run against an old one: what must be equal, what may differ, and the regression gate.

What must be equal and what may differ stands in :mod:`memassay.running.basis`.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memassay.core.digest import digest_text
from memassay.core.errors import DataError, UsageError, suggestion
from memassay.core.types import Task
from memassay.running.basis import basis_of, differing, refuse_other_judges, refuse_unlike
from memassay.running.gathering import gather
from memassay.running.judges import with_kept
from memassay.running.markers import MARKER
from memassay.running.rereading import plan_of, unavailable_arms
from memassay.running.scores import Vector
from memassay.runs.folder import RunFolder
from memassay.runs.lines import write_whole
from memassay.stats import DEFAULT_DESIGN, DESIGNS, Clusters, regression_gate

FORMAT = 1
MISSING_SHARE = 0.01


class Gate(BaseModel):
    """Conditions fixed before the run.

    Attributes:
        metrics: gated metrics; empty means the headline family at every budget.
        margin: the largest drop that is tolerated, in points of the metric.
        split: tasks that count.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    metrics: tuple[str, ...] = ()
    margin: float = Field(0.03, gt=0, lt=1)
    split: str = "all"


GATES: dict[str, Gate] = {"no-worse": Gate()}


@dataclass(frozen=True)
class Scored:
    """One side of a comparison: what must be equal, the tasks if known, scores per arm and metric, and the design."""

    name: str
    basis: Mapping[str, Any]
    tasks: Sequence[Task] | None
    scores: Mapping[str, Mapping[str, Vector]]
    design: str = DEFAULT_DESIGN


def gate_of(name: str) -> Gate:
    """A gate by name or from a TOML file.

    Raises:
        UsageError: no such gate, or a file that does not fit.
    """
    if name in GATES:
        return GATES[name]
    path = Path(name)
    if not path.is_file():
        raise UsageError(f"Unknown gate {name!r}.{suggestion(name, GATES)} A file of your own ends in .toml.")
    try:
        return Gate.model_validate(tomllib.loads(path.read_text("utf-8")))
    except ValidationError as error:
        first = error.errors()[0]
        key = str(first["loc"][0])
        raise UsageError(f"{path.name}, {key}: {first['msg']}.{suggestion(key, Gate.model_fields)}") from error
    except (OSError, ValueError) as error:
        raise UsageError(f"{path.name} is not a gate in TOML: {error}.") from error


def scored_run(path: Path) -> Scored:
    """A run folder as one side of a comparison."""
    run = RunFolder.existing(path)
    plan = plan_of(run)
    tasks = [t for t in plan.tasks if t.category != MARKER]
    unavailable = unavailable_arms(run)
    arms = [a.name for a in plan.contenders if a.name not in unavailable]
    plan = replace(plan, model_judges=with_kept((), run.judge_manifests()))
    found = gather(run, plan, unavailable).scores
    scores = {
        arm: {metric: np.where(found.missing, np.nan, vector) for metric, vector in found.values.get(arm, {}).items()}
        for arm in arms
    }
    return Scored(path.name, basis_of(plan, tasks), tasks, scores, plan.design.name)


def save_baseline(scored: Scored, path: Path, arm: str | None) -> dict[str, Any]:
    """Write one side as a small file to commit: scores per task of the headline family, no text of any document.

    Raises:
        UsageError: the run has no such arm.
    """
    arms = [arm_of(scored, arm)] if arm is not None else sorted(scored.scores)
    family = str(scored.basis["headline"]).partition("@")[0]
    content = {
        "format": FORMAT,
        "run": scored.name,
        "basis": dict(scored.basis),
        "arms": {
            name: {
                metric: [None if np.isnan(v) else round(float(v), 6) for v in vector]
                for metric, vector in sorted(scored.scores[name].items())
                if metric.partition("@")[0] == family
            }
            for name in arms
        },
    }
    packed = {n: {m: _pack(v) for m, v in metrics.items()} for n, metrics in content["arms"].items()}  # type: ignore[attr-defined]
    write_whole(path, json.dumps({**content, "arms": packed}, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    return {"baseline": path.name, "arms": arms, "bytes": path.stat().st_size}


def scored(path: Path) -> Scored:
    """A run folder or a baseline file as one side of a comparison.

    Raises:
        DataError: it is neither.
    """
    if path.is_dir():
        return scored_run(path)
    try:
        content = json.loads(path.read_text("utf-8"))
        if content["format"] != FORMAT:
            raise ValueError(f"format {content['format']!r}")
        scores = {n: {m: _unpack(v) for m, v in metrics.items()} for n, metrics in content["arms"].items()}
        return Scored(name=path.name, basis=content["basis"], tasks=None, scores=scores)
    except FileNotFoundError as error:
        raise DataError(f"There is no run folder or baseline file {str(path)!r}.") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path.name} is not a baseline file; make one with: memassay baseline RUN --out FILE."
        ) from error


def arm_of(side: Scored, name: str | None) -> str:
    """The arm of a side: the named one, or the only one.

    Raises:
        UsageError: no such arm, or several and none named.
    """
    if name is not None:
        if name not in side.scores:
            raise UsageError(f"{side.name} has no arm {name!r}.{suggestion(name, side.scores)}")
        return name
    if len(side.scores) != 1:
        raise UsageError(f"{side.name} has the arms {', '.join(sorted(side.scores))}; choose one with --arm.")
    return next(iter(side.scores))


def compare(new: Scored, old: Scored, arm: str | None, old_arm: str | None, gate: Gate | None) -> dict[str, Any]:
    """Pair two runs task by task and, with a gate, say whether the new one is no worse.

    Args:
        new: a run folder's side.
        old: a run folder's or a baseline's side.
        arm: the arm of both sides, where they have several.
        old_arm: the old side's arm, where it has another name.
        gate: the conditions, or None for intervals only.

    Raises:
        UsageError: the two cannot be compared, with the fields that differ, or have no metric in common.
    """
    if new.tasks is None:
        raise UsageError(f"{new.name} is a baseline file; give the new run's folder first and the baseline second.")
    sides = (new.name, new.basis), (old.name, old.basis)
    refuse_unlike(*sides)
    first = arm_of(new, arm)
    second = arm_of(old, old_arm or (arm if arm in old.scores else None) or (first if first in old.scores else None))
    split = gate.split if gate else "all"
    where = np.array([split == "all" or t.split == split for t in new.tasks], dtype=np.bool_)
    if not where.any():
        raise UsageError(
            f"No task is in the split {split!r}.{suggestion(split, {t.split for t in new.tasks} | {'all'})}"
        )
    family = str(new.basis["headline"]).partition("@")[0]
    shared = [m for m in new.scores[first] if m in old.scores[second]]
    metrics = list(gate.metrics) if gate and gate.metrics else [m for m in shared if _at_budget(m, family)]
    for metric in metrics:
        if metric not in shared:
            raise UsageError(f"Both sides need the metric {metric!r}.{suggestion(metric, shared)}")
    if not metrics:
        raise UsageError(f"Both sides need the metric {family!r}, which {new.name} is about and {old.name} lacks.")
    refuse_other_judges(*sides, metrics)
    for metric in metrics:
        held = len(old.scores[second][metric])
        if held != len(new.tasks):
            raise UsageError(
                f"{old.name} has {held} scores of {metric} for {len(new.tasks)} tasks; write the baseline again."
            )
    clusters = [t.cluster for t in new.tasks]
    a = np.stack([new.scores[first][m] for m in metrics], axis=1)
    b = np.stack([old.scores[second][m] for m in metrics], axis=1)
    # A task that either side lacks leaves both; what was never defined is no loss.
    lost = (np.isnan(a) != np.isnan(b)) & where[:, None]
    keep = where & ~np.isnan(a).all(axis=1) & ~np.isnan(b).all(axis=1) & ~lost.any(axis=1)
    generator = np.random.Generator(np.random.PCG64(int(digest_text("compare")[:15], 16)))
    rows = []
    chosen = Clusters.of([c for c, k in zip(clusters, keep, strict=True) if k])
    two_arms = DESIGNS[new.design].two_arms
    for position, metric in enumerate(metrics):
        result = two_arms(a[keep, position], b[keep, position], chosen, generator)
        rows.append(
            {
                "metric": metric,
                "diff": result.diff.model_dump(mode="json"),
                "p": result.p,
                "test": result.test,
                "wins": result.wins,
                "losses": result.losses,
                "ties": result.ties,
            }
        )
    found: dict[str, Any] = {
        "new": {"run": new.name, "arm": first},
        "old": {"run": old.name, "arm": second},
        "split": split,
        "n": int(keep.sum()),
        "clusters": chosen.count,
        "lost_tasks": int(lost.any(axis=1).sum()),
        "comparisons": rows,
        "notes": differing(new.basis, old.basis, metrics),
        "gate": None,
    }
    if gate is not None:
        outcome = regression_gate(a[keep], b[keep], chosen, margin=gate.margin, metrics=metrics, rng=generator)
        reasons = list(outcome.reasons)
        verdict: str = outcome.verdict
        if found["lost_tasks"] > MISSING_SHARE * max(1, int(where.sum())):
            verdict, reasons = "no decision", [f"{found['lost_tasks']} tasks are missing on one side", *reasons]
        found["gate"] = {
            "verdict": verdict,
            "margin": gate.margin,
            "reasons": reasons,
            "legs": [leg.__dict__ for leg in outcome.legs],
        }
    return found


def _at_budget(metric: str, family: str) -> bool:
    name, cut, at = metric.partition("@")
    return name == family and (at.isdecimal() or not cut)


def _pack(values: Sequence[float | None]) -> str | list[float | None]:
    """Zeros and ones as a string of 0, 1 and - (undefined): a thousand tasks in a kilobyte."""
    if all(v in (None, 0.0, 1.0) for v in values):
        return "".join("-" if v is None else "1" if v else "0" for v in values)
    return list(values)


def _unpack(packed: str | list[float | None]) -> Vector:
    values = [None if c == "-" else float(c) for c in packed] if isinstance(packed, str) else packed
    return np.array([np.nan if v is None else float(v) for v in values], dtype=np.float64)
