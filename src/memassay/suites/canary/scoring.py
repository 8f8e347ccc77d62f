"""The scores of a pair under each convention for ties, side by side, and family by family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memassay.core.types import Estimate
from memassay.stats.clusters import FloatArray
from memassay.stats.discordant import tango
from memassay.stats.proportion import clopper_pearson
from memassay.suites.canary.pairs import Pair

CONVENTIONS = ("strict", "half credit", "decisive")
"""Ties stay in the denominator; ties count half for both; ties are left out."""


@dataclass(frozen=True, slots=True)
class Score:
    """Shares of questions won under one convention.

    Attributes:
        convention: one of ``CONVENTIONS``.
        a, b: weighted shares; None where no question was decided.
        uniform_a, uniform_b: means over families.
        questions: in the denominator.
        left_out: families without a decided question, whose weight went to the others (decisive only).
    """

    convention: str
    a: float | None
    b: float | None
    uniform_a: float | None
    uniform_b: float | None
    questions: int
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FamilyRow:
    """One family: counts, exact intervals of the shares won and lost, and Tango's of their difference."""

    family: str
    weight: float
    wins: int
    losses: int
    ties: int
    won: Estimate
    lost: Estimate
    gap: Estimate


def scores(pair: Pair) -> tuple[Score, ...]:
    """The three conventions in the order of ``CONVENTIONS``."""
    weights = np.array([pair.shares[family] for family in pair.families])
    return tuple(score(name, pair.counts, weights, pair.families) for name in CONVENTIONS)


def score(
    convention: str, counts: Sequence[Sequence[int]] | object, weights: FloatArray, names: Sequence[str]
) -> Score:
    """The scores of wins, losses and ties of F families under one convention.

    Args:
        convention: one of ``CONVENTIONS``.
        counts: shape (F, 3).
        weights: shape (F,), summing to 1.
        names: of the F families.
    """
    table = np.asarray(counts, dtype=np.float64)
    won, lost, tied = table.T
    if convention == "half credit":
        won, lost = won + tied / 2, lost + tied / 2
    total = won + lost if convention == "decisive" else table.sum(axis=1)
    kept = total > 0
    left_out = tuple(name for name, here in zip(names, kept, strict=True) if not here)
    scale = float(weights[kept].sum())
    if not scale:
        return Score(convention, None, None, None, None, int(total.sum()), left_out)
    a, b = won[kept] / total[kept], lost[kept] / total[kept]
    share = weights[kept] / scale
    sides = (float(share @ a), float(share @ b), float(a.mean()), float(b.mean()))
    return Score(convention, *sides, int(total.sum()), left_out)


def family_rows(pair: Pair, level: float = 0.95) -> tuple[FamilyRow, ...]:
    """Every family of a pair, in the published order; intervals take questions for independent."""
    return tuple(
        _family_row(family, pair.shares[family], wins, losses, ties, level)
        for family, (wins, losses, ties) in zip(pair.families, pair.counts.tolist(), strict=True)
    )


def _family_row(family: str, weight: float, wins: int, losses: int, ties: int, level: float) -> FamilyRow:
    n = wins + losses + ties

    def estimate(value: float, ends: tuple[float, float], method: str) -> Estimate:
        return Estimate(value=value, low=ends[0], high=ends[1], level=level, n=n, clusters=n, method=method)

    won, lost = (estimate(k / n, clopper_pearson(k, n, level), "clopper-pearson") for k in (wins, losses))
    gap = estimate((wins - losses) / n, tango(wins, losses, n, level), "tango")
    return FamilyRow(family, weight, wins, losses, ties, won, lost, gap)
