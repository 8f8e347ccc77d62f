"""Material losses with exact bounds, and ratios of amounts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from memassay.stats import material_loss, paired_ratio, tasks_needed


def _scores(n: int, losses: int) -> tuple[list[float], list[float]]:
    return [0.5] * losses + [1.0] * (n - losses), [1.0] * n


@pytest.mark.parametrize(
    ("n", "losses", "upper", "outcome"),
    [
        (20, 0, 0.1391, "no decision"),
        (28, 0, 0.1015, "no decision"),
        (29, 0, 0.0981, "passed"),
        (60, 2, 0.1012, "no decision"),
        (61, 2, 0.0996, "passed"),
        (65, 2, 0.0937, "passed"),
        (20, 6, 0.5078, "failed"),
        (20, 4, 0.4010, "no decision"),
    ],
)
def test_the_bound_decides(n: int, losses: int, upper: float, outcome: str) -> None:
    found = material_loss(*_scores(n, losses))
    assert (found.n, found.losses, found.outcome) == (n, losses, outcome)
    assert found.upper == pytest.approx(upper, abs=6e-5)
    exact = reference.binomtest(losses, n, alternative="less").proportion_ci(0.95, method="exact").high
    assert found.upper == pytest.approx(exact, abs=1e-9)


def test_twenty_tasks_cannot_certify_and_the_reason_says_how_many_would() -> None:
    found = material_loss(*_scores(20, 0))
    assert found.reason == (
        "0 of 20 tasks lost by more than 0.1: the rate may be up to 0.139, and 20 tasks cannot certify 0.1; "
        "29 tasks with no such loss would"
    )
    assert material_loss(*_scores(20, 2)).enough == 61


@pytest.mark.parametrize(("losses", "tasks"), [(0, 29), (1, 46), (2, 61), (3, 76)])
def test_how_many_tasks_would_do(losses: int, tasks: int) -> None:
    assert tasks_needed(losses) == tasks


@given(st.integers(0, 40), st.sampled_from([0.05, 0.1, 0.3]))
def test_the_number_of_tasks_is_the_smallest(losses: int, limit: float) -> None:
    n = tasks_needed(losses, limit=limit)
    assert material_loss(*_scores(n, losses), limit=limit).outcome == "passed"
    assert n == losses + 1 or material_loss(*_scores(n - 1, losses), limit=limit).outcome != "passed"


def test_a_loss_of_exactly_the_margin_is_none_and_wins_do_not_pay_for_losses() -> None:
    exactly = material_loss([0.7, 0.9, 0.2], [0.8, 1.0, 0.3])  # .8 - .7 is more than .1 in floats
    assert exactly.losses == 0
    mixed = material_loss([0.0, 1.0, 1.0], [1.0, 0.0, 0.0])
    assert mixed.losses == 1


def test_no_task_decides_nothing() -> None:
    found = material_loss([], [])
    assert (found.outcome, found.lower, found.upper) == ("no decision", None, None)
    assert "no task" in found.reason


@pytest.mark.parametrize(
    "bad",
    [
        {"contender": [1.0], "baseline": [1.0, 1.0]},
        {"contender": [math.nan], "baseline": [1.0]},
        {"contender": [1.0], "baseline": [1.0], "margin": 0.0},
        {"contender": [1.0], "baseline": [1.0], "limit": 1.0},
        {"contender": [1.0], "baseline": [1.0], "level": 0.5},
    ],
)
def test_what_cannot_be_compared_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"shape|NaN|outside"):
        material_loss(**bad)  # type: ignore[arg-type]


# -- ratios --------------------------------------------------------------------------------------------------------


def test_the_ratio_is_the_paired_t_interval_of_logarithms() -> None:
    rng = np.random.Generator(np.random.PCG64(1))
    a, b = np.exp(rng.normal(0, 1, 12)), np.exp(rng.normal(0.3, 1, 12))
    found = paired_ratio(a, b)
    ci = reference.ttest_rel(np.log(a), np.log(b)).confidence_interval(0.95)
    assert found.ratio.value == pytest.approx(float(reference.gmean(a / b)))
    assert (found.ratio.low, found.ratio.high) == (pytest.approx(math.exp(ci.low)), pytest.approx(math.exp(ci.high)))
    assert found.exact and found.sign_flips == 2**12
    assert (found.ratio.n, found.ratio.method) == (12, "paired log-ratio t")


def test_the_test_counts_all_patterns_of_signs() -> None:
    found = paired_ratio([1.0, 2.0, 3.0, 4.0, 5.0, 7.0], [2.0] * 5 + [20.0])
    logs = np.log(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 7.0]) / np.array([2.0] * 5 + [20.0]))
    signs = np.array(np.meshgrid(*[[-1, 1]] * 6)).reshape(6, -1)
    assert found.p == pytest.approx(float(np.mean(np.abs(logs @ signs) >= abs(logs.sum()) - 1e-9)))


def test_a_scale_that_both_arms_share_changes_nothing() -> None:
    a, b = [0.1, 0.2, 0.4], [0.3, 0.2, 0.5]
    cents = paired_ratio([100 * x for x in a], [100 * x for x in b])
    assert cents.ratio.value == pytest.approx(paired_ratio(a, b).ratio.value)
    assert paired_ratio(b, a).ratio.value == pytest.approx(1 / (paired_ratio(a, b).ratio.value or 0))


def test_more_than_sixteen_tasks_need_a_generator_and_repeat_with_it() -> None:
    a, b = [1.0 + i / 7 for i in range(20)], [2.0] * 20
    with pytest.raises(ValueError, match="rng"):
        paired_ratio(a, b)
    first, second = (paired_ratio(a, b, rng=np.random.Generator(np.random.PCG64(5))) for _ in range(2))
    assert first == second and not first.exact


@pytest.mark.parametrize(
    ("a", "b", "value", "reason"),
    [([], [], None, "no task"), ([3.0], [2.0], 1.5, "one task"), ([2.0, 4.0], [1.0, 2.0], 2.0, "same on every task")],
)
def test_no_interval_where_there_is_no_spread(a: list[float], b: list[float], value: float, reason: str) -> None:
    found = paired_ratio(a, b).ratio
    assert (found.value, found.low, found.high) == (value and pytest.approx(value), None, None)
    assert reason in (found.reason or "")


def test_an_amount_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        paired_ratio([0.0, 1.0], [1.0, 1.0])
