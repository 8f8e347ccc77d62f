"""One run from experiment to summary, in the order of the arrows: plan, build, drive, judge, summarise."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memassay.core import registry
from memassay.core.contracts import Suite
from memassay.core.errors import GuardError
from memassay.core.registry import bind_options
from memassay.running.answering import ready
from memassay.running.build import Stores, make_memories
from memassay.running.contenders import without_places
from memassay.running.controls import expectations
from memassay.running.drive import Driver
from memassay.running.estimate import purse_of
from memassay.running.experiment import Experiment, JudgeEntry
from memassay.running.judge import begin_anew, judge_run
from memassay.running.judge import unjudged as unjudged_by
from memassay.running.judges import ModelJudge, live, model_judges, model_name, of_models, with_kept
from memassay.running.markers import MARKER
from memassay.running.observing import Observer, Silent
from memassay.running.pair_judges import PairModelJudge, pair_judges
from memassay.running.pairing import compare_pairs
from memassay.running.plan import Plan, make_plan
from memassay.running.registration import log_amendments, refuse_other, register
from memassay.running.rereading import checked_tasks, plan_of, unavailable_arms
from memassay.running.summarise import summarise
from memassay.running.surroundings import environment
from memassay.runs.folder import RunFolder
from memassay.runs.lines import LineWriter


@dataclass(frozen=True)
class Place:
    """Where a run goes and who writes it.

    Attributes:
        out: the run folder.
        stores: the folder of stores; beside the run folder unless told otherwise.
        shard: (i, n): this process takes every n-th task, starting with the i-th.
        workers: cells in flight.
    """

    out: Path
    stores: Path | None = None
    shard: tuple[int, int] = (1, 1)
    workers: int = 4

    @property
    def writer(self) -> str:
        return f"{self.shard[0]}of{self.shard[1]}"

    @property
    def stores_folder(self) -> Path:
        return self.stores if self.stores is not None else self.out.resolve().parent / "stores"


def run_experiment(
    experiment: Experiment, place: Place, observer: Observer | None = None, *, amend: str = ""
) -> dict[str, Any]:
    """Plan, register, build, drive, judge and summarise; goes on where an earlier call stopped.

    Args:
        experiment: what is run.
        place: where it goes.
        observer: what watches.
        amend: why something beside the identity differs from what was registered, or "".

    Raises:
        UsageError, DataError, GuardError, EnvironmentProblem: each in one sentence.
    """
    watch = observer or Silent()
    run, plan, unavailable, stopped = advance(experiment, place, watch, amend=amend)
    return conclude(run, plan, unavailable, watch, stopped, amend)


def register_experiment(experiment: Experiment, place: Place, *, amend: str = "") -> RunFolder:
    """Register a run and do nothing of it; the same experiment goes on from there.

    Args:
        experiment: what is to be run.
        place: where it goes.
        amend: where it was registered before, why something beside the identity differs from that, or "".

    Raises:
        UsageError, DataError, GuardError, EnvironmentProblem: each in one sentence.
    """
    plan = make_plan(experiment)
    make_memories(plan)
    return enter(plan, place, amend, alone=True)


def advance(
    experiment: Experiment,
    place: Place,
    observer: Observer | None = None,
    *,
    answers: bool = True,
    amend: str = "",
) -> tuple[RunFolder, Plan, dict[str, str], str]:
    """Plan, register and build, and unless ``answers`` is False drive, without judging.

    Returns:
        The run folder, its plan, the arms that cannot be measured, with the reason, and why the run was stopped before
        its end, or "".
    """
    watch = observer or Silent()
    watch.stage("plan", None)
    plan = make_plan(experiment)
    memories, unavailable = make_memories(plan)
    # What would stop the run is found before the folder is made, so that a refused start leaves nothing behind.
    purse_of(plan, RunFolder(place.out))
    agents = asyncio.run(ready(plan)) if answers else {}
    run = enter(plan, place, amend)
    stores = Stores(place.stores_folder, plan, run, memories, watch.building)
    # Locked before anything is built: a second writer of this shard is refused before it spends anything.
    with run.answer_writer(place.writer) as lines:
        stopped = asyncio.run(_build_and_drive(plan, stores, lines, place, watch, unavailable, agents, answers))
    return run, plan, unavailable, stopped


def enter(plan: Plan, place: Place, amend: str = "", *, alone: bool = False) -> RunFolder:
    """Create or guard the run folder of a plan, and register the plan there.

    Args:
        plan: what is about to be done.
        place: where.
        amend: why something beside the identity differs from what was registered, or "".
        alone: register, and do nothing further.

    Raises:
        GuardError: the folder holds, or registered, a different run.
        EnvironmentProblem: it cannot be written.
    """
    run = RunFolder(place.out)
    if place.out.is_dir() and not (place.out / "manifest.json").exists() and any(place.out.glob("answers-*.jsonl")):
        raise GuardError(
            f"{place.out} has answers but no manifest.json; restore it or choose another folder with --out."
        )
    refuse_other(run, plan, amend)
    experiment = plan.experiment.model_dump(mode="json")
    experiment["options"] = {
        k: Path(v).name if isinstance(v, str) and ("/" in v or os.sep in v) else v
        for k, v in experiment["options"].items()
    }
    for entry in experiment["memories"].values():
        entry |= without_places({k: v for k, v in entry.items() if k not in ("use", "role")})
    experiment["agent_options"] = without_places(experiment["agent_options"])
    for judge in experiment["judges"]:
        judge["model"] = model_name(judge["model"])
    if run.enter(plan.identity, experiment, place.writer, environment(), plan.tasks):
        checked_tasks(run)
    register(run, plan, amend, alone=alone)
    accepted = getattr(plan.suite, "accepted", None)
    if accepted is not None:
        accepted()
    if not (place.out / "expected.json").exists():
        tasks = [t for t in plan.tasks if t.category != MARKER]
        keys = list(dict.fromkeys(str(j.config.get("key", "original")) for j in plan.judges))
        chosen = plan.experiment
        family = plan.metrics[0].name.partition("@")[0]
        run.expect(
            expectations(tasks, plan.corpora, keys, chosen.tokens, chosen.budgets, chosen.seed, chosen.controls, family)
        )
    return run


async def _build_and_drive(
    plan: Plan,
    stores: Stores,
    lines: LineWriter,
    place: Place,
    watch: Observer,
    unavailable: dict[str, str],
    agents: Mapping[str, Any],
    answers: bool,
) -> str:
    scopes = len({t.scope for t in plan.tasks})
    watch.stage("build", scopes * sum(plan.replicates(arm)[0] for arm in plan.built))
    await stores.build_all(unavailable, watch.built)
    if answers:
        watch.stage("answer", None)
        purse = purse_of(plan, stores.run)
        driver = Driver(plan, stores.run, stores, unavailable, watch.drove, purse, agents)
        return (await driver.drive(lines, place.shard, place.workers)).stopped
    return ""


def conclude(
    run: RunFolder,
    plan: Plan,
    unavailable: Mapping[str, str],
    observer: Observer | None = None,
    stopped: str = "",
    amend: str = "",
    *,
    anew: bool = False,
) -> dict[str, Any]:
    """Judge what is answered and write ``summary.json``; what differs from what was registered is logged first.

    With ``anew`` the suite's graders, which need no model, give every verdict again (see ``begin_anew``).
    """
    watch = observer or Silent()
    with run.concluding():
        named = {judge.id for judge in plan.model_judges}
        known = of_models(run.judge_manifests())
        kept = [(name, about) for name, about in known.items() if name in named or run.judged(name)]
        plan = replace(plan, model_judges=with_kept(plan.model_judges, kept))
        log_amendments(run, plan, amend)
        counted, _ = run.counted()
        if anew:
            begin_anew(run, plan.judges)
        watch.stage("judge", len(counted))
        controls = {arm.name for arm in plan.arms if arm.role == "control"}
        purse = purse_of(plan, run, answering=False)
        unjudged = judge_run(run, live(plan.all_judges), plan.tasks, counted, controls, watch.judged, purse)
        unjudged = unjudged or compare_pairs(run, plan, counted, unavailable, watch.judged)
        watch.stage("summarise", None)
        silent = [judge.id for judge in plan.model_judges if not run.judged(judge.id)]
        wanting = [name for name in silent if unjudged_by(run, name, plan.tasks, counted, controls)]
        if wanting and not unjudged:
            unjudged = f"judge {wanting[0]} gave no verdict; see its replies, mend it and go on: memassay judge RUN"
        plan = replace(plan, model_judges=tuple(judge for judge in plan.model_judges if judge.id not in silent))
        summary = summarise(run, plan, unavailable, stopped=stopped or unjudged, silent=silent)
        run.write_summary(summary)
    return summary


def rejudge(
    run: RunFolder,
    observer: Observer | None = None,
    judges: Sequence[JudgeEntry] = (),
    max_usd: float | None = None,
    again: Sequence[ModelJudge | PairModelJudge] = (),
    amend: str = "",
    *,
    anew: bool = False,
) -> dict[str, Any]:
    """Judge and summarise a run from its folder alone.

    Args:
        run: the run.
        observer: what watches.
        judges: judges with a model that are named now.
        max_usd: US dollars that the run may cost in all, or None.
        again: those of the run that go on (:func:`memassay.running.continuing.continuing`). Of others that have judged
            it, the verdicts stay as they are.
        amend: why something beside the identity differs from what was registered, or "".
        anew: the suite's graders, which need no model, judge everything again; their old verdicts are set aside.
    """
    plan = plan_of(run)
    experiment = plan.experiment.model_copy(update={"judges": tuple(judges), "max_usd": max_usd})
    plan = replace(
        plan,
        experiment=experiment,
        model_judges=(
            *model_judges(experiment, plan.suite),
            *(judge for judge in again if isinstance(judge, ModelJudge)),
        ),
        pair_judges=(
            *pair_judges(experiment, plan.suite),
            *(judge for judge in again if isinstance(judge, PairModelJudge)),
        ),
    )
    return conclude(run, plan, unavailable_arms(run), observer, amend=amend, anew=anew)


def sections_of(summary: Mapping[str, Any]) -> list[Any]:
    """What the summary's suite adds to a report; nothing where the suite is not installed here."""
    try:
        factory = registry.suites.get(str(summary["suite"]))
        suite: Suite = factory(**bind_options(factory, {}, "suite"))
        return list(suite.sections(summary))
    except Exception:
        return []
