"""A judge of pairs without a model, so that everything around judges can be tried without a key: never a judge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import JsonValue

from memassay.core.errors import UsageError
from memassay.core.pairs import Comparison, Pairing
from memassay.core.types import ModelKind, Usage
from memassay.core.wording import normalise, stands
from memassay.judging.asking import file_name
from memassay.judging.pair_prompts import Label
from memassay.stats.places import place

VERSION = 1


class ScriptedPairJudge:
    """Compares by how much of the reference stands in each text, with faults that can be set.

    The merit of a text is the share of the reference's lines whose words stand in it, in [0, 1]; without a reference
    every merit is 0. The same comparison has the same noise in every process, so that repetitions agree.

    Args:
        model: a name that tells two of them apart; it is the family too.
        criteria: not read; what a suite asks of a judge with a model.
        bias: added to the merit of the first text.
        noise: standard deviation of what is added to each merit.
        band: texts whose merits differ by no more are tied.
        longer: added to the merit of a text for every 1,000 characters; negative favours the shorter.
        seed: of the noise.

    Raises:
        UsageError: a negative noise or band.
    """

    model: ModelKind = "scripted"
    pairs: Literal[True] = True

    def __init__(
        self,
        *,
        model: str = "",
        criteria: str = "",
        bias: float = 0.0,
        noise: float = 0.0,
        band: float = 0.1,
        longer: float = 0.0,
        seed: int = 0,
    ) -> None:
        for name, value in (("noise", noise), ("band", band)):
            if value < 0:
                raise UsageError(f"{name} of a scripted judge of pairs must be 0 or more, not {value:g}.")
        self.family = model.strip().lower() or "scripted"
        self.id = f"scripted-pairs-{file_name(model)}" if model else "scripted-pairs"
        self._bias, self._noise, self._band, self._longer, self._seed = bias, noise, band, longer, seed

    @property
    def config(self) -> Mapping[str, JsonValue]:
        return {
            "judge": "scripted-pairs",
            "version": VERSION,
            "family": self.family,
            "bias": self._bias,
            "noise": self._noise,
            "band": self._band,
            "longer": self._longer,
            "seed": self._seed,
        }

    def price(self, usage: Usage) -> float:
        """Nothing."""
        return 0.0

    def compare(self, pairing: Pairing) -> Comparison:
        """The better place by the rule; labels by the facts that stand in each text."""
        facts = [fact for line in pairing.reference.splitlines() if (fact := normalise(line))]
        shown = (pairing.first, pairing.second)
        found = [_share(facts, text) for text in shown]
        first, second = (share + self._longer * len(text) / 1000 for share, text in zip(found, shown, strict=True))
        draw = [self.id, self._seed, pairing.task.id, *shown]
        better = place(first, second, bias=self._bias, noise=self._noise, band=self._band, draw=draw)
        labels = (_label(found[0], shown[0]), _label(found[1], shown[1]))
        words = f"{found[0]:.0%} of the reference stand in the first text, {found[1]:.0%} in the second."
        return Comparison(better, labels, explanation=words, usage=Usage(cost_usd=0.0))


def _share(facts: list[str], text: str) -> float:
    shown = normalise(text)
    return sum(stands(fact, shown) for fact in facts) / len(facts) if facts else 0.0


def _label(share: float, text: str) -> Label:
    if not text.strip():
        return "abstained"
    return "correct" if share == 1 else "partial" if share else "incorrect"
