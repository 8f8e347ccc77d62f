"""Sign flips of a weighted gap (rows "canary: weighted gap of a pair" and "canary: >= 3 memories").

If two memories are alike, every question is as likely to be won as lost. Questions keep the weight of their family and
whole clusters flip, so nothing is assumed about variances, and a family of one style cannot pass for eight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from memassay.stats.clusters import ClusterLabels, Clusters, FloatArray
from memassay.stats.families import max_t
from memassay.stats.flips import DRAWS, Flips
from memassay.stats.gaps import signs
from memassay.stats.paired import sign_flip

_ALIKE = 200  # experiments that share their drawn sums


@dataclass(frozen=True)
class FlipTest:
    """A stratified sign-flip test.

    Attributes:
        p: two-sided; 1 where nothing differs.
        patterns: enumerated (2^moving) or drawn.
        exact: whether every pattern was counted.
        moving: clusters whose weighted sum is not 0; the others cannot change the gap.
        decidable: whether so few can reach p <= 1 - level at all.
        reason: why not, else None.
    """

    p: float
    patterns: int
    exact: bool
    moving: int
    decidable: bool
    reason: str | None


@dataclass(frozen=True)
class PairTest:
    """One pair of several memories: the weighted gap of a over b, and its p adjusted for all pairs."""

    a: str
    b: str
    gap: float
    p: float


@dataclass(frozen=True)
class BestSet:
    """The memories that no other one beats.

    Attributes:
        members: in the order they were given.
        pairs: every pair with its adjusted p.
        cycle: every memory is beaten by another one, so that there is no best; then all are members.
    """

    members: tuple[str, ...]
    pairs: tuple[PairTest, ...]
    cycle: bool


def stratified_flip(
    outcomes: npt.ArrayLike,
    weights: npt.ArrayLike,
    clusters: ClusterLabels,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = DRAWS,
) -> FlipTest:
    """Tests a weighted gap by flipping whole clusters: all patterns of up to 16 moving clusters, else drawn ones.

    Args:
        outcomes: shape (n,): +1, 0 or -1.
        weights: shape (n,): the weight of its family over its number of questions.
        clusters: n labels; all families that a cluster has questions of flip together.
        rng: named generator; p = (1 + b) / (1 + draws) where patterns are drawn.
        level: of the decision that ``decidable`` speaks of.
        draws: patterns drawn.

    Raises:
        ValueError: another outcome, or lengths that differ.
    """
    groups = Clusters.of(clusters)
    sums = groups.sums(_each(weights, groups) * signs(outcomes, groups))
    sums = sums[np.abs(sums) > 1e-12]
    if not len(sums):
        return FlipTest(1.0, 1, True, 0, False, "no question differs")
    flips = Flips.plan(len(sums), rng, draws)
    decidable = flips.smallest_p <= 1 - level + 1e-12
    reason = None if decidable else f"{len(sums)} clusters that differ give no p below {flips.smallest_p:.3f}"
    return FlipTest(sign_flip(sums, flips), flips.count, flips.exact, len(sums), decidable, reason)


def best_set(
    names: Sequence[str],
    outcomes: npt.ArrayLike,
    weights: npt.ArrayLike,
    clusters: ClusterLabels,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = DRAWS,
) -> BestSet:
    """The set of memories that are not shown to be worse than another one, by max-T over all pairs.

    All pairs share their flips, which keeps their correlation. The chance that any memory is left out although none is
    better than it is at most 1 - level.

    Args:
        names: K memories, at least two.
        outcomes: shape (n, K (K - 1) / 2): +1, 0 or -1 of the first of each pair, pairs as in
            ``itertools.combinations(names, 2)``.
        weights: shape (n,): what one question counts.
        clusters: n labels, at least two.
        rng: named generator.
        level: one minus the family-wise error.
        draws: patterns drawn above 16 clusters.

    Raises:
        ValueError: another outcome, fewer than two clusters, or shapes that differ.
    """
    groups = Clusters.of(clusters)
    pairs = list(combinations(names, 2))
    table = np.asarray(outcomes, dtype=np.float64)
    if groups.count < 2:
        raise ValueError("A set of the best needs questions of at least two clusters.")
    if table.shape != (groups.n, len(pairs)):
        raise ValueError(f"{len(names)} memories and {groups.n} questions need ({groups.n}, {len(pairs)}) outcomes.")
    weighted = np.stack([signs(column, groups) for column in table.T], axis=1) * _each(weights, groups)[:, None]
    adjusted = max_t(weighted, groups, rng=rng, draws=draws)
    tests = tuple(
        PairTest(a, b, float(gap), 1.0 if p is None else p)
        for (a, b), gap, p in zip(pairs, weighted.sum(axis=0), adjusted, strict=True)
    )
    beaten = {(one.b if one.gap > 0 else one.a) for one in tests if one.gap and one.p <= 1 - level + 1e-12}
    members = tuple(name for name in names if name not in beaten)
    return BestSet(members or tuple(names), tests, cycle=not members)


def flip_ps(
    wins: npt.ArrayLike,
    losses: npt.ArrayLike,
    weights: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    draws: int = DRAWS,
) -> FloatArray:
    """Shape (R,): the p of R experiments on independent questions, for simulations; always by drawn patterns.

    Only the number of decided questions of a family matters: their flipped sum is 2 x heads - number of fair coins. So
    the sums are drawn once for each number and looked up, anew for every 200 experiments: the luck of one set of sums
    would shift the size of all by .007 at 999 draws.

    Args:
        wins: shape (R, F), whole numbers.
        losses: the same.
        weights: shape (F,): what one question of each family counts.
        rng: named generator.
        draws: patterns.
    """
    won, lost = np.asarray(wins, dtype=np.int64), np.asarray(losses, dtype=np.int64)
    each = np.asarray(weights, dtype=np.float64)
    decided = won + lost
    observed = np.abs((won - lost) @ each)
    p = np.empty(len(won))
    for start in range(0, len(won), _ALIKE):
        part = slice(start, start + _ALIKE)
        sums = np.zeros((len(won[part]), draws))
        for f, most in enumerate(decided[part].max(axis=0).tolist()):
            coins = rng.integers(0, 2, (draws, most), dtype=np.int8) * 2 - 1
            heads = np.concatenate([np.zeros((draws, 1)), np.cumsum(coins, axis=1)], axis=1).T
            sums += each[f] * heads[decided[part, f]]
        p[part] = (1 + (np.abs(sums) >= observed[part, None] - 1e-12).sum(axis=1)) / (1 + draws)
    return p


def _each(weights: npt.ArrayLike, clusters: Clusters) -> FloatArray:
    each = np.asarray(weights, dtype=np.float64)
    if each.shape != (clusters.n,) or not (each >= 0).all():
        raise ValueError(f"{clusters.n} questions need as many weights, none negative.")
    return each
