"""Summaries as the producer writes them, for the tests of the reports."""

from __future__ import annotations

import math
from typing import Any

BUDGETS = (1000, 2000, 4000, 8000, 12000)
KS = (5, 10, 20)
CATEGORIES = {"multi-hop": 282, "temporal": 321, "open-domain": 92, "single-hop": 841}
NAMES = (
    "lexical",
    "files",
    "full-context",
    "lexical-windows",
    "notes-graph",
    "vector-small",
    "entity-links",
    "platform",
)


def est(value: float | None, width: float = 0.035, n: int = 1536, reason: str | None = None) -> dict[str, Any]:
    ends = (None, None) if value is None else (max(0.0, value - width), min(1.0, value + width * 0.9))
    return {
        "value": value,
        "low": ends[0],
        "high": ends[1],
        "level": 0.95,
        "n": n,
        "clusters": 10,
        "method": "cluster-t",
        "reason": reason,
    }


def diff(value: float | None, width: float = 0.04, reason: str | None = None) -> dict[str, Any]:
    made = est(value, width, reason=reason)
    if value is not None:
        made |= {"low": value - width, "high": value + width}
    return made


def recall(strength: float, budget: int) -> float:
    return min(0.985, strength + 0.085 * math.log2(budget / 1000))


def metrics(strength: float, n: int = 1536, reason: str | None = None) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for family, plus in (("all", 0.0), ("any", 0.08), ("rec", 0.05)):
        for budget in BUDGETS:
            value = None if reason else min(0.99, recall(strength, budget) + plus)
            made[f"{family}@{budget}"] = est(value, n=n, reason=reason)
        for k in KS:
            value = None if reason else min(0.99, strength - 0.1 + plus + 0.03 * math.log2(k))
            made[f"{family}@k{k}"] = est(value, n=n, reason=reason)
    return made


def arm(name: str, strength: float, reason: str | None = None) -> dict[str, Any]:
    return {
        "role": "contender" if name != "files" else "baseline",
        "memory": name.split("-")[0],
        "options": {"top_k": 40, "window": 5, "stemmer": "english"} if name.startswith("lexical") else {},
        "source": {"origin": "memassay", "version": "0.1.0"},
        "reason": reason,
        "n": 1536,
        "data": "real",
        "model": "none",
        "metrics": metrics(strength, reason=reason),
        "cluster_means": {f"all@{b}": recall(strength, b) - 0.01 for b in BUDGETS},
        "cited": {
            f"cited@{b}": est(None if reason else min(1.0, recall(strength, b) + 0.02), reason=reason) for b in BUDGETS
        },
        "splits": {
            "dev": {"n": 231, "metrics": metrics(strength + 0.04, 231, reason)},
            "test": {"n": 1305, "metrics": metrics(strength - 0.01, 1305, reason)},
        },
        "categories": {
            c: {"n": n, "all@4000": est(None if reason else min(0.98, strength + shift), 0.06, n, reason)}
            for (c, n), shift in zip(CATEGORIES.items(), (-0.2, 0.12, -0.12, 0.2), strict=True)
        },
        "failures": {"memory": 3 if name == "files" else 0, "provider": 0, "harness": 0},
        "attempts": {"cells": 1536, "extra": 2 if name == "files" else 0},
        "secondary": {
            "answered_only": {
                "n": 1533 if name == "files" else 1536,
                "metrics": metrics(strength + 0.002, reason=reason),
            },
            "keys": {
                "audit-excluded": {"n": 1437, "metrics": metrics(strength + 0.01, 1437, reason)},
                "audit-corrected": {"n": 1536, "metrics": metrics(strength + 0.015, reason=reason)},
            },
            "sensitivity": {
                "without duplicates and partly resolvable": {
                    "n": 1522,
                    "metrics": metrics(strength + 0.001, 1522, reason),
                }
            },
        },
        "usage": {
            "build": {"seconds": 2.41, "cost_usd": None, "bytes": 4_210_332, "passages": 29_410, "stores": 10},
            "retrieve_ms": {"p50": 1.7, "p95": 4.2},
            "tokens_per_dossier": {"p50": 11_960, "p95": 12_000},
        },
    }


def summary(arms: int = 3, *, primary: bool = True, sample: bool = False, unmeasured: bool = False) -> dict[str, Any]:
    names = NAMES[:arms]
    strengths = (0.6, 0.47, 0.22, 0.62, 0.55, 0.585, 0.41, 0.3)
    made = {name: arm(name, s) for name, s in zip(names, strengths, strict=False)}
    if unmeasured:
        made[names[-1]] = arm(names[-1], 0.3, "the platform needs a model and none was given")
    comparisons = []
    for i, a in enumerate(names):
        for j, b in enumerate(names):
            if i >= j:
                continue
            for budget in BUDGETS:
                for split in ("all", "test"):
                    first = primary and (a, b, budget, split) == ("lexical", "files", 4000, "test")
                    reason = made[a]["reason"] or made[b]["reason"]
                    gap = None if reason else strengths[i] - strengths[j]
                    comparisons.append(
                        {
                            "a": a,
                            "b": b,
                            "metric": f"all@{budget}",
                            "split": split,
                            "diff": diff(gap, 0.03 + 0.01 * (budget // 4000), reason),
                            "mean_over_clusters": None if gap is None else gap + 0.004,
                            "p": None if gap is None else 0.0078,
                            "p_adjusted": None if gap is None else 0.0156,
                            "verdict": ("no decision" if sample else "better") if first else "exploratory",
                            "reason": None,
                            "equal_budget": True,
                            "wins": 300,
                            "losses": 20,
                            "ties": 1216,
                        }
                    )
    checks = {
        "oracle": [
            {"metric": f"all@{b}", "value": v, "expected": v, "low": v, "high": v, "passed": True,
             "detail": "share of questions whose gold fits"}
            for b, v in zip(BUDGETS, (0.97, 0.992, 0.998, 1.0, 1.0), strict=True)
        ],
        "empty": [{"metric": "all@12000", "value": 0.0, "expected": 0.0, "low": 0.0, "high": 0.0, "passed": True,
                   "detail": "nothing returned, nothing found"}],
        "random": [{"metric": "all@4000", "value": 0.101, "expected": 0.103, "low": 0.081, "high": 0.127,
                    "passed": True, "detail": "99.9 % band of 200 draws"}],
        "shuffled-gold": [{"metric": "all@4000", "value": 0.012, "expected": None, "low": 0.0, "high": 0.201,
                           "passed": True, "detail": "gold of another question"}],
        "marker": [{"metric": "all@1000", "value": 1.0, "expected": 1.0, "low": 1.0, "high": 1.0, "passed": True,
                    "detail": "one planted document per conversation, found by every arm"}],
    }  # fmt: skip
    return {
        "schema_version": 1,
        "suite": "locomo",
        "run": "locomo-2026-11-30",
        "stage": "retrieval",
        "sample": sample,
        "data": "generated" if sample else "real",
        "model": "none",
        "identity_digest": "9f2c4b1de07a5c3388d1b64f0a2e77c95b1f3c60d4e8a9172b5c6d7e8f901234",
        "tokens": "o200k_base",
        "budgets": list(BUDGETS),
        "ks": list(KS),
        "version": "0.1.0",
        "publishable": {"value": False, "reasons": ["the source tree was not clean", "sample data carry no verdict"]}
        if sample or not primary
        else {"value": True, "reasons": []},
        "primary": {"metric": "all@4000", "split": "test", "a": "lexical", "b": "files"} if primary else None,
        "headline_metric": "all@4000",
        "controls": {name: {"passed": True, "checks": found} for name, found in checks.items()},
        "chance": {
            f"all@{b}": {"mean": m, "low": m * 0.8, "high": m * 1.2}
            for b, m in zip(BUDGETS, (0.023, 0.044, 0.103, 0.253, 0.414), strict=True)
        },
        "ceilings": {
            key: {f"all@{b}": v for b, v in zip(BUDGETS, (0.97, 0.992, 0.998, 1.0, 1.0), strict=True)}
            for key in ("original", "audit-excluded", "audit-corrected")
        },
        "arms": made,
        "comparisons": comparisons,
        "notes": ["11 questions repeat an earlier one; they are named in tasks.jsonl."],
        "test_reads": 3,
    }


def pool(arms: int = 4) -> dict[str, Any]:
    """A summary as of a suite with one pool of pages: ``both`` for ``all``, joined questions, the suite's own words."""
    made = summary(arms)
    for found in made["arms"].values():
        found["metrics"] = {k.replace("all@", "both@"): v for k, v in found["metrics"].items()}
    for row in made["comparisons"]:
        row |= {"metric": row["metric"].replace("all@", "both@"), "test": "exact sign-flip", "p": 1e-17}
        if (row["a"], row["b"], row["metric"], row["split"]) == ("lexical", "files", "both@1000", "test"):
            row |= {"verdict": "better", "reason": "exact sign-flip p = 1e-17 and the interval excludes 0"}
    kinds = {"both": "every gold page", "any": "at least one gold page", "rec": "share of the gold pages"}
    titles = {f"{f}@{b}": f"{t} within {b:,} tokens" for f, t in kinds.items() for b in BUDGETS}
    titles |= {f"{f}@k{k}": f"{t} among the first {k} distinct pages" for f, t in kinds.items() for k in KS}
    return made | {
        "suite": "hotpotqa",
        "headline_metric": "both@1000",
        "primary": {"metric": "both@1000", "split": "test", "a": "lexical", "b": "files"},
        "titles": titles,
        "words": {"tasks": "questions", "clusters": "groups that share no gold page"},
        "suite_settings": {
            "rendering": 1,
            "links": "titles",
            "data": {"sha256": "53" * 32, "catalogue": True, "name": "hotpotqa-289"},
            "draw": {"seed": 20260718, "dev": 289, "test": 0, "digest": "6e" * 32},
            "pool": {"pages": 2846, "links": 1457},
        },
    }
