"""One pair of memories as a mapping: gaps, tests, families, conventions for ties, fabrications, sensitivity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from memassay.core.digest import digest_of
from memassay.stats.pairwise import length_adjusted_gap
from memassay.suites.canary.fabrication import Fabrication, fabrication
from memassay.suites.canary.families import Weights
from memassay.suites.canary.pairs import Measured, Pair, measure
from memassay.suites.canary.rules import RULES, Decision, Thresholds
from memassay.suites.canary.scoring import family_rows, scores
from memassay.suites.canary.sensitivity import leave_one_family_out, single_question_influence, weight_simplex
from memassay.suites.canary.standings import Standings


@dataclass(frozen=True)
class Compared:
    """A pair with all that was concluded of it.

    Attributes:
        decisions: by rule, about replacing ``b`` by ``a``.
    """

    measured: Measured
    fabricated: Fabrication
    decisions: Mapping[str, Decision]

    @property
    def pair(self) -> Pair:
        return self.measured.pair


def generator(*names: str) -> np.random.Generator:
    """The named generator of one computation; that of a pair does not depend on which memory comes first."""
    return np.random.Generator(np.random.PCG64(int(digest_of(["canary", *sorted(names)])[:15], 16)))


def compared(found: Standings, a: str, b: str, weights: Weights, thresholds: Thresholds) -> Compared:
    """A pair, by every rule."""
    pair = found.pair(a, b, weights)
    measured = measure(pair, generator("pair", a, b), level=thresholds.level)
    fabricated = fabrication(pair, thresholds.level)
    decisions = {name: rule(measured, fabricated, thresholds) for name, rule in RULES.items()}
    return Compared(measured, fabricated, decisions)


def as_mapping(one: Compared, found: Standings, thresholds: Thresholds) -> dict[str, object]:
    """Everything that the tables of a pair are made of; ``a`` is the first memory, and positive favours it."""
    pair, measured = one.pair, one.measured
    won, lost, tied = (int(count) for count in pair.counts.sum(axis=0))
    lengths = [[standing.tokens for standing in found.of(name)] for name in (pair.a, pair.b)]
    adjusted = None
    if all(value is not None for side in lengths for value in side):
        first, second = ([value or 0.0 for value in side] for side in lengths)
        adjusted = length_adjusted_gap(pair.outcomes, first, second, pair.each, pair.clusters, level=thresholds.level)
    return {
        "a": pair.a,
        "b": pair.b,
        "questions": len(pair.questions),
        "wins": won,
        "losses": lost,
        "ties": tied,
        "tie_reasons": found.ties(pair.a, pair.b),
        "families": family_rows(pair, thresholds.level),
        "conventions": scores(pair),
        "weighted": measured.gaps.weighted,
        "uniform": measured.gaps.uniform,
        "difference": measured.gaps.difference,
        "flip": measured.test,
        "sign_p": measured.sign_p,
        "fabrication": one.fabricated,
        "sensitivity": {
            "without_family": leave_one_family_out(pair),
            "weightings": weight_simplex(pair, generator("weightings", pair.a, pair.b)),
            "one_question": single_question_influence(pair),
            "equal_length": adjusted,
        },
        "decisions": one.decisions,
    }
