"""What the judges of answers share: what was said, and the record of a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic import JsonValue

from memassay.core.contracts import Cell
from memassay.core.types import Answer, Gold, Judgement, ModelKind, Usage


def judge_id(name: str, key: str) -> str:
    """Name of a judge's configuration, and of its file: the gold key is part of it unless it is the original."""
    return name if key == "original" else f"{name}-{key}"


def gold_of(cell: Cell, key: str) -> Gold | None:
    """The gold under a key; None where the task lacks the key, or the key leaves it out."""
    gold = cell.task.gold.get(key)
    return None if gold is None or gold.excluded is not None else gold


def said(answer: Answer) -> str:
    """The answer's words, trimmed; "" where nothing was said, and for every failure of the memory."""
    if answer.status.kind == "memory":
        return ""
    return next((step.text for step in reversed(answer.steps) if step.text is not None), "").strip()


REPLIED = "replied"
"""Label of a verdict: the model that replied, where an address of the user's own names another than was asked for."""


def verdict(judge: str, cell: Cell, scores: Mapping[str, float | None], **more: object) -> Judgement:
    """A judgement of the cell's counted answer; undefined where no score is.

    Args:
        judge: the judge's id.
        cell: what was judged.
        scores: by metric.
        more: further fields of the record; they win over the ones filled in here.
    """
    key = cell.answer.cell
    fields: dict[str, object] = {
        "id": f"{judge}/{key.task}/{key.arm}/{key.build}.{key.repetition}",
        "judge": judge,
        "subjects": (key,),
        "attempt": cell.answer.attempt,
        "data": cell.answer.data,
        "model": cell.answer.model,
        "status": "undefined" if all(score is None for score in scores.values()) else "ok",
        "scores": scores,
    }
    return Judgement.model_validate(fields | more)


def spoken_by(cell: Cell, judge: ModelKind) -> ModelKind:
    """What kind of model a verdict rests on: a stand-in on either side makes it a stand-in's."""
    return "scripted" if "scripted" in (cell.answer.model, judge) else judge


def spent(usages: Iterable[Usage]) -> Usage:
    """Several usages as one; a cost is known only where every part's is, and nothing costs nothing."""
    parts = list(usages)
    sums: dict[str, JsonValue] = {
        name: sum(getattr(part, name) for part in parts)
        for name in ("input", "output", "cache_read", "cache_write", "turns", "tool_calls", "wall_ms")
    }
    costs = [part.cost_usd for part in parts if part.cost_usd is not None]
    reported = [part.reported_usd for part in parts if part.reported_usd is not None]
    sums["cost_usd"] = sum(costs, 0.0) if len(costs) == len(parts) else None
    sums["reported_usd"] = sum(reported) if parts and len(reported) == len(parts) else None
    return Usage.model_validate(sums)
