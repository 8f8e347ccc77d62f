"""A suite that takes its tasks through several steps: stores of their own, kills, failures in the middle."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from memassay.core import registry
from memassay.core.contracts import Cell, Env, Grading, MetricSpec
from memassay.core.digest import digest_of
from memassay.core.types import Corpus, Document, Judgement, Request, Status, Step, Task, Toolset, Usage
from memassay.running.experiment import experiment_of
from memassay.running.pipeline import Place, run_experiment
from memassay.runs.folder import RunFolder

STEPS = ("teach", "recall", "abstain")


class Killed(BaseException):
    """Stands for a process that ends."""


class Diary:
    """A memory that is one file; ``plain`` has no snapshots."""

    access = ("tools",)

    def __init__(self, *, plain: bool = False) -> None:
        self._plain = plain

    def build(self, corpus: Corpus, place: Path, context: Any) -> None:
        (place / "diary").write_text("", "utf-8")

    def open(self, ref: Any) -> Any:
        return Plain(Path(ref.location)) if self._plain else Kept(Path(ref.location))


class Plain:
    def __init__(self, place: Path) -> None:
        self.file = place / "diary"

    def write(self, word: str) -> None:
        self.file.write_text(self.file.read_text("utf-8") + word + "\n", "utf-8")

    def read(self) -> list[str]:
        return self.file.read_text("utf-8").split()


class Kept(Plain):
    def snapshot(self, place: Path) -> None:
        (place / "diary").write_bytes(self.file.read_bytes())

    def restore(self, place: Path) -> None:
        self.file.write_bytes((place / "diary").read_bytes())


class Tale:
    """Each task writes three words into the diary, and an agent is asked after each."""

    name = "tale"
    data = "generated"
    design = "clustered"
    sample = False

    def identity(self) -> Mapping[str, Any]:
        return {}

    def corpora(self) -> Sequence[Corpus]:
        return [Corpus(id="c", documents=(Document(id="d", text="x"),), digest=digest_of("c"))]

    def tasks(self) -> Sequence[Task]:
        return [Task(id=f"t{n}", suite="tale", scope="c", cluster=f"t{n}", category="k", prompt="p") for n in (1, 2)]

    def judges(self, grading: Grading) -> Sequence[Any]:
        return [All()]

    def metrics(self, grading: Grading) -> Sequence[MetricSpec]:
        return [MetricSpec("passed", judge="all", of="answer")]

    def controls(self) -> Sequence[Any]:
        return ()

    def sections(self, summary: Mapping[str, Any]) -> Sequence[Any]:
        return ()

    async def drive(self, task: Task, env: Env) -> None:
        for name in STEPS[len(env.steps) :]:
            env.store.write(f"{task.id}-{name}")
            step = await env.agent(name, system="s", prompt=name, toolset=Toolset(), identity="teacher")
            await env.keep(step.model_copy(update={"facts": {"diary": env.store.read()}}))


class All:
    id = "all"
    config: Mapping[str, Any] = {"judge": "all"}

    def judge(self, cell: Cell) -> Judgement:
        wanted = [f"{cell.task.id}-{name}" for name in STEPS]
        seen = cell.answer.steps[-1].facts.get("diary") if cell.answer.steps else None
        right = float(seen == wanted and [step.name for step in cell.answer.steps] == list(STEPS))
        return Judgement(
            id="x",
            judge="all",
            subjects=(cell.answer.cell,),
            attempt=cell.answer.attempt,
            scores={"passed": right},
            data="generated",
        )


class Speaker:
    """An agent that does what the test planned for the n-th request."""

    model = "none"
    accesses = frozenset({"tools", "dossier", "folder"})
    planned: ClassVar[dict[int, Any]] = {}
    requests: ClassVar[list[Request]] = []

    def identity(self) -> Mapping[str, Any]:
        return {}

    async def answer(self, request: Request) -> Step:
        type(self).requests.append(request)
        what = type(self).planned.get(len(type(self).requests))
        if isinstance(what, Status):
            return Step(status=what, detail="planned")
        if what is not None:
            raise what
        return Step(text=request.prompt, evidence=b"seen", usage=Usage(input=3, cost_usd=0.5, turns=1))


@pytest.fixture(autouse=True)
def tale(monkeypatch: pytest.MonkeyPatch) -> None:
    Speaker.planned, Speaker.requests = {}, []
    for known, name, factory in (
        (registry.suites, "tale", Tale),
        (registry.memories, "diary", Diary),
        (registry.agents, "speaker", Speaker),
    ):
        monkeypatch.setitem(known._loaded, name, factory)
    source = registry.Registry.source
    ours = {"tale", "diary", "speaker"}

    def told(self: registry.Registry, name: str) -> registry.Source:
        return registry.Source(name, "toy", "1", "", "") if name in ours else source(self, name)

    monkeypatch.setattr(registry.Registry, "source", told)


def run(folder: Path, **memory: Any) -> dict[str, Any]:
    experiment = experiment_of(
        {
            "suite": "tale",
            "stage": "answer",
            "agent": "speaker",
            "memories": {"diary": {"use": "diary", **memory}},
            "tokens": "chars4",
            "budgets": [100],
            "controls": False,
        }
    )
    return run_experiment(experiment, Place(out=folder, workers=1))


def answers(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "answers-1of1.jsonl").read_text("utf-8").splitlines()]


def test_each_task_has_a_store_of_its_own_and_every_step_is_kept(tmp_path: Path) -> None:
    summary = run(tmp_path / "r")
    first, second = answers(tmp_path / "r")
    assert [step["name"] for step in first["steps"]] == list(STEPS)
    assert first["steps"][-1]["facts"]["diary"] == [f"t1-{name}" for name in STEPS]
    assert second["steps"][-1]["facts"]["diary"] == [f"t2-{name}" for name in STEPS], "nothing of the other task"
    assert first["usage"]["input"] == 9 and first["usage"]["cost_usd"] == 1.5
    assert all(step["identity"] == "teacher" and step["transcript"] for step in first["steps"])
    assert summary["arms"]["diary"]["metrics"]["passed"]["value"] == 1.0
    assert not (tmp_path / "r" / "partial").exists()
    assert len({request.workdir for request in Speaker.requests}) == 6, "a new folder for every session"


@pytest.mark.parametrize("at", [1, 2, 3, 5])
def test_a_killed_run_goes_on_from_the_last_snapshot(tmp_path: Path, at: int) -> None:
    Speaker.planned = {at: Killed()}
    with pytest.raises((Killed, BaseExceptionGroup)):
        run(tmp_path / "r")
    Speaker.planned = {}
    asked = len(Speaker.requests)
    summary = run(tmp_path / "r")
    assert summary["arms"]["diary"]["metrics"]["passed"]["value"] == 1.0
    assert len(Speaker.requests) - asked == 6 - (at - 1), "only what was not kept is asked again"
    assert [answer["attempt"] for answer in answers(tmp_path / "r")] == [1, 1]
    assert not (tmp_path / "r" / "partial").exists()


def test_without_snapshots_the_cut_attempt_is_shown_and_another_begins(tmp_path: Path) -> None:
    Speaker.planned = {3: Killed()}
    with pytest.raises((Killed, BaseExceptionGroup)):
        run(tmp_path / "r", plain=True)
    Speaker.planned = {}
    summary = run(tmp_path / "r", plain=True)
    cut, whole, _ = answers(tmp_path / "r")
    assert (cut["attempt"], cut["status"]) == (1, "harness-error") and "ended during this attempt" in cut["detail"]
    assert [step["name"] for step in cut["steps"]] == ["teach", "recall"]
    assert (whole["attempt"], whole["status"], len(whole["steps"])) == (2, "ok", 3)
    assert summary["arms"]["diary"]["metrics"]["passed"]["value"] == 1.0


def test_a_provider_that_fails_in_the_middle_ends_the_attempt_and_another_goes_through(tmp_path: Path) -> None:
    Speaker.planned = {2: Status.RATE_LIMIT}
    run(tmp_path / "r")
    failed, whole, _ = answers(tmp_path / "r")
    assert (failed["status"], [s["name"] for s in failed["steps"]]) == ("rate-limit", ["teach", "recall"])
    assert (whole["attempt"], whole["status"]) == (2, "ok")
    assert whole["steps"][-1]["facts"]["diary"] == [f"t1-{name}" for name in STEPS], "a store of its own again"


def test_what_the_memory_raises_is_its_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(self: Plain, word: str) -> None:
        if word == "t1-recall":
            raise RuntimeError("the pen broke")

    monkeypatch.setattr(Plain, "write", write)
    summary = run(tmp_path / "r")
    first, _ = answers(tmp_path / "r")
    assert first["status"] == "memory-crash" and "the pen broke" in first["detail"]
    assert [step["name"] for step in first["steps"]] == ["teach"], "what was done before is shown"
    assert summary["arms"]["diary"]["metrics"]["passed"]["value"] == 0.0


def test_a_run_reads_again_what_it_kept(tmp_path: Path) -> None:
    run(tmp_path / "r")
    counted, _ = RunFolder(tmp_path / "r").counted()
    (first, *_) = RunFolder(tmp_path / "r").each(counted)
    assert first.steps[0].facts["diary"] == ["t1-teach"]
