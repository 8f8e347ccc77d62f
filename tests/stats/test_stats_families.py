"""Max-T against brute force, Holm against statsmodels."""

from __future__ import annotations

import itertools
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from memassay.stats import Clusters, holm, max_t


def brute_force(d: np.ndarray, labels: np.ndarray) -> list[float]:
    """Westfall and Young's algorithm, written the slow way."""
    groups = np.unique(labels)
    sums = np.array([np.nansum(d[labels == g], axis=0) for g in groups])
    scale = np.sqrt((sums**2).sum(axis=0))
    u = np.abs(sums.sum(axis=0)) / np.where(scale > 0, scale, 1)
    order = np.argsort(-u, kind="stable")
    hits = np.zeros(len(u))
    for signs in itertools.product((-1, 1), repeat=len(groups)):
        star = np.abs(np.array(signs) @ sums) / np.where(scale > 0, scale, 1)
        for rank, column in enumerate(order):
            hits[column] += max(star[order[rank:]]) >= u[column] - 1e-9
    adjusted = hits / 2 ** len(groups)
    adjusted[order] = np.maximum.accumulate(adjusted[order])
    return [float(p) for p in adjusted]


def table(m: int = 5, count: int = 7, gap: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(9)
    labels = np.repeat(np.arange(count), rng.integers(10, 30, count))
    shift = np.linspace(0, gap, m)
    return rng.choice([-1.0, 0.0, 1.0], (len(labels), m), p=[0.2, 0.6, 0.2]) + shift, labels


def test_max_t_is_the_slow_algorithm() -> None:
    d, labels = table()
    assert max_t(d, labels) == pytest.approx(brute_force(d, labels))


def test_columns_with_missing_questions() -> None:
    d, labels = table()
    d[labels == 1, 2] = np.nan  # open-domain is absent from conv-30
    d[::3, 4] = np.nan
    assert max_t(d, labels) == pytest.approx(brute_force(d, labels))


def test_undefined_columns_are_none_and_do_not_disturb_the_others() -> None:
    d, labels = table(3)
    padded = np.full((len(d), 5), np.nan)
    padded[:, [0, 2, 4]] = d
    padded[labels == 0, 3] = 1.0
    p = max_t(padded, labels)
    assert (p[1], p[3]) == (None, None)
    assert (p[0], p[2], p[4]) == pytest.approx(max_t(d, labels))
    assert max_t(padded[:, [1, 3]], labels) == (None, None)
    assert max_t(np.empty((0, 2)), []) == (None, None)


def test_a_column_without_a_difference_has_p_one() -> None:
    d, labels = table(2)
    d[:, 0] = 0
    assert max_t(d, labels)[0] == 1.0


def test_copies_of_a_column_cost_nothing() -> None:
    d, labels = table(1, gap=0.3)
    alone = max_t(d, labels)[0]
    assert max_t(np.repeat(d, 40, axis=1), labels) == pytest.approx([alone] * 40)


@settings(deadline=None)
@given(st.lists(st.tuples(*[st.sampled_from([-1.0, 0.0, 0.5, 1.0])] * 3, st.integers(0, 6)), min_size=8, max_size=40))
def test_adjusted_is_never_smaller_and_order_is_kept(rows: list[tuple[float, ...]]) -> None:
    x = np.array(rows)
    d, labels = x[:, :3], x[:, 3].astype(int)
    adjusted = max_t(d, labels)
    swapped = max_t(-d[:, ::-1], labels)
    for column in range(3):
        alone = max_t(d[:, column], labels)[0]
        if alone is None:
            assert adjusted[column] is None
        else:
            assert alone - 1e-12 <= adjusted[column] <= 1  # type: ignore[operator]
            assert adjusted[column] == pytest.approx(swapped[2 - column])


def test_drawn_flips_come_close_to_enumerated_ones() -> None:
    d, labels = table(3, count=17, gap=0.15)
    first = max_t(d, labels, rng=np.random.default_rng(1))
    assert first == max_t(d, labels, rng=np.random.default_rng(1))
    assert first == pytest.approx(max_t(d, labels, rng=np.random.default_rng(2)), abs=0.02)
    with pytest.raises(ValueError, match="pass rng"):
        max_t(d, labels)


def test_wrong_tables_are_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        max_t(np.zeros((3, 2)), [1, 2])
    with pytest.raises(ValueError, match="shape"):
        max_t(np.zeros((2, 2, 2)), [1, 2])
    with pytest.raises(ValueError, match="infinite"):
        max_t([np.inf, 0.0], [1, 2])


@settings(deadline=None, max_examples=20)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_statsmodels(p: list[float]) -> None:
    with patch("gc.collect"):  # statsmodels walks through the whole process before it adjusts anything
        expected = multipletests(p, method="holm")[1].tolist()
    assert holm(p) == pytest.approx(expected)


def test_holm_at_eight_clusters_rejects_nothing_from_seven_on() -> None:
    assert min(holm([2 / 256] * 7)) > 0.05
    assert min(holm([2 / 256] * 6)) < 0.05


def test_size_of_the_family() -> None:
    rng = np.random.default_rng(21)
    clusters = Clusters.of(np.repeat(np.arange(8), 40))
    false = 0
    for _ in range(600):
        arms = rng.random((320, 4)) < 0.6 + rng.normal(0, 0.1, (8, 4))[clusters.codes]
        d = np.stack([arms[:, i].astype(float) - arms[:, j] for i in range(4) for j in range(i)], axis=1)
        false += min(p for p in max_t(d, clusters) if p is not None) <= 0.05
    assert false / 600 < 0.075
