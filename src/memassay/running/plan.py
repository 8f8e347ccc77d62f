"""From an experiment to a plan: which tasks, which arms, which cells, and the identity that guards them."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memassay.core import registry
from memassay.core.contracts import Control, Grading, Judge, MetricSpec, Suite
from memassay.core.digest import digest_of, digest_text
from memassay.core.errors import UsageError, suggestion
from memassay.core.pairs import Pairs
from memassay.core.registry import Source, bind_options
from memassay.core.tokens import tokenizer
from memassay.core.types import Arm, CellKey, Corpus, StoreSpec, Task
from memassay.core.views import applicable
from memassay.running.contenders import agent_identity, contenders, said_of_itself, without_places
from memassay.running.experiment import NO_AGENT, Experiment
from memassay.running.judges import ModelJudge, model_judges
from memassay.running.markers import MARKER, marker_corpora, marker_tasks
from memassay.running.pair_judges import PairModelJudge, pair_judges
from memassay.stats import DEFAULT_DESIGN, DESIGNS, Design

CONTROL_MEMORY = "none"


@dataclass(frozen=True)
class Plan:
    """Everything that is fixed before a run.

    Attributes:
        arms: contenders and baselines in the experiment's order, then controls.
        tasks: in frozen order, the marker tasks last.
        corpora: by id, the marker corpora among them.
        sources: where each memory in use comes from.
        memories: by arm, what a memory says of itself that can change a number (a program's version, a store's digest).
        judges: the suite's own graders, the first of them the primary.
        own_controls: control arms of the suite's own, in place of those of the house.
        model_judges: those with a model. They are no part of the identity: one can be added to a finished run.
        pair_judges: those that compare dossiers in pairs; the same holds for them.
    """

    experiment: Experiment
    suite: Suite
    grading: Grading
    metrics: tuple[MetricSpec, ...]
    judges: tuple[Judge, ...]
    arms: tuple[Arm, ...]
    tasks: tuple[Task, ...]
    corpora: Mapping[str, Corpus]
    sources: Mapping[str, Source]
    all_tasks: int
    identity: Mapping[str, Any] = field(default_factory=dict)
    memories: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    own_controls: tuple[Control, ...] = ()
    model_judges: tuple[ModelJudge, ...] = ()
    pair_judges: tuple[PairModelJudge, ...] = ()

    @property
    def all_judges(self) -> tuple[Judge, ...]:
        """The suite's graders, then those with a model."""
        return (*self.judges, *self.model_judges)

    @property
    def all_metrics(self) -> tuple[MetricSpec, ...]:
        """The suite's metrics, then those of the judges with a model."""
        return (*self.metrics, *(judge.spec for judge in self.model_judges))

    @property
    def answers(self) -> bool:
        """Whether an agent answers."""
        return self.experiment.stage == "answer"

    @property
    def design(self) -> Design:
        """The statistical rules that the suite's questions take."""
        return design_of(self.suite)

    @property
    def contenders(self) -> tuple[Arm, ...]:
        return tuple(arm for arm in self.arms if arm.role != "control")

    @property
    def built(self) -> tuple[Arm, ...]:
        """The arms that have a store: contenders, and controls of a suite that ask a memory."""
        return tuple(arm for arm in self.arms if arm.memory != CONTROL_MEMORY)

    def instructions(self, arm: Arm) -> str:
        """What the suite tells an arm's agent before a question; "" where it says nothing."""
        said = getattr(self.suite, "instructions", None)
        return str(said(arm.access, arm.memory.rpartition("/")[2])) if said else ""

    def cells(self, shard: tuple[int, int] = (1, 1)) -> Iterator[CellKey]:
        """The cells of one shard, task by task so that arms stay balanced; whole tasks belong to one shard."""
        index, of = shard
        for number, task in enumerate(self.tasks):
            if number % of != index - 1:
                continue
            planted = task.category == MARKER
            arms = [arm for arm in self.arms if not planted or marked(arm)]
            # A marker asks the memory alone, which no agent repeats.
            turns = 1 if planted else self.experiment.repetitions
            for repetition in range(turns):  # arm by arm, so that what changes with time meets all arms alike
                for arm in arms:
                    builds, repetitions = self.replicates(arm)
                    for build in range(builds if repetition < repetitions else 0):
                        yield CellKey(task=task.id, arm=arm.name, build=build, repetition=repetition)

    def replicates(self, arm: Arm) -> tuple[int, int]:
        """Builds of an arm's stores, and answers per build."""
        if arm.role == "control":
            return 1, 1
        return self.experiment.builds, self.experiment.repetitions

    def count(self) -> int:
        """How many cells there are."""
        return sum(1 for _ in self.cells())

    def store_spec(self, arm: Arm, scope: str, build: int) -> StoreSpec:
        """What the store of an arm over one corpus is."""
        source = str(self.sources[arm.memory])
        said = self.memories.get(arm.name)
        return StoreSpec(
            memory=arm.memory.rpartition("/")[2],
            options=without_places(arm.options),
            corpus_digest=self.corpora[scope].digest,
            source=f"{source} {digest_of(said)[:12]}" if said else source,
            build=build,
            seed=self.experiment.seed,
        )


def marked(arm: Arm) -> bool:
    """Whether an arm is asked for the planted documents: a memory that finds, and no control."""
    return arm.role != "control" and "dossier" in arm.access


def load_suite(experiment: Experiment) -> Suite:
    """The experiment's suite with its settings bound.

    Raises:
        UnknownName, UsageError: no such suite, no such setting.
    """
    factory = registry.suites.get(experiment.suite)
    suite: Suite = factory(**bind_options(factory, experiment.options, f"suite {experiment.suite!r}"))
    design_of(suite)
    return suite


def pairs_of(plan: Plan, unavailable: Collection[str] = ()) -> Pairs | None:
    """How the plan's suite has arms compared in pairs, or None where it has none.

    Args:
        plan: with its contenders.
        unavailable: arms that cannot be measured.
    """
    pairs = getattr(plan.suite, "pairs", None)
    if pairs is None:
        return None
    found: Pairs = pairs([arm.name for arm in plan.contenders if arm.name not in unavailable])
    return found


def design_of(suite: Suite) -> Design:
    """The statistical rules of a suite, by its attribute ``design``.

    Raises:
        UsageError: there are no such rules.
    """
    name = getattr(suite, "design", DEFAULT_DESIGN)
    if name not in DESIGNS:
        raise UsageError(f"Suite {suite.name!r} declares an unknown design {name!r}.{suggestion(str(name), DESIGNS)}")
    return DESIGNS[name]


def is_sample(suite: Suite) -> bool:
    """Whether a suite's data only show that everything works; generated data do, unless the suite says otherwise."""
    return bool(getattr(suite, "sample", suite.data == "generated"))


def own_controls(suite: Suite) -> tuple[Control, ...]:
    """The control arms that a suite brings, with every setting of their memories and agents filled in."""
    found = []
    for control in getattr(suite, "controls", tuple)():
        arm: Arm = control.arm
        bound: dict[str, Any] = {"role": "control"}
        if arm.memory != CONTROL_MEMORY:
            bound["options"] = bind_options(registry.memories.get(arm.memory), arm.options, f"memory {arm.memory!r}")
        if arm.agent != NO_AGENT:
            agent = registry.agents.get(arm.agent)
            bound["agent_options"] = bind_options(agent, arm.agent_options, f"agent {arm.agent!r}")
        found.append(dataclasses.replace(control, arm=arm.model_copy(update=bound)))
    return tuple(found)


def make_plan(experiment: Experiment) -> Plan:
    """Bind names, load the suite's data, filter the tasks, and fix the identity.

    Raises:
        UsageError: any name, setting, filter or file that does not fit, in one sentence.
    """
    suite = load_suite(experiment)
    tokenizer(experiment.tokens)
    grading = grading_of(experiment)
    arms, sources = contenders(experiment)
    everything = list(suite.tasks())
    tasks = _select(suite, everything, experiment)
    if not tasks:
        raise UsageError("The filters leave no task; loosen --categories, --conversations or --limit.")
    scopes = {task.scope for task in tasks}
    corpora = {c.id: c for c in suite.corpora() if c.id in scopes}
    missing = scopes - set(corpora)
    if missing:
        raise UsageError(f"Suite {experiment.suite!r} has tasks about {sorted(missing)[0]!r} but no such corpus.")
    own = own_controls(suite) if experiment.controls else ()
    for control in own:
        arms.append(control.arm)
        if control.arm.memory != CONTROL_MEMORY:
            sources.setdefault(control.arm.memory, registry.memories.source(control.arm.memory))
    if experiment.controls and not own:
        arms += [Arm(name=name, memory=CONTROL_MEMORY, view=name, role="control") for name in applicable(tasks)]
        markers = marker_corpora(list(corpora.values()))
        tasks += marker_tasks(suite.name, markers, tasks)
        corpora |= {c.id: c for c in markers}
    plan = Plan(
        experiment=experiment,
        suite=suite,
        grading=grading,
        metrics=tuple(suite.metrics(grading)),
        judges=tuple(suite.judges(grading)),
        arms=tuple(arms),
        tasks=tuple(tasks),
        corpora=corpora,
        sources=sources,
        all_tasks=len(everything),
        model_judges=model_judges(experiment, suite),
        pair_judges=pair_judges(experiment, suite),
        memories={arm.name: said for arm in arms if arm.memory != CONTROL_MEMORY and (said := said_of_itself(arm))},
        own_controls=own,
    )
    _check_primary(plan)
    return Plan(**{**plan.__dict__, "identity": _identity(plan)})


def grading_of(experiment: Experiment) -> Grading:
    """What a suite makes its graders from."""
    return Grading(
        tokens=experiment.tokens, budgets=experiment.budgets, ks=experiment.ks, answers=experiment.stage == "answer"
    )


def _select(suite: Suite, tasks: Sequence[Task], experiment: Experiment) -> list[Task]:
    name_of = getattr(suite, "category_name", lambda token: token)
    wanted = [name_of(c) for c in experiment.categories] or list(getattr(suite, "default_categories", ()))
    known = {t.category for t in tasks}
    for category in experiment.categories:
        if name_of(category) not in known:
            raise UsageError(f"No task has the category {category!r}.{suggestion(category, known)}")
    scopes = {t.scope for t in tasks}
    for scope in experiment.scopes:
        if scope not in scopes:
            raise UsageError(f"No task is about {scope!r}.{suggestion(scope, scopes)}")
    chosen = [
        t
        for t in tasks
        if (not wanted or t.category in wanted) and (not experiment.scopes or t.scope in experiment.scopes)
    ]
    return chosen if experiment.limit is None else _round_robin(chosen, experiment.limit)


def _round_robin(tasks: Sequence[Task], limit: int) -> list[Task]:
    """``limit`` tasks in all, one from each cluster in turn, given back in the frozen order."""
    queues: dict[str, list[int]] = defaultdict(list)
    for index, task in enumerate(tasks):
        queues[task.cluster].append(index)
    order = sorted((turn, number, index) for number, q in enumerate(queues.values()) for turn, index in enumerate(q))
    return [tasks[index] for index in sorted(index for _, _, index in order[:limit])]


def _check_primary(plan: Plan) -> None:
    primary = plan.experiment.primary
    if primary is None:
        return
    arms = [arm.name for arm in plan.contenders]
    for name in (primary.a, primary.b):
        if name not in arms:
            raise UsageError(f"The primary compares {name!r}, which is no arm of this run.{suggestion(name, arms)}")
    metrics = [m.name for m in plan.all_metrics]
    if primary.metric not in metrics:
        raise UsageError(
            f"The primary's metric {primary.metric!r} is not scored here.{suggestion(primary.metric, metrics)}"
        )
    splits = {"all"} | {t.split for t in plan.tasks}
    if primary.split not in splits:
        raise UsageError(f"The primary's split {primary.split!r} has no task here.{suggestion(primary.split, splits)}")


def tasks_digest(tasks: Sequence[Task]) -> str:
    """Digest of the frozen tasks with their gold."""
    return digest_of([t.model_dump(mode="json") for t in tasks])


def _source(source: Source | None) -> str | None:
    return str(source) if source else None


def _identity(plan: Plan) -> dict[str, Any]:
    experiment = plan.experiment
    return {
        "suite": experiment.suite,
        "stage": experiment.stage,
        "suite_settings": dict(plan.suite.identity()),
        "design": plan.design.name,
        "tokens": experiment.tokens,
        "budgets": list(experiment.budgets),
        "ks": list(experiment.ks),
        "categories": list(experiment.categories),
        "conversations": list(experiment.scopes),
        "limit": experiment.limit,
        "builds": experiment.builds,
        "repetitions": experiment.repetitions,
        "seed": experiment.seed,
        "controls": experiment.controls,
        "limits": experiment.limits.model_dump(mode="json"),
        "primary": experiment.primary.model_dump(mode="json") if experiment.primary else None,
        "tasks": tasks_digest(plan.tasks),
        "corpora": {name: corpus.digest for name, corpus in sorted(plan.corpora.items())},
        "arms": {
            arm.name: {
                **arm.model_dump(mode="json", exclude={"name"}),
                "options": without_places(arm.options),
                "agent_options": without_places(arm.agent_options),
                "says": dict(plan.memories.get(arm.name, {})),
                "memory": arm.memory.rpartition("/")[2],
                "source": _source(plan.sources.get(arm.memory)),
                "agent_source": None if arm.agent == NO_AGENT else _source(registry.agents.source(arm.agent)),
                "instructions": None if arm.agent == NO_AGENT else digest_text(plan.instructions(arm)),
            }
            for arm in plan.arms
        },
        "agent": agent_identity(experiment),
        "judges": {judge.id: dict(judge.config) for judge in plan.judges},
    }
