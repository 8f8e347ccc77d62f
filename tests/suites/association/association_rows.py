"""Outcomes for tests of what the suite concludes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from memassay.core.contracts import Outcome
from memassay.core.types import Status, Task, Usage

BASELINE, GRAPH, FILES = "sqlite", "graph", "json-files"


def outcome(arm: str, task: int, number: int = 0, **given: Any) -> Outcome:
    """One cell: right, answered, at a tenth of a dollar, 1,000 tokens and 4 turns; ``given`` says what is different."""
    tokens = given.pop("tokens", 1000)
    usage = {
        "input": tokens // 10,
        "output": tokens // 10,
        "cache_read": tokens - 2 * (tokens // 10),
        "turns": given.pop("turns", 4),
        "cost_usd": given.pop("cost", 0.1),
        "reported_usd": given.pop("reported", None),
        "tool_calls": sum(given.get("tools", {}).values()),
        "wall_ms": given.pop("wall_ms", 1500.0),
    }
    score = given.pop("score", 1.0)
    scores = {} if score is None else {"score": score, "score_substring": score, "recall": score, "wrong_extra": 0.0}
    about: dict[str, Any] = {
        "task": Task(
            id=f"assoc-why-{task}", suite="association", scope="world", cluster=f"assoc-why-{task}", category="why",
            prompt="", payload={"number": task},
        ),
        "arm": arm, "role": "baseline" if arm == BASELINE else "contender", "build": 0, "number": number,
        "status": Status.OK, "detail": "", "scores": scores, "labels": {}, "text": "company-000001", "tools": {},
        "usage": Usage(**usage),
    }  # fmt: skip
    return Outcome(**{**about, **given})


def run(
    tasks: int = 20, repetitions: int = 3, **arms: Mapping[str, Any] | Callable[[int, int], Mapping[str, Any]]
) -> list[Outcome]:
    """Every cell of the arms ``sqlite``, ``graph``, ``files``: what is different, or a function of task and number."""
    rows = []
    for name, given in arms.items():
        for task in range(1, tasks + 1):
            for number in range(repetitions):
                different = given(task, number) if callable(given) else given
                rows.append(outcome(FILES if name == "files" else name, task, number, **different))
    return rows
