"""One arm: reference, invariances, edges."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from memassay.stats import Clusters, cluster_mean, korn_graubard, question_mean
from memassay.stats.clustered import LARGE_DESIGN_EFFECT, cluster_se


def sample(share: float = 0.7, count: int = 8, spread: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    labels = np.repeat(np.arange(count), rng.integers(20, 60, count))
    rate = np.clip(share + rng.normal(0, spread, count), 0, 1)
    return (rng.random(len(labels)) < rate[labels]).astype(float), labels


@pytest.mark.parametrize("count", [2, 3, 8, 10, 40])
def test_the_standard_error_is_the_cluster_robust_one_of_least_squares(count: int) -> None:
    values, labels = sample(count=count)
    n = len(values)
    fit = sm.OLS(values, np.ones(n)).fit(cov_type="cluster", cov_kwds={"groups": labels, "use_correction": True})
    # statsmodels multiplies by G / (G - 1) x (n - 1) / (n - k), and k = 1 for a mean.
    assert cluster_se(values, Clusters.of(labels)) == pytest.approx(fit.bse[0], rel=1e-10)


def test_the_interval_is_t_with_one_degree_fewer_than_clusters() -> None:
    values, labels = sample()
    estimate = question_mean(values, labels, level=0.9)
    half = reference.t.ppf(0.95, 7) * cluster_se(values, Clusters.of(labels))
    assert estimate.method == "cluster-t"
    assert (estimate.low, estimate.high) == pytest.approx((values.mean() - half, values.mean() + half))
    assert (estimate.level, estimate.n, estimate.clusters) == (0.9, len(values), 8)


@pytest.mark.parametrize("share", [0.97, 0.03])
def test_korn_graubard_takes_over_near_the_ends(share: float) -> None:
    values, labels = sample(share, spread=0.01)
    estimate = question_mean(values, labels)
    se = cluster_se(values, Clusters.of(labels))
    assert estimate.method.startswith("korn-graubard")
    assert (estimate.low, estimate.high) == pytest.approx(korn_graubard(values.mean(), len(values), 8, se))


def test_korn_graubard_takes_over_where_t_would_leave_the_unit() -> None:
    estimate = question_mean([1, 1, 1, 1, 0, 0, 1, 1], [1, 1, 1, 1, 2, 2, 3, 3])
    assert estimate.method == "korn-graubard, few clusters"
    assert estimate.low is not None
    assert estimate.high is not None
    assert 0 <= estimate.low < 0.75 < estimate.high <= 1


@pytest.mark.parametrize("constant", [0.0, 1.0, 0.5, 1 / 3])
def test_no_spread_never_collapses_the_interval(constant: float) -> None:
    labels = np.repeat(np.arange(8), [3, 5, 7, 9, 11, 13, 15, 17])
    estimate = question_mean(np.full(len(labels), constant), labels)
    assert estimate.value == pytest.approx(constant)
    assert (estimate.low, estimate.high) == pytest.approx(korn_graubard(constant, len(labels), 8, 0.0))


def test_no_question_is_null_with_a_reason() -> None:
    estimate = question_mean([], [])
    assert (estimate.value, estimate.low, estimate.high, estimate.n) == (None, None, None, 0)
    assert estimate.reason
    assert cluster_mean([], []) is None


def test_one_cluster_has_a_value_and_no_interval() -> None:
    estimate = question_mean([1, 0, 1], ["conv-26"] * 3)
    assert estimate.value == pytest.approx(2 / 3)
    assert (estimate.low, estimate.high, estimate.clusters) == (None, None, 1)
    assert "one cluster" in (estimate.reason or "")


@pytest.mark.parametrize(
    ("values", "labels", "message"),
    [
        ([1.0, float("nan")], [1, 2], "NaN"),
        ([1.0, float("inf")], [1, 2], "infinite"),
        ([1.0, 75.0], [1, 2], r"\[0, 1\]"),
        ([-0.5, 1.0], [1, 2], r"\[0, 1\]"),
        ([1.0], [1, 2], "one score per question"),
        ([[1.0, 0.0]], [1], "one score per question"),
        ([1.0, 0.0], [1, None], "no cluster label"),
        ([1.0, 0.0], [1.0, float("nan")], "no cluster label"),
        ([1.0, 0.0], np.array([[1, 2]]), "one-dimensional"),
        ([1.0, 0.0], np.array([["a", "b"]]), "one-dimensional"),
    ],
)
def test_what_is_no_score_or_no_label_is_refused(values: list[float], labels: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        question_mean(values, labels)


def test_rounding_beyond_the_ends_is_cut_off() -> None:
    assert question_mean([1 + 1e-12, 1.0], [1, 2]).value == 1.0
    assert question_mean([-1e-12, 0.0], [1, 2]).value == 0.0


def test_a_large_design_effect_is_said() -> None:
    labels = np.repeat(np.arange(8), 50)
    values = (labels % 2 == 0).astype(float)
    estimate = question_mean(values, labels)
    assert estimate.method.endswith(", clusters differ much")
    calm, labels = sample(0.5, spread=0.0)
    effect = (cluster_se(calm, Clusters.of(labels)) ** 2) * len(calm) / (calm.mean() * (1 - calm.mean()))
    assert effect < LARGE_DESIGN_EFFECT
    assert question_mean(calm, labels).method == "cluster-t"


def test_a_mean_near_the_end_is_said_unless_the_interval_is_wide_anyway() -> None:
    labels = np.repeat(np.arange(8), 50)
    values = np.ones(400)
    assert question_mean(values, labels).method == "korn-graubard"
    values[[0, 60, 120]] = 0
    assert question_mean(values, labels).method == "korn-graubard, near the end"
    values[::25] = 0  # .9525 now
    assert question_mean(values, labels).method == "korn-graubard"


cells = st.lists(st.tuples(st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 1.0]), st.integers(0, 9)), min_size=1, max_size=60)


@settings(deadline=None)
@given(cells, st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_every_interval_holds_its_value_and_has_a_width(rows: list[tuple[float, int]], level: float) -> None:
    values, labels = np.array(rows).T
    estimate = question_mean(values, labels.astype(int), level=level)
    assert estimate.value is not None
    if estimate.low is None or estimate.high is None:
        assert estimate.clusters == 1
        assert estimate.reason
    else:
        assert estimate.reason is None
        assert 0 <= estimate.low <= estimate.value + 1e-12
        assert estimate.value - 1e-12 <= estimate.high <= 1
        assert estimate.low < estimate.high


@settings(deadline=None)
@given(cells, st.randoms(use_true_random=False))
def test_order_and_names_do_not_matter(rows: list[tuple[float, int]], random: object) -> None:
    values, labels = np.array(rows).T
    order = np.arange(len(rows))
    random.shuffle(order)  # type: ignore[attr-defined]
    names = np.array([f"conv-{9 - int(label)}" for label in labels])
    first, second = question_mean(values, labels.astype(int)), question_mean(values[order], names[order].tolist())
    assert first.method == second.method
    for one, other in ((first.value, second.value), (first.low, second.low), (first.high, second.high)):
        assert (one is None and other is None) or one == pytest.approx(other, abs=1e-9)
    assert cluster_mean(values, labels.astype(int)) == pytest.approx(cluster_mean(values[order], names[order]))


@settings(deadline=None)
@given(cells)
def test_turning_right_into_wrong_mirrors_the_estimate(rows: list[tuple[float, int]]) -> None:
    values, labels = np.array(rows).T
    first, second = question_mean(values, labels.astype(int)), question_mean(1 - values, labels.astype(int))
    assert first.value == pytest.approx(1 - (second.value or 0))
    # An exact mirror, unless rounding puts the mean on the other side of .1 or .9.
    if first.low is not None and second.high is not None and first.method == second.method:
        assert first.low == pytest.approx(1 - second.high, abs=1e-9)


def test_the_mean_over_clusters_gives_every_cluster_one_voice() -> None:
    assert cluster_mean([1, 1, 1, 0], ["a", "a", "a", "b"]) == pytest.approx(0.5)
    assert question_mean([1, 1, 1, 0], ["a", "a", "a", "b"]).value == pytest.approx(0.75)


def test_clusters_are_factorised_once_and_cut_down() -> None:
    clusters = Clusters.of(["b", "a", "b", "c"])
    assert Clusters.of(clusters) is clusters
    assert (clusters.labels, clusters.codes.tolist(), clusters.count, clusters.n) == (
        ("a", "b", "c"),
        [1, 0, 1, 2],
        3,
        4,
    )
    assert clusters.sizes.tolist() == [1, 2, 1]
    part = clusters.select(np.array([True, False, True, True]))
    assert (part.labels, part.codes.tolist()) == (("b", "c"), [0, 0, 1])
    assert clusters.select(np.array([3, 1, 0])).labels == ("a", "b", "c")


def test_coverage_at_eight_conversations() -> None:
    """The short form of benchmarks/statistics: nominal .95, 1,000 runs, Monte Carlo error .007."""
    rng = np.random.default_rng(11)
    clusters = Clusters.of(np.repeat(np.arange(8), np.linspace(60, 200, 8).astype(int)))
    for share in (0.5, 0.95):
        total = 1 / 0.02 - 1
        covered = z_covered = 0
        for _ in range(1000):
            rate = rng.beta(share * total, (1 - share) * total, 8)[clusters.codes]
            values = (rng.random(clusters.n) < rate).astype(float)
            estimate = question_mean(values, clusters)
            assert estimate.low is not None
            assert estimate.high is not None
            covered += estimate.low <= share <= estimate.high
            z_covered += abs(values.mean() - share) <= 1.96 * cluster_se(values, clusters)
        assert 0.925 < covered / 1000 < 0.985
        assert z_covered / 1000 < 0.925
