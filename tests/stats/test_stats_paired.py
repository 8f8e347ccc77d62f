"""Two arms: references, brute force, invariances, edges; and the words made from them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference
from statsmodels.stats.contingency_tables import mcnemar

from memassay.stats import Clusters, max_t, paired_difference, question_mean, verdict
from memassay.stats.clustered import cluster_se
from memassay.stats.flips import Flips
from memassay.stats.paired import sign_flip


def arms(gap: float = 0.05, count: int = 8, size: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    labels = np.repeat(np.arange(count), rng.integers(size // 2, size * 2, count))
    b = rng.random(len(labels)) < 0.6
    a = np.where(rng.random(len(labels)) < 0.3, rng.random(len(labels)) < 0.6 + gap / 0.3, b)
    return a.astype(float), b.astype(float), labels


def brute_force(sums: np.ndarray) -> float:
    observed = abs(sums.sum())
    totals = [abs(np.dot(signs, sums)) for signs in itertools.product((-1, 1), repeat=len(sums))]
    return float(np.mean([total >= observed - 1e-9 for total in totals]))


@pytest.mark.parametrize("count", [2, 3, 6, 8, 10, 12])
def test_the_sign_flip_enumerates_every_pattern(count: int) -> None:
    a, b, labels = arms(count=count)
    result = paired_difference(a, b, labels)
    sums = np.array([(a - b)[labels == g].sum() for g in range(count)])
    assert result.p == pytest.approx(brute_force(sums))
    assert (result.sign_flips, result.exact) == (2**count, True)


def test_the_sign_flip_is_scipys_permutation_test() -> None:
    a, b, labels = arms(count=8)
    sums = np.array([(a - b)[labels == g].sum() for g in range(8)])
    expected = reference.permutation_test(
        (sums,), np.sum, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    assert paired_difference(a, b, labels).p == pytest.approx(expected.pvalue)


def test_rounding_does_not_break_ties_of_fractional_scores() -> None:
    # All differences positive: only the observed pattern and its negative are as extreme, whatever the sums round to.
    rng = np.random.default_rng(1)
    for _ in range(300):
        a = rng.random(24)
        assert paired_difference(a, np.zeros(24), np.repeat(np.arange(8), 3)).p == 2 / 256


def test_many_clusters_are_drawn_from_the_named_generator() -> None:
    a, b, labels = arms(gap=0.05, count=17, size=6)
    with pytest.raises(ValueError, match="pass rng"):
        paired_difference(a, b, labels)
    first = paired_difference(a, b, labels, rng=np.random.default_rng(1))
    assert first == paired_difference(a, b, labels, rng=np.random.default_rng(1))
    assert (first.sign_flips, first.exact, first.decidable) == (9999, False, True)
    sums = np.array([(a - b)[labels == g].sum() for g in range(17)])
    assert first.p == pytest.approx(brute_force(sums), abs=0.02)


def test_drawn_flips_cross_block_borders_and_count_the_observed_pattern() -> None:
    flips = Flips.plan(3000, np.random.default_rng(2), draws=1500)
    blocks = list(flips.blocks())
    assert len(blocks) > 1
    signs = np.concatenate(blocks)
    assert signs.shape == (1500, 3000)
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert abs(signs.mean()) < 0.002
    assert sign_flip(np.ones(3000), Flips.plan(3000, np.random.default_rng(2), draws=99)) == pytest.approx(1 / 100)


def test_enumeration_in_blocks_gives_every_pattern_once() -> None:
    flips = Flips.plan(10, None)
    signs = np.concatenate(list(flips.blocks(columns=20_000)))
    assert len(np.unique(signs, axis=0)) == len(signs) == 512
    assert (signs[:, 0] == 1).all()


@pytest.mark.parametrize(("count", "smallest"), [(2, 0.5), (5, 0.0625), (6, 0.03125), (8, 0.0078125)])
def test_few_clusters_cannot_decide(count: int, smallest: float) -> None:
    labels = np.repeat(np.arange(count), 10)
    ones, zeros = np.ones(len(labels)), np.zeros(len(labels))
    result = paired_difference(ones, zeros, labels)
    assert result.p == pytest.approx(smallest)
    assert result.decidable == (count >= 6)
    assert (result.reason is None) == (count >= 6)
    assert verdict(result, primary=True).word == ("better" if count >= 6 else "no decision")


def test_the_interval_is_the_wider_of_cluster_and_question_level() -> None:
    a, b, labels = arms()
    d = a - b
    result = paired_difference(a, b, labels)
    cluster = reference.t.ppf(0.975, 7) * cluster_se(d, Clusters.of(labels))
    question = reference.t.ppf(0.975, len(d) - 1) * d.std(ddof=1) / np.sqrt(len(d))
    assert result.diff.low is not None
    assert result.diff.low == pytest.approx(d.mean() - max(cluster, question))
    # The same differences in every cluster: the cluster error is 0 and the questions' own error counts.
    pattern = np.array([1.0, 0.0, 0.0, 1.0, 1.0])
    same = paired_difference(np.tile(pattern, 8), np.tile(pattern[::-1] * 0, 8), np.repeat(np.arange(8), 5))
    assert same.diff.method == "paired question-t"
    expected = reference.ttest_1samp(np.tile(pattern, 8), 0).confidence_interval(0.95)
    assert (same.diff.low, same.diff.high) == pytest.approx((expected.low, expected.high))


def test_identical_arms_have_tangos_interval_of_no_discordant_pair() -> None:
    a, _, labels = arms()
    result = paired_difference(a, a, labels)
    z2 = reference.norm.ppf(0.975) ** 2
    half = z2 / (len(a) + z2)
    assert (result.diff.value, result.p, result.diff.method) == (0.0, 1.0, "paired score floor")
    assert (result.diff.low, result.diff.high) == pytest.approx((-half, half))
    assert (result.wins, result.losses, result.ties) == (0, 0, len(a))
    # It solves Tango's score equation for b = c = 0: (n t)^2 = z^2 n (2 q + t - t^2), where q = 0.
    n = len(a)
    assert (n * half) ** 2 == pytest.approx(z2 * n * (half - half**2))


def test_mcnemar_is_exact_and_only_for_right_and_wrong() -> None:
    a, b, labels = arms()
    result = paired_difference(a, b, labels)
    assert result.mcnemar is not None
    table = [[np.sum((a == i) & (b == j)) for j in (1, 0)] for i in (1, 0)]
    assert result.mcnemar.p == pytest.approx(mcnemar(table, exact=True).pvalue)
    assert (result.mcnemar.b, result.mcnemar.c) == (table[0][1], table[1][0]) == (result.wins, result.losses)
    assert paired_difference(a / 2, b, labels).mcnemar is None


def test_no_question_and_one_cluster() -> None:
    empty = paired_difference([], [], [])
    assert (empty.diff.value, empty.p, empty.decidable, empty.mean_over_clusters) == (None, None, False, None)
    assert verdict(empty, primary=True).word == "no decision"
    alone = paired_difference([1, 1], [0, 1], ["w", "w"])
    assert (alone.diff.value, alone.diff.low, alone.p, alone.mean_over_clusters) == (0.5, None, None, 0.5)
    assert alone.reason == alone.diff.reason
    assert "one cluster" in verdict(alone, primary=True).reason
    single = paired_difference([1], [0], ["w"])
    assert (single.sd, single.se) == (None, None)


@pytest.mark.parametrize("bad", [[1.0, float("nan")], [1.0, 2.0], [1.0]])
def test_what_is_no_score_is_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match=r"NaN|\[0, 1\]|one score"):
        paired_difference([1.0, 0.0], bad, [1, 2])


scored = st.sampled_from([0.0, 0.5, 1.0])
cells = st.lists(st.tuples(scored, scored, st.integers(0, 8)), min_size=1, max_size=50)


@settings(deadline=None)
@given(cells)
def test_swapping_the_arms_turns_the_sign_and_nothing_else(rows: list[tuple[float, float, int]]) -> None:
    a, b, labels = np.array(rows).T
    one, other = paired_difference(a, b, labels.astype(int)), paired_difference(b, a, labels.astype(int))
    assert one.diff.value == pytest.approx(-(other.diff.value or 0.0))
    assert (one.p, one.decidable, one.ties) == (other.p, other.decidable, other.ties)
    assert (one.wins, one.losses) == (other.losses, other.wins)
    if one.diff.low is not None and other.diff.high is not None:
        assert one.diff.low == pytest.approx(-other.diff.high)
        assert one.diff.low < one.diff.high  # type: ignore[operator]
        assert one.diff.low >= -1
        assert one.p is not None
        assert 0 < one.p <= 1
        word = {"better": "worse", "worse": "better"}
        first, second = verdict(one, primary=True).word, verdict(other, primary=True).word
        assert word.get(first, first) == second


@settings(deadline=None)
@given(cells, st.randoms(use_true_random=False))
def test_order_and_names_do_not_matter(rows: list[tuple[float, float, int]], random: object) -> None:
    a, b, labels = np.array(rows).T
    order = np.arange(len(rows))
    random.shuffle(order)  # type: ignore[attr-defined]
    names = [f"c{8 - int(label)}" for label in labels[order]]
    one, other = paired_difference(a, b, labels.astype(int)), paired_difference(a[order], b[order], names)
    assert one.p == other.p
    assert one.diff.value == pytest.approx(other.diff.value, abs=1e-12)
    if one.diff.low is not None:
        assert one.diff.low == pytest.approx(other.diff.low, abs=1e-9)


@settings(deadline=None)
@given(cells)
def test_one_column_of_max_t_is_the_sign_flip(rows: list[tuple[float, float, int]]) -> None:
    a, b, labels = np.array(rows).T
    assert max_t(a - b, labels.astype(int)) == (paired_difference(a, b, labels.astype(int)).p,)


def test_the_difference_of_means_is_the_mean_difference() -> None:
    a, b, labels = arms()
    result = paired_difference(a, b, labels)
    gap = (question_mean(a, labels).value or 0) - (question_mean(b, labels).value or 0)
    assert result.diff.value == pytest.approx(gap)


def test_only_the_primary_gets_a_word() -> None:
    labels = np.repeat(np.arange(8), 10)
    result = paired_difference(np.ones(80), np.zeros(80), labels)
    assert verdict(result, primary=False).word == "exploratory"
    assert verdict(result, primary=True).word == "better"


def test_equivalence_needs_a_margin_and_the_whole_interval_inside() -> None:
    labels = np.repeat(np.arange(8), 100)
    same = np.tile([1.0, 0.0], 400)
    result = paired_difference(same, same, labels)
    assert verdict(result, primary=True).word == "no decision"
    assert verdict(result, primary=True, margin=0.02).word == "equivalent"
    assert verdict(result, primary=True, margin=0.001).word == "no decision"
    with pytest.raises(ValueError, match="margin"):
        verdict(result, primary=True, margin=0.0)


def test_test_and_interval_must_agree() -> None:
    # Seven of eight conversations gain one question, with little spread: t excludes 0, the flips say .016 or more.
    gains = [3, 3, 3, 3, 3, -1, 3, 3]
    labels = np.repeat(np.arange(8), 40)
    a, b = np.zeros(320), np.zeros(320)
    for cluster, gain in enumerate(gains):
        (a if gain > 0 else b)[cluster * 40 : cluster * 40 + abs(gain)] = 1
    strict = paired_difference(a, b, labels, level=0.99)
    assert strict.p is not None
    assert strict.p > 0.01
    assert strict.diff.low is not None
    assert strict.diff.low > 0
    assert verdict(strict, primary=True) == verdict(strict, primary=True)
    assert verdict(strict, primary=True).word == "no decision"
    assert "excludes 0" in verdict(strict, primary=True).reason
    loose = paired_difference(a, b, labels, level=0.95)
    assert verdict(loose, primary=True).word == "better"


def test_one_conversation_that_gains_nearly_everything_is_no_verdict() -> None:
    # All eight gain, so the flips say .0078; but one gains 20 questions and seven gain one, and t contains 0.
    labels = np.repeat(np.arange(8), 40)
    a = (np.arange(320) % 40 == 0).astype(float)
    a[:20] = 1
    result = paired_difference(a, np.zeros(320), labels)
    assert result.p == 2 / 256
    assert verdict(result, primary=True).word == "no decision"
    assert "contains 0" in verdict(result, primary=True).reason


def test_size_of_the_verdict_with_equal_arms() -> None:
    rng = np.random.default_rng(5)
    clusters = Clusters.of(np.repeat(np.arange(8), np.linspace(60, 200, 8).astype(int)))
    false = flips = covered = 0
    for _ in range(800):
        rate = rng.beta(0.7 * 49, 0.3 * 49, (2, 8))[:, clusters.codes]
        common = rng.random(clusters.n) < 0.7
        x = np.where(rng.random((2, clusters.n)) < 0.3, rng.random((2, clusters.n)) < rate, common).astype(float)
        result = paired_difference(x[0], x[1], clusters)
        flips += result.p is not None and result.p <= 0.05
        false += verdict(result, primary=True).word in ("better", "worse")
        covered += result.diff.low is not None and result.diff.low <= 0 <= (result.diff.high or 0)
    assert false <= flips
    assert flips / 800 < 0.065
    assert covered / 800 > 0.93
