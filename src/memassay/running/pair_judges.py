"""Judges of pairs: from the experiment, from a flag, or from what a run folder holds of them.

They compare what two arms found for one question. Like other judges with a model they are no part of a run's identity;
each has a small guarded manifest of its own (``pairs/ID.json``).
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from memassay.core.contracts import Suite
from memassay.core.errors import UsageError
from memassay.core.pairs import Comparison, Pairing, PairJudge
from memassay.core.types import ModelKind
from memassay.running.experiment import Experiment, JudgeEntry
from memassay.running.judges import ENTRY, Opened, make_judge, refuse_file
from memassay.running.secrets import refuse_secrets


class PairModelJudge(Opened):
    """A judge of pairs and how the experiment names it; the model is opened when a verdict is needed."""

    def __init__(self, entry: JudgeEntry, judge: PairJudge) -> None:
        super().__init__(entry, judge)
        self.id, self.family = judge.id, judge.family
        self.model: ModelKind = judge.model

    @property
    def config(self) -> Mapping[str, JsonValue]:
        entry = {**self.entry.model_dump(mode="json"), "model": self.name}
        return {**self._judge.config, "kind": self.model, "family": self.family, ENTRY: entry}

    async def compare(self, pairing: Pairing) -> Comparison:
        """What the judge says of two dossiers."""
        found = self._judge.compare(pairing)
        comparison: Comparison = await found if inspect.isawaitable(found) else found
        return comparison


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
