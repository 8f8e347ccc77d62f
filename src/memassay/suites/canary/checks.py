"""What a run must show so that it is believed, beside the controls of every suite.

``stale``
    What was true before is labelled stale, and never correct.
``gold against empty``
    The gold wins against nothing: its weighted gap is above 0.
``A against A``
    Every memory ties with itself: no gap, and nothing that speaks for either side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from pydantic import JsonValue

from memassay.core.contracts import Grading
from memassay.core.dossier import dossier_of, rendering
from memassay.core.types import Passage, Task
from memassay.core.views import CONTROLS, outdated
from memassay.stats.clusters import FloatArray
from memassay.suites.canary.comparing import generator
from memassay.suites.canary.families import Weights
from memassay.suites.canary.pairs import Compared, Pair, measure
from memassay.suites.canary.rules import Thresholds, gap_legs
from memassay.suites.canary.standings import sign

Scores = Mapping[str, Mapping[str, FloatArray]]
Check = dict[str, JsonValue]


def checks(
    grading: Grading, tasks: Sequence[Task], scores: Scores, *, weights: Weights, budget: int, thresholds: Thresholds
) -> dict[str, list[Check]]:
    """Every check that these tasks allow, by the name of the control.

    Args:
        grading: of the run.
        tasks: N of them.
        scores: by arm and score, shape (N,); NaN where there is none.
        weights: of the families.
        budget: at which memories are compared.
        thresholds: of the rule ``default``.
    """
    found = {
        "stale": list(_stale(grading, tasks, scores)),
        "gold against empty": list(_gold(tasks, scores, weights, budget)),
        "A against A": list(_same(tasks, scores, weights, budget, thresholds)),
    }
    return {name: rows for name, rows in found.items() if rows}


def _stale(grading: Grading, tasks: Sequence[Task], scores: Scores) -> Iterator[Check]:
    budget = max(grading.budgets)
    changed = np.array([bool(outdated(task)) for task in tasks], dtype=np.bool_)
    # What is longer than the budget is cut, and then says nothing.
    fits = np.array([any(_fits(text, grading, budget) for text, _ in outdated(task)) for task in tasks], dtype=np.bool_)
    for name, where, expected, asks in (
        ("correct", changed, 0.0, "what was true before is never correct"),
        ("stale", fits, 1.0, "what was true before is always called stale"),
    ):
        if not where.any():
            continue
        values = scores.get("stale", {}).get(f"{name}@{budget}", np.full(len(tasks), np.nan))[where]
        value = None if np.isnan(values).any() else float(values.mean())
        yield _check(f"{name}@{budget}", value, expected, None if value is None else value == expected, asks)


def _fits(text: str, grading: Grading, budget: int) -> bool:
    return rendering(dossier_of([Passage(text=text)]), grading.tokens).total_tokens <= budget


def _gold(tasks: Sequence[Task], scores: Scores, weights: Weights, budget: int) -> Iterator[Check]:
    shown = scores.get("oracle", {}).get(f"any@{budget}")
    if shown is None or not np.nansum(shown):
        return  # no gold that fits the budget
    pair = _pair("oracle", "empty", tasks, scores, weights, budget)
    value = None if pair is None else _gap(pair)
    asks = "the weighted gap of the gold over nothing is above 0"
    yield _check(f"outcome@{budget}", value, 1.0, None if value is None else value > 0, asks, low=0.0)


def _same(
    tasks: Sequence[Task], scores: Scores, weights: Weights, budget: int, thresholds: Thresholds
) -> Iterator[Check]:
    asks = "a memory against itself has no gap, and neither interval nor test speaks for a side"
    for arm in sorted(set(scores) - set(CONTROLS)):
        value, passed = None, None
        pair = _pair(arm, arm, tasks, scores, weights, budget)
        if pair is not None:
            measured = measure(pair, generator("same", arm), level=thresholds.level)
            value = _gap(pair)
            spoken = {leg.outcome for leg in gap_legs(measured, thresholds)} & {"for", "against"}
            passed = value == 0 and measured.test.p == 1 and not spoken
        yield {**_check(f"outcome@{budget}", value, 0.0, passed, asks), "arm": arm}


def _pair(a: str, b: str, tasks: Sequence[Task], scores: Scores, weights: Weights, budget: int) -> Pair | None:
    """Two arms on the questions that both finished; None where there are none that count."""
    sides = [scores.get(arm, {}).get(f"outcome@{budget}", np.full(len(tasks), np.nan)) for arm in (a, b)]
    questions = tuple(
        Compared(task.id, task.category, task.cluster, sign(float(first - second)))
        for task, first, second in zip(tasks, *sides, strict=True)
        if not np.isnan(first - second)
    )
    if not sum(weights.shares[one.family] for one in questions):
        return None
    return Pair(a, b, questions, weights)


def _gap(pair: Pair) -> float:
    return float(pair.each @ pair.outcomes)


def _check(
    metric: str, value: float | None, expected: float, passed: bool | None, asks: str, low: float | None = None
) -> Check:
    return {
        "metric": metric,
        "value": value,
        "expected": expected,
        "low": expected if low is None else low,
        "high": expected,
        "passed": passed,
        "detail": asks if value is None else f"{asks}: {value:.4g}",
    }
