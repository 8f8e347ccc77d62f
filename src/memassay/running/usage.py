"""What the arms used: tokens of four kinds, money by two reckonings, turns and time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from memassay.core.types import Answer, Judgement, Usage
from memassay.running.money import paid
from memassay.runs.folder import RunFolder
from memassay.runs.lines import read_lines

KINDS = ("input", "output", "cache_read", "cache_write")


_FREE = ("scripted", "none")


@dataclass
class Used:
    """What one arm's counted answers used.

    Attributes:
        walls: milliseconds per cell, retrieval and answer.
        retrievals: milliseconds per retrieval.
        tokens: sums by kind.
        priced, unpriced: answers with a price of our table, and without.
        usd, reported_usd: sums by our table, and by the providers' clients.
        turns, tool_calls: per answer.
        statuses: how the answers ended.
        changed: answers after which the store was no longer what it had been.
        model: what answered.
    """

    walls: list[float] = field(default_factory=list)
    retrievals: list[float] = field(default_factory=list)
    tokens: Counter[str] = field(default_factory=Counter)
    priced: int = 0
    unpriced: int = 0
    usd: float = 0.0
    reported: int = 0
    reported_usd: float = 0.0
    turns: list[int] = field(default_factory=list)
    tool_calls: list[int] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    changed: int = 0
    model: str = "none"

    def add(self, answer: Answer) -> None:
        """Add an answer."""
        self.walls.append(answer.usage.wall_ms)
        self.retrievals += [step.usage.wall_ms for step in answer.steps if step.name == "retrieve"]
        self.statuses[str(answer.status)] += 1
        if not any(step.name != "retrieve" for step in answer.steps):
            return
        self.model = answer.model
        if answer.status.kind in ("provider", "harness"):
            return  # no answer that counts; what it cost is among the attempts
        usage = answer.usage
        for kind in KINDS:
            self.tokens[kind] += getattr(usage, kind)
        known = usage.cost_usd is not None or answer.model == "none"
        self.priced += known
        self.unpriced += not known
        self.usd += usage.cost_usd or 0.0
        self.reported += usage.reported_usd is not None
        self.reported_usd += usage.reported_usd or 0.0
        self.turns.append(usage.turns)
        self.tool_calls.append(usage.tool_calls)
        self.changed += any(
            check.name == "store unchanged" and check.passed is False for step in answer.steps for check in step.checks
        )

    def summary(self, attempts_usd: float | None) -> dict[str, Any]:
        """The ``answers`` part of an arm's usage.

        Args:
            attempts_usd: what all attempts of the arm cost, those that do not count among them.
        """
        n = len(self.turns)
        ours = round(self.usd, 6) if n and not self.unpriced else None
        theirs = round(self.reported_usd, 6) if self.reported else None
        return {
            "n": n,
            "tokens": {kind: self.tokens[kind] for kind in KINDS},
            "tokens_per_answer": {kind: round(self.tokens[kind] / n, 1) if n else None for kind in KINDS},
            "cost_usd": ours,
            "reported_usd": theirs,
            "cost_difference_usd": round(ours - theirs, 6) if ours is not None and theirs is not None else None,
            "attempts_usd": None if attempts_usd is None else round(attempts_usd, 6),
            "turns": spread(self.turns),
            "tool_calls": spread(self.tool_calls),
            "seconds": {
                name: value / 1000 if value is not None else None for name, value in spread(self.walls).items()
            },
            "statuses": dict(sorted(self.statuses.items())),
            "stores_changed": self.changed,
        }


def used(answers: Iterable[Answer]) -> dict[str, Used]:
    """What each arm's counted answers used."""
    found: dict[str, Used] = {}
    for answer in answers:
        found.setdefault(answer.cell.arm, Used()).add(answer)
    return found


def attempts_cost(run: RunFolder) -> dict[str, float | None]:
    """US dollars per arm, over all attempts, whether they count or not; None where nobody knows the price of one."""
    found: dict[str, float] = {}
    unknown: set[str] = set()
    for segment in run.segments():
        for _, record in read_lines(segment):
            arm, usage = record["cell"]["arm"], Usage.model_validate(record.get("usage") or {})
            found[arm] = found.get(arm, 0.0) + paid(usage)
            if record.get("model") == "real" and usage.input + usage.output and not _priced(usage):
                unknown.add(arm)
    return {arm: None if arm in unknown else usd for arm, usd in found.items()}


def _priced(usage: Usage) -> bool:
    return usage.cost_usd is not None or usage.reported_usd is not None


def judging_bill(run: RunFolder) -> dict[str, list[dict[str, Any]]]:
    """What judges with a model used in a run, those that gave no verdict and audits of others among them.

    Returns:
        A usage per judge under ``judges``, ``comparisons`` and ``audits``; a script's is left out, for it costs nobody.
    """
    judges = dict(run.judge_manifests())
    pairs = dict(run.pair_manifests())
    audits = {name: run.audit(name) or {} for name in run.audited()}
    return {
        "judges": [
            judging_usage(run, name) for name, about in judges.items() if about.get("kind", "none") not in _FREE
        ],
        "comparisons": [
            usage_of_verdicts(run.each_pair_verdict(name))
            for name, about in pairs.items()
            if about.get("kind") not in _FREE
        ],
        "audits": [
            about["usage"]
            for name, about in audits.items()
            if about.get("usage") and about.get("model", judges.get(name, {}).get("kind")) not in _FREE
        ],
    }


def judging_usage(run: RunFolder, judge: str) -> dict[str, Any]:
    """What a judge's verdicts used, those that failed or no longer count among them."""
    return usage_of_verdicts(run.each_judgement(judge))


def usage_of_verdicts(verdicts: Iterable[Judgement]) -> dict[str, Any]:
    """How many verdicts there are, how many failed, their tokens, and US dollars where every price is known."""
    tokens: Counter[str] = Counter()
    usd, n, failed, unpriced = 0.0, 0, 0, 0
    for verdict in verdicts:
        n += 1
        failed += verdict.status == "failed"
        unpriced += verdict.usage.cost_usd is None
        usd += paid(verdict.usage)
        for kind in KINDS:
            tokens[kind] += getattr(verdict.usage, kind)
    return {"n": n, "failed": failed, "tokens": dict(tokens), "cost_usd": None if unpriced else round(usd, 6)}


def spread(values: Sequence[float]) -> dict[str, float | None]:
    """Mean, median and 95th percentile."""
    if not values:
        return {"mean": None, "p50": None, "p95": None}
    return {
        "mean": round(float(np.mean(values)), 3),
        "p50": round(float(np.quantile(values, 0.5)), 3),
        "p95": round(float(np.quantile(values, 0.95)), 3),
    }
