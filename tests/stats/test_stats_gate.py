"""The regression gate: each outcome, several metrics, edges and size."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats as reference

from memassay.stats import Clusters, regression_gate
from memassay.stats.clustered import cluster_se
from memassay.stats.gate import _simultaneous

LABELS = np.repeat(np.arange(8), 100)


def runs(change: float, seed: int = 0, churn: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    old = rng.random(800) < 0.7
    new = np.where(rng.random(800) < churn, rng.random(800) < 0.7, old).astype(float)
    drop = np.flatnonzero(new)[:: max(1, round(1 / abs(change)))] if change < 0 else np.array([], int)
    new[drop] = 0
    return new, old.astype(float)


def test_the_same_scores_pass_at_any_margin() -> None:
    new, old = runs(0.0, churn=0.0)
    result = regression_gate(new, old, LABELS, margin=1e-6)
    assert result.verdict == "passed"
    assert "same on all 800" in result.reasons[0]


def test_the_same_scores_pass_even_in_one_cluster() -> None:
    assert regression_gate([1, 0], [1, 0], ["w", "w"], margin=0.1).verdict == "passed"


def test_a_small_change_passes_a_large_drop_fails_and_the_rest_is_open() -> None:
    new, old = runs(0.0)
    assert regression_gate(new, old, LABELS, margin=0.05).verdict == "passed"
    assert regression_gate(new, old, LABELS, margin=0.0001).verdict == "no decision"
    new, old = runs(-0.2)
    assert regression_gate(new, old, LABELS, margin=0.05).verdict == "failed"


def test_a_clear_drop_smaller_than_half_the_margin_does_not_fail() -> None:
    old = np.ones(800)
    new = old.copy()
    new[::40] = 0  # .025 down, the same in every cluster
    assert regression_gate(new, old, LABELS, margin=0.04).legs[0].upper < 0  # type: ignore[operator]
    assert regression_gate(new, old, LABELS, margin=0.02).verdict == "failed"
    assert regression_gate(new, old, LABELS, margin=0.04).verdict == "passed"


def test_the_bounds_of_one_metric_are_one_sided_and_the_wider_ones() -> None:
    new, old = runs(-0.05)
    d = new - old
    leg = regression_gate(new, old, LABELS, margin=0.05).legs[0]
    cluster = reference.t.ppf(0.95, 7) * cluster_se(d, Clusters.of(LABELS))
    question = reference.t.ppf(0.95, 799) * d.std(ddof=1) / np.sqrt(800)
    half = max(cluster, question)
    assert (leg.value, leg.lower, leg.upper) == pytest.approx((d.mean(), d.mean() - half, d.mean() + half))


def test_every_leg_must_pass_and_one_failing_leg_fails() -> None:
    same, old = runs(0.0, churn=0.0)
    bad, _ = runs(-0.2, churn=0.0)
    result = regression_gate(
        np.stack([same, bad], 1), np.stack([old, old], 1), LABELS, margin=[0.02, 0.05], metrics=["all@4000", "all@8000"]
    )
    assert result.verdict == "failed"
    assert [leg.outcome for leg in result.legs] == ["passed", "failed"]
    assert [leg.margin for leg in result.legs] == [0.02, 0.05]
    assert len(result.reasons) == 1
    assert result.reasons[0].startswith("all@8000: ")
    open_, _ = runs(0.0)
    mixed = regression_gate(np.stack([same, open_], 1), np.stack([old, old], 1), LABELS, margin=0.0001)
    assert mixed.verdict == "no decision"


def test_more_metrics_never_widen_the_passing_bound_and_never_narrow_the_failing_one() -> None:
    new, old = runs(-0.05)
    other, _ = runs(0.0, seed=4)
    alone = regression_gate(new, old, LABELS, margin=0.05).legs[0]
    joint = regression_gate(np.stack([new, other], 1), np.stack([old, old], 1), LABELS, margin=0.05).legs[0]
    assert joint.lower == alone.lower
    assert joint.upper >= alone.upper  # type: ignore[operator]


def test_the_simultaneous_multiplier_is_the_brute_force_quantile() -> None:
    rng = np.random.default_rng(2)
    clusters = Clusters.of(np.repeat(np.arange(7), rng.integers(5, 15, 7)))
    d = rng.choice([-1.0, 0.0, 1.0], (clusters.n, 3))
    largest = []
    for signs in itertools.product((-1.0, 1.0), repeat=7):
        flipped = d * np.array(signs)[clusters.codes][:, None]
        largest.append(max(c.mean() / cluster_se(c, clusters) for c in flipped.T))
    expected = np.sort(largest)[::-1][int(0.05 * 128)]
    assert expected > reference.t.ppf(0.95, 6)
    assert _simultaneous(d, clusters, 0.95, None, 0) == pytest.approx(expected)


def test_bonferroni_stands_in_where_flips_are_too_few() -> None:
    rng = np.random.default_rng(2)
    labels = np.repeat(np.arange(4), 50)
    d = rng.choice([-1.0, 0.0, 0.0, 1.0], (200, 2))
    old = np.full((200, 2), 0.5)
    leg = regression_gate(old + d / 2, old, labels, margin=0.05).legs[0]
    column = d[:, 0] / 2
    cluster = reference.t.ppf(0.975, 3) * cluster_se(column, Clusters.of(labels))
    question = reference.t.ppf(0.975, 199) * column.std(ddof=1) / np.sqrt(200)
    assert leg.upper == pytest.approx(column.mean() + max(cluster, question))


def test_drawn_flips_above_sixteen_clusters() -> None:
    labels = np.repeat(np.arange(20), 40)
    new, old = runs(-0.05)
    two = (np.stack([new, new], 1), np.stack([old, old], 1))
    with pytest.raises(ValueError, match="pass rng"):
        regression_gate(*two, labels, margin=0.05)
    first = regression_gate(*two, labels, margin=0.05, rng=np.random.default_rng(1))
    assert first == regression_gate(*two, labels, margin=0.05, rng=np.random.default_rng(1))
    assert regression_gate(new, old, labels, margin=0.05).verdict == first.verdict


def test_missing_metrics_and_clusters() -> None:
    new, old = runs(0.0)
    two_new, two_old = np.stack([new, new], 1), np.stack([old, old], 1)
    two_new[LABELS > 0, 1] = two_old[LABELS > 0, 1] = np.nan
    result = regression_gate(two_new, two_old, LABELS, margin=0.05)
    assert result.legs[0].outcome == "passed"
    assert (result.legs[1].outcome, result.legs[1].clusters, result.legs[1].lower) == ("no decision", 1, None)
    two_new[:, 1] = two_old[:, 1] = np.nan
    empty = regression_gate(two_new, two_old, LABELS, margin=0.05).legs[1]
    assert (empty.outcome, empty.value, empty.n) == ("no decision", None, 0)


def test_wrong_input_is_refused() -> None:
    new, old = runs(0.0)
    hole = new.copy()
    hole[3] = np.nan
    with pytest.raises(ValueError, match="one run only"):
        regression_gate(hole, old, LABELS, margin=0.05)
    with pytest.raises(ValueError, match="same tasks"):
        regression_gate(np.stack([new, new], 1), old, LABELS, margin=0.05)
    with pytest.raises(ValueError, match="positive margin"):
        regression_gate(new, old, LABELS, margin=0.0)
    with pytest.raises(ValueError, match="one name"):
        regression_gate(new, old, LABELS, margin=0.05, metrics=["a", "b"])


def test_error_rates_of_the_gate() -> None:
    """True drop = margin: may pass in at most 5 %; no true change: may fail in at most 5 %."""
    rng = np.random.default_rng(8)
    clusters = Clusters.of(np.repeat(np.arange(8), np.linspace(60, 200, 8).astype(int)))
    passed = failed = 0
    for _ in range(600):
        d = np.sign(rng.normal(0, 0.6, (clusters.n, 3)) + rng.normal(0, 0.05, (8, 1))[clusters.codes])
        d *= rng.random((clusters.n, 1)) < 0.2
        old = np.full_like(d, 0.5)
        failed += regression_gate(old + d / 2, old, clusters, margin=0.02).verdict == "failed"
        passed += regression_gate(old + d / 2 - 0.02, old, clusters, margin=0.02).verdict == "passed"
    assert failed / 600 < 0.075
    assert passed / 600 < 0.075
