"""What a plug-in implements. All Protocols: nothing has to inherit from memassay.

A capability is ``isinstance(store, Retrieves)``, not a flag. Wherever a method is declared ``async`` here, a plain
method does as well: the runner awaits what is awaitable and moves what is not into a thread.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from pydantic import JsonValue

from memassay.core.types import (
    Answer,
    Arm,
    CellKey,
    Corpus,
    DataKind,
    Dossier,
    Judgement,
    ModelKind,
    Passage,
    Query,
    Request,
    Status,
    Step,
    StoreRef,
    Task,
    Toolset,
    Usage,
)


@dataclass(frozen=True, slots=True)
class BuildContext:
    """What a memory may use while it builds.

    Attributes:
        seed: seed of every random choice of the build.
        limit_seconds: the harness ends the build after this long (a memory failure), or None.
        progress: call it with (done, total) as often as you like.
        models: named model clients; empty in the key-free tier.
        cache: a folder that builds of any store share for what is dear to make and can be made again (vectors), or
            None: nothing is kept. It may not exist yet, and may be deleted between builds.
    """

    seed: int = 0
    limit_seconds: float | None = None
    progress: Callable[[int, int], None] = lambda done, total: None
    models: Mapping[str, Any] = field(default_factory=dict)
    cache: Path | None = None


@runtime_checkable
class Retrieves(Protocol):
    """A store that answers a query with passages, best first. Safe to call from several threads."""

    def retrieve(self, query: Query) -> Sequence[Passage] | Dossier | Awaitable[Sequence[Passage] | Dossier]: ...


@runtime_checkable
class Closes(Protocol):
    """A store that holds something open."""

    def close(self) -> Awaitable[None] | None: ...


class Memory(Protocol):
    """A system under test.

    The constructor's keyword arguments are its settings: names, types and defaults are read from the signature, so
    ``--set NAME.top_k=10`` is checked and recorded without more code. A class attribute ``access`` names the accesses
    of an arm that says none, such as ``("tools", "folder")``; without it that is the dossier.
    """

    def build(self, corpus: Corpus, place: Path, context: BuildContext) -> Any:
        """Write everything the store needs under ``place`` (an empty folder that nobody else uses).

        May return a mapping with ``passages`` (how many pieces it indexed) and ``facts``, a mapping of names to JSON
        values: what was only settled here, such as what a setting ``auto`` came to mean. They stand in the build report
        and change nothing. An empty corpus makes an empty store.

        Raises:
            CannotMeasure: it cannot be measured here (say, it needs a model); its numbers become null.
        """
        ...

    def open(self, ref: StoreRef) -> Any:
        """Open what ``build`` wrote; ``ref.location`` is the folder. Returns a store, such as a ``Retrieves``."""
        ...


@runtime_checkable
class Verifies(Protocol):
    """A memory that can tell whether a store still says what its corpus says; asked at the start of every run."""

    def verify(self, ref: StoreRef, corpus: Corpus) -> Awaitable[None] | None:
        """Look at the store.

        Raises:
            DataError: it does not, in one sentence with the fix.
        """
        ...


@runtime_checkable
class Serves(Protocol):
    """A store with a tool server of its own. Any other store that retrieves is served by the harness (``search``)."""

    def toolset(self, identity: str = "") -> Toolset:
        """How to start or reach the server; ``identity`` is who asks, where the memory knows several."""
        ...


@runtime_checkable
class Folder(Protocol):
    """A store that an agent may read as files."""

    def folder(self) -> Path:
        """The folder with what was remembered, and nothing else; the harness gives agents a copy."""
        ...


@runtime_checkable
class Snapshots(Protocol):
    """A store whose whole state can be written down and put back, so that a killed run goes on within a task."""

    def snapshot(self, place: Path) -> Awaitable[None] | None:
        """Write the state as it is at one moment under ``place``, an empty folder."""
        ...

    def restore(self, place: Path) -> Awaitable[None] | None:
        """Make the state what it was when ``place`` was written."""
        ...


@runtime_checkable
class Agent(Protocol):
    """What answers a request. The constructor's keyword arguments are its settings, as with a memory.

    Attributes:
        model: what speaks: a ``real`` model, a ``scripted`` stand-in, or ``none``.
        accesses: the accesses it can make use of, a subset of ``dossier``, ``tools``, ``folder``.

    An agent that asks a failing provider again by itself also has ``retries_itself = True``; other agents are asked
    again by the runner. One that may write into the folder that an arm gives has ``writes = True``; the runner then
    notes whether it has. One that cannot work with an arm as it is set has ``check(accesses)``, or
    ``check(accesses, memory)`` where the memory's name matters, which raises a ``UsageError``, and one that needs a
    program or a model ``async prepare()``, which raises an ``EnvironmentProblem``; both are called before anything is
    spent.
    """

    model: ModelKind
    accesses: frozenset[str]

    def identity(self) -> Mapping[str, JsonValue]:
        """What of the agent can change a number beside its settings: versions, digests, a table of prices."""
        ...

    async def answer(self, request: Request) -> Step:
        """Answer one request, within its limits; whatever was started for it has ended when this returns.

        A refusal is ``Status.REFUSED``; a limit, a provider's failure or a harness fault is a status too, never an
        exception. ``Step.text`` is the answer alone, ``Step.evidence`` everything that was seen.
        """
        ...


@runtime_checkable
class Priced(Protocol):
    """An agent or judge that knows what it costs."""

    def price(self, usage: Usage) -> float | None:
        """US dollars for that many tokens, or None where the price is not known."""
        ...


@dataclass(frozen=True, slots=True)
class Cell:
    """A finished cell as a judge sees it: the task, the counted answer, the dossier if there was one."""

    task: Task
    answer: Answer
    dossier: Dossier | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one cell of a contender or baseline ended and was scored, for what a suite concludes of its own.

    Attributes:
        arm: its name; ``role`` is contender or baseline.
        number: of the repetition, from 0.
        scores: of all the suite's graders; empty where the cell is unfinished (the provider or the harness failed).
        labels: of the same verdicts.
        text: the answer, or "".
        tools: calls by the name of the tool.
        classified: ``(kind, why)`` where somebody has read a cell below 1 and said whose fault it was.
    """

    task: Task
    arm: str
    role: str
    build: int
    number: int
    status: Status
    detail: str
    scores: Mapping[str, float | None]
    labels: Mapping[str, JsonValue]
    usage: Usage
    text: str
    tools: Mapping[str, int]
    classified: tuple[str, str] | None = None


class Judge(Protocol):
    """A grader. ``id`` names its configuration (and its file), ``config`` is what its small manifest records.

    A judge with a model also has ``model: ModelKind``, and its ``judge`` may be ``async``.
    """

    id: str

    @property
    def config(self) -> Mapping[str, JsonValue]: ...

    def judge(self, cell: Cell) -> Judgement | Awaitable[Judgement | None] | None:
        """The verdict, or None where this judge leaves the task out (an excluded gold, say).

        A verdict of status ``failed`` (the provider failed, the reply cannot be read) is asked for again.
        """
        ...


@dataclass(frozen=True, slots=True)
class Grading:
    """What a suite needs from the run to make its graders.

    Attributes:
        tokens: the tokenizer's name.
        budgets: in tokens.
        ks: cut-offs.
        answers: whether an agent answers, so that answers are graded too.
    """

    tokens: str
    budgets: tuple[int, ...]
    ks: tuple[int, ...]
    answers: bool = False


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """How a metric is summarised and shown.

    Attributes:
        name: the key in ``Judgement.scores`` and in the summary (``all@4000``).
        budget: context tokens that the metric is at, or None.
        judge: id of the judge that gives it; "" is the suite's first.
        of: what it grades: what was found for an answer, or the answer itself.
    """

    name: str
    title: str = ""
    budget: int | None = None
    judge: str = ""
    of: Literal["dossier", "answer"] = "dossier"


@dataclass(frozen=True, slots=True)
class Control:
    """A control arm of a suite's own: what it must score, so that the run is believed.

    Attributes:
        arm: with the role ``control``; its agent has no model. A memory is built as for any other arm.
        metric: what is looked at.
        low, high: ends of the band, inclusive.
    """

    arm: Arm
    metric: str
    low: float
    high: float


def evidence_metrics(grading: Grading, unit: str = "item") -> list[MetricSpec]:
    """The metrics of the evidence grader: ``all``, ``any`` and ``rec`` at each budget, then at each k.

    Args:
        grading: the run's budgets and cut-offs.
        unit: what a piece of gold is called, in the singular.
    """
    kinds = {"all": f"every gold {unit}", "any": f"at least one gold {unit}", "rec": f"share of the gold {unit}s"}
    return metrics_at(grading, kinds, "in the first {k} passages")


def metrics_at(grading: Grading, titles: Mapping[str, str], first: str) -> list[MetricSpec]:
    """A metric of each kind at each budget, then at each k.

    Args:
        grading: the run's budgets and cut-offs.
        titles: what each kind counts, by its name.
        first: what a cut-off takes, with ``{k}`` for how many.
    """
    at_budgets = [
        MetricSpec(f"{kind}@{budget}", title=f"{title} within {budget:,} tokens", budget=budget)
        for kind, title in titles.items()
        for budget in grading.budgets
    ]
    at_ks = [
        MetricSpec(f"{kind}@k{k}", title=f"{title} {first.format(k=k)}")
        for kind, title in titles.items()
        for k in grading.ks
    ]
    return [*at_budgets, *at_ks]


ANSWERS = "answers"
"""Id of the judge that scores answers against the original key."""


def answer_metrics(official: Mapping[str, str] | None = None) -> list[MetricSpec]:
    """The metrics of the ``answers`` grader.

    Args:
        official: the data set's own scores, by name, with a title.
    """
    titles = {
        "f1": "words of the answer and of the gold answer, as sets (F1)",
        "exact_match": "share of answers equal to the gold answer but for case",
        "bleu1": "words of the answer that the gold answer has (BLEU-1)",
        **(official or {}),
    }
    return [MetricSpec(name, title=title, judge=ANSWERS, of="answer") for name, title in titles.items()]


class Env(Protocol):
    """What a suite that drives its tasks itself works with: one cell, its store, its agent, its steps so far.

    Attributes:
        attempt: at this cell, from 1.
        store: the arm's store, open, of this cell alone; what it can do is asked with ``isinstance``.
        steps: kept so far; not empty at the beginning where an earlier process was killed in this attempt and the store
            has been put back to where the last of them left it.
    """

    cell: CellKey
    attempt: int
    store: Any

    @property
    def steps(self) -> Sequence[Step]: ...

    async def agent(self, name: str, *, system: str, prompt: str, toolset: Toolset, identity: str = "") -> Step:
        """A new session of the arm's agent, which knows nothing of earlier ones; the step is not yet kept."""
        ...

    async def keep(self, step: Step) -> None:
        """Record a step and, where the store :class:`Snapshots`, its state: a run killed later goes on from here."""
        ...


@runtime_checkable
class Drives(Protocol):
    """A suite whose tasks are more than one question: it takes each through its steps itself."""

    async def drive(self, task: Task, env: Env) -> None:
        """Take a task through its steps; ``env.steps`` are done already.

        What the memory raises is its failure. A step whose status is a provider's or the harness's ends the attempt.
        """
        ...


class Suite(Protocol):
    """A benchmark. It owns data, tasks, graders and controls; the constructor's keyword arguments are its settings.

    Attributes:
        name: as registered.
        data: real or generated.
        design: how its questions were sampled, which decides intervals and tests (``memassay.stats.DESIGNS``); a suite
            without the attribute is ``clustered``.

    Beside what is here, a suite may have:

    - ``sample``: whether its data only show that everything works; without the attribute, generated data do.
    - ``defaults``: what an experiment leaves out, such as ``{"ks": (2, 5)}``.
    - ``instructions(access, memory) -> str``: what an agent is told before a question.
    - ``criteria(variant) -> str``: what a right answer is, for judges with a model.
    - ``about() -> Sequence[str]``: what is asked about and how much of it, a line each, for a plan and a run's first
      lines.
    - ``native``: whether dossiers are cut to what each memory gives unasked (its class's ``native`` passages).
    - ``checks(grading, tasks, scores) -> Sequence``: what else must hold for the run to be believed.
    - ``controls() -> Sequence[Control]``: control arms of its own, where its questions have no gold evidence for the
      usual ones.
    - ``decides``: whether its ``conclude`` is a verdict by a rule fixed beforehand, which needs no primary comparison.
    - ``pairs(arms) -> Pairs``: which arms judges of pairs compare, and how; without it there is nothing for them. Its
      ``unfit(verdicts) -> str`` says why a judge that gave these on the controls is asked no further, or "".
    - ``conclude(outcomes, planned) -> Mapping``: a verdict and tables of its own, from every cell of the arms and the
      names of all that were planned, measured or not; it stands under ``conclusion`` in the summary, for ``sections``.
      Its ``said`` is a list of sentences for the terminal. A suite with ``pairs`` takes ``verdicts`` as well, the
      :class:`memassay.core.pairs.PairVerdict` of every judge of pairs.
    """

    name: str
    data: DataKind
    design: str

    def identity(self) -> Mapping[str, JsonValue]:
        """What of the suite can change a number: digests of its files, its settings. Goes into the guarded manifest."""
        ...

    def corpora(self) -> Sequence[Corpus]: ...

    def tasks(self) -> Sequence[Task]:
        """Every task in the frozen order, before any filter; ids never depend on a filter."""
        ...

    def judges(self, grading: Grading) -> Sequence[Judge]:
        """The graders; the first is the primary, which judges the controls too."""
        ...

    def metrics(self, grading: Grading) -> Sequence[MetricSpec]: ...

    def sections(self, summary: Mapping[str, Any]) -> Sequence[Any]:
        """What the suite adds to a report (see ``memassay.core.report``)."""
        ...
