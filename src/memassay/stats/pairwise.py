"""Descriptions of pairwise results that decide nothing: strengths of several memories, and a gap at equal length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from memassay.core.types import Estimate
from memassay.stats.clustered import ONE_CLUSTER
from memassay.stats.clusters import ClusterLabels, Clusters, FloatArray
from memassay.stats.distributions import two_sided_z
from memassay.stats.gaps import signs

_NO_TIES = -1e3  # the logarithm of a nu of nothing, and still a number
_TOO_STRONG = 15.0  # a log odds of 15: perfect separation, on its way to infinity


@dataclass(frozen=True)
class Davidson:
    """Bradley-Terry strengths with ties.

    Attributes:
        names: the memories.
        strengths: natural logarithms, in the order of ``names``, mean 0; None where they are not defined.
        tie: Davidson's nu: two equal memories tie with probability nu / (2 + nu); None likewise.
        cycles: triples (a, b, c) where a beats b, b beats c and c beats a by weighted wins.
        reason: why there are no strengths, else None.
    """

    names: tuple[str, ...]
    strengths: tuple[float, ...] | None
    tie: float | None
    cycles: tuple[tuple[str, str, str], ...]
    reason: str | None


@dataclass(frozen=True)
class LengthAdjusted:
    """The weighted gap at equal length.

    Attributes:
        gap: at no difference of length.
        unadjusted: the same without the length.
        slope: change of the log odds per standard deviation of the length difference.
        sd: that standard deviation, in tokens.
    """

    gap: Estimate
    unadjusted: float
    slope: float | None
    sd: float


def davidson(names: Sequence[str], wins: npt.ArrayLike, ties: npt.ArrayLike) -> Davidson:
    """Strengths by maximum likelihood (Davidson, JASA 65, 1970).

    P(i beats j) is proportional to s_i, P(j beats i) to s_j, P(tie) to nu sqrt(s_i s_j).

    Args:
        names: K memories, at least two.
        wins: shape (K, K): how often (or with what weight) the row beat the column; the diagonal is not read.
        ties: shape (K, K), symmetric: each tie stands in both halves.

    Returns:
        No strengths where a group of memories never lost nor tied against the rest: theirs would be infinite (Ford,
        American Mathematical Monthly 64, 1957).

    Raises:
        ValueError: wrong shapes, or a negative count.
    """
    from scipy.optimize import minimize

    k = len(names)
    won, tied = np.asarray(wins, dtype=np.float64), np.asarray(ties, dtype=np.float64)
    if k < 2 or won.shape != (k, k) or tied.shape != (k, k) or (won < 0).any() or (tied < 0).any():
        raise ValueError(f"{k} memories need two tables of shape ({k}, {k}), none negative.")
    cycles = _cycles(names, won)
    if not _connected((won > 0) | (tied > 0)):
        return Davidson(tuple(names), None, None, cycles, "a memory never lost nor tied against the rest")
    i, j = np.triu_indices(k, 1)
    any_tie = bool((tied[i, j] > 0).any())
    total = max(1.0, float(won[i, j].sum() + won[j, i].sum() + tied[i, j].sum()))

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        strengths, log_nu = parameters[:k], parameters[k] if any_tie else _NO_TIES
        logits = np.stack([strengths[i], strengths[j], log_nu + (strengths[i] + strengths[j]) / 2])
        top = logits.max(axis=0)
        norm = top + np.log(np.exp(logits - top).sum(axis=0))
        seen = np.stack([won[i, j], won[j, i], tied[i, j]])
        value = float(np.where(seen > 0, seen * (norm - logits), 0.0).sum())
        slack = seen.sum(axis=0) * np.exp(logits - norm) - seen  # derivative by each logit
        gradient = np.zeros_like(parameters)
        np.add.at(gradient, i, slack[0] + slack[2] / 2)
        np.add.at(gradient, j, slack[1] + slack[2] / 2)
        if any_tie:
            gradient[k] = slack[2].sum()
        value += float(strengths.sum()) ** 2 / 2  # fixes the mean at 0 and nothing else
        gradient[:k] += strengths.sum()
        return value / total, gradient / total

    found = minimize(loss, np.zeros(k + any_tie), jac=True, method="BFGS", options={"gtol": 1e-9})
    tie = float(np.exp(found.x[k])) if any_tie else 0.0
    return Davidson(tuple(names), tuple(found.x[:k].tolist()), tie, cycles, None)


def length_adjusted_gap(
    outcomes: npt.ArrayLike,
    lengths_a: npt.ArrayLike,
    lengths_b: npt.ArrayLike,
    weights: npt.ArrayLike,
    clusters: ClusterLabels,
    *,
    level: float = 0.95,
) -> LengthAdjusted:
    """The gap that is left where both memories return equally much (after arXiv 2404.04475).

    A weighted logistic regression of the outcome (won 1, tied .5, lost 0) on the length difference in standard
    deviations. At no difference the win rate is 1 / (1 + exp(-intercept)) and the gap tanh(intercept / 2). The interval
    takes the cluster-robust error of the intercept.

    Args:
        outcomes: shape (n,): +1, 0 or -1.
        lengths_a: shape (n,): tokens that the first memory returned.
        lengths_b: the same of the second.
        weights: shape (n,): what one question counts.
        clusters: n labels.
        level: two-sided confidence level.

    Returns:
        No adjusted gap where lengths never differ, or where one memory won everything that length does not explain.

    Raises:
        ValueError: another outcome, or lengths that differ.
    """
    groups = Clusters.of(clusters)
    d = signs(outcomes, groups)
    each = np.asarray(weights, dtype=np.float64)
    longer = np.asarray(lengths_a, dtype=np.float64) - np.asarray(lengths_b, dtype=np.float64)
    if longer.shape != d.shape or each.shape != d.shape:
        raise ValueError(f"{groups.n} questions need as many lengths and weights.")
    plain, sd = float(each @ d), float(longer.std())
    nothing = Estimate(value=None, level=level, n=groups.n, clusters=groups.count)
    if not sd:
        return LengthAdjusted(nothing.model_copy(update={"reason": "lengths never differ"}), plain, None, sd)
    x = np.stack([np.ones_like(d), longer / sd], axis=1)
    y, share = (d + 1) / 2, each / each.sum()
    beta = np.zeros(2)
    bread = np.zeros((2, 2))
    for _ in range(50):
        p = 1 / (1 + np.exp(-(x @ beta)))
        bread = (x * (share * p * (1 - p))[:, None]).T @ x
        if np.abs(beta).max() > _TOO_STRONG or np.linalg.det(bread) < 1e-14:
            reason = "the regression has no end: one memory won all that length does not explain"
            return LengthAdjusted(nothing.model_copy(update={"reason": reason}), plain, None, sd)
        step = np.linalg.solve(bread, x.T @ (share * (y - p)))
        beta = beta + step
        if np.abs(step).max() < 1e-10:
            break
    value = float(np.tanh(beta[0] / 2))
    if groups.count < 2:
        alone = nothing.model_copy(update={"value": value, "reason": ONE_CLUSTER})
        return LengthAdjusted(alone, plain, float(beta[1]), sd)
    residuals = x * (share * (y - 1 / (1 + np.exp(-(x @ beta)))))[:, None]
    meat = np.stack([groups.sums(residuals[:, 0]), groups.sums(residuals[:, 1])], axis=1)
    spread = np.linalg.inv(bread) @ (meat.T @ meat) @ np.linalg.inv(bread) * groups.count / (groups.count - 1)
    half = two_sided_z(level) * float(np.sqrt(spread[0, 0]))
    ends = {"low": float(np.tanh((beta[0] - half) / 2)), "high": float(np.tanh((beta[0] + half) / 2))}
    gap = nothing.model_copy(update={"value": value, **ends, "method": "logistic regression on length, cluster-robust"})
    return LengthAdjusted(gap, plain, float(beta[1]), sd)


def _connected(beats: npt.NDArray[np.bool_]) -> bool:
    """Whether every memory can be reached from every other one along wins and ties."""
    reach = beats | np.eye(len(beats), dtype=bool)
    for _ in range(len(beats)):
        reach = (reach.astype(np.int64) @ reach.astype(np.int64)) > 0
    return bool(reach.all())


def _cycles(names: Sequence[str], won: FloatArray) -> tuple[tuple[str, str, str], ...]:
    above = won > won.T
    found = []
    for a, b, c in combinations(range(len(names)), 3):
        if above[a, b] and above[b, c] and above[c, a]:
            found.append((names[a], names[b], names[c]))
        elif above[a, c] and above[c, b] and above[b, a]:
            found.append((names[a], names[c], names[b]))
    return tuple(found)
