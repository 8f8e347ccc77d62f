"""What a run of the canary comes to, as one mapping for the summary: memories, pairs, the choice.

Every number that was not measured is null with a reason. Positive gaps favour the first memory of a pair.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from memassay.core.contracts import Outcome
from memassay.core.pairs import PairVerdict
from memassay.core.types import Estimate
from memassay.stats.clustered import question_mean
from memassay.stats.pairwise import davidson
from memassay.suites.canary import judged
from memassay.suites.canary.choosing import choose
from memassay.suites.canary.comparing import Compared, as_mapping, compared
from memassay.suites.canary.costs import Cost, cost_of
from memassay.suites.canary.fabrication import fabrication
from memassay.suites.canary.families import FAMILIES, Weights
from memassay.suites.canary.grading import FAILED
from memassay.suites.canary.power import power
from memassay.suites.canary.rules import RULES, Thresholds
from memassay.suites.canary.standings import LABELS, Standings, standings

KINDS = ("n_fabricated_source", "n_fabricated_text", "n_fabricated_supersession", "n_invented")
"""Parts of a label that are fabrications."""

_RUNS = 400  # simulated experiments: a Monte Carlo error of .011 at .05, in half a second a rule
_MOST_TIES = 0.95


def conclude(
    outcomes: Sequence[Outcome],
    *,
    weights: Weights,
    budget: int,
    incumbent: str | None = None,
    rule: str = "default",
    thresholds: Thresholds | None = None,
    native: bool = False,
    verdicts: Sequence[PairVerdict] = (),
) -> dict[str, JsonValue]:
    """Everything that the sections of a report are made of.

    Args:
        outcomes: every cell of every contender and baseline, in any order.
        weights: how much each family counts.
        budget: the context tokens at which memories are compared.
        incumbent: the memory that another one has to beat.
        rule: one of ``RULES``; the others are computed beside it.
        thresholds: of the rule ``default``.
        native: memories gave as much as they do unasked, within ``budget``.
        verdicts: of judges of pairs; the choice rests on them where real models judged.

    Returns:
        A mapping of JSON values, the same whatever the order of the cells; only ``wall_ms`` differs between equal runs.
    """
    asked = thresholds or Thresholds()
    ordered = sorted(outcomes, key=lambda row: (row.arm, row.task.id, row.build, row.number))
    found = standings(ordered, budget)
    present = incumbent if incumbent in found.memories else None
    reason = _nothing(outcomes, found, weights, budget)
    pairs = [
        compared(found, *((b, a) if a == present else (a, b)), weights, asked)
        for a, b in combinations(found.memories, 2)
        if not reason
    ]
    costs = {memory: cost_of(memory, found.rows[memory]) for memory in found.memories}
    counted = Counter(one.family for one in found.questions)
    by_labels = choose(found.memories, pairs, costs, present, rule, asked, reason)
    seen = judged.judged(verdicts, found, weights, asked, present) if not reason else None
    result = {
        "budget": budget,
        "native": native,
        "level": asked.level,
        "rule": rule,
        "rules": list(RULES),
        "thresholds": asked,
        "weights": weights.model_dump(mode="json"),
        "incumbent": {
            "name": incumbent,
            "reason": None if present else "it is not among the memories of the run" if incumbent else "none was named",
        },
        "questions": {
            "asked": len(found.questions) + len(found.left_out),
            "compared": len(found.questions),
            "clusters": len({one.cluster for one in found.questions}),
            "families": {family: counted[family] for family in FAMILIES if counted[family]},
            "left_out": found.left_out,
            "without_gold": _without_gold(found),
            "reason": reason,
        },
        "memories": [_memory(found, name, weights, asked, costs[name], reason) for name in found.memories],
        "pairs": [as_mapping(one, found, asked) for one in pairs],
        "strengths": _strengths(found, pairs),
        "choice": judged.chosen(by_labels, seen, found.memories, costs, present, rule, asked),
        "choice_by_labels": by_labels,
        "judged": judged.as_mapping(seen, found, asked) if seen else None,
        "false_alarms": _false_alarms(counted, weights, pairs, asked),
    }
    plain: dict[str, JsonValue] = to_jsonable_python(result)
    return plain


def _nothing(outcomes: Sequence[Outcome], found: Standings, weights: Weights, budget: int) -> str | None:
    """Why nothing can be concluded, or None."""
    if outcomes and not any(f"outcome@{budget}" in row.scores for row in outcomes):
        return f"nothing was scored at {budget:,} tokens; name one of the budgets of the run"
    if not found.questions:
        return "no question was finished by every memory"
    if not sum(weights.shares[one.family] for one in found.questions):
        return "every family that was asked has the weight 0"
    return None


def _false_alarms(
    counted: Mapping[str, int], weights: Weights, pairs: Sequence[Compared], asked: Thresholds
) -> dict[str, object] | None:
    """How often each rule speaks of two memories that are alike, on these questions at the mean rate of ties."""
    if not pairs:
        return None
    ties = min(_MOST_TIES, sum(one.pair.tie_rate for one in pairs) / len(pairs))
    target = min(0.2, 1 - ties)
    simulated = {
        rule: power(counted, weights.shares, ties, rule=rule, target=target, thresholds=asked, runs=_RUNS)
        for rule in RULES
    }
    return {
        "tie_rate": ties,
        "runs": _RUNS,
        "rules": {
            rule: [{"rate": at, "share": share} for at, share in one.false_alarms] for rule, one in simulated.items()
        },
    }


def _without_gold(found: Standings) -> int:
    """Questions of a true premise for which nobody wrote down what an answer must hold."""
    if not found.memories:
        return 0
    first = found.by[found.memories[0]]
    return sum(first[one.id].covered is None and one.premise_valid for one in found.questions)


def _memory(
    found: Standings, name: str, weights: Weights, asked: Thresholds, cost: Cost, reason: str | None
) -> dict[str, object]:
    listed = list(zip(found.questions, found.of(name), strict=True))
    by_family: dict[str, Counter[str]] = {}
    for one, standing in listed:
        by_family.setdefault(one.family, Counter())[standing.label] += 1
    total = sum(by_family.values(), Counter[str]())
    covered = [(standing.covered, one.cluster) for one, standing in listed if standing.covered is not None]
    alone = None if reason else fabrication(found.pair(name, name, weights), asked.level).a
    outcome = None if reason else _weighted(found, name, weights)
    return {
        "memory": name,
        "role": found.roles[name],
        "labels": _labels(total),
        "families": {family: _labels(by_family[family]) for family in FAMILIES if family in by_family},
        "failed": total[FAILED],
        "outcome": {"weighted": outcome, "mean": _mean([standing.outcome for _, standing in listed]), "reason": reason},
        "coverage": question_mean([value for value, _ in covered], [cluster for _, cluster in covered])
        if covered
        else Estimate(value=None, reason="no question says what an answer must hold"),
        "fabrication": alone,
        "fabrication_reason": reason,
        "fabricated_passages": {kind: _sum(found.rows[name], kind) for kind in KINDS},
        "undetermined": {
            "labels": total["undetermined"],
            "questions": sum(standing.unchecked for _, standing in listed),
            "share": _mean([float(standing.unchecked) for _, standing in listed]),
        },
        "stale": sum(standing.stale for _, standing in listed),
        "tokens": _mean([standing.tokens for _, standing in listed if standing.tokens is not None]),
        "cost": cost,
    }


def _labels(counted: Mapping[str, int]) -> dict[str, int]:
    return {label: counted[label] for label in LABELS if counted.get(label)}


def _weighted(found: Standings, name: str, weights: Weights) -> float:
    each = found.pair(name, name, weights).each
    return float(sum(each * [standing.outcome for standing in found.of(name)]))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _sum(rows: Sequence[Outcome], part: str) -> int:
    """Over cells, at the largest budget."""
    counts = [row.labels.get(part) for row in rows]
    return sum(count for count in counts if isinstance(count, int))


def _strengths(found: Standings, pairs: Sequence[Compared]) -> object:
    """Of three memories or more: Bradley-Terry strengths with ties, a description."""
    names = found.memories
    if len(names) < 3 or not pairs:
        return None
    wins = [[0.0] * len(names) for _ in names]
    ties = [[0.0] * len(names) for _ in names]
    for one in pairs:
        a, b = names.index(one.pair.a), names.index(one.pair.b)
        won, lost, tied = (float(count) for count in one.pair.counts.sum(axis=0))
        wins[a][b], wins[b][a] = won, lost
        ties[a][b] = ties[b][a] = tied
    return davidson(names, wins, ties)
