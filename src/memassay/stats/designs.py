"""Which rules a suite's questions take: one line per design, so that no caller asks for a suite by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memassay.core.types import Estimate
from memassay.stats.clustered import question_mean
from memassay.stats.clusters import Clusters, FloatArray
from memassay.stats.independent import paired_shares, question_share
from memassay.stats.paired import Paired, paired_difference
from memassay.stats.power import Power, detectable_difference, mcnemar_detectable, mcnemar_power, verdict_power

_RUNS = 500  # simulated experiments: a Monte Carlo error of .018 at .8
_SEED = 20261130


@dataclass(frozen=True)
class Design:
    """How the questions of a suite were sampled, and the rules that follow from it.

    Attributes:
        name: what a suite writes in its attribute ``design``.
        one_arm: (scores, clusters) to an estimate; scores of shape (n,) in [0, 1].
        two_arms: (scores of a, scores of b, clusters, generator) to a comparison.
        detectable: planned cluster sizes to the smallest difference found in 80 % of runs, or None where none can be.
        power: (true difference in (0, 1], planned cluster sizes) to the probability of a verdict.
        test: the test's name in a sentence.
        scope: what every number is given, where all questions are asked of one store; "" where clusters say it.
    """

    name: str
    one_arm: Callable[[npt.ArrayLike, Clusters], Estimate]
    two_arms: Callable[[npt.ArrayLike, npt.ArrayLike, Clusters, np.random.Generator], Paired]
    detectable: Callable[[npt.ArrayLike], Power | None]
    power: Callable[[float, npt.ArrayLike], float]
    test: str
    scope: str = ""


def _clustered_arms(a: npt.ArrayLike, b: npt.ArrayLike, clusters: Clusters, rng: np.random.Generator) -> Paired:
    return paired_difference(a, b, clusters, rng=rng)


def _independent_arms(a: npt.ArrayLike, b: npt.ArrayLike, clusters: Clusters, rng: np.random.Generator) -> Paired:
    return paired_shares(a, b, clusters, rng=rng)


def _clustered_detectable(sizes: npt.ArrayLike) -> Power | None:
    return detectable_difference(sizes) if len(np.asarray(sizes)) >= 2 else None


def _clustered_power(difference: float, sizes: npt.ArrayLike) -> float:
    counts: FloatArray = np.asarray(sizes, dtype=np.float64)
    if len(counts) < 2:
        return 0.0
    return verdict_power(difference, counts, rng=np.random.Generator(np.random.PCG64(_SEED)), runs=_RUNS)


def _independent_detectable(sizes: npt.ArrayLike) -> Power | None:
    return _clustered_detectable(sizes) if _mostly_joined(sizes) else mcnemar_detectable(sizes)


def _independent_power(difference: float, sizes: npt.ArrayLike) -> float:
    return _clustered_power(difference, sizes) if _mostly_joined(sizes) else mcnemar_power(difference, sizes)


def _mostly_joined(sizes: npt.ArrayLike) -> bool:
    counts = np.asarray(sizes, dtype=np.int64)
    return Clusters.of(np.repeat(np.arange(len(counts)), counts)).mostly_joined


DEFAULT_DESIGN = "clustered"

DESIGNS: Mapping[str, Design] = {
    design.name: design
    for design in (
        Design(
            name=DEFAULT_DESIGN,
            one_arm=question_mean,
            two_arms=_clustered_arms,
            detectable=_clustered_detectable,
            power=_clustered_power,
            test="the sign-flip test",
        ),
        Design(
            name="independent-binary",
            one_arm=question_share,
            two_arms=_independent_arms,
            detectable=_independent_detectable,
            power=_independent_power,
            test="McNemar's exact test",
            scope="One pooled store: every number holds given this pool of documents only.",
        ),
    )
}
"""By name: ``clustered`` (questions of a conversation, world or document are alike) and ``independent-binary``
(questions sampled one by one, right or wrong, asked of one pooled store)."""
