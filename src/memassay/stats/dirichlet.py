"""Intervals of a weighted sum of (wins - losses) / questions over families, from per-family Dirichlet posteriors.

A family of eight questions is far from normal, and a bootstrap that resamples eight times the same win says [1, 1]. So
each family's shares of wins, losses and ties get a Dirichlet posterior, and those are added up by drawing.

The Jeffreys prior invents half a win, half a loss and half a tie per family. That is right for even families and wrong
for lopsided ones, all of which it pulls to the middle: the interval then misses a true gap of .9 in half of all runs.
The interval that decides is therefore the widest of three (docs/statistics.md has the simulation).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from memassay.stats.clusters import FloatArray
from memassay.stats.discordant import tango

JEFFREYS = 0.5
# Next to nothing: a prior that leaves lopsided families where they are. Of .1, .05, .02 and .01, the last two covered
# at least .93 in every cell of eight questions a family or more; their widths are the same.
FAINT = 0.02
DRAWS = 20_000  # the ends of an interval move by 2 % of a standard error
_CELLS = 1 << 22  # posterior numbers held at a time: 32 MB


@dataclass(frozen=True)
class GapBounds:
    """Intervals of R gaps, arrays of shape (R,).

    Attributes:
        median, jeffreys_low, jeffreys_high: of the posterior with the Jeffreys prior.
        low, high: the widest of three, plug-in included.
    """

    median: FloatArray
    jeffreys_low: FloatArray
    jeffreys_high: FloatArray
    low: FloatArray
    high: FloatArray


def gap_bounds(
    counts: npt.ArrayLike,
    weights: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    level: float = 0.95,
    draws: int = DRAWS,
) -> GapBounds:
    """Intervals of many gaps at once.

    Families are independent, so their posteriors are added draw by draw. The third interval joins Tango's score
    intervals of the families by the method of variance estimates recovery (Zou and Donner, Statistics in Medicine 27,
    2008): it needs no prior, and carries the designs of four questions a family.

    Args:
        counts: shape (R, F, 3): wins, losses, ties of F families, positive in sum; real numbers.
        weights: shape (F,), or (draws, F) where they are drawn too; a contrast may have negative ones.
        rng: named generator.
        level: two-sided confidence level.
        draws: from each posterior.
    """
    table = np.asarray(counts, dtype=np.float64)
    factors = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    runs, families, _ = table.shape
    kinds = [np.unique(table[:, f], axis=0, return_inverse=True) for f in range(families)]
    which = [inverse.ravel() for _, inverse in kinds]
    tail = (1 - level) / 2
    ends = {}
    for prior in (JEFFREYS, FAINT):
        drawn = [_family_draws(unique + prior, draws, rng) for unique, _ in kinds]
        ends[prior] = np.empty((3, runs))
        step = max(1, _CELLS // draws)
        for start in range(0, runs, step):
            part = slice(start, start + step)
            sums = np.zeros((len(which[0][part]), draws))
            for f in range(families):
                sums += factors[:, f] * drawn[f][which[f][part]]
            ends[prior][:, part] = np.quantile(sums, [tail, 0.5, 1 - tail], axis=1)
    centre, below, above = _combined(kinds, which, factors.mean(axis=0), level)
    return GapBounds(
        median=ends[JEFFREYS][1],
        jeffreys_low=ends[JEFFREYS][0],
        jeffreys_high=ends[JEFFREYS][2],
        low=np.minimum.reduce([ends[JEFFREYS][0], ends[FAINT][0], centre - below]),
        high=np.maximum.reduce([ends[JEFFREYS][2], ends[FAINT][2], centre + above]),
    )


def _family_draws(shapes: FloatArray, draws: int, rng: np.random.Generator) -> FloatArray:
    """Shape (U, draws): share won minus share lost, drawn from U Dirichlet posteriors (shapes: (U, 3))."""
    gammas = rng.standard_gamma(shapes[:, :, None], (len(shapes), 3, draws))
    won_less_lost: FloatArray = (gammas[:, 0] - gammas[:, 1]) / gammas.sum(axis=1)
    return won_less_lost


def _combined(
    kinds: list[tuple[FloatArray, npt.NDArray[np.intp]]],
    which: list[npt.NDArray[np.intp]],
    weights: FloatArray,
    level: float,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The plug-in of each run, and how far its combined score interval reaches below and above it."""
    runs = len(which[0])
    centre, below, above = np.zeros(runs), np.zeros(runs), np.zeros(runs)
    for (unique, _), positions, weight in zip(kinds, which, weights.tolist(), strict=True):
        gaps = (unique[:, 0] - unique[:, 1]) / unique.sum(axis=1)
        ends = np.array([_tango(won, lost, won + lost + tied, level) for won, lost, tied in unique.tolist()])
        down, up = gaps - ends[:, 0], ends[:, 1] - gaps
        if weight < 0:
            down, up = up, down
        centre += (weight * gaps)[positions]
        below += ((weight * down) ** 2)[positions]
        above += ((weight * up) ** 2)[positions]
    return centre, np.sqrt(below), np.sqrt(above)


_tango = lru_cache(maxsize=1 << 16)(tango)
