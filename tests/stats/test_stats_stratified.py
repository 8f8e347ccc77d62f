"""Sign flips of a weighted gap, and the set of the best of several memories."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from memassay.stats import best_set, flip_ps, paired_difference, stratified_flip


def rng(seed: int = 7) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def brute_force(sums: np.ndarray) -> float:
    observed = abs(sums.sum())
    totals = [abs(np.dot(signs, sums)) for signs in itertools.product((-1, 1), repeat=len(sums))]
    return float(np.mean([total >= observed - 1e-9 for total in totals]))


@pytest.mark.parametrize("seed", range(5))
def test_few_moving_clusters_are_enumerated(seed: int) -> None:
    draw = np.random.default_rng(seed)
    d = draw.choice([1.0, 0.0, -1.0], 12, p=[0.5, 0.3, 0.2])
    weights = draw.choice([0.5 / 8, 0.2 / 8, 0.04 / 8], 12)
    found = stratified_flip(d, weights, np.arange(12), rng=rng())
    assert found.exact
    assert found.moving == np.count_nonzero(d)
    assert found.p == pytest.approx(brute_force((d * weights)[d != 0]))


def test_whole_clusters_flip_and_those_that_cancel_do_not_count() -> None:
    d = np.array([1.0, 1.0, 1.0, -1.0, 1.0, 1.0])
    clusters = [0, 0, 1, 1, 2, 3]
    found = stratified_flip(d, np.full(6, 1 / 6), clusters, rng=rng())
    assert (found.moving, found.patterns) == (3, 8)
    assert found.p == pytest.approx(2 / 8)
    assert not found.decidable
    assert "3 clusters" in (found.reason or "")


def test_equal_weights_are_the_unweighted_test() -> None:
    d = np.random.default_rng(2).choice([1.0, 0.0, -1.0], 14)
    plain = paired_difference((d + 1) / 2, np.full(14, 0.5), np.arange(14))
    assert stratified_flip(d, np.full(14, 1 / 14), np.arange(14), rng=rng()).p == pytest.approx(plain.p)


def test_many_are_drawn_and_p_counts_the_observed_pattern() -> None:
    d = np.ones(40)
    found = stratified_flip(d, np.full(40, 1 / 40), np.arange(40), rng=rng(), draws=999)
    assert (found.exact, found.patterns, found.p) == (False, 999, pytest.approx(1 / 1000))
    assert found == stratified_flip(d, np.full(40, 1 / 40), np.arange(40), rng=rng(), draws=999)


def test_nothing_differs() -> None:
    found = stratified_flip(np.zeros(5), np.full(5, 0.2), np.arange(5), rng=rng())
    assert (found.p, found.moving, found.decidable) == (1.0, 0, False)


def test_looked_up_sums_agree_with_the_test_of_one_pair() -> None:
    draw = np.random.default_rng(4)
    sizes, weights = [8, 8, 4], [0.6, 0.3, 0.1]
    counts = np.stack([draw.multinomial(n, [0.5, 0.25, 0.25], 20) for n in sizes], axis=1)
    each = np.array(weights) / sizes
    many = flip_ps(counts[:, :, 0], counts[:, :, 1], each, rng(), draws=9999)
    for run, p in zip(counts, many.tolist(), strict=True):
        d = np.concatenate([[1.0] * w + [-1.0] * lost + [0.0] * t for w, lost, t in run.tolist()])
        one = stratified_flip(d, np.repeat(each, sizes), np.arange(20), rng=rng(9))
        assert p == pytest.approx(one.p, abs=0.02)


def outcomes(values: np.ndarray) -> np.ndarray:
    pairs = list(itertools.combinations(range(values.shape[1]), 2))
    return np.stack([np.sign(values[:, a] - values[:, b]) for a, b in pairs], axis=1)


def test_the_best_set_leaves_out_what_is_beaten() -> None:
    draw = np.random.default_rng(3)
    good = (draw.random((80, 2)) < 0.8).astype(float)
    bad = (draw.random((80, 1)) < 0.3).astype(float)
    found = best_set(["x", "y", "z"], outcomes(np.hstack([good, bad])), np.full(80, 1 / 80), np.arange(80), rng=rng())
    assert found.members == ("x", "y")
    assert not found.cycle
    beaten = {(one.a, one.b): one for one in found.pairs}
    assert beaten["x", "z"].p <= 0.05 and beaten["x", "z"].gap > 0
    assert beaten["x", "y"].p > 0.05


def test_twins_are_both_best_and_a_cycle_says_so() -> None:
    twins = np.zeros((30, 1))
    found = best_set(["one", "two"], twins, np.full(30, 1 / 30), np.arange(30), rng=rng())
    assert (found.members, found.pairs[0].p, found.cycle) == (("one", "two"), 1.0, False)
    rock = np.tile([1.0, -1.0, 1.0], (30, 1))  # a beats b, c beats a, b beats c
    found = best_set(["a", "b", "c"], rock, np.full(30, 1 / 30), np.arange(30), rng=rng())
    assert (found.members, found.cycle) == (("a", "b", "c"), True)


def test_two_memories_have_the_p_of_their_pair() -> None:
    d = np.random.default_rng(6).choice([1.0, 0.0, -1.0], 12, p=[0.6, 0.2, 0.2])
    found = best_set(["a", "b"], d[:, None], np.full(12, 1 / 12), np.arange(12), rng=rng())
    assert found.pairs[0].p == pytest.approx(stratified_flip(d, np.full(12, 1 / 12), np.arange(12), rng=rng()).p)


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="as many weights"):
        stratified_flip([1, 0], [1.0], [0, 1], rng=rng())
    with pytest.raises(ValueError, match="take the sign"):
        stratified_flip([1, 0.5], [0.5, 0.5], [0, 1], rng=rng())
    with pytest.raises(ValueError, match="need"):
        best_set(["a", "b", "c"], np.zeros((4, 2)), np.full(4, 0.25), np.arange(4), rng=rng())
    with pytest.raises(ValueError, match="two clusters"):
        best_set(["a", "b"], np.zeros((4, 1)), np.full(4, 0.25), np.zeros(4, dtype=int), rng=rng())


def test_eight_equal_memories_are_rarely_told_apart() -> None:
    draw = np.random.default_rng(8)
    names = [str(number) for number in range(8)]
    left_out = 0
    for _ in range(120):
        values = draw.choice([-1.0, 0.0, 0.5, 1.0], (64, 8), p=[0.1, 0.3, 0.2, 0.4])
        found = best_set(names, outcomes(values), np.full(64, 1 / 64), np.arange(64), rng=draw, draws=199)
        left_out += len(found.members) < 8
    assert left_out / 120 <= 0.11  # .05 and 3 Monte Carlo errors
