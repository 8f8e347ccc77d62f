from __future__ import annotations

import math

import pytest
from scipy.stats import beta

from memassay.stats import attempt_share, pass_hat


def exact(k: int, n: int) -> tuple[float, float]:
    return (
        float(beta.ppf(0.025, k, n - k + 1)) if k else 0.0,
        float(beta.ppf(0.975, k + 1, n - k)) if k < n else 1.0,
    )


def test_pass_hat_is_the_mean_of_the_chances() -> None:
    passed = {"a": [True, True, True], "b": [True, False, True], "c": [False, False, False], "d": [True, True]}
    whole = pass_hat(passed, 3)
    assert (whole.value, whole.n, whole.clusters) == (1 / 3, 3, 3)
    assert (whole.low, whole.high) == pytest.approx(exact(1, 3))
    two = pass_hat(passed, 3, 2)
    assert two.value == pytest.approx((1 + math.comb(2, 2) / math.comb(3, 2) + 0) / 3)
    assert pass_hat(passed, 3, 1).value == pytest.approx((1 + 2 / 3 + 0) / 3)
    assert pass_hat(passed, 4).value is None
    assert pass_hat({}, 1).reason == "no protocol has 1 graded attempts"
    for j in (0, 4):
        with pytest.raises(ValueError, match="needs 1 to 3"):
            pass_hat(passed, 3, j)


def test_a_share_pays_for_attempts_of_one_protocol() -> None:
    apart = attempt_share([1, 0, 1, 0, 1, 0, 1, 0], list("abcdefgh"))
    alike = attempt_share([1, 1, 0, 0, 1, 1, 0, 0], list("aabbccdd"))
    assert apart.value == alike.value == 0.5
    assert (apart.high or 0) - (apart.low or 0) < (alike.high or 0) - (alike.low or 0)
    ones = attempt_share([1.0] * 12, list("abcdef") * 2)
    assert (ones.low, ones.high) == pytest.approx(exact(6, 6))
    assert attempt_share([], []).reason
    alone = attempt_share([1, 0], ["a", "a"])
    assert (alone.value, alone.low) == (0.5, None) and alone.reason


def test_each_attempt_a_task_of_its_own_is_the_exact_interval_shortened() -> None:
    """Without repeated attempts n_eff is n but for the price of an estimated standard error."""
    found = attempt_share([1.0] * 27 + [0.0] * 3, range(30))
    low, high = exact(27, 30)
    assert found.low == pytest.approx(low, abs=0.02) and found.high == pytest.approx(high, abs=0.02)
    assert (found.low or 0) <= low and high <= (found.high or 0)


def test_attempts_that_always_agree_count_once() -> None:
    tasks = [at // 5 for at in range(90)]
    once, five = (
        attempt_share([float(task % 3 > 0) for task in labels], labels) for labels in (list(range(18)), tasks)
    )
    assert (once.value, five.value) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    assert (five.low, five.high) == (pytest.approx(once.low), pytest.approx(once.high))


def test_what_is_no_share_is_refused() -> None:
    for values in ([1.5, 0.0], [float("nan"), 1.0], [1.0]):
        with pytest.raises(ValueError):
            attempt_share(values, ["a", "b"])
