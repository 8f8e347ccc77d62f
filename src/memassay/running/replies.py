"""Which models replied under another name than the one that was asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from memassay.judging.verdicts import REPLIED
from memassay.running.plan import Plan
from memassay.runs.folder import FINAL, Counted, RunFolder
from memassay.runs.records import Key


def other_models(run: RunFolder, plan: Plan, counted: Mapping[Key, Counted]) -> list[str]:
    """A line for each name that an agent's or a judge's model went by, where it is not the name that was asked for.

    An address of the user's own may call a model as it likes, or serve another one; which of the two cannot be told.

    Args:
        run: the folder, judged.
        plan: the run's plan.
        counted: the records that count.
    """
    found: Counter[tuple[str, str, str, str]] = Counter()
    for answer in run.each(counted) if plan.answers else ():
        if answer.status.kind in FINAL:
            for check in (check for step in answer.steps for check in step.checks):
                if check.name == "model" and check.passed is False:
                    found["The agent", str(check.expected), str(check.observed or "no name"), "answers"] += 1
    for judge in plan.model_judges:
        for verdict in run.each_judgement(judge.id):
            if REPLIED in verdict.labels:
                found[f"Judge {judge.id}", judge.name, str(verdict.labels[REPLIED] or "no name"), "verdicts"] += 1
    for name, about in run.pair_manifests():
        for verdict in run.each_pair_verdict(name):
            if REPLIED in verdict.labels:
                asked = str(about["entry"]["model"])
                found[f"Judge {name}", asked, str(verdict.labels[REPLIED] or "no name"), "comparisons"] += 1
    return [
        f"{who} asked for the model {asked}; what replied calls itself {said} ({n} {of})."
        for (who, asked, said, of), n in sorted(found.items())
    ]
