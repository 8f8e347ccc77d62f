"""A run read back from its folder alone: no data file, no store."""

from __future__ import annotations

from memassay.core.digest import digest_of
from memassay.core.errors import DataError
from memassay.core.registry import Source
from memassay.core.types import Arm, Task
from memassay.running.experiment import experiment_of
from memassay.running.plan import Plan, grading_of, load_suite, tasks_digest
from memassay.runs.folder import RunFolder

_FIXED = (
    "suite",
    "stage",
    "tokens",
    "budgets",
    "ks",
    "categories",
    "limit",
    "builds",
    "repetitions",
    "seed",
    "controls",
    "limits",
    "primary",
)


def plan_of(run: RunFolder) -> Plan:
    """The plan of a run, from its folder alone: no data file, no store.

    Raises:
        DataError: the folder is damaged.
        UnknownName: its suite is not installed here.
    """
    manifest = run.manifest
    identity = manifest["identity"]
    if digest_of(identity) != manifest.get("identity_digest"):
        raise DataError(f"{run.path}/manifest.json was changed: its identity is not the one of its digest; restore it.")
    # What can change a number comes from the guarded identity; the rest (the suite's options) is only how it was said.
    fixed = {name: identity[name] for name in _FIXED if name in identity} | {"scopes": identity["conversations"]}
    experiment = experiment_of({**manifest["experiment"], **fixed})
    suite = load_suite(experiment)
    grading = grading_of(experiment)
    arms = []
    sources: dict[str, Source] = {}
    for name, entry in identity["arms"].items():
        fields = dict(entry)
        source = fields.pop("source", None)
        fields.pop("agent_source", None)
        fields.pop("says", None)
        fields.pop("instructions", None)
        arms.append(Arm(name=name, **fields))
        if source:
            sources[fields["memory"]] = Source.parse(fields["memory"], source)
    order = [*experiment.memories, *(a.name for a in arms if a.role == "control")]
    rank = {name: number for number, name in enumerate(order)}
    arms.sort(key=lambda a: rank.get(a.name, len(order)))
    return Plan(
        experiment=experiment,
        suite=suite,
        grading=grading,
        metrics=tuple(suite.metrics(grading)),
        judges=tuple(suite.judges(grading)),
        arms=tuple(arms),
        tasks=checked_tasks(run),
        corpora={},
        sources=sources,
        all_tasks=0,
        identity=identity,
        # Of their arms only the name is needed here: neither memory nor agent has to be installed.
        own_controls=tuple(getattr(suite, "controls", tuple)()) if experiment.controls else (),
    )


def checked_tasks(run: RunFolder) -> tuple[Task, ...]:
    """The frozen tasks of a run.

    Raises:
        DataError: they are not the ones of the run's identity.
    """
    tasks = tuple(run.tasks())
    if tasks_digest(tasks) != run.manifest["identity"].get("tasks"):
        raise DataError(f"{run.path}/tasks.jsonl is not what the manifest says; restore it from a copy.")
    return tasks


def unavailable_arms(run: RunFolder) -> dict[str, str]:
    """Arms of a run that said they cannot be measured, with the reason."""
    last = {report.memory: report for report in run.builds()}
    return {name: report.detail for name, report in last.items() if report.status == "unavailable"}
