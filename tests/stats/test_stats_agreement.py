"""Agreement of raters, orders and repetitions: references, hand examples, edges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest
from statsmodels.stats.inter_rater import cohens_kappa

from memassay.stats import agreement, positions, repetition_stability
from memassay.stats.agreement import kappas

LABELS = ("correct", "partial", "incorrect")


def rng() -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(7))


def rated(n: int = 60, same: float = 0.6) -> tuple[list[str], list[str]]:
    draw = np.random.default_rng(3)
    first = draw.choice(LABELS, n, p=[0.6, 0.3, 0.1])
    second = np.where(draw.random(n) < same, first, draw.choice(LABELS, n, p=[0.6, 0.3, 0.1]))
    return first.tolist(), second.tolist()


def test_kappa_is_that_of_statsmodels() -> None:
    first, second = rated()
    found = agreement(first, second, LABELS, np.arange(60), rng=rng())
    assert found.kappa.value == pytest.approx(cohens_kappa(np.array(found.table), return_results=False))
    assert found.raw.value == pytest.approx(np.mean([a == b for a, b in zip(first, second, strict=True)]))
    assert found.kappa.low is not None and found.kappa.high is not None
    reference = cohens_kappa(np.array(found.table))
    assert found.kappa.low == pytest.approx(reference.kappa_low, abs=0.06)
    assert found.kappa.high == pytest.approx(reference.kappa_upp, abs=0.06)


def test_ac1_by_hand() -> None:
    # 118 yes-yes, 5 yes-no, 2 no-yes, 0 no-no: p = .944, share of yes (123 + 120) / 250 = .972, chance 2 x .972 x .028.
    first = ["yes"] * 123 + ["no"] * 2
    second = ["yes"] * 118 + ["no"] * 5 + ["yes"] * 2
    found = agreement(first, second, ("yes", "no"), np.arange(125), rng=rng())
    chance = 2 * 0.972 * 0.028
    assert found.ac1.value == pytest.approx((0.944 - chance) / (1 - chance))
    assert found.kappa.value == pytest.approx(-0.0234, abs=1e-3)  # what prevalence does to kappa
    no = found.per_label[1]
    assert (no.first, no.second, no.both, no.share) == (2, 5, 0, 0.0)
    assert found.per_label[0].share == pytest.approx(2 * 118 / (123 + 120))


def test_perfect_agreement_still_has_an_interval_and_one_label_has_no_kappa() -> None:
    first, _ = rated(40)
    found = agreement(first, first, LABELS, np.arange(40), rng=rng())
    assert (found.kappa.value, found.ac1.value) == (pytest.approx(1), pytest.approx(1))
    assert found.kappa.low is not None and found.kappa.high is not None
    assert 0.7 < found.kappa.low < 0.99
    assert found.kappa.high == pytest.approx(1)
    same = agreement(["correct"] * 9, ["correct"] * 9, LABELS, np.arange(9), rng=rng())
    assert same.kappa.value is None
    assert "one label" in (same.kappa.reason or "")
    assert same.ac1.value == 1
    assert same.per_label[2].share is None


def test_clusters_widen_and_one_cluster_has_no_interval() -> None:
    first, second = rated(60)
    many = agreement(first * 4, second * 4, LABELS, np.arange(240), rng=rng()).kappa
    joined = agreement(first * 4, second * 4, LABELS, np.tile(np.arange(60), 4), rng=rng()).kappa
    assert many.value == pytest.approx(joined.value)
    width = [(one.high or 0) - (one.low or 0) for one in (many, joined)]
    assert width[1] == pytest.approx(2 * width[0], rel=0.15)
    alone = agreement(first, second, LABELS, ["w"] * 60, rng=rng())
    assert alone.kappa.value is not None and alone.kappa.low is None
    nothing = agreement([], [], LABELS, [], rng=rng())
    assert nothing.kappa.value is None


def test_agreement_is_symmetric_and_refuses_what_it_does_not_know() -> None:
    first, second = rated()
    one = agreement(first, second, LABELS, np.arange(60), rng=rng())
    other = agreement(second, first, LABELS, np.arange(60), rng=rng())
    assert one.kappa.value == pytest.approx(other.kappa.value)
    assert one.table == tuple(zip(*other.table, strict=True))
    with pytest.raises(ValueError, match="'wrong' is not among"):
        agreement(["wrong"], ["correct"], LABELS, [0], rng=rng())
    with pytest.raises(ValueError, match="one each"):
        agreement(["correct"], [], LABELS, [0], rng=rng())
    with pytest.raises(ValueError, match="two labels"):
        agreement(["correct"], ["correct"], ["correct"], [0], rng=rng())


def test_kappas_of_many_tables() -> None:
    tables = np.random.default_rng(1).integers(1, 9, (5, 3, 3)).astype(float)
    assert kappas(tables) == pytest.approx([cohens_kappa(table, return_results=False) for table in tables])


def test_a_judge_that_always_says_first_is_never_consistent() -> None:
    found = positions(["first"] * 20, ["first"] * 20, np.arange(20))
    assert (found.consistency.value, found.first_twice, found.second_twice, found.half) == (0, 20, 0, 0)
    assert found.first_share.value == 1
    assert found.p == pytest.approx(binomtest(20, 20).pvalue)


def test_a_judge_that_always_says_a_is_always_consistent() -> None:
    found = positions(["first"] * 20, ["second"] * 20, np.arange(20))
    assert (found.consistency.value, found.first_twice, found.second_twice) == (1, 0, 0)
    assert (found.first_share.value, found.first_share.reason, found.p) == (None, "no flip", 1)


def test_every_pair_of_verdicts_is_one_of_three_kinds() -> None:
    places = ("first", "second", "tie")
    pairs = [(a, b) for a in places for b in places]
    found = positions([a for a, _ in pairs], [b for _, b in pairs], np.arange(9))
    assert found.consistency.value == pytest.approx(3 / 9)
    assert (found.first_twice, found.second_twice, found.half) == (1, 1, 4)
    with pytest.raises(ValueError, match="first, second or tie"):
        positions(["a"], ["first"], [0])
    with pytest.raises(ValueError, match="one each"):
        positions(["first"], [], [0])


def test_repetitions_agree_pair_by_pair() -> None:
    votes = [["a", "a", "a"], ["a", "a", "b"], ["a", "b", "tie"]] * 6
    found = repetition_stability(votes, np.arange(18))
    assert found.value == pytest.approx((1 + 1 / 3 + 0) / 3)
    assert found.low is not None and found.low < found.value
    with pytest.raises(ValueError, match="two repetitions"):
        repetition_stability([["a"]], [0])
