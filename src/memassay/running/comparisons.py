"""Arms against arms: paired, by the rules of the suite's design, adjusted for how many there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from memassay.core.contracts import MetricSpec
from memassay.core.digest import digest_text
from memassay.running.plan import Plan
from memassay.running.scores import Scores
from memassay.stats import max_t, verdict


def compare_arms(plan: Plan, scores: Scores, unavailable: Mapping[str, str], headline: str) -> list[dict[str, Any]]:
    """Every pair of arms at every budget of the headline family, per split; p adjusted over each split's family.

    Args:
        plan: names the arms and the primary.
        scores: of the primary judge.
        unavailable: arms without a number.
        headline: the metric shown first; its family is compared at every budget.
    """
    names = [a.name for a in plan.contenders if a.name not in unavailable]
    primary = plan.experiment.primary
    pairs = list(combinations(names, 2))
    if primary is not None and (primary.b, primary.a) in pairs:
        pairs[pairs.index((primary.b, primary.a))] = (primary.a, primary.b)
    metrics = _compared(plan, headline)
    accesses = {arm.name: arm.access for arm in plan.contenders}
    splits = _splits([t.split for t in scores.tasks], primary.split if primary else "all")
    found: list[dict[str, Any]] = []
    for split in splits if pairs else ():
        where = np.ones(len(scores.tasks), dtype=np.bool_) if split == "all" else scores.where(split=split)
        columns: list[Any] = []
        rows: list[dict[str, Any]] = []
        for a, b in pairs:
            for metric in metrics:
                keep = scores.defined(a, metric.name) & scores.defined(b, metric.name) & where
                generator = np.random.Generator(np.random.PCG64(int(digest_text(f"flips/{split}")[:15], 16)))
                first = scores.values.get(a, {}).get(metric.name, np.full(len(scores.tasks), np.nan))
                second = scores.values.get(b, {}).get(metric.name, np.full(len(scores.tasks), np.nan))
                result = plan.design.two_arms(first[keep], second[keep], scores.clusters(keep), generator)
                named = primary is not None and (primary.a, primary.b, primary.metric, primary.split) == (
                    a,
                    b,
                    metric.name,
                    split,
                )
                word = verdict(result, primary=named)
                rows.append(
                    {
                        "a": a,
                        "b": b,
                        "metric": metric.name,
                        "split": split,
                        "diff": result.diff.model_dump(mode="json"),
                        "mean_over_clusters": result.mean_over_clusters,
                        "p": result.p,
                        "test": result.test,
                        "p_adjusted": None,
                        "verdict": word.word,
                        "reason": word.reason,
                        "equal_budget": metric.budget is not None
                        or (metric.of == "answer" and accesses[a] == accesses[b] == ("dossier",)),
                        "wins": result.wins,
                        "losses": result.losses,
                        "ties": result.ties,
                        "primary": named,
                    }
                )
                columns.append(np.where(keep, first - second, np.nan))
        if columns:
            used = ~np.isnan(np.stack(columns, axis=1)).all(axis=1)
            if used.any():
                generator = np.random.Generator(np.random.PCG64(int(digest_text(f"max-t/{split}")[:15], 16)))
                adjusted = max_t(np.stack(columns, axis=1)[used], scores.clusters(used), rng=generator)
                for row, p in zip(rows, adjusted, strict=True):
                    # One of many is never surer than alone: the draws of max-T can fall below an exact p.
                    row["p_adjusted"] = p if p is None or row["p"] is None else max(p, row["p"])
        found += rows
    return found


def _compared(plan: Plan, headline: str) -> list[MetricSpec]:
    """What arms are compared on: the headline family at every budget, or the metrics of answers; and the primary."""
    family = headline.partition("@")[0]
    found = [m for m in plan.metrics if m.budget is not None and m.name.partition("@")[0] == family]
    if plan.answers and not found:
        found = [m for m in plan.all_metrics if m.of == "answer"]
        found.sort(key=lambda m: m.name != headline)
    primary = plan.experiment.primary
    if primary is not None and primary.metric not in [m.name for m in found]:
        found += [m for m in plan.all_metrics if m.name == primary.metric]
    return found


def _splits(of_tasks: Sequence[str], named: str) -> list[str]:
    """``all`` and every split; where one split holds all tasks, the two are one: the one that the primary names."""
    splits = [s for s in dict.fromkeys(of_tasks) if s != "all"]
    if len(set(of_tasks)) == 1 and splits:
        return splits if splits == [named] else ["all"]
    return ["all", *splits]
