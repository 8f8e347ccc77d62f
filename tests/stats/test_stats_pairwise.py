"""Bradley-Terry with ties and the gap at equal length: closed forms, statsmodels, edges."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import statsmodels.api as sm

from memassay.stats import davidson, length_adjusted_gap


def test_two_memories_have_a_closed_form() -> None:
    # s_a / s_b = wins / losses, nu = ties / sqrt(wins losses).
    found = davidson(["a", "b"], [[0, 18], [8, 0]], [[0, 12], [12, 0]])
    assert found.strengths is not None and found.tie is not None
    assert found.strengths[0] - found.strengths[1] == pytest.approx(np.log(18 / 8), abs=1e-5)
    assert sum(found.strengths) == pytest.approx(0, abs=1e-6)
    assert found.tie == pytest.approx(12 / np.sqrt(18 * 8), abs=1e-5)


def test_expected_counts_of_a_true_model_give_it_back() -> None:
    strengths, nu = np.array([0.7, 0.1, -0.8]), 0.9
    wins, ties = np.zeros((3, 3)), np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            if i != j:
                s, t = np.exp(strengths[i]), np.exp(strengths[j])
                norm = s + t + nu * np.sqrt(s * t)
                wins[i, j], ties[i, j] = 100 * s / norm, 100 * nu * np.sqrt(s * t) / norm
    found = davidson(["a", "b", "c"], wins, ties)
    assert found.strengths == pytest.approx(strengths, abs=1e-5)
    assert found.tie == pytest.approx(nu, abs=1e-5)
    assert found.cycles == ()


def test_without_ties_it_is_bradley_terry() -> None:
    found = davidson(["a", "b"], [[0, 3], [1, 0]], np.zeros((2, 2)))
    assert found.tie == 0
    assert found.strengths == pytest.approx((np.log(3) / 2, -np.log(3) / 2), abs=1e-5)


def test_a_memory_that_never_loses_has_no_strength() -> None:
    found = davidson(["a", "b", "c"], [[0, 5, 5], [0, 0, 3], [0, 2, 0]], np.zeros((3, 3)))
    assert found.strengths is None
    assert "never lost" in (found.reason or "")


def test_cycles_are_named_in_order() -> None:
    found = davidson(["a", "b", "c"], [[0, 6, 2], [2, 0, 6], [6, 2, 0]], np.zeros((3, 3)))
    assert found.cycles == (("a", "b", "c"),)
    assert found.strengths == pytest.approx((0, 0, 0), abs=1e-5)
    other = davidson(["a", "b", "c"], [[0, 2, 6], [6, 0, 2], [2, 6, 0]], np.zeros((3, 3)))
    assert other.cycles == (("a", "c", "b"),)
    with pytest.raises(ValueError, match="shape"):
        davidson(["a", "b"], [[0, 1, 1]], [[0]])


def lengths(n: int = 80) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    draw = np.random.default_rng(4)
    a, b = draw.integers(200, 2000, n).astype(float), draw.integers(200, 2000, n).astype(float)
    chance = 1 / (1 + np.exp(-(0.3 + 1.2 * (a - b) / (a - b).std())))
    d = np.where(draw.random(n) < 0.3, 0.0, np.where(draw.random(n) < chance, 1.0, -1.0))
    return d, a, b, draw.choice([0.01, 0.02], n)


def test_it_is_the_weighted_logistic_regression_of_statsmodels() -> None:
    d, a, b, weights = lengths()
    weights /= weights.sum()
    clusters = np.arange(80) // 2
    found = length_adjusted_gap(d, a, b, weights, clusters)
    x = sm.add_constant((a - b) / (a - b).std())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sm.GLM((d + 1) / 2, x, family=sm.families.Binomial(), freq_weights=weights * 80)
        reference = model.fit(cov_type="cluster", cov_kwds={"groups": clusters})
    assert found.gap.value == pytest.approx(np.tanh(reference.params[0] / 2), abs=1e-7)
    assert found.slope == pytest.approx(reference.params[1], abs=1e-6)
    half = (np.arctanh(found.gap.high) - np.arctanh(found.gap.low)) / 1.959964  # tanh(x / 2): half the log odds
    assert half == pytest.approx(reference.bse[0], rel=0.02)


def test_length_that_explains_everything_leaves_less() -> None:
    d, a, b, _ = lengths()
    longer = a + 600
    found = length_adjusted_gap(d, longer, b, np.full(80, 1 / 80), np.arange(80))
    assert found.gap.value is not None
    assert found.gap.value < found.unadjusted
    assert found.unadjusted == pytest.approx(d.mean())


def test_it_mirrors() -> None:
    d, a, b, weights = lengths()
    one = length_adjusted_gap(d, a, b, weights, np.arange(80))
    other = length_adjusted_gap(-d, b, a, weights, np.arange(80))
    assert one.gap.value == pytest.approx(-(other.gap.value or 0))
    assert one.gap.low == pytest.approx(-(other.gap.high or 0))


def test_where_there_is_no_adjusted_gap() -> None:
    d, a, b, weights = lengths()
    same = length_adjusted_gap(d, a, a, weights, np.arange(80))
    assert (same.gap.value, same.gap.reason, same.slope) == (None, "lengths never differ", None)
    swept = length_adjusted_gap(np.ones(80), a, b, weights, np.arange(80))
    assert swept.gap.value is None and "no end" in (swept.gap.reason or "")
    alone = length_adjusted_gap(d, a, b, weights, np.zeros(80, dtype=int))
    assert alone.gap.value is not None and alone.gap.low is None
    with pytest.raises(ValueError, match="as many lengths"):
        length_adjusted_gap(d, a[:3], b[:3], weights, np.arange(80))
