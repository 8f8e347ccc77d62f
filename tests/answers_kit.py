"""What must come out of a run of planted faults, from the plan and the documented rules alone.

Nothing here comes from memassay: the rule that places the faults and the scores are written anew.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest

ARMS = ("lexical/dossier", "files/dossier")
KINDS = {
    **dict.fromkeys(("ok", "empty", "refused"), "answered"),
    **dict.fromkeys(("rate-limit", "api-error", "network"), "provider"),
    "harness-error": "harness",
}
"""The kind of every status but those of the memory."""

STATUS = {"harness": "harness-error", "crash": "harness-error"}


def jsonl(*paths: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in paths for line in path.read_text("utf-8").split("\n") if line]


def golds(folder: Path) -> dict[str, str]:
    """The gold answers of a run's questions, without those of its controls."""
    tasks = jsonl(folder / "tasks.jsonl")
    return {t["id"]: t["gold"]["original"]["answer"] for t in tasks if not t["category"].startswith("control")}


def words(text: str) -> list[str]:
    return "".join(" " if mark in ".,!?" else mark for mark in text.lower()).split()


def scores(answer: str, gold: str) -> dict[str, float]:
    """F1, exact match and BLEU-1 by the rules of the facts (iwe.md 1.6), written anew."""
    p, r = answer.strip(), gold.strip()
    if not p or not r:
        return {"f1": 0.0, "exact_match": 0.0, "bleu1": 0.0}
    got, want = words(p), words(r)
    common = len(set(got) & set(want))
    left, clipped = list(want), 0
    for word in got:
        if word in left:
            left.remove(word)
            clipped += 1
    brevity = 1.0 if len(got) >= len(want) else math.exp(1 - len(want) / len(got))
    return {
        "f1": 2 * common / (len(set(got)) + len(set(want))),
        "exact_match": float(p.lower() == r.lower()),
        "bleu1": clipped / len(got) * brevity,
    }


def fault(task: str, arm: str, repetition: int, faults: str, share: float, seed: int = 0) -> str:
    """The planted fault of a cell by the rule that the agent's documentation gives, or ""."""
    name = json.dumps([seed, task, arm, 0, repetition], separators=(",", ":"), ensure_ascii=False)
    digest = hashlib.sha256(name.encode()).digest()
    if int.from_bytes(digest[:8], "big") >= share * 2**64:
        return ""
    kinds = faults.split(",")
    return kinds[int.from_bytes(digest[8:16], "big") % len(kinds)]


def kind_of(name: str) -> str:
    """The kind of a fault; "" is answered."""
    if not name:
        return "answered"
    return KINDS.get(STATUS.get(name, name), "memory")


class Expected:
    """What must come out of a run of cells with planted faults, from the plan and the rule alone."""

    def __init__(
        self,
        tasks: Mapping[str, str],
        repetitions: int,
        faults: str,
        share: float,
        seed: int = 0,
        arms: Sequence[str] = ARMS,
    ) -> None:
        self.tasks, self.repetitions, self.arms = tasks, repetitions, arms
        self.faults = {
            (task, arm, r): fault(task, arm, r, faults, share, seed)
            for task in tasks
            for arm in arms
            for r in range(repetitions)
        }
        lost = {cell[0] for cell, name in self.faults.items() if kind_of(name) in ("provider", "harness")}
        self.kept = [task for task in tasks if task not in lost]

    def score(self, task: str, arm: str, repetition: int, metric: str) -> float:
        return scores("" if self.faults[task, arm, repetition] else "answer 1", self.tasks[task])[metric]

    def primary(self, arm: str, metric: str) -> float:
        """Failures of the memory wrong; a task that some arm could not finish left out of all."""
        return mean(mean(self.score(t, arm, r, metric) for r in range(self.repetitions)) for t in self.kept)

    def answered(self, arm: str, metric: str) -> tuple[Any, int]:
        """Failures of the memory left out: the mean of what was answered, and the number of tasks."""
        means = []
        for task in self.kept:
            told = [r for r in range(self.repetitions) if kind_of(self.faults[task, arm, r]) == "answered"]
            if told:
                means.append(mean(self.score(task, arm, r, metric) for r in told))
        return pytest.approx(mean(means)), len(means)

    def means(self, arm: str, metric: str) -> list[float]:
        """The primary number of each repetition."""
        return [mean(self.score(t, arm, r, metric) for t in self.kept) for r in range(self.repetitions)]

    def repeats(self, arm: str, metric: str) -> bool:
        """Whether every repetition gave every task the same score."""
        return all(len({self.score(t, arm, r, metric) for r in range(self.repetitions)}) == 1 for t in self.kept)

    def paid(self, arm: str) -> int:
        """Answers that cost something: what failed at the provider or in the harness cost nothing."""
        return sum(kind_of(name) in ("answered", "memory") for (_, of, _), name in self.faults.items() if of == arm)

    def failures(self, arm: str) -> dict[str, int]:
        found = Counter(kind_of(name) for (_, of, _), name in self.faults.items() if of == arm)
        return {kind: found[kind] for kind in ("memory", "provider", "harness")}


def compare(summary: Mapping[str, Any], expected: Expected) -> None:
    """Every column of a summary equals what must come out."""
    for arm in expected.arms:
        found = summary["arms"][arm]
        assert found["failures"] == expected.failures(arm)
        assert found["n"] == len(expected.kept)
        statuses = Counter(STATUS.get(n, n) or "ok" for (_, of, _), n in expected.faults.items() if of == arm)
        assert found["usage"]["answers"]["statuses"] == dict(statuses)
        for metric in ("f1", "exact_match", "bleu1"):
            assert found["metrics"][metric]["value"] == pytest.approx(expected.primary(arm, metric))
            assert found["metrics"][metric]["n"] == len(expected.kept)
            second = found["secondary"]["answered_only"]["metrics"][metric]
            assert (second["value"], second["n"]) == expected.answered(arm, metric)
            if expected.repetitions > 1:
                means = expected.means(arm, metric)
                shown = found["repetitions"][metric]
                assert shown["means"] == pytest.approx(means, abs=1e-6)
                assert shown["mean"] == pytest.approx(mean(means), abs=1e-6)
                if expected.repeats(arm, metric):
                    assert shown["sd"] is None and shown["reason"], "what always says the same has no noise to measure"
                else:
                    assert shown["sd"] == pytest.approx(stdev(means), abs=1e-6)
    for comparison in summary["comparisons"]:
        if comparison["split"] == "all" and comparison["metric"] in ("f1", "exact_match", "bleu1"):
            a, b = (expected.primary(comparison[side], comparison["metric"]) for side in ("a", "b"))
            assert comparison["diff"]["value"] == pytest.approx(a - b)
            assert comparison["diff"]["n"] == len(expected.kept), "a repetition is no further observation"
