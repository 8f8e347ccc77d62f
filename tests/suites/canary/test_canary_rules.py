"""Decisions, scores under each tie convention, fabrications and sensitivity of one pair."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from canary_pairs import AHEAD, LEVEL, Counts, measured, pair, rng
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from memassay.core.errors import UsageError
from memassay.stats import clopper_pearson
from memassay.suites.canary.fabrication import fabrication, smallest_ceiling
from memassay.suites.canary.families import CURRENT, ENTITY, FAMILIES, LINKS, UNIFORM, WEIGHTS, Weights
from memassay.suites.canary.pairs import Pair
from memassay.suites.canary.rules import RULES, Decision, Thresholds, default, seed_v1
from memassay.suites.canary.scoring import family_rows, scores
from memassay.suites.canary.sensitivity import leave_one_family_out, single_question_influence, weight_simplex


def decide(one: Pair, rule: str = "default", thresholds: Thresholds | None = None) -> Decision:
    return RULES[rule](measured(one), fabrication(one), thresholds)


def flipped(counts: Counts) -> Counts:
    return [(lost, won, tied) for won, lost, tied in counts]


# -- the rule of this house ----------------------------------------------------------------------------------------


def test_a_clear_winner_without_fabrications_is_adopted() -> None:
    found = decide(pair(AHEAD))
    assert found.verdict == "adopt"
    assert [leg.outcome for leg in found.legs] == ["for"] * 4
    assert found.needed is None


def test_a_clear_loser_is_rejected_and_equal_memories_are_not_decided() -> None:
    assert decide(pair(flipped(AHEAD))).verdict == "reject"
    level = decide(pair(LEVEL))
    assert level.verdict == "no decision"
    assert [leg.outcome for leg in level.legs] == ["open", "open", "open", "for"]


def test_a_memory_against_itself_is_no_decision() -> None:
    itself = pair([(0, 0, n) for n in (50, 20, 10, 8, 8, 8, 8, 8)])
    assert decide(itself).verdict == "no decision"
    assert decide(itself, "seed-v1").verdict == "no decision"


def test_a_winner_below_the_margin_is_not_adopted() -> None:
    found = decide(pair(AHEAD), thresholds=Thresholds(margin=0.8))
    assert found.verdict == "no decision"
    assert found.legs[0].outcome == "open"
    assert "the margin 80 points" in found.reasons[0]


def test_a_winner_that_fabricates_is_rejected() -> None:
    found = decide(pair(AHEAD, fabricated=(30, 0)))
    assert found.verdict == "reject"
    assert found.legs[3].outcome == "against"
    few = decide(pair(AHEAD, fabricated=(7, 0)))  # 7 of 120 is at most 11.6 %, and p = .016
    assert (few.verdict, few.legs[3].outcome) == ("reject", "against")
    assert "exact p" in few.legs[3].reason


def test_a_winner_that_may_fabricate_too_much_is_not_decided() -> None:
    found = decide(pair(AHEAD, fabricated=(7, 7)))
    assert (found.verdict, found.legs[3].outcome) == ("no decision", "open")
    assert "at most 11.6 %" in found.legs[3].reason
    assert found.needed is not None, "the gap is clear, so that fabrications alone say how many"
    assert clopper_pearson(found.needed * 7 / 120, found.needed)[1] < 0.1
    assert decide(pair(AHEAD, fabricated=(12, 12))).needed is None, "more questions do not bring 10 % below 10 %"


def test_what_would_settle_a_few_questions_is_enough_for_the_fabrications_too() -> None:
    """Some 20 questions would show such a gap, and never a rate below 10 %."""
    found = decide(pair([(1, 0, 0)] * 8))
    assert (found.verdict, found.legs[3].outcome) == ("no decision", "open")
    assert found.needed is not None and found.needed >= 36 and smallest_ceiling(found.needed) < 0.1


def test_undetermined_questions_over_a_tenth_mean_not_measured() -> None:
    found = decide(pair(AHEAD, undetermined=(13, 0)))
    assert (found.verdict, found.legs[3].outcome) == ("no decision", "not measured")
    assert "13 of 120" in found.legs[3].reason
    fewer = decide(pair(AHEAD, undetermined=(12, 0)))
    assert (fewer.verdict, fewer.legs[3].outcome) == ("no decision", "open")
    assert "if all 12 undetermined ones are" in fewer.legs[3].reason
    assert decide(pair(AHEAD, undetermined=(3, 60))).verdict == "adopt"


def test_a_ceiling_that_so_few_questions_cannot_show_is_said() -> None:
    few = pair([(7, 0, 1)] * 4)
    assert smallest_ceiling(32) > 0.10
    found = decide(few)
    assert found.legs[3].outcome == "open"
    assert "32 questions can never show a rate below 10 %" in found.legs[3].reason
    assert decide(few, thresholds=Thresholds(ceiling=0.2)).legs[3].outcome == "for"


@pytest.mark.parametrize("n", [64, 120, 500])
def test_the_smallest_ceiling_is_about_3_7_over_n(n: int) -> None:
    assert smallest_ceiling(n) == pytest.approx(3.7 / n, rel=0.05)


def test_no_decision_says_how_many_questions_would_settle_it() -> None:
    leaning = [(20, 12, 18), (8, 5, 7), (4, 3, 3), *[(3, 2, 3)] * 5]
    found = decide(pair(leaning), thresholds=Thresholds(margin=0.05))
    assert found.verdict == "no decision"
    assert found.needed is not None and 120 < found.needed < 2000
    within = decide(pair(LEVEL), thresholds=Thresholds(margin=0.12))
    assert within.needed is not None and within.needed > 120


def test_equivalent_is_only_what_lies_within_the_margin() -> None:
    many = pair([(40, 40, 800)] * 8)
    found = decide(many)
    assert (found.verdict, found.equivalent, found.needed) == ("no decision", True, None)
    assert not decide(many, thresholds=Thresholds(margin=0.01)).equivalent
    assert not decide(pair(LEVEL)).equivalent


# -- the published rule --------------------------------------------------------------------------------------------


def test_any_one_condition_of_the_published_rule_is_enough() -> None:
    nothing = seed_v1(measured(pair(LEVEL)), fabrication(pair(LEVEL)))
    assert nothing.verdict == "no decision"
    assert [leg.outcome for leg in nothing.legs] == ["open"] * 3
    one_to_none = pair(LEVEL, fabricated=(0, 1))
    ratio = decide(one_to_none, "seed-v1")
    assert (ratio.verdict, ratio.legs[1].outcome) == ("adopt", "for")
    assert decide(pair(AHEAD), "seed-v1").verdict == "adopt"
    one_question = pair([(5, 3, 0), *[(4, 4, 0)] * 7])  # 12.5 points: one question of the first family
    assert decide(one_question, "seed-v1").legs[0].outcome == "open"


def test_twenty_points_are_enough_to_the_last_digit() -> None:
    twenty = pair([(3, 0, 5), (1, 0, 7), (0, 1, 7), (0, 0, 8), (1, 1, 6), (0, 0, 8), (0, 0, 8), (0, 0, 8)])
    gap = measured(twenty).gaps.weighted.gap.value
    assert gap == pytest.approx(0.2)
    assert decide(twenty, "seed-v1").legs[0].outcome == "for"


def test_published_conditions_that_contradict_each_other_decide_nothing() -> None:
    found = decide(pair(AHEAD, fabricated=(4, 1)), "seed-v1")
    assert [leg.outcome for leg in found.legs] == ["for", "against", "for"]
    assert found.verdict == "no decision"
    assert len(found.reasons) == 3


@settings(max_examples=8, deadline=None)
@given(
    st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=8, max_size=8),
    st.tuples(st.integers(0, 4), st.integers(0, 4)),
)
def test_everything_mirrors(counts: list[tuple[int, int, int]], fabricated: tuple[int, int]) -> None:
    if sum(map(sum, counts)) < 2 or not sum(counts[0]):
        return
    one = pair(counts, fabricated)
    other = one.swapped
    x, y = measured(one), measured(other)
    a, b = (seed_v1(found, fabrication(found.pair)) for found in (x, y))
    mirror = {"adopt": "reject", "reject": "adopt", "no decision": "no decision"}
    assert b.verdict == mirror[a.verdict]
    turned = {"for": "against", "against": "for"}
    assert [leg.outcome for leg in b.legs] == [turned.get(leg.outcome, leg.outcome) for leg in a.legs]
    ours, theirs = ([leg.outcome for leg in default(found, fabrication(found.pair)).legs[:3]] for found in (x, y))
    assert theirs == [turned.get(outcome, outcome) for outcome in ours]
    assert (x.test.p, x.sign_p) == (y.test.p, y.sign_p)
    assert other.swapped == one


# -- scores --------------------------------------------------------------------------------------------------------


def test_three_conventions_side_by_side() -> None:
    one = pair([(4, 2, 2), (0, 0, 8), *[(8, 0, 0)] * 6])
    strict, half, decisive = scores(one)
    rest = 1 - 0.7
    assert strict.a == pytest.approx(0.5 * 0.5 + rest)
    assert strict.b == pytest.approx(0.5 * 0.25)
    assert half.a == pytest.approx(0.5 * 0.625 + 0.2 * 0.5 + rest)
    assert half.a is not None and half.b is not None and half.a + half.b == pytest.approx(1)
    assert decisive.a == pytest.approx((0.5 * 4 / 6 + rest) / 0.8)
    assert decisive.left_out == (FAMILIES[1],)
    assert (strict.questions, half.questions, decisive.questions) == (64, 64, 54)
    assert strict.uniform_a == pytest.approx((0.5 + 0 + 6) / 8)


def test_without_a_decided_question_there_is_no_decisive_score() -> None:
    decisive = scores(pair([(0, 0, 4)] * 8))[2]
    assert (decisive.a, decisive.uniform_b, decisive.questions) == (None, None, 0)


def test_half_credit_leaves_the_gap_alone() -> None:
    strict, half, _ = scores(pair(AHEAD))
    assert strict.a is not None and strict.b is not None and half.a is not None and half.b is not None
    assert half.a - half.b == pytest.approx(strict.a - strict.b)
    assert strict.a - strict.b == pytest.approx(measured(pair(AHEAD)).gaps.weighted.gap.value)


def test_family_rows_are_exact() -> None:
    rows = family_rows(pair(AHEAD))
    assert [row.family for row in rows] == list(FAMILIES)
    first = rows[0]
    assert (first.wins, first.losses, first.ties, first.weight) == (38, 4, 8, 0.5)
    assert (first.won.low, first.won.high) == clopper_pearson(38, 50)
    assert first.gap.value == pytest.approx(34 / 50)


def test_families_that_were_not_asked_give_their_weight_to_the_others() -> None:
    one = pair([(4, 2, 2), (1, 3, 4)])
    assert one.families == FAMILIES[:2]
    assert dict(one.shares) == {FAMILIES[0]: pytest.approx(0.5 / 0.7), FAMILIES[1]: pytest.approx(0.2 / 0.7)}


def test_the_sign_test_is_the_binomial() -> None:
    one = measured(pair(AHEAD))
    won, lost, _ = one.pair.counts.sum(axis=0)
    assert one.sign_p == pytest.approx(binomtest(int(won), int(won + lost)).pvalue)


def test_what_a_pair_refuses() -> None:
    one = pair(LEVEL)
    with pytest.raises(UsageError, match="no question in common"):
        Pair("a", "b", (), UNIFORM)
    with pytest.raises(UsageError, match="twice"):
        Pair("a", "b", (one.questions[0], one.questions[0]), UNIFORM)
    links_only = Weights(name="links", shares={**dict.fromkeys(FAMILIES, 0.0), LINKS: 1.0})
    with pytest.raises(UsageError, match="weight 0"):
        Pair("a", "b", one.questions[:3], links_only)


# -- fabrications --------------------------------------------------------------------------------------------------


def test_rates_are_exact_and_bounded_on_both_sides() -> None:
    found = fabrication(pair(AHEAD, fabricated=(0, 6), undetermined=(5, 0)))
    assert (found.a.count, found.b.count, found.only_a, found.only_b) == (0, 6, 0, 6)
    assert found.a.rule_of_three == pytest.approx(3 / 120)
    assert found.b.rule_of_three is None
    assert (found.a.rate.low, found.a.rate.high) == clopper_pearson(0, 120)
    assert found.a.highest == clopper_pearson(5, 120)[1]
    assert found.p == pytest.approx(binomtest(0, 6).pvalue)
    assert found.b.weighted == pytest.approx(6 * 0.5 / 50)
    assert found.a.undetermined_share == pytest.approx(5 / 120)


def test_a_fabricated_question_is_not_also_undetermined() -> None:
    found = fabrication(pair([(4, 0, 0)] * 8, fabricated=(32, 0), undetermined=(32, 0)))
    assert (found.a.count, found.a.undetermined) == (32, 0)


def test_a_ratio_needs_five_of_them_and_a_small_p() -> None:
    assert fabrication(pair(AHEAD, fabricated=(0, 6))).ratio is None  # nothing to divide by
    assert fabrication(pair(AHEAD, fabricated=(1, 4))).ratio is None
    assert fabrication(pair(AHEAD, fabricated=(1, 6))).ratio is None  # 5 against 0: p = .06
    assert fabrication(pair(AHEAD, fabricated=(2, 9))).ratio == pytest.approx(4.5)


# -- sensitivity ---------------------------------------------------------------------------------------------------


def test_leaving_a_family_out_is_the_gap_of_the_others() -> None:
    one = pair(AHEAD)
    for found in leave_one_family_out(one):
        rest = tuple(question for question in one.questions if question.family != found.family)
        without = dataclasses.replace(one, questions=rest)
        assert found.gap == pytest.approx(float(without.each @ without.outcomes))
    assert leave_one_family_out(pair([(3, 1, 0)]))[0].gap is None


def test_a_gap_that_every_family_shares_survives_every_weighting() -> None:
    found = weight_simplex(pair(AHEAD), rng())
    assert found is not None
    assert (found.anywhere, found.counted) == (0.0, 0.0)
    assert weight_simplex(pair(LEVEL), rng()) is None


def test_a_gap_of_one_family_hangs_on_its_weight() -> None:
    mixed = pair([(8, 0, 0), (0, 4, 4), (0, 8, 0), *[(2, 4, 2)] * 5])
    found = weight_simplex(mixed, rng())
    assert found is not None and found.counted is not None
    assert found.anywhere > 0.5
    assert found.counted < 0.01
    uncounted = weight_simplex(pair([(8, 0, 0), *[(2, 4, 2)] * 7], weights=UNIFORM), rng())
    assert uncounted is not None and uncounted.counted is None


def test_the_most_influential_question_is_found_by_leaving_each_out() -> None:
    one = pair([(7, 1, 0), (2, 2, 4), *[(3, 3, 2)] * 6])
    found = single_question_influence(one)
    total = float(one.each @ one.outcomes)
    shifts = {}
    for left in one.questions:
        rest = tuple(question for question in one.questions if question is not left)
        without = dataclasses.replace(one, questions=rest)
        shifts[left.question] = float(without.each @ without.outcomes) - total
    assert found.shift == pytest.approx(shifts[found.question])
    assert abs(found.shift) == pytest.approx(max(map(abs, shifts.values())))
    assert found.question == f"{CURRENT}-007"
    assert found.turned == pytest.approx(0.125)


def test_the_only_question_of_a_family_takes_the_family_with_it() -> None:
    one = pair([(3, 1, 0), (0, 1, 0)])
    found = single_question_influence(one)
    total = float(one.each @ one.outcomes)
    assert found.question.startswith(FAMILIES[1])
    assert found.shift == pytest.approx(0.5 - total)


def test_weights_of_the_published_table() -> None:
    one = pair([(8, 0, 0)] * 8)
    assert dict(one.shares) == {family: pytest.approx(share) for family, share in WEIGHTS.items()}
    assert one.tie_rate == 0
    assert np.array_equal(one.counts, np.tile([8, 0, 0], (8, 1)))
    assert one.concentration is not None and one.concentration[ENTITY] == pytest.approx(240.5)


def test_the_rule_of_the_house_takes_its_own_thresholds() -> None:
    assert default(measured(pair(AHEAD)), fabrication(pair(AHEAD)), Thresholds(ceiling=0.031)).verdict == "adopt"
    assert default(measured(pair(AHEAD)), fabrication(pair(AHEAD)), Thresholds(ceiling=0.03)).verdict == "no decision"
