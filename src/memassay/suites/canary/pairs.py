"""Two memories on the same questions: what the rules, the tables and the checks of one pair are made from."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from memassay.core.errors import UsageError
from memassay.stats.clusters import Clusters, FloatArray
from memassay.stats.discordant import mcnemar_exact
from memassay.stats.gaps import Aggregates, aggregate_gaps, question_weights
from memassay.stats.stratified import FlipTest, stratified_flip
from memassay.suites.canary.families import FAMILIES, Weights


@dataclass(frozen=True, slots=True)
class Compared:
    """One question of a pair; orders and judges are collapsed before.

    Attributes:
        question: id; family: one of ``FAMILIES``; cluster: what it was sampled with.
        outcome: +1 where the first memory won, -1 where the second did, 0 for a tie.
        fabricated: of each memory, whether anything that it returned is in no document.
        undetermined: of each memory, whether that could not be decided.
    """

    question: str
    family: str
    cluster: str
    outcome: int
    fabricated: tuple[bool, bool] = (False, False)
    undetermined: tuple[bool, bool] = (False, False)

    @property
    def swapped(self) -> Compared:
        """The same question with the memories in the other order."""
        fabricated, undetermined = self.fabricated[::-1], self.undetermined[::-1]
        return replace(self, outcome=-self.outcome, fabricated=fabricated, undetermined=undetermined)


@dataclass(frozen=True)
class Pair:
    """Memory ``a`` against memory ``b``; a question that either could not answer for technical reasons is not in it.

    Raises:
        UsageError: no question, a question twice, or no weight on any family that was asked.
    """

    a: str
    b: str
    questions: tuple[Compared, ...]
    weights: Weights

    def __post_init__(self) -> None:
        if not self.questions:
            raise UsageError(f"{self.a} and {self.b} have no question in common; look at the failed cells of the run.")
        if len({one.question for one in self.questions}) < len(self.questions):
            raise UsageError(f"{self.a} and {self.b} have a question twice; collapse orders and judges first.")
        if not sum(self.weights.shares[family] for family in self.families):
            raise UsageError(
                "Every family that was asked has the weight 0; weigh them, or ask the families that count."
            )

    @property
    def swapped(self) -> Pair:
        """The same pair with the memories in the other order."""
        return Pair(self.b, self.a, tuple(one.swapped for one in self.questions), self.weights)

    @cached_property
    def families(self) -> tuple[str, ...]:
        """The families that were asked, in the order of the published table."""
        asked = {one.family for one in self.questions}
        return tuple(family for family in FAMILIES if family in asked)

    @cached_property
    def shares(self) -> Mapping[Hashable, float]:
        """The weights of the families that were asked, scaled to sum to 1."""
        total = sum(self.weights.shares[family] for family in self.families)
        return {family: self.weights.shares[family] / total for family in self.families}

    @cached_property
    def concentration(self) -> Mapping[Hashable, float] | None:
        """The Dirichlet posterior of ``shares``: leaving families out of a Dirichlet leaves a Dirichlet."""
        parameters = self.weights.concentration
        return None if parameters is None else dict(zip(FAMILIES, parameters, strict=True))

    @cached_property
    def outcomes(self) -> FloatArray:
        """Shape (n,): +1, 0, -1."""
        return np.array([one.outcome for one in self.questions], dtype=np.float64)

    @cached_property
    def strata(self) -> Clusters:
        return Clusters.of([one.family for one in self.questions])

    @cached_property
    def clusters(self) -> Clusters:
        return Clusters.of([one.cluster for one in self.questions])

    @cached_property
    def each(self) -> FloatArray:
        """Shape (n,): what one question counts in the weighted gap."""
        return question_weights(self.strata, np.array([self.shares[family] for family in self.strata.labels]))

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """Shape (F, 3): wins, losses and ties of ``families``."""
        table = np.zeros((len(self.families), 3), dtype=np.int64)
        column = {1: 0, -1: 1, 0: 2}
        for one in self.questions:
            table[self.families.index(one.family), column[one.outcome]] += 1
        return table

    @property
    def tie_rate(self) -> float:
        return float(self.counts[:, 2].sum() / len(self.questions))


@dataclass(frozen=True)
class Measured:
    """What a pair shows.

    Attributes:
        gaps: the weighted and the uniform gap, and their difference.
        test: of the weighted gap.
        sign_p: exact two-sided p of all wins against all losses, which takes questions for independent.
    """

    pair: Pair
    gaps: Aggregates
    test: FlipTest
    sign_p: float


def measure(pair: Pair, rng: np.random.Generator, *, level: float = 0.95) -> Measured:
    """Estimates and tests the gap of a pair.

    Args:
        pair: the questions.
        rng: named generator; a pair and its mirror image need generators of the same state to mirror to the last digit.
        level: two-sided confidence level.
    """
    gaps = aggregate_gaps(
        pair.outcomes,
        pair.strata,
        pair.shares,
        pair.clusters,
        rng=rng,
        concentration=pair.concentration,
        level=level,
    )
    test = stratified_flip(pair.outcomes, pair.each, pair.clusters, rng=rng, level=level)
    won, lost, _ = (int(count) for count in pair.counts.sum(axis=0))
    return Measured(pair, gaps, test, mcnemar_exact(won, lost))
