"""From judgements to the summary: every number with its error bar, every comparison paired."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from memassay.core.types import BuildReport, Estimate
from memassay.running.comparisons import compare_arms
from memassay.running.conclusions import conclusion_of
from memassay.running.contenders import SPEAKS, without_places
from memassay.running.controls import check_controls, check_own, check_suite
from memassay.running.estimate import WANTED_POWER, primary_in_words, primary_power
from memassay.running.footprint import footprint
from memassay.running.gathering import Gathered, gather
from memassay.running.judges import ModelJudge
from memassay.running.markers import MARKER
from memassay.running.pairing import standing
from memassay.running.plan import Plan, is_sample, marked
from memassay.running.publishable import publishable
from memassay.running.registration import registration_of
from memassay.running.replies import other_models
from memassay.running.scores import Mask, Scores, merged
from memassay.running.usage import Used, attempts_cost, judging_bill, judging_usage, used
from memassay.runs.folder import RunFolder
from memassay.runs.ledger import log_test_read
from memassay.runs.records import key_of
from memassay.stats import Band, Clusters, Design, cluster_mean, rerun_noise
from memassay.version import __version__

SCHEMA = 1
KINDS = ("memory", "provider", "harness")


def summarise(
    run: RunFolder,
    plan: Plan,
    unavailable: Mapping[str, str],
    *,
    log_reads: bool = True,
    stopped: str = "",
    silent: Sequence[str] = (),
) -> dict[str, Any]:
    """The summary of a run as far as it has come (architecture.md, section 7).

    Args:
        run: the folder, judged.
        plan: the run's plan.
        unavailable: arms that cannot be measured, with the reason.
        log_reads: note the read of the test split in the folder's parent.
        stopped: why the run was stopped before its end, or "".
        silent: judges that were asked and gave no verdict.
    """
    counted, extra = run.counted()
    gathered = gather(run, plan, unavailable)
    tasks = list(gathered.scores.tasks)
    expected = run.expected()
    ceiling: dict[str, dict[str, float]] = expected["ceilings"]
    bands = {metric: Band(**band) for metric, band in expected["chance"].items()}
    asked = {task.id for task in tasks}
    usages = used(answer for answer in run.each(counted) if answer.cell.task in asked)
    costs = attempts_cost(run) if plan.answers else {}
    built = run.builds()
    arms = {
        arm.name: _arm(
            plan,
            arm.name,
            gathered,
            usages.get(arm.name, Used()),
            costs.get(arm.name, 0.0),
            built,
            unavailable.get(arm.name),
        )
        for arm in plan.contenders
    }
    model = str((plan.identity.get("agent") or {}).get(SPEAKS, "none"))
    controls: dict[str, Any] = {}
    if plan.own_controls:
        controls = check_own(gathered.scores, plan.own_controls)
    elif plan.experiment.controls:
        marker_scores = _marker_scores(run, plan, unavailable)
        estimates = {
            name: {m: Estimate.model_validate(e) for m, e in arm["metrics"].items()}
            for name, arm in arms.items()
            if name not in unavailable
        }
        controls = check_controls(gathered.scores, marker_scores, estimates, bands, next(iter(ceiling.values())))
        if not any(marked(arm) for arm in plan.contenders):
            del controls["marker"]  # nobody is asked for planted documents: all arms give their agents tools or files
        controls |= check_suite(plan.suite, plan.grading, gathered.by_judge)
    planned = sum(1 for c in plan.cells() if c.arm not in unavailable)
    reads = 0
    if any(t.split == "test" for t in tasks) and plan.suite.data == "real" and log_reads:
        reads = log_test_read(run.path, str(run.manifest.get("identity_digest", "")))
    comparing = standing(run, plan, counted, unavailable)
    registration = registration_of(run)
    summary: dict[str, Any] = {
        "schema_version": SCHEMA,
        "suite": plan.experiment.suite,
        "run": run.path.name,
        "stage": plan.experiment.stage,
        "sample": is_sample(plan.suite),
        "data": plan.suite.data,
        "model": model,
        "agent": _agent(plan),
        "judges": [_judge(run, judge, gathered) for judge in plan.model_judges],
        "pair_judges": comparing,
        "judging": judging_bill(run),
        "repetitions": plan.experiment.repetitions,
        "stopped": stopped,
        "identity_digest": run.manifest.get("identity_digest"),
        "registration": registration,
        "version": __version__,
        "tokens": plan.experiment.tokens,
        "budgets": list(plan.experiment.budgets),
        "ks": list(plan.experiment.ks),
        "publishable": publishable(
            plan,
            run,
            counted,
            planned,
            controls,
            unavailable,
            bands,
            headline(plan),
            extra["differing"],
            stopped=stopped,
            unjudged={judge.id: _judge(run, judge, gathered)["unjudged"] for judge in plan.model_judges}
            | dict.fromkeys(silent, None),
            comparing=comparing,
            registration=registration or {},
        ),
        "primary": plan.experiment.primary.model_dump(mode="json") if plan.experiment.primary else None,
        "headline_metric": headline(plan),
        "suite_settings": dict(sorted(plan.identity.get("suite_settings", {}).items())),
        "words": dict(getattr(plan.suite, "words", {})),
        "titles": {m.name: m.title for m in plan.all_metrics if m.title},
        "answer_metrics": answer_metrics(plan),
        "controls": controls,
        "answer_ceiling": _answer_ceiling(plan),
        "chance": {m: {"mean": b.mean, "low": b.low, "high": b.high} for m, b in bands.items()},
        "ceilings": ceiling,
        "arms": arms,
        "comparisons": compare_arms(plan, gathered.scores, unavailable, headline(plan)),
        "cells": {"planned": planned, "counted": sum(1 for k in counted if k[1] not in unavailable), **extra},
        "conclusion": dict(conclusion_of(run, plan, counted, unavailable)),
        "notes": [],
        "test_reads": reads,
    }
    summary["notes"] = [*_notes(plan, summary, gathered.scores), *other_models(run, plan, counted)]
    return summary


def _answer_ceiling(plan: Plan) -> dict[str, float]:
    """The share of the questions run whose answer key is right, in all and per category, where the suite knows it."""
    ceiling = getattr(plan.suite, "answer_ceiling", None)
    if ceiling is None:
        return {}
    tasks = [t for t in plan.tasks if t.category != MARKER]
    groups = {"all": tasks} | {
        c: [t for t in tasks if t.category == c] for c in dict.fromkeys(t.category for t in tasks)
    }
    found = {name: ceiling(group) for name, group in groups.items()}
    return {name: value for name, value in found.items() if value is not None}


def answer_metrics(plan: Plan) -> list[str]:
    """The metrics of answers, as opposed to those of what was found: judged ones first."""
    judged = [judge.metric for judge in plan.model_judges]
    return [*judged, *(m.name for m in plan.metrics if m.of == "answer")]


def headline(plan: Plan) -> str:
    """The metric shown first.

    The primary's; else of answers the first, judged if anything judges; else the suite's first family at 4,000 tokens
    or its largest budget.
    """
    if plan.experiment.primary:
        return plan.experiment.primary.metric
    answers = answer_metrics(plan)
    if answers:
        return answers[0]
    family = plan.metrics[0].name.partition("@")[0]
    at = [m for m in plan.metrics if m.budget is not None and m.name.partition("@")[0] == family]
    return next((m.name for m in at if m.budget == 4000), at[-1].name if at else plan.metrics[0].name)


def _arm(
    plan: Plan,
    name: str,
    gathered: Gathered,
    usage: Used,
    attempts_usd: float | None,
    builds: Sequence[BuildReport],
    reason: str | None,
) -> dict[str, Any]:
    arm = next(a for a in plan.arms if a.name == name)
    source = plan.sources[arm.memory]
    scores, ended = gathered.scores, gathered.ended
    tasks = scores.tasks
    everything = np.ones(len(tasks), dtype=np.bool_)
    metrics = [m.name for m in plan.all_metrics]
    cited = [f"cited@{b}" for b in plan.experiment.budgets]
    splits = list(dict.fromkeys(t.split for t in tasks))
    categories = [c for c in getattr(plan.suite, "categories", ()) if any(t.category == c for t in tasks)]
    categories += [c for c in dict.fromkeys(t.category for t in tasks) if c not in categories]
    answered = ~scores.failed.get(name, ~everything)
    kinds = ended.kinds.get(name, Counter())
    leave_out = getattr(plan.suite, "sensitivities", None)
    sensitivities: Mapping[str, frozenset[str]] = leave_out(tasks) if leave_out else {}
    found = {
        "role": arm.role,
        "access": list(arm.access),
        "memory": arm.memory.rpartition("/")[2],
        "options": without_places(arm.options),
        "source": {"origin": source.origin, "version": source.version, "code": source.code},
        "reason": reason,
        "data": plan.suite.data,
        "model": usage.model if plan.answers else "none",
        **_block(plan.design, scores, name, metrics, everything, reason),
        "cluster_means": {m: _cluster_mean(scores, name, m) for m in metrics},
        "cited": _block(plan.design, scores, name, cited, everything, reason)["metrics"],
        "splits": {s: _block(plan.design, scores, name, metrics, scores.where(split=s), reason) for s in splits},
        "categories": {
            c: _flat(_block(plan.design, scores, name, metrics, scores.where(category=c), reason)) for c in categories
        },
        "failures": {kind: kinds.get(kind, 0) for kind in KINDS},
        "secondary": {
            "answered_only": _block(plan.design, gathered.answered, name, metrics, everything, reason)
            if gathered.answered is not None
            else _block(plan.design, scores, name, metrics, answered, reason),
            "keys": {
                key: _block(plan.design, s, name, metrics, everything, reason)
                for key, s in _keys(plan, gathered).items()
            },
            "sensitivity": {
                title: _block(
                    plan.design,
                    scores,
                    name,
                    metrics,
                    np.array([t.id not in out for t in tasks], dtype=np.bool_),
                    reason,
                )
                for title, out in sensitivities.items()
                if any(t.id in out for t in tasks)
            },
        },
        "repetitions": _repetitions(scores, name, answer_metrics(plan)) if plan.experiment.repetitions > 1 else {},
        "usage": footprint(
            scores, name, usage.retrievals if plan.answers else usage.walls, [b for b in builds if b.memory == name]
        ),
    }
    if plan.answers:
        found["usage"]["answers"] = usage.summary(attempts_usd)
        if "dossier" not in arm.access:
            _without_dossier(found, [m.name for m in plan.metrics if m.of == "dossier"])
    return found


def _keys(plan: Plan, gathered: Gathered) -> dict[str, Scores]:
    """Scores by gold key; a key that graders of evidence and of answers both know has the metrics of both."""
    found: dict[str, Scores] = {}
    for judge in plan.judges:
        key = judge.config.get("key")
        if key is None:
            continue
        scores = gathered.by_judge[judge.id]
        if str(key) not in found:
            found[str(key)] = scores
        else:
            names = {metric: judge.id for values in scores.values.values() for metric in values}
            found[str(key)] = merged(found[str(key)], gathered.by_judge, names, gathered.ended)
    return found


def _repetitions(scores: Scores, arm: str, metrics: Sequence[str]) -> dict[str, Any]:
    """Mean and standard deviation over an arm's repetitions: how much a number moves when the run is made again."""
    found = {}
    for metric in metrics:
        table = scores.repeated.get(arm, {}).get(metric)
        if table is not None:
            table = np.where(scores.missing[:, None], np.nan, table)  # on the tasks of the arms' table, and no other
            whole = table[~np.isnan(table).any(axis=1)]
            noise = rerun_noise(table)
            found[metric] = {
                "means": [round(float(mean), 6) for mean in whole.mean(axis=0)] if len(whole) else [],
                "mean": round(float(whole.mean()), 6) if len(whole) else None,
                "sd": noise.sd,
                "within_task_sd": noise.within_task_sd,
                "tasks": noise.tasks,
                "reason": noise.reason,
            }
    return found


def _without_dossier(found: dict[str, Any], metrics: Sequence[str]) -> None:
    """Say why an arm that gives its agent no dossier has no recall."""
    reason = "this arm gives its agent tools or files and no dossier, so what it found cannot be graded"
    blank = Estimate(value=None, reason=reason).model_dump(mode="json")
    blocks = [found["metrics"], found["cited"], *(s["metrics"] for s in found["splits"].values())]
    for block in [*blocks, *found["categories"].values(), found["secondary"]["answered_only"]["metrics"]]:
        for metric in [*metrics, *found["cited"]]:
            if metric in block:
                block[metric] = dict(blank)


def _agent(plan: Plan) -> dict[str, Any] | None:
    """Who answered, for a reader: name, settings, and what it says of itself."""
    if not plan.answers:
        return None
    options = next((without_places(arm.agent_options) for arm in plan.contenders), {})
    return {
        "name": plan.experiment.agent,
        "options": options,
        **dict(sorted((plan.identity.get("agent") or {}).items())),
    }


def _judge(run: RunFolder, judge: ModelJudge, gathered: Gathered) -> dict[str, Any]:
    judged = gathered.by_judge[judge.id].judged
    left = sum(int(gathered.ended.finished[arm].sum() - counts.sum()) for arm, counts in judged.items())
    entry = judge.entry
    about = {"id": judge.id, "metric": judge.metric, "use": entry.use, "name": judge.name, "model": judge.model}
    return {**about, "unjudged": left, "usage": judging_usage(run, judge.id), "audit": run.audit(judge.id)}


def _block(
    design: Design, scores: Scores, arm: str, metrics: Sequence[str], where: Mask, reason: str | None
) -> dict[str, Any]:
    """``{"n", "metrics"}`` of an arm over some tasks."""
    found: dict[str, Any] = {}
    most = 0
    groups: dict[bytes, Clusters] = {}
    for metric in metrics:
        if reason is not None:
            found[metric] = Estimate(value=None, reason=reason).model_dump(mode="json")
            continue
        keep = scores.defined(arm, metric) & where
        values = scores.values[arm][metric][keep] if keep.any() else np.zeros(0)
        mask = keep.tobytes()
        if mask not in groups:
            groups[mask] = scores.clusters(keep)
        found[metric] = design.one_arm(values, groups[mask]).model_dump(mode="json")
        most = max(most, len(values))
    return {"n": most, "metrics": found}


def _flat(found: dict[str, Any]) -> dict[str, Any]:
    return {"n": found["n"], **found["metrics"]}


def _cluster_mean(scores: Scores, arm: str, metric: str) -> float | None:
    keep = scores.defined(arm, metric)
    return cluster_mean(scores.values[arm][metric][keep], scores.clusters(keep)) if keep.any() else None


def _marker_scores(run: RunFolder, plan: Plan, unavailable: Mapping[str, str]) -> dict[str, list[float | None]]:
    markers = [t.id for t in plan.tasks if t.category == MARKER]
    wanted = set(markers)
    judgements = {
        key_of(v.subjects[0]): v for v in run.each_judgement(plan.judges[0].id) if v.subjects[0].task in wanted
    }
    family = plan.metrics[0].name.partition("@")[0]
    metric = f"{family}@{max(plan.experiment.budgets)}"
    return {
        arm.name: [
            (found.scores.get(metric) if (found := judgements.get((task, arm.name, 0, 0))) else None)
            for task in markers
        ]
        for arm in plan.contenders
        if arm.name not in unavailable and marked(arm)
    }


def _notes(plan: Plan, summary: Mapping[str, Any], scores: Scores) -> list[str]:
    notes: list[str] = []
    if summary["stopped"]:
        notes.append(f"Stopped before the end: {summary['stopped']}.")
    if summary["sample"]:
        notes.append("Sample data, generated: they show that everything works and carry no verdict.")
    if scores.missing.any():
        notes.append(f"{int(scores.missing.sum())} tasks are unfinished for some arm and left out of every arm.")
    for arm, found in summary["arms"].items():
        if found["reason"]:
            notes.append(f"{arm} cannot be measured here: {found['reason']}")
    clusters = len({t.cluster for t in scores.tasks})
    if clusters == 1:
        notes.append("One cluster: every number holds given this conversation (or store) only.")
    elif clusters <= 5:
        joined = any(row["test"] == "exact sign-flip" for row in summary["comparisons"])
        test = "the exact sign-flip test over joined questions" if joined else plan.design.test
        notes.append(f"{clusters} clusters: {test} can never reach p = .05, so no comparison is decidable.")
    if plan.design.scope:
        notes.append(plan.design.scope)
    if plan.experiment.primary is None:
        notes.append("No primary comparison was named before the run: intervals are shown, verdict words are not.")
    power = primary_power(plan)
    if power is not None and power < WANTED_POWER:
        notes.append(f"The primary is {primary_in_words(power)}.")
    return notes
