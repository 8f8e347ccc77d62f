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


NO_DOSSIER = "this arm gives its agent tools or files and no dossier, so what it found cannot be graded"
OF_ANSWERS = ("j", "j_lenient", "f1", "exact_match", "bleu1", "locomo_f1")
ARMS = {
    "lexical/dossier": (["dossier"], 0.62),
    "markdown/tools": (["tools"], 0.71),
    "files/folder": (["folder"], 0.55),
}


def of_answers(strength: float, n: int = 1536) -> dict[str, Any]:
    shares = {"j": 0.0, "j_lenient": 0.12, "f1": -0.1, "exact_match": -0.4, "bleu1": -0.15, "locomo_f1": -0.12}
    return {name: est(max(0.0, strength + shift), 0.04, n) for name, shift in shares.items()}


def audit(accept: float, reject: float) -> dict[str, Any]:
    """What an audit of a judge leaves in the summary."""
    kinds = {}
    for kind in ("right", "paraphrased", "vague", "specific", "too-long", "abstaining"):
        right = kind in ("right", "paraphrased")
        value = reject if right else accept
        kinds[kind] = {
            "n": 100,
            "failed": 1 if kind == "vague" else 0,
            "accepted": 96,
            "error": "false reject" if right else "false accept",
            "rate": est(value, 0.03, 100),
            "wilson": {"low": max(0.0, value - 0.02), "high": value + 0.03},
        }
    return {
        "schema_version": 1,
        "kinds": kinds,
        "false_accept": est(accept, 0.02, 400),
        "false_reject": est(reject, 0.02, 200),
        "errors": [],
    }


def judge(metric: str, use: str, *, model: str = "real", found: dict[str, Any] | None = None) -> dict[str, Any]:
    tokens = {"input": 2_310_400, "output": 184_320, "cache_read": 0, "cache_write": 0}
    return {
        "id": f"{use}-large",
        "metric": metric,
        "use": use,
        "name": "scripted/judge.json" if model == "scripted" else "some-large-model",
        "model": model,
        "usage": {
            "n": 13_824,
            "failed": 2 if use == "binary" else 0,
            "tokens": tokens,
            "cost_usd": None if model == "scripted" else 3.2412,
        },
        "audit": found,
    }


def spent(strength: float) -> dict[str, Any]:
    """``usage.answers`` of an arm."""
    return {
        "n": 4608,
        "tokens": {"input": 18_892_800, "output": 221_184, "cache_read": 4_147_200, "cache_write": 460_800},
        "tokens_per_answer": {"input": 4100.0, "output": 48.0, "cache_read": 900.0, "cache_write": 100.0},
        "cost_usd": 61.2,
        "reported_usd": 61.5,
        "cost_difference_usd": -0.3,
        "attempts_usd": 62.75,
        "turns": {"mean": 3.2, "p50": 3.0, "p95": 7.0},
        "tool_calls": {"mean": 2.2, "p50": 2.0, "p95": 6.0},
        "seconds": {"mean": 5.0, "p50": 4.2, "p95": 11.9},
        "statuses": {"limit-turns": 12, "memory-timeout": 3, "ok": 4590, "refused": 3},
        "stores_changed": 0,
    }


def answered(judge_model: str = "real", *, audited: bool = True, agent_model: str = "real") -> dict[str, Any]:
    """A summary of three arms that an agent answered: a dossier, tools, files; two judges, three repetitions."""
    made = summary(3)
    made["arms"] = dict(zip(ARMS, made["arms"].values(), strict=True))
    for (name, (access, strength)), arm_ in zip(ARMS.items(), made["arms"].values(), strict=True):
        blocks = [
            (arm_["metrics"], 1536),
            *((s["metrics"], s["n"]) for s in arm_["splits"].values()),
            (arm_["secondary"]["answered_only"]["metrics"], 1521),
            *((k["metrics"], k["n"]) for k in arm_["secondary"]["keys"].values()),
            *((s["metrics"], s["n"]) for s in arm_["secondary"]["sensitivity"].values()),
            *((c, c["n"]) for c in arm_["categories"].values()),
        ]
        for block, n in blocks:
            if "dossier" not in access:
                block |= {m: est(None, reason=NO_DOSSIER) for m in block if "@" in m}
            block |= of_answers(strength + (0.01 if n == 1521 else 0.0), n)
        if "dossier" not in access:
            arm_["cited"] = {m: est(None, reason=NO_DOSSIER) for m in arm_["cited"]}
        arm_["secondary"]["answered_only"]["n"] = 1521
        arm_ |= {"access": access, "model": agent_model, "memory": name.split("/")[0]}
        arm_["failures"] = {"memory": 15, "provider": 0, "harness": 0}
        arm_["repetitions"] = {
            metric: {
                "means": [strength - 0.004, strength, strength + 0.004],
                "mean": strength,
                "sd": 0.004,
                "within_task_sd": 0.07,
                "tasks": 1536,
                "reason": None,
            }
            for metric in OF_ANSWERS
        }
        arm_["usage"]["answers"] = spent(strength)
    names = list(ARMS)
    strengths = [strength for _, strength in ARMS.values()]
    made["comparisons"] = [
        {
            "a": a,
            "b": b,
            "metric": metric,
            "split": split,
            "diff": diff(strengths[i] - strengths[j], 0.04),
            "mean_over_clusters": strengths[i] - strengths[j] + 0.003,
            "p": 0.0078,
            "test": "sign-flip",
            "p_adjusted": 0.0156,
            "verdict": "better" if (a, b, metric, split) == (names[0], names[2], "j", "test") else "exploratory",
            "reason": "sign-flip p = 0.0078 and the interval excludes 0",
            "equal_budget": True,
            "wins": 300,
            "losses": 200,
            "ties": 1036,
        }
        for i, a in enumerate(names)
        for j, b in enumerate(names)
        if i < j
        for metric in OF_ANSWERS
        for split in ("all", "test")
    ]
    wordings = {"binary": "j", "lenient": "j_lenient"}
    found = {"binary": audit(0.031, 0.052), "lenient": audit(0.37, 0.01)} if audited else {}
    titles = {m: f"share judged right ({use}, some-large-model)" for use, m in wordings.items()}
    return made | {
        "stage": "answer",
        "model": agent_model,
        "agent": {"name": "api", "options": {"model": "some-model"}, "model": agent_model, "provider": "anthropic"},
        "judges": (judges := [judge(m, use, model=judge_model, found=found.get(use)) for use, m in wordings.items()]),
        "judging": {"judges": [one["usage"] for one in judges if one["model"] == "real"]},
        "repetitions": 3,
        "stopped": "",
        "answer_metrics": list(OF_ANSWERS),
        "headline_metric": "j",
        "primary": {"metric": "j", "split": "test", "a": names[0], "b": names[2]},
        "words": {"tasks": "questions", "clusters": "conversations"},
        "titles": {
            **titles,
            "f1": "words of the answer and of the gold answer, as sets (F1)",
            "exact_match": "share of answers equal to the gold answer but for case",
            "bleu1": "words of the answer that the gold answer has (BLEU-1)",
            "locomo_f1": "the data set's own score of the category",
        },
    }
