"""Judges with a model: from the experiment, from a flag, or from what a run folder holds of them.

They stand beside a suite's own graders. A run may get another one later, so they are guarded by the small manifest of
each (``judgements/ID.json``), which holds all that is needed to make it again, and not by the run's identity.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from memassay.core import registry
from memassay.core.contracts import Cell, Closes, Judge, MetricSpec, Suite
from memassay.core.errors import UsageError
from memassay.core.types import Judgement, ModelKind
from memassay.running.calls import call
from memassay.running.experiment import Experiment, JudgeEntry
from memassay.running.secrets import refuse_secrets

ENTRY = "entry"
_STEM = "j"


class Opened:
    """A judge with a model as an experiment names it; the model is opened when a verdict is needed.

    Args:
        entry: how the experiment names it.
        judge: what judges, or None where only its verdicts are left.
    """

    def __init__(self, entry: JudgeEntry, judge: Any) -> None:
        self.entry, self._judge = entry, judge

    @property
    def name(self) -> str:
        """The model's name as it is shown and kept: of a file of this machine only its own name."""
        return model_name(self.entry.model)

    async def prepare(self) -> None:
        """See that the model can be asked.

        Raises:
            EnvironmentProblem: a package or a key is missing, in one sentence.
        """
        prepare = getattr(self._judge, "prepare", None)
        if prepare is not None:
            await prepare()

    async def close(self) -> None:
        """Let go of the model."""
        if isinstance(self._judge, Closes):
            await call(self._judge.close, seconds=10)

    def price(self, usage: Any) -> float | None:
        """US dollars for that many tokens, or None."""
        ask = getattr(self._judge, "price", None)
        return ask(usage) if ask is not None else None


class ModelJudge(Opened):
    """A judge that asks a model, under the name of its metric; the model is opened when a verdict is needed.

    Args:
        entry: how the experiment names it.
        judge: what judges, or None where only its verdicts are left.
        id: its id.
        config: what its manifest records.
        metric: the name that its score goes under.
    """

    def __init__(self, entry: JudgeEntry, judge: Any, id: str, config: Mapping[str, JsonValue], metric: str) -> None:
        super().__init__(entry, judge)
        self.id, self._config, self.metric = id, config, metric

    @property
    def config(self) -> Mapping[str, JsonValue]:
        entry = {**self.entry.model_dump(mode="json"), "model": self.name}
        return {**self._config, "kind": self.model, "metric": self.metric, ENTRY: entry}

    @property
    def model(self) -> ModelKind:
        """What judges: a real model or a scripted one."""
        kept: ModelKind = self._config.get("kind", "real")  # type: ignore[assignment]
        return kept if self._judge is None else model_kind(self._judge)

    @property
    def spec(self) -> MetricSpec:
        """Its metric."""
        title = f"share judged right ({self.entry.use}, {self.name})"
        return MetricSpec(self.metric, title=title, judge=self.id, of="answer")

    @property
    def live(self) -> bool:
        """Whether it can judge now; else only its verdicts are left."""
        return self._judge is not None

    async def judge(self, cell: Cell) -> Judgement | None:
        """The verdict of the judge that it stands for, with the score under its metric."""
        found = self._judge.judge(cell)
        verdict: Judgement | None = await found if inspect.isawaitable(found) else found
        if verdict is None:
            return None
        scores = {self.metric if name == _STEM else name: value for name, value in verdict.scores.items()}
        return verdict.model_copy(update={"scores": scores, "model": self.model})

    def named(self, metric: str) -> ModelJudge:
        """The same judge under another metric."""
        return ModelJudge(self.entry, self._judge, self.id, self._config, metric)


def model_judges(experiment: Experiment, suite: Suite) -> tuple[ModelJudge, ...]:
    """The judges of single answers that an experiment names.

    Raises:
        UsageError: one is named twice, or cannot be made.
    """
    found: list[ModelJudge] = []
    for entry in experiment.judges:
        refuse_secrets(entry.options, f"judge {entry.use!r}")
        if entry.of_pairs:
            continue
        judge = _opened(entry, [judge.entry for judge in found], suite)
        if judge.id in {judge.id for judge in found}:
            raise UsageError(f"--judge names {entry.use}:{entry.model} twice; name it once.")
        found.append(judge)
    return tuple(found)


def with_kept(
    judges: Sequence[ModelJudge], manifests: Iterable[tuple[str, Mapping[str, Any]]]
) -> tuple[ModelJudge, ...]:
    """These judges, and those that have judged a run before and are not among them.

    A judge that has judged keeps the name of its metric; a new one that would take the same gets a longer one.

    Args:
        judges: made from an experiment or a flag.
        manifests: id and manifest of every judge that the run folder knows.
    """
    named = {judge.id: judge for judge in judges}
    known = of_models(manifests)
    found = [
        named[name].named(str(manifest["metric"]))
        if name in named
        else ModelJudge(JudgeEntry.model_validate(manifest[ENTRY]), None, name, manifest, str(manifest["metric"]))
        for name, manifest in known.items()
    ]
    taken = {judge.metric for judge in found}
    found += [
        judge.named(_longer(judge.entry)) if judge.metric in taken else judge
        for judge in judges
        if judge.id not in known
    ]
    return tuple(sorted(found, key=lambda judge: (":" in judge.metric, judge.metric)))


def of_models(manifests: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, Mapping[str, Any]]:
    """Those manifests that are of judges with a model, by the judge's id."""
    return {name: manifest for name, manifest in manifests if ENTRY in manifest}


def reopened(name: str, manifest: Mapping[str, Any], suite: Suite) -> ModelJudge:
    """A judge with a model that has judged a run, made again.

    Raises:
        UsageError: its model is a file of one's own, which has to be named anew; or it cannot be made here.
    """
    entry = JudgeEntry.model_validate(manifest[ENTRY])
    refuse_file(name, entry)
    made = make_judge(entry, suite)
    return ModelJudge(entry, made, name, made.config, str(manifest["metric"]))


def begun(entry: JudgeEntry, before: Sequence[JudgeEntry], suite: Suite) -> ModelJudge:
    """A judge that a run's experiment names and that has left no manifest there.

    Args:
        entry: as the run's manifest holds it.
        before: the judges that the experiment names before it.
        suite: the run's.

    Raises:
        UsageError: its model is a file of one's own, which has to be named anew; or it cannot be made here.
    """
    refuse_file(f"{entry.use}:{entry.model}", entry)
    refuse_secrets(entry.options, f"judge {entry.use!r}")
    return _opened(entry, before, suite)


def live(judges: Sequence[Judge]) -> list[Judge]:
    """Those that can judge now."""
    return [judge for judge in judges if not isinstance(judge, ModelJudge) or judge.live]


def _opened(entry: JudgeEntry, before: Sequence[JudgeEntry], suite: Suite) -> ModelJudge:
    made = make_judge(entry, suite)
    return ModelJudge(entry, made, made.id, made.config, _metric(entry, before))


def refuse_file(name: str, entry: JudgeEntry) -> None:
    """Refuse a judge whose model is a file of one's own, of which a run keeps no place."""
    if entry.model.startswith(("local/", "scripted/")):
        raise UsageError(
            f"The model of judge {name} is a file of yours, which the run does not hold; name it: "
            f"--judge {entry.use}:{entry.model}"
        )


def make_judge(entry: JudgeEntry, suite: Suite) -> Any:
    """What the registered factory of a judge makes of an entry; nothing is asked yet."""
    factory = registry.judges.get(entry.use)
    criteria = getattr(suite, "criteria", None)
    return factory(model=entry.model, criteria=criteria(entry.use) if criteria else "", **entry.options)


def _metric(entry: JudgeEntry, before: Sequence[JudgeEntry]) -> str:
    """``j`` for the strict judge and ``j_lenient`` for the lenient one; a second of its kind adds its model's name."""
    if any(other.use == entry.use for other in before):
        return _longer(entry)
    return _STEM if entry.use == "binary" else f"{_STEM}_{entry.use}"


def _longer(entry: JudgeEntry) -> str:
    stem = _STEM if entry.use == "binary" else f"{_STEM}_{entry.use}"
    return f"{stem}:{entry.model}"


def model_kind(speaker: Any) -> ModelKind:
    """What speaks through an agent or a judge: a real model, a scripted one, or none."""
    kind: ModelKind = getattr(speaker, "model", "none")
    return kind


def model_name(name: str) -> str:
    """A model's name as it is shown and kept: of a file of this machine only its own name."""
    scheme, slash, rest = name.partition("/")
    return f"{scheme}/{Path(rest).name}" if slash and scheme in ("local", "scripted") else name
