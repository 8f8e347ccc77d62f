"""Judges of pairs: from the experiment, from a flag, or from what a run folder holds of them.

They compare what two arms found for one question. Like other judges with a model they are no part of a run's identity;
each has a small guarded manifest of its own (``pairs/ID.json``).
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from memassay.core.contracts import Closes, Comparison, Pairing, PairJudge, Suite
from memassay.core.errors import UsageError
from memassay.core.types import ModelKind, Usage
from memassay.running.calls import call
from memassay.running.experiment import Experiment, JudgeEntry
from memassay.running.judges import ENTRY, make_judge, model_name, refuse_file
from memassay.running.secrets import refuse_secrets


class PairModelJudge:
    """A judge of pairs and how the experiment names it; the model is opened when a verdict is needed."""

    def __init__(self, entry: JudgeEntry, judge: PairJudge) -> None:
        self.entry, self._judge = entry, judge
        self.id, self.family = judge.id, judge.family
        self.model: ModelKind = judge.model

    @property
    def name(self) -> str:
        """The model's name as it is shown and kept."""
        return model_name(self.entry.model)

    @property
    def config(self) -> Mapping[str, JsonValue]:
        entry = {**self.entry.model_dump(mode="json"), "model": self.name}
        return {**self._judge.config, "kind": self.model, "family": self.family, ENTRY: entry}

    async def compare(self, pairing: Pairing) -> Comparison:
        """What the judge says of two dossiers."""
        found = self._judge.compare(pairing)
        comparison: Comparison = await found if inspect.isawaitable(found) else found
        return comparison

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

    def price(self, usage: Usage) -> float | None:
        """US dollars for that many tokens, or None."""
        ask = getattr(self._judge, "price", None)
        return ask(usage) if ask is not None else None


def pair_judges(experiment: Experiment, suite: Suite) -> tuple[PairModelJudge, ...]:
    """The judges of pairs that an experiment names.

    Raises:
        UsageError: the suite has no pairs, one is named twice, or one cannot be made.
    """
    found: list[PairModelJudge] = []
    for entry in experiment.judges:
        refuse_secrets(entry.options, f"judge {entry.use!r}")
        if not entry.of_pairs:
            continue
        if not hasattr(suite, "pairs"):
            raise UsageError(
                f"The suite {suite.name!r} has no pairs to compare, so --judge {entry.use}:{entry.model} has "
                "nothing to do; take --judge MODEL."
            )
        made = PairModelJudge(entry, make_judge(entry, suite))
        if made.id in {other.id for other in found}:
            raise UsageError(f"--judge names {entry.use}:{entry.model} twice; name it once.")
        found.append(made)
    return tuple(found)


def pair_judge_again(name: str, manifest: Mapping[str, Any], suite: Suite) -> PairModelJudge:
    """A judge of pairs that has compared in a run, made again.

    Raises:
        UsageError: its model is a file of one's own, which has to be named anew; or it cannot be made here.
    """
    entry = JudgeEntry.model_validate(manifest[ENTRY])
    refuse_file(name, entry)
    return PairModelJudge(entry, make_judge(entry, suite))
