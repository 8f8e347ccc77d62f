"""The suite ``association``: why two things are related, and what that looked like on another day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from memassay.core.contracts import Control, Grading, Judge, MetricSpec, Outcome
from memassay.core.errors import UsageError, suggestion
from memassay.core.report import Section
from memassay.core.types import Arm, Corpus, DataKind, Task
from memassay.suites.association import sections as drawn
from memassay.suites.association.briefs import instructions
from memassay.suites.association.documents import documents_of
from memassay.suites.association.gate import WORDINGS
from memassay.suites.association.grading import SetJudge
from memassay.suites.association.graph.offers import TOOLS
from memassay.suites.association.results import conclude
from memassay.suites.association.tasks import KINDS, read_pilot, tasks_of
from memassay.suites.association.world import DAYS, World, make_world

SCOPE = "world"
SAMPLE_SCALE, SAMPLE_TASKS = 800, 2


class Association:
    """A generated world in three forms, and questions whose answers are computed from it.

    Args:
        seed: of the world and of its questions.
        scale: entities on the first day, 3 to 1,000,000; 2,000 as published, or a few in the sample.
        tasks: questions per kind; None asks the published twenty, four per kind.
        pilot: a file that ``memassay association pilot`` wrote: questions that were too easy are replaced;
            it must be of the same world.
        gate: the wording of the published gate: ``release``, ``2026-09-11`` or ``draft``.
        equal_briefs: whether every form comes with worked examples; else the graph alone does, as published.
        sample: a small world with few questions; its numbers carry no verdict.
    """

    name = "association"
    data: DataKind = "generated"
    categories: tuple[str, ...] = KINDS
    default_categories: tuple[str, ...] = ()
    words: Mapping[str, str] = {"tasks": "questions", "clusters": "clusters of one"}
    defaults: Mapping[str, Any] = {
        "agent": "reference",
        "memories": {
            "json-files": {"use": "json-files"},
            "sqlite": {"use": "sqlite", "role": "baseline"},
            "graph": {"use": "graph"},
        },
        "primary": {"metric": "score", "a": "graph", "b": "sqlite"},
    }

    def __init__(
        self,
        seed: int = 20260910,
        scale: int | None = None,
        tasks: int | None = None,
        pilot: str | None = None,
        gate: str = "release",
        equal_briefs: bool = True,
        sample: bool = False,
    ) -> None:
        if gate not in WORDINGS:
            raise UsageError(f"The suite association has no gate {gate!r}.{suggestion(gate, WORDINGS)}")
        if tasks is not None and tasks < 1:
            raise UsageError("The suite association needs at least one question per kind: --tasks 1.")
        self.sample = sample
        self._seed, self._gate, self._equal_briefs = seed, gate, equal_briefs
        self._scale = scale if scale is not None else SAMPLE_SCALE if sample else 2000
        self._count = tasks if tasks is not None else SAMPLE_TASKS if sample else None
        self._pilot = Path(pilot) if pilot else None

    # -- what it is made of ----------------------------------------------------------------------------------------

    @cached_property
    def world(self) -> World:
        """The world, made when it is first needed.

        Raises:
            UsageError: no world has that scale.
        """
        return make_world(seed=self._seed, scale=self._scale)

    def identity(self) -> Mapping[str, JsonValue]:
        """The world's facts, and what was asked of it."""
        return {
            "facts": self.world.digest,
            "sample": self.sample,
            "seed": self._seed,
            "scale": self._scale,
            "tasks_per_kind": self._count,
            "avoided": list(self._avoid),
            "gate": self._gate,
            "equal_briefs": self._equal_briefs,
        }

    def corpora(self) -> Sequence[Corpus]:
        """One: the world, with its documents where it is not too large for them."""
        return (Corpus(id=SCOPE, documents=documents_of(self.world), native=self.world, digest=self.world.digest),)

    def tasks(self) -> Sequence[Task]:
        return self._tasks

    @cached_property
    def _tasks(self) -> tuple[Task, ...]:
        return tuple(tasks_of(self.world, count=self._count, avoid=self._avoid, scope=SCOPE))

    @cached_property
    def _avoid(self) -> tuple[str, ...]:
        return read_pilot(self._pilot, self.world.digest) if self._pilot else ()

    def about(self) -> list[str]:
        """The world, how much is asked of it, and which gate decides: one line, for a plan."""
        [count] = {sum(task.category == kind for task in self._tasks) for kind in KINDS}
        questions = "1 question" if count == 1 else f"{count} questions"
        return [
            f"world of seed {self._seed}, scale {self._scale:,}, {DAYS} days (facts {self.world.digest}); {questions} "
            f"of each of {len(KINDS)} kinds; gate as published, wording {self._gate}, beside that of docs/statistics.md"
        ]

    # -- how it is asked and graded --------------------------------------------------------------------------------

    def instructions(self, access: Sequence[str], memory: str = "") -> str:
        """What an agent is told: worked examples too, for every form or for the graph alone."""
        return instructions(access, memory, brief=self._equal_briefs or memory == "graph")

    def judges(self, grading: Grading) -> Sequence[Judge]:
        """The grader of lists."""
        return [SetJudge()]

    def metrics(self, grading: Grading) -> Sequence[MetricSpec]:
        """``score``, and beside it the published score by substrings, and what was found."""
        titles = {
            "score": "share of the answer that is named, less .25 for each near miss; whole words",
            "score_substring": "the same as published: a value counts wherever its letters stand",
            "recall": "share of the answer that is named",
        }
        return [MetricSpec(name, title=title, of="answer") for name, title in titles.items()]

    def controls(self) -> Sequence[Control]:
        """The solver without a model on the baseline's form must score 1, an empty answer 0."""
        reference = Arm(name="reference", memory="sqlite", access=("folder",), agent="reference", role="control")
        empty = Arm(name="empty", memory="none", access=(), agent="noop", role="control")
        return (Control(reference, "score", 1.0, 1.0), Control(empty, "score", 0.0, 0.0))

    # -- what is concluded -----------------------------------------------------------------------------------------

    def conclude(self, outcomes: Sequence[Outcome], planned: Sequence[str] = ()) -> Mapping[str, JsonValue]:
        """The gate as published and ours, and the tables of the published summary."""
        found = conclude(outcomes, self._gate, server_tools=TOOLS, planned=planned)
        gates: Any = found.get("gate") or {}
        said: list[JsonValue] = [
            f"Gate {name}: {gates[key]['verdict']}."
            for key, name in (("published", f"as published ({self._gate})"), ("ours", "by docs/statistics.md"))
            if key in gates
        ]
        return {**found, "said": said}

    def sections(self, summary: Mapping[str, Any]) -> Sequence[Section]:
        """The published summary's sections; from the summary alone."""
        return drawn.sections(summary.get("conclusion", {}), summary.get("suite_settings", {}))
