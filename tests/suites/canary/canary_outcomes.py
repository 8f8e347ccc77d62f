"""Cells of a run as a suite gets them to conclude, for tests of what the canary makes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from memassay.core.contracts import Outcome
from memassay.core.types import Status, Task, Usage
from memassay.suites.canary.families import FALSE_PREMISE, FAMILIES
from memassay.suites.canary.labels import FOUND, OUTCOMES

BUDGET = 2000
Label = str | None


def cell(arm: str, question: int, family: str, label: Label, **given: Any) -> Outcome:
    """One cell with a label; None is one that no memory is to blame for, and ``failed`` one that it is."""
    scores: dict[str, float | None] = {}
    if label is not None:
        scores = {f"{name}@{BUDGET}": float(name == label) for name in FOUND}
        right = label == "abstained" and family == FALSE_PREMISE
        scores[f"outcome@{BUDGET}"] = 1.0 if right else OUTCOMES.get(label, 0.0)  # type: ignore[call-overload]
        covered = {"correct": 1.0, "partial": 0.5}.get(label, 0.0)
        scores[f"covered@{BUDGET}"] = None if family == FALSE_PREMISE else covered
        scores[f"fabricated@{BUDGET}"] = float(label == "hallucinated")
        scores[f"unchecked@{BUDGET}"] = float(label == "undetermined")
    labels = {f"label@{BUDGET}": label, f"tokens@{BUDGET}": given.pop("tokens", 100 + question % 7)}
    labels["n_fabricated_text"] = int(label == "hallucinated")
    labels["stale_atoms"] = given.pop("stale", 0)
    cluster = given.pop("cluster", f"{family}-{question}")
    usage = Usage(wall_ms=given.pop("wall_ms", 40.0), cost_usd=given.pop("usd", None), input=given.pop("input", 0))
    task = Task(
        id=f"{family}-{question:03d}", suite="canary", scope="docs", cluster=cluster,
        category=family, prompt="", payload={"premise_valid": family != FALSE_PREMISE},
    )  # fmt: skip
    status = Status.MEMORY_CRASH if label == "failed" else Status.API_ERROR if label is None else Status.OK
    about: dict[str, Any] = {
        "task": task, "arm": arm, "role": "baseline" if arm == "lexical" else "contender", "build": 0, "number": 0,
        "status": status, "detail": "", "scores": scores, "labels": labels, "text": "", "tools": {},
        "usage": usage,
    }  # fmt: skip
    return Outcome(**{**about, **given})


def run(each: int = 8, **arms: Callable[[str, int], Label] | Label) -> list[Outcome]:
    """Every family with ``each`` questions: of every arm its label, or a function of family and number."""
    return [
        cell(arm.replace("_", "-"), number, family, said(family, number) if callable(said) else said)
        for arm, said in arms.items()
        for family in FAMILIES
        for number in range(each)
    ]


def named(results: Mapping[str, Any], memory: str) -> Mapping[str, Any]:
    """The part of a conclusion about one memory."""
    found: Mapping[str, Any] = next(one for one in results["memories"] if one["memory"] == memory)
    return found
