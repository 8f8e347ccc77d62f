"""The design of questions sampled one by one: Wilson, Tango, the exact flip of joined questions, power, the table."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference
from statsmodels.stats.proportion import proportion_confint

from memassay.stats import (
    DEFAULT_DESIGN,
    DESIGNS,
    Clusters,
    Pilot,
    clopper_pearson,
    detectable_difference,
    mcnemar_detectable,
    mcnemar_exact,
    mcnemar_power,
    paired_difference,
    paired_shares,
    question_mean,
    question_share,
    tango,
    verdict,
    wilson,
)
from memassay.stats.flips import whole_number_flip


def answers(right: int, n: int) -> np.ndarray:
    return (np.arange(n) < right).astype(float)


def two(b: int, c: int, both: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores of two arms with b and c discordant questions."""
    rows = [(1, 0)] * b + [(0, 1)] * c + [(1, 1)] * both + [(0, 0)] * (n - b - c - both)
    table = np.array(rows, dtype=float)
    return table[:, 0], table[:, 1]


# -- one arm -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("right", "n"), [(144, 289), (274, 289), (30, 60), (250, 300), (7, 50)])
def test_one_arm_is_wilsons_interval(right: int, n: int) -> None:
    found = question_share(answers(right, n), range(n))
    expected = proportion_confint(right, n, 0.05, "wilson")
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-12)
    assert (found.value, found.n, found.clusters, found.method) == (right / n, n, n, "wilson")


@pytest.mark.parametrize("failed", [0, 1, 2, 3, 4])
def test_next_to_the_end_the_near_bound_is_at_least_the_exact_one(failed: int) -> None:
    n = 289
    found = question_share(answers(n - failed, n), range(n))
    low, high = wilson(n - failed, n)
    assert found.low == low
    exact = 1.0 if failed == 0 else reference.beta.ppf(0.95, n - failed + 1, failed)
    assert found.high == pytest.approx(max(high, exact), abs=1e-10)
    mirrored = question_share(1 - answers(n - failed, n), range(n))
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - (found.high or 0), 1 - low), abs=1e-9)


def coverage(n: int, share: float) -> float:
    """The exact chance that the interval holds the true share."""
    held = 0.0
    for right in range(n + 1):
        found = question_share(answers(right, n), range(n))
        if found.low - 1e-12 <= share <= found.high + 1e-12:  # type: ignore[operator]
            held += float(reference.binom.pmf(right, n, share))
    return held


@pytest.mark.parametrize("n", [50, 60])
def test_exact_coverage_where_plain_wilson_fails(n: int) -> None:
    shares = (0.5, 0.8, 0.9, 0.95, 0.969, 0.98, 0.99, 1 - 0.17 / n, 1 - 0.01 / n)
    assert min(coverage(n, share) for share in shares) > 0.93
    ends = [wilson(right, n) for right in range(n + 1)]
    dip = 1 - 0.17 / n
    plain = sum(reference.binom.pmf(k, n, dip) for k, (low, high) in enumerate(ends) if low <= dip <= high)
    assert plain < 0.85


def test_few_questions_are_marked() -> None:
    assert question_share(answers(20, 44), range(44)).method == "wilson, few questions"
    assert question_share(answers(20, 45), range(45)).method == "wilson"


def test_joined_questions_count_as_alike() -> None:
    labels = [0, 0, 1, 1, *range(2, 98)]  # two pairs and 96 single questions
    groups = Clusters.of(labels)
    assert groups.effective == pytest.approx(100**2 / (2 * 4 + 96))
    found = question_share(answers(70, 100), labels)
    size = groups.effective
    assert (found.low, found.high) == pytest.approx(wilson(0.7 * size, size))
    assert (found.n, found.clusters) == (100, 98)
    assert Clusters.of([]).effective == 0
    assert Clusters.of(range(7)).effective == 7
    assert Clusters.of([1] * 5 + [2] * 5).effective == 2


def test_shares_of_a_question_take_the_clustered_rule() -> None:
    values = np.tile([0.0, 0.5, 1.0, 1.0], 25)
    labels = np.r_[np.arange(98), 97, 97]
    assert question_share(values, labels) == question_mean(values, labels)
    first, second = values, np.roll(values, 1)
    one = paired_shares(first, second, labels, rng=np.random.default_rng(1))
    assert one == paired_difference(first, second, labels, rng=np.random.default_rng(1))
    assert one.test == "sign-flip"


def test_mostly_joined_questions_are_clusters() -> None:
    half = Clusters.of(np.arange(100) // 2)
    assert half.effective == 50
    assert not half.mostly_joined
    groups = Clusters.of(np.arange(99) // 3)
    assert groups.mostly_joined
    a, b = two(12, 2, 60, 99)
    assert question_share(a, groups) == question_mean(a, groups)
    found = paired_shares(a, b, groups, rng=np.random.default_rng(1))
    assert found == paired_difference(a, b, groups, rng=np.random.default_rng(1))
    clustered, independent = DESIGNS.values()
    assert independent.power(0.1, [7] * 16) == clustered.power(0.1, [7] * 16)
    assert independent.detectable([7] * 16) == detectable_difference([7] * 16)
    assert not Clusters.of([]).mostly_joined


def test_no_question_and_one_cluster() -> None:
    assert question_share([], []) == question_mean([], [])
    assert question_share([1, 0], ["a", "a"]) == question_mean([1, 0], ["a", "a"])
    assert paired_shares([], [], []).diff.value is None
    assert paired_shares([1, 1], [0, 1], ["a", "a"]).p is None


def test_all_ones_and_all_zeros() -> None:
    for n in (2, 50, 289):
        ones = question_share(np.ones(n), range(n))
        assert (ones.value, ones.high) == (1.0, 1.0)
        assert ones.low == pytest.approx(wilson(n, n)[0] if n > 4 else 0.05 ** (1 / n))
        assert question_share(np.zeros(n), range(n)).low == 0.0
        same = paired_shares(np.ones(n), np.ones(n), range(n))
        assert (same.diff.low, same.diff.high) == tango(0, 0, n)
        assert (same.p, same.decidable) == (1.0, False)
        assert verdict(same, primary=True).word == "no decision"


@pytest.mark.parametrize("bad", [[1.0, float("nan")], [1.0, 2.0], [1.0]])
def test_what_is_no_score_is_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match=r"NaN|\[0, 1\]|one score"):
        question_share(bad, [1, 2])
    with pytest.raises(ValueError, match=r"NaN|\[0, 1\]|one score"):
        paired_shares([1.0, 0.0], bad, [1, 2])


# -- two arms ------------------------------------------------------------------------------------------------------


def test_two_arms_are_tangos_interval_and_mcnemars_test() -> None:
    a, b = two(30, 8, 200, 289)
    found = paired_shares(a, b, range(289))
    assert (found.diff.low, found.diff.high) == pytest.approx(tango(30, 8, 289))
    assert (found.diff.value, found.diff.method) == (pytest.approx(22 / 289), "tango")
    assert found.p == pytest.approx(mcnemar_exact(30, 8), rel=1e-9)
    assert found.mcnemar is not None
    assert (found.mcnemar.b, found.mcnemar.c, found.mcnemar.p) == (30, 8, mcnemar_exact(30, 8))
    assert (found.wins, found.losses, found.ties, found.test) == (30, 8, 251, "exact McNemar")
    word = verdict(found, primary=True)
    assert word.word == "better"
    assert word.reason.startswith("exact McNemar p =")
    assert verdict(found, primary=False).word == "exploratory"
    back = verdict(paired_shares(b, a, range(289)), primary=True)
    assert back.word == "worse"


def test_equivalence_needs_no_discordant_question() -> None:
    same = paired_shares(np.ones(289), np.ones(289), range(289))
    assert verdict(same, primary=True, margin=0.02).word == "equivalent"
    assert verdict(same, primary=True, margin=0.01).word == "no decision"


@pytest.mark.parametrize(("b", "decidable"), [(0, False), (1, False), (5, False), (6, True)])
def test_fewer_than_six_discordant_questions_decide_nothing(b: int, decidable: bool) -> None:
    found = paired_shares(*two(b, 0, 50, 100), range(100))
    assert found.decidable == decidable
    assert (found.reason is None) == decidable
    assert verdict(found, primary=True).word == ("better" if decidable else "no decision")
    if not decidable:
        assert "discordant question" in verdict(found, primary=True).reason


def brute_force(sums: np.ndarray) -> float:
    totals = [abs(np.dot(signs, sums)) for signs in itertools.product((-1, 1), repeat=len(sums))]
    return float(np.mean([total >= abs(sums.sum()) for total in totals]))


@settings(deadline=None)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=10))
def test_the_exact_flip_enumerates_every_pattern(sums: list[int]) -> None:
    array = np.array(sums, dtype=float)
    assert whole_number_flip(array) == pytest.approx(brute_force(array))


@given(st.integers(0, 200), st.integers(0, 200), st.integers(0, 5))
def test_the_flip_of_single_questions_is_mcnemars_test(b: int, c: int, ties: int) -> None:
    sums = np.array([1.0] * b + [-1.0] * c + [0.0] * ties)
    assert whole_number_flip(sums) == pytest.approx(mcnemar_exact(b, c), rel=1e-9)


def test_joined_questions_are_flipped_together_and_widen_the_interval() -> None:
    a, b = two(12, 2, 80, 100)
    alone = paired_shares(a, b, range(100))
    labels = np.r_[np.arange(12) // 2, np.arange(12, 100)]  # the twelve wins are six pairs
    joined = paired_shares(a, b, labels)
    assert joined.test == "exact sign-flip"
    sums = np.array([2.0] * 6 + [-1.0] * 2)
    assert joined.p == pytest.approx(brute_force(sums))
    assert joined.p > (alone.p or 0)  # type: ignore[operator]
    size = 100**2 / (88 + 6 * 4)
    assert (joined.diff.low, joined.diff.high) == pytest.approx(tango(12 * size / 100, 2 * size / 100, size))
    assert joined.diff.value == alone.diff.value


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 30)), min_size=2, max_size=50))
def test_swapping_the_arms_turns_the_sign_and_nothing_else(rows: list[tuple[int, int, int]]) -> None:
    a, b, labels = np.array(rows).T
    one, other = (paired_shares(*arms, labels, rng=np.random.default_rng(1)) for arms in ((a, b), (b, a)))
    assert one.diff.value == pytest.approx(-(other.diff.value or 0.0))
    assert (one.p, one.decidable, one.test) == (pytest.approx(other.p), other.decidable, other.test)
    if one.diff.low is not None and other.diff.high is not None:
        assert one.diff.low == pytest.approx(-other.diff.high, abs=1e-12)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 30)), min_size=2, max_size=40))
def test_order_and_names_do_not_matter(rows: list[tuple[int, int, int]]) -> None:
    a, b, labels = np.array(rows).T
    order = np.argsort((labels * 7 + a * 3 + b) % 11, kind="stable")
    if Clusters.of(labels).mostly_joined:
        return
    one = paired_shares(a, b, labels)
    other = paired_shares(a[order], b[order], [f"q{30 - label}" for label in labels[order]])
    assert (one.p, one.diff.low, one.diff.high) == (other.p, other.diff.low, other.diff.high)
    # The mean over clusters is summed in the order of their names.
    assert one.mean_over_clusters == pytest.approx(other.mean_over_clusters, abs=1e-12)


def test_size_with_joined_questions_that_are_all_alike() -> None:
    rng = np.random.default_rng(5)
    labels = Clusters.of(np.r_[np.repeat(np.arange(29), 2), np.arange(29, 260)])
    false = covered = 0
    for _ in range(600):
        kind = rng.choice(3, p=(0.06, 0.06, 0.88), size=labels.count)[labels.codes]
        found = paired_shares((kind == 0).astype(float), (kind == 1).astype(float), labels)
        false += verdict(found, primary=True).word in ("better", "worse")
        covered += found.diff.low <= 0 <= found.diff.high  # type: ignore[operator]
    assert false / 600 < 0.06
    assert covered / 600 > 0.93


# -- power ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("difference", "n"), [(0.05, 289), (0.1, 50), (0.2, 50), (0.07, 300)])
def test_the_power_is_that_of_simulated_verdicts(difference: float, n: int) -> None:
    rng = np.random.default_rng(3)
    spread = 0.16 + difference**2
    up, down = (spread + difference) / 2, (spread - difference) / 2
    tables = rng.multinomial(n, [up, down, 1 - up - down], size=4000).tolist()
    found = np.mean([b > c and mcnemar_exact(b, c) <= 0.05 for b, c, _ in tables])
    assert mcnemar_power(difference, [1] * n) == pytest.approx(found, abs=0.025)


def test_the_detectable_difference_is_found_in_four_of_five_runs() -> None:
    for n in (50, 289, 1000):
        found = mcnemar_detectable([1] * n)
        assert found is not None
        assert mcnemar_power(found.detectable, [1] * n) == pytest.approx(0.8, abs=1e-3)
        # The t formula for the same standard deviation promises a little more than McNemar's exact test keeps.
        assert 1.0 < found.detectable / detectable_difference([1] * n).detectable < 1.07
    assert mcnemar_detectable([1] * 5) is None
    joined = mcnemar_detectable([2] * 100)
    single = mcnemar_detectable([1] * 100)
    assert joined is not None
    assert single is not None
    assert joined.detectable == single.detectable
    assert joined.design_effect == pytest.approx(2)


def test_more_questions_and_less_noise_give_more_power() -> None:
    powers = [mcnemar_power(0.1, [1] * n) for n in (20, 50, 100, 289)]
    assert powers == sorted(powers)
    quiet = Pilot(0.2, 0.0, "test")
    assert mcnemar_power(0.1, [1] * 100, pilot=quiet) > mcnemar_power(0.1, [1] * 100)
    assert mcnemar_power(0.0, [1] * 289) < 0.025
    with pytest.raises(ValueError, match="at least one question"):
        mcnemar_power(0.1, [])
    with pytest.raises(ValueError, match="lies in"):
        mcnemar_power(1.5, [1])


# -- the table -----------------------------------------------------------------------------------------------------


def test_the_table_holds_the_rules_by_name() -> None:
    assert list(DESIGNS) == [DEFAULT_DESIGN, "independent-binary"]
    assert all(name == design.name for name, design in DESIGNS.items())
    rng = np.random.default_rng(1)
    a, b = two(12, 2, 20, 60)
    groups = Clusters.of(np.r_[0, 0, np.arange(2, 60)])
    clustered, independent = DESIGNS.values()
    assert clustered.one_arm(a, groups) == question_mean(a, groups)
    expected = paired_difference(a, b, groups, rng=np.random.default_rng(1))
    assert clustered.two_arms(a, b, groups, rng) == expected
    assert independent.one_arm(a, groups) == question_share(a, groups)
    assert independent.two_arms(a, b, groups, rng) == paired_shares(a, b, groups)
    assert clustered.detectable([30] * 8) == detectable_difference([30] * 8)
    assert independent.detectable([1] * 60) == mcnemar_detectable([1] * 60)
    assert clustered.detectable([30]) is None
    assert clustered.power(0.1, [30]) == 0.0
    assert clustered.power(0.1, [160] * 10) > 0.9 > clustered.power(0.1, [6] * 8)
    assert independent.power(0.1, [1] * 289) == mcnemar_power(0.1, [1] * 289)


def test_two_sided_clopper_pearson_of_twice_the_error_is_the_one_sided_bound() -> None:
    assert clopper_pearson(286, 289, 0.9)[1] == pytest.approx(reference.beta.ppf(0.95, 287, 3))
