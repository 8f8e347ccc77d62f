"""Several comparisons at once (row "locomo: >= 3 arms, budgets, categories")."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from memassay.stats.clusters import ClusterLabels, Clusters, FloatArray
from memassay.stats.flips import DRAWS, Flips


def max_t(
    diffs: npt.ArrayLike,
    clusters: ClusterLabels,
    *,
    rng: np.random.Generator | None = None,
    draws: int = DRAWS,
) -> tuple[float | None, ...]:
    """Adjusted p-values of a family of paired differences, by step-down max-T over shared sign flips.

    Each column's cluster sums S_g are studentised, u = sum(s_g S_g) / sqrt(sum(S_g^2)); the denominator is the same
    under every flip, so one column alone gets exactly the p of ``paired_difference``. All columns are flipped together,
    which keeps their correlation: budgets and arms that move together cost little. Step-down as in Westfall and Young,
    Resampling-Based Multiple Testing (1993), algorithm 4.1.

    Args:
        diffs: shape (n, m), differences of n questions in m comparisons; NaN where a question is not in a comparison
            (another category, for example).
        clusters: n labels or a ``Clusters``.
        rng: named generator; needed above 16 clusters only.
        draws: sign patterns drawn above 16 clusters.

    Returns:
        m adjusted two-sided p-values in column order; None where a column has questions of fewer than two clusters.

    Raises:
        ValueError: infinite differences, wrong shape, or more than 16 clusters without a generator.
    """
    groups = Clusters.of(clusters)
    table = differences(diffs, groups)
    sums, sizes = column_sums(table, groups)
    valid = (sizes > 0).sum(axis=0) >= 2
    adjusted: list[float | None] = [None] * table.shape[1]
    columns = np.flatnonzero(valid)
    if not len(columns):
        return tuple(adjusted)
    scale = np.sqrt((sums[:, columns] ** 2).sum(axis=0))
    unit = sums[:, columns] / np.where(scale > 0, scale, 1.0)
    observed = np.abs(unit.sum(axis=0))
    weakest_first = np.argsort(observed, kind="stable")
    unit, observed = unit[:, weakest_first], observed[weakest_first]
    flips = Flips.plan(groups.count, rng, draws)
    hits = np.zeros(len(columns))
    for signs in flips.blocks(len(columns)):
        successive = np.maximum.accumulate(np.abs(signs @ unit), axis=1)
        hits += (successive >= observed - 1e-9).sum(axis=0)
    stepped = np.maximum.accumulate(flips.share(hits)[::-1])
    for position, p in zip(columns[weakest_first[::-1]], stepped, strict=True):
        adjusted[int(position)] = float(p)
    return tuple(adjusted)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Holm's adjusted p-values (Scandinavian Journal of Statistics 6, 1979), for comparison with max-T only.

    Args:
        p_values: m unadjusted p-values in [0, 1].
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return tuple(adjusted.tolist())


def differences(diffs: npt.ArrayLike, clusters: Clusters) -> FloatArray:
    """Checks a table of differences, shape (n, m); a single column may be given as shape (n,).

    Raises:
        ValueError: wrong shape or an infinite difference.
    """
    table = np.asarray(diffs, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or len(table) != clusters.n:
        raise ValueError(f"Differences of shape {table.shape} for {clusters.n} cluster labels; (n, m) is needed.")
    if np.isinf(table).any():
        raise ValueError("A difference is infinite.")
    return table


def column_sums(table: FloatArray, clusters: Clusters) -> tuple[FloatArray, FloatArray]:
    """Cluster sums and cluster sizes of every column, both of shape (G, m); NaN entries count in neither."""
    present = ~np.isnan(table)
    filled = np.where(present, table, 0.0)
    m = table.shape[1]
    sums = np.empty((clusters.count, m))
    sizes = np.empty((clusters.count, m))
    for column in range(m):
        sums[:, column] = clusters.sums(filled[:, column])
        sizes[:, column] = clusters.sums(present[:, column].astype(np.float64))
    return sums, sizes
