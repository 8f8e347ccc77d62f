"""How far the sign of a weighted gap hangs on one family, on the weights, and on one question."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memassay.suites.canary.pairs import Pair

WEIGHTINGS = 10_000


@dataclass(frozen=True, slots=True)
class WithoutFamily:
    """The weighted gap with one family left out and its weight given to the others; None where nothing is left."""

    family: str
    gap: float | None


@dataclass(frozen=True, slots=True)
class Simplex:
    """How many other weightings would give the gap the other sign.

    Attributes:
        anywhere: share of all weightings, drawn evenly from the simplex.
        counted: share of those that the counted queries allow; None where the weights were not counted.
    """

    anywhere: float
    counted: float | None


@dataclass(frozen=True, slots=True)
class Influence:
    """What one question can do to the weighted gap.

    Attributes:
        question: the one whose absence moves the gap most; of equal ones the first.
        shift: gap without it minus gap.
        turned: how far the gap moves if one question of the heaviest kind goes from lost to won.
    """

    question: str
    shift: float
    turned: float


def leave_one_family_out(pair: Pair) -> tuple[WithoutFamily, ...]:
    """Every family in turn, in the published order."""
    weights, gaps = _by_family(pair)
    rest = 1 - weights
    total = float(weights @ gaps)
    return tuple(
        WithoutFamily(family, (total - weight * gap) / left if left > 1e-12 else None)
        for family, weight, gap, left in zip(pair.families, weights.tolist(), gaps.tolist(), rest.tolist(), strict=True)
    )


def weight_simplex(pair: Pair, rng: np.random.Generator, draws: int = WEIGHTINGS) -> Simplex | None:
    """The share of plausible weightings where the sign of the gap flips.

    Args:
        pair: the questions.
        rng: named generator.
        draws: weightings.

    Returns:
        None where the gap is 0 and has no sign.
    """
    weights, gaps = _by_family(pair)
    total = float(weights @ gaps)
    if abs(total) < 1e-12:
        return None

    def flips(parameters: list[float]) -> float:
        return float((rng.dirichlet(parameters, draws) @ gaps * np.sign(total) < -1e-12).mean())

    anywhere = flips([1.0] * len(weights))
    concentration = pair.concentration
    counted = None if concentration is None else flips([concentration[family] for family in pair.families])
    return Simplex(anywhere, counted)


def single_question_influence(pair: Pair) -> Influence:
    """Drops every question in turn; a family that loses its only question gives its weight to the others."""
    weights, gaps = _by_family(pair)
    total = float(weights @ gaps)
    sizes = dict(zip(pair.families, pair.counts.sum(axis=1).tolist(), strict=True))
    position = {family: index for index, family in enumerate(pair.families)}
    without = {one.family: one.gap for one in leave_one_family_out(pair)}
    shifts = []
    for one in pair.questions:
        n, at = sizes[one.family], position[one.family]
        if n > 1:
            shifts.append(float(weights[at]) * (float(gaps[at]) - one.outcome) / (n - 1))
        else:
            left = without[one.family]
            shifts.append(0.0 if left is None else left - total)
    largest = max(range(len(shifts)), key=lambda index: (round(abs(shifts[index]), 12), -index))
    return Influence(pair.questions[largest].question, shifts[largest], 2 * float(pair.each.max()))


def _by_family(
    pair: Pair,
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], np.ndarray[tuple[int], np.dtype[np.float64]]]:
    weights = np.array([pair.shares[family] for family in pair.families])
    gaps = (pair.counts[:, 0] - pair.counts[:, 1]) / pair.counts.sum(axis=1)
    return weights, gaps
