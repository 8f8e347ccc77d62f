"""Does the harness measure right? The controls' scores against what they must be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from memassay.core.contracts import Control, Grading, Suite
from memassay.core.digest import digest_text
from memassay.core.dossier import block, rendering
from memassay.core.tokens import tokenizer
from memassay.core.types import Corpus, Dossier, Estimate, Task
from memassay.core.views import Surroundings, oracle, original, unit_passage
from memassay.core.wording import common_start, find, normalise, stands
from memassay.running.scores import Scores, Vector
from memassay.stats import (
    SHUFFLED_ALLOWANCE,
    Band,
    ControlCheck,
    check_empty,
    check_oracle,
    check_random,
    check_shuffled_gold,
    draw_band,
)

DRAWS = 200


def expectations(
    tasks: Sequence[Task],
    corpora: Mapping[str, Corpus],
    keys: Sequence[str],
    tokens: str,
    budgets: Sequence[int],
    seed: int,
    controls: bool,
    family: str = "all",
) -> dict[str, Any]:
    """What the controls must show, fixed before the first cell: ``{"ceilings": per key, "chance": bands}``.

    Args:
        tasks: the suite's tasks of this run.
        corpora: by id.
        keys: gold keys, the primary one first.
        tokens: the tokenizer's name.
        budgets: in tokens.
        seed: of the random control.
        controls: whether the run has controls; without, there are no bands.
        family: what the suite calls "every piece of gold" (``both`` where it is a pair).
    """
    graded = [t for t in tasks if original(t).evidence]
    return {
        "ceilings": {key: ceilings(graded, corpora, tokens, budgets, key, family) for key in keys},
        "chance": {m: asdict(b) for m, b in chance_bands(graded, corpora, tokens, budgets, seed, family).items()}
        if controls
        else {},
    }


def chance_bands(
    tasks: Sequence[Task],
    corpora: Mapping[str, Corpus],
    tokens: str,
    budgets: Sequence[int],
    seed: int,
    family: str = "all",
) -> dict[str, Band]:
    """Where ``all@B`` of a random order of all units falls: the band of 200 draws per budget.

    A gold turn is found where any unit that holds its words has come, whole, within the budget. The permutations of one
    corpus serve all its questions, each question in another order of draws, so that draws stay independent of one
    another and questions nearly so.
    """
    counter = tokenizer(tokens)
    needs: list[Vector] = []
    by_scope: dict[str, list[Task]] = {}
    for task in tasks:
        by_scope.setdefault(task.scope, []).append(task)
    for scope, asked in by_scope.items():
        generator = np.random.Generator(np.random.PCG64(int(digest_text(f"chance/{seed}/{scope}")[:15], 16)))
        units = [(unit, d.id) for d in corpora[scope].documents for unit in d.units]
        if not units:
            continue
        marks = np.array([counter.marks(block(100, unit_passage(*u).text)) for u in units], dtype=np.float64)
        texts = [normalise(unit_passage(*u).text) for u in units]
        holders: dict[str, Any] = {}
        for task in asked:
            for gold in original(task).evidence:
                want = normalise(gold.text)
                if want not in holders:
                    # The grader's own rule: as words, and as soon as the words themselves are within the budget.
                    reach = {i: at + len(want) for i, text in enumerate(texts) if (at := find(want, text)) >= 0}
                    where = np.array(list(reach), dtype=np.int64)
                    after = np.array([1 - end / len(texts[i]) for i, end in reach.items()])
                    holders[want] = where, after * marks[where]
        ends = np.empty((DRAWS, len(units)))
        for draw in range(DRAWS):
            order = generator.permutation(len(units))
            ends[draw, order] = np.cumsum(marks[order])
        for task in asked:
            need = np.zeros(DRAWS)
            for gold in original(task).evidence:
                where, after = holders[normalise(gold.text)]
                need = np.maximum(need, (ends[:, where] - after).min(axis=1) if len(where) else np.inf)
            needs.append(np.roll(need, int(generator.integers(DRAWS))))
    if not needs:
        return {}
    table = np.stack(needs)
    return {
        f"{family}@{budget}": draw_band((table <= budget * counter.marks_per_token).mean(axis=0)) for budget in budgets
    }


def ceilings(
    tasks: Sequence[Task],
    corpora: Mapping[str, Corpus],
    tokens: str,
    budgets: Sequence[int],
    key: str = "original",
    family: str = "all",
) -> dict[str, float]:
    """The share of questions whose gold fits each budget, counted on the whole rendered text at once.

    This does not use the grader or its block arithmetic: it is what the oracle must reach, and what no arm can pass.
    """
    counter = tokenizer(tokens)
    fits = {budget: 0 for budget in budgets}
    n = 0
    for task in tasks:
        gold = task.gold.get(key)
        if gold is None or gold.excluded is not None or not gold.evidence:
            continue
        n += 1
        shown = task.model_copy(update={"gold": {key: gold}})
        dossier = oracle(shown, Dossier(), Surroundings(corpora[task.scope], (), 0))
        blocks = rendering(dossier, tokens).blocks
        wanted = [normalise(e.text) for e in gold.evidence]
        for budget in budgets:
            cut = counter.cut("".join(blocks), budget * counter.marks_per_token)
            fits[budget] += all(_in_blocks(want, blocks, len(cut)) for want in wanted)
    return {f"{family}@{budget}": count / n for budget, count in fits.items()} if n else {}


def _in_blocks(want: str, blocks: Sequence[str], length: int) -> bool:
    """Whether words stand in one of the blocks, of which the first ``length`` characters in all are left."""
    start = 0
    for number, block_text in enumerate(blocks, start=1):
        head = len(f"[{number}] ")
        text = normalise(block_text[head:])
        left = normalise(block_text[head : max(head, length - start)])
        if stands(want, text, common_start(text, left)):
            return True
        start += len(block_text)
    return False


def check_controls(
    scores: Scores,
    marker_scores: Mapping[str, Sequence[float | None]],
    arms: Mapping[str, Mapping[str, Estimate]],
    bands: Mapping[str, Band],
    ceiling: Mapping[str, float],
) -> dict[str, Any]:
    """The ``controls`` part of a summary: every check of every control, and whether each control passed.

    Args:
        scores: of the primary judge, controls among its arms.
        marker_scores: per contender, the score of each marker task (None where unfinished).
        arms: metrics of the contenders.
        bands: of the random control.
        ceiling: share of questions whose gold fits, per metric.
    """
    metrics = list(ceiling)
    observed = {
        (control, metric): _mean(scores, control, metric)
        for control in ("oracle", "empty", "random", "shuffled-gold")
        for metric in metrics
    }
    found: dict[str, list[dict[str, Any]]] = {
        "oracle": [],
        "empty": [],
        "random": [],
        "shuffled-gold": [],
        "marker": [],
    }
    for metric in metrics:
        found["oracle"].append(
            _entry(metric, check_oracle(observed["oracle", metric], ceiling[metric]), ceiling[metric])
        )
        found["empty"].append(_entry(metric, check_empty(observed["empty", metric]), 0.0))
        band = bands.get(metric)
        if band is not None:
            found["random"].append(
                _entry(metric, check_random(observed["random", metric], band), band.mean, band.low, band.high)
            )
            for name, estimates in arms.items():
                check = check_shuffled_gold(observed["shuffled-gold", metric], band.mean, estimates[metric])
                limit = min(1.0, band.mean + SHUFFLED_ALLOWANCE)
                found["shuffled-gold"].append({**_entry(metric, check, band.mean, 0.0, limit), "arm": name})
    for name, values in marker_scores.items():
        hits = sum(1 for v in values if v == 1.0)
        unasked = sum(1 for v in values if v is None)
        passed = None if unasked or not values else hits == len(values)
        detail = f"{name} found {hits} of {len(values)} planted documents"
        if unasked:
            detail += f", and was not asked for {unasked}"
        found["marker"].append(
            {
                "metric": "found",
                "arm": name,
                "value": hits / len(values) if values else None,
                "expected": 1.0,
                "low": 1.0,
                "high": 1.0,
                "passed": passed,
                "detail": detail,
            }
        )
    return {name: {"passed": _outcome(checks), "checks": checks} for name, checks in found.items()}


def check_own(scores: Scores, controls: Sequence[Control]) -> dict[str, Any]:
    """The ``controls`` part of a summary where the suite has controls of its own; shaped as by ``check_controls``."""
    found: dict[str, list[dict[str, Any]]] = {}
    for control in controls:
        value = _mean(scores, control.arm.name, control.metric)
        inside = None if value is None else control.low <= value <= control.high
        band = f"{control.low:g}" if control.low == control.high else f"{control.low:g} to {control.high:g}"
        found.setdefault(control.arm.name, []).append(
            {
                "metric": control.metric,
                "value": value,
                "expected": (control.low + control.high) / 2,
                "low": control.low,
                "high": control.high,
                "passed": inside,
                "detail": f"must be {band}" if value is None else f"{value:.4g}, must be {band}",
            }
        )
    return {name: {"passed": _outcome(checks), "checks": checks} for name, checks in found.items()}


def check_suite(suite: Suite, grading: Grading, by_judge: Mapping[str, Scores]) -> dict[str, Any]:
    """What a suite asks of its controls beside the usual, where it has ``checks``; shaped as by ``check_controls``.

    Args:
        suite: ``checks(grading, tasks, scores)`` gets every arm's scores by name, one number per task, NaN where there
            is none, and gives rows of checks by name of the control.
        grading: of the run.
        by_judge: scores by judge id, the primary's first.
    """
    checks = getattr(suite, "checks", None)
    if checks is None:
        return {}
    given: dict[str, dict[str, Vector]] = {}
    tasks: Sequence[Task] = ()
    for scores in by_judge.values():
        tasks = scores.tasks
        for arm, values in scores.values.items():
            held = given.setdefault(arm, {})
            for metric, vector in values.items():
                held.setdefault(metric, np.where(scores.missing, np.nan, vector))
    found: Mapping[str, Sequence[dict[str, Any]]] = checks(grading, tasks, given)
    return {name: {"passed": _outcome(rows), "checks": list(rows)} for name, rows in found.items()}


def _outcome(checks: Sequence[Mapping[str, Any]]) -> bool | None:
    """Whether a control passed: every check did. None where none failed, but not all could be made."""
    passed = [check["passed"] for check in checks]
    if False in passed:
        return False
    return None if not passed or None in passed else True


def _mean(scores: Scores, arm: str, metric: str) -> float | None:
    keep = scores.defined(arm, metric)
    return float(scores.values[arm][metric][keep].mean()) if keep.any() else None


def _entry(
    metric: str, check: ControlCheck, expected: float, low: float | None = None, high: float | None = None
) -> dict[str, Any]:
    return {
        "metric": metric,
        "value": check.observed,
        "expected": expected,
        "low": expected if low is None else low,
        "high": expected if high is None else high,
        "passed": check.passed,
        "detail": check.reason or check.expected,
    }
