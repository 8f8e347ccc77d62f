"""What judges of pairs said of two memories, question by question: outcomes, and how far judges agree.

The unit is the question. Orders, judges, repetitions and builds are repeated measures of it: they share its cluster,
and never count as questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from memassay.core.pairs import PairVerdict
from memassay.core.types import Estimate
from memassay.stats.agreement import Agreement, Positions, agreement, positions, repetition_stability
from memassay.suites.canary.collapse import Collapsed, Place, TieReason, of_judges, of_orders, sign_of
from memassay.suites.canary.standings import Asked, Standings

WINNERS = ("a", "b", "tie")
SAME_TEXT = "same_text"
"""Reason of a tie: both dossiers are the same, so nobody was asked."""
BUILDS_DIFFER = "builds_differ"
"""Reason of a tie: one build was won, and another one lost."""
_REASONS: tuple[TieReason, ...] = ("judge_conflict", "order_flip", "one_sided", "both_said_tie")
"""Which reason is told where every build is a tie, for different reasons."""


@dataclass(frozen=True, slots=True)
class Joint:
    """The outcome of a question.

    Attributes:
        sign: +1 where a won, -1 where b did, 0 for a tie; None where an answer is missing in any build.
        reason: of a tie, one of ``collapse.TIE_REASONS``, ``SAME_TEXT``, ``BUILDS_DIFFER``.
    """

    sign: int | None
    reason: str | None = None


@dataclass(frozen=True)
class Ballots:
    """All that judges said of one pair.

    Attributes:
        a, b: the memories.
        verdicts: without probes, with ``a`` and ``b`` in this order, on questions that count.
        questions: those that count.
    """

    a: str
    b: str
    verdicts: tuple[PairVerdict, ...]
    questions: tuple[Asked, ...]

    @cached_property
    def clusters(self) -> Mapping[str, str]:
        """The cluster of each question."""
        return {asked.id: asked.cluster for asked in self.questions}

    @cached_property
    def _first(self) -> tuple[PairVerdict, ...]:
        return tuple(one for one in self.verdicts if not one.repetition)

    @cached_property
    def builds(self) -> tuple[int, ...]:
        """The builds that were compared."""
        return tuple(sorted({one.build for one in self._first}))

    @cached_property
    def _collapsed(self) -> Mapping[tuple[str, str, int], Collapsed]:
        """By judge, question and build."""
        places: dict[tuple[str, str, int], dict[int, Place | None]] = {}
        for one in self._first:
            places.setdefault((one.judge, one.task, one.build), {})[one.order] = one.position
        return {key: of_orders(said.get(0), said.get(1)) for key, said in places.items()}

    @cached_property
    def _unasked(self) -> frozenset[tuple[str, str, int]]:
        """Judge, question and build where two equal dossiers were called a tie without asking."""
        return frozenset((one.judge, one.task, one.build) for one in self._first) - frozenset(
            (one.judge, one.task, one.build) for one in asked_only(self._first)
        )

    def joint(self, judges: Sequence[str]) -> dict[str, Joint]:
        """The outcome of every question, all these judges and both orders taken together."""
        return {asked.id: self._joint(asked.id, judges) for asked in self.questions}

    def _joint(self, question: str, judges: Sequence[str]) -> Joint:
        nothing = Collapsed(None)
        outcomes = [
            of_judges([self._collapsed.get((judge, question, build), nothing) for judge in judges])
            for build in self.builds
        ]
        signs = [sign_of(outcome) for outcome in outcomes]
        known = [sign for sign in signs if sign is not None]
        if not signs or len(known) < len(signs):
            return Joint(None)
        total = sum(known)
        if total:
            return Joint(1 if total > 0 else -1)
        if any(known):
            return Joint(0, BUILDS_DIFFER)
        if all((judge, question, build) in self._unasked for judge in judges for build in self.builds):
            return Joint(0, SAME_TEXT)
        reasons = {outcome.reason for outcome in outcomes}
        return Joint(0, next(reason for reason in _REASONS if reason in reasons))

    def positions(self, judge: str, level: float) -> Positions:
        """How far a judge keeps to its word when the order changes; equal dossiers, of which nobody asked, are out."""
        places: dict[tuple[str, int], dict[int, Place | None]] = {}
        for one in asked_only(self._first):
            if one.judge == judge:
                places.setdefault((one.task, one.build), {})[one.order] = one.position
        rows = [
            (one_way, other_way, self.clusters[question])
            for (question, _), said in sorted(places.items())
            if (one_way := said.get(0)) is not None and (other_way := said.get(1)) is not None
        ]
        return positions([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows], level=level)

    def agreement(self, first: str, second: str, rng: np.random.Generator, level: float) -> Agreement:
        """Two judges on the same questions, each with both orders collapsed."""
        rows = []
        for (judge, question, build), outcome in sorted(self._collapsed.items(), key=lambda item: item[0]):
            other = self._collapsed.get((second, question, build))
            if judge != first or other is None or (judge, question, build) in self._unasked:
                continue
            if outcome.winner is not None and other.winner is not None:
                rows.append((outcome.winner, other.winner, self.clusters[question]))
        one, two, clusters = ([row[column] for row in rows] for column in range(3))
        return agreement(one, two, WINNERS, clusters, rng=rng, level=level)


def asked_only(verdicts: Iterable[PairVerdict]) -> list[PairVerdict]:
    """Without the ties of equal dossiers, which nobody was asked about."""
    return [one for one in verdicts if one.asked]


def stability(verdicts: Iterable[PairVerdict], found: Standings, level: float) -> Estimate:
    """How often two readings of the same comparison by one judge name the same place.

    Args:
        verdicts: of one judge, without probes, on questions that count.
        found: those questions.
        level: two-sided confidence level.
    """
    said: dict[tuple[str, str, str, int, int], list[str]] = {}
    for one in asked_only(verdicts):
        if one.position is not None:
            said.setdefault((one.task, one.a, one.b, one.build, one.order), []).append(one.position)
    clusters = {asked.id: asked.cluster for asked in found.questions}
    again = {key: places for key, places in sorted(said.items()) if len(places) > 1}
    return repetition_stability(list(again.values()), [clusters[key[0]] for key in again], level=level)


def oriented(verdict: PairVerdict, a: str) -> PairVerdict:
    """The same verdict with the memory ``a`` as the first of the pair."""
    if verdict.a == a:
        return verdict
    return replace(verdict, a=verdict.b, b=verdict.a, order=1 - verdict.order)
