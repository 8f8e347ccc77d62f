"""A run's own judges audited on its own questions; what is found is kept in the run, beside its scores."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from memassay.core.errors import UsageError
from memassay.running.audit import audit
from memassay.running.experiment import JudgeEntry
from memassay.running.gathering import tasks_of
from memassay.running.judges import model_judges, reopened, with_kept
from memassay.running.pipeline import plan_of, unavailable_arms
from memassay.running.planted import plant
from memassay.running.summarise import summarise
from memassay.runs.folder import RunFolder


def audit_run(run: RunFolder, judges: Sequence[JudgeEntry] = (), *, per_kind: int, seed: int) -> dict[str, Any]:
    """Audit judges on the questions of a run.

    Args:
        run: the run.
        judges: those to audit; the run's own where there are none.
        per_kind: planted answers of a kind, at most.
        seed: what is planted where.

    Raises:
        UsageError: there is no judge to audit, or no question with a gold answer.
    """
    plan = plan_of(run)
    manifests = run.judge_manifests()
    experiment = plan.experiment.model_copy(update={"judges": tuple(judges)})
    asked = model_judges(experiment, plan.suite) if judges else reopened(manifests, plan.suite)
    if not asked:
        raise UsageError("No judge with a model has judged this run; name one: --judge MODEL.")
    items = plant(tasks_of(plan), per_kind=per_kind, seed=seed)
    found = asyncio.run(audit(items, asked, design=plan.design.name))
    about = {name: value for name, value in found.items() if name != "judges"}
    for judge in asked:
        run.record_audit(judge.id, {**about, **found["judges"][judge.id]})
    if (run.path / "summary.json").exists():
        plan = replace(plan, model_judges=with_kept((), manifests))
        with run.concluding():
            run.write_summary(summarise(run, plan, unavailable_arms(run), log_reads=False))
    return found
