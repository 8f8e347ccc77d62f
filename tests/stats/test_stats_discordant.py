"""Tango's interval and McNemar's exact test: published examples, brute force, references, edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference
from scipy.optimize import minimize_scalar
from scipy.special import xlogy
from statsmodels.stats.contingency_tables import mcnemar

from memassay.stats import mcnemar_exact, tango

Z = reference.norm.ppf(0.975)


def score(b: int, c: int, n: int, d: float) -> float:
    """The score statistic with the likelihood maximised numerically: no formula in common with the package."""
    low, high = max(0.0, -d), (1 - d) / 2

    def loss(q: float) -> float:
        cells = (b, q + d), (c, q), (n - b - c, max(0.0, 1 - 2 * q - d))
        return -sum(float(xlogy(count, max(share, 1e-300))) for count, share in cells)

    q = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-13}).x
    variance = n * (2 * q + d * (1 - d))
    return float((b - c - n * d) / math.sqrt(max(variance, 1e-18)))


@pytest.mark.parametrize(
    ("b", "c", "n", "level", "expected", "digits"),
    [
        # Airway reactivity and complete response, chapter 8 of Fagerland, Lydersen and Laake (2017), as its package
        # for R prints them; 25 and 28 of 618 as PropCIs for R gives them.
        (1, 7, 21, 0.95, (-0.517, -0.026), 3),
        (6, 16, 161, 0.95, (-0.1240, -0.0054), 4),
        (28, 25, 618, 0.90, (-0.0148, 0.0247), 4),
    ],
)
def test_published_examples(b: int, c: int, n: int, level: float, expected: tuple[float, float], digits: int) -> None:
    assert tango(b, c, n, level) == pytest.approx(expected, abs=0.5 * 10**-digits)


@pytest.mark.parametrize(
    ("b", "c", "n"),
    [(1, 7, 21), (6, 16, 161), (0, 3, 10), (3, 0, 10), (1, 1, 2), (12, 1, 14), (5, 30, 289), (2, 3, 300), (1, 0, 50)],
)
def test_the_ends_are_where_the_score_test_turns(b: int, c: int, n: int) -> None:
    low, high = tango(b, c, n)
    assert score(b, c, n, low) == pytest.approx(Z, abs=2e-5)
    assert score(b, c, n, high) == pytest.approx(-Z, abs=2e-5)


@pytest.mark.parametrize(("b", "c", "n"), [(1, 7, 21), (0, 3, 10), (12, 1, 14), (4, 9, 50)])
def test_brute_force_inversion_finds_one_interval_and_the_same(b: int, c: int, n: int) -> None:
    grid = np.linspace(-0.999, 0.999, 1999)
    inside = np.array([abs(score(b, c, n, d)) <= Z for d in grid])
    assert np.count_nonzero(np.diff(inside.astype(int))) <= 2  # nothing is rejected in between
    low, high = tango(b, c, n)
    assert (grid[inside].min(), grid[inside].max()) == pytest.approx((low, high), abs=1.01e-3)


@pytest.mark.parametrize("n", [1, 2, 5, 50, 289, 100_000])
def test_the_borders_have_closed_forms(n: int) -> None:
    z2 = Z * Z
    half = z2 / (n + z2)
    assert tango(0, 0, n) == pytest.approx((-half, half))
    assert tango(n, 0, n) == pytest.approx(((n - z2) / (n + z2), 1.0))
    assert tango(0, n, n) == pytest.approx((-1.0, (z2 - n) / (n + z2)))


@settings(deadline=None)
@given(st.data())
def test_ordered_mirrored_and_around_the_estimate(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 2000))
    b = data.draw(st.integers(0, n))
    c = data.draw(st.integers(0, n - b))
    level = data.draw(st.floats(0.5, 0.999))
    low, high = tango(b, c, n, level)
    assert -1 <= low <= (b - c) / n <= high <= 1
    assert low < high
    assert tango(c, b, n, level) == pytest.approx((-high, -low), abs=1e-12)
    wider = tango(b, c, n, level + (1 - level) / 2)
    assert wider[0] <= low + 1e-12
    assert high <= wider[1] + 1e-12


@given(st.integers(1, 400), st.floats(1, 3), st.integers(0, 400), st.integers(0, 400))
def test_scaled_counts_widen_around_the_same_estimate(n: int, effect: float, b: int, c: int) -> None:
    b = min(b, n)
    c = min(c, n - b)
    plain, scaled = tango(b, c, n), tango(b / effect, c / effect, n / effect)
    assert scaled[0] <= plain[0] + 1e-9
    assert plain[1] <= scaled[1] + 1e-9


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 300))
def test_a_difference_that_mcnemar_finds_has_an_interval_without_0(b: int, c: int, agreed: int) -> None:
    if mcnemar_exact(b, c) <= 0.05:
        low, high = tango(b, c, b + c + agreed)
        assert low > 0 or high < 0


@pytest.mark.parametrize(("b", "c", "n"), [(0, 0, 0), (-1, 0, 5), (0, -1, 5), (3, 3, 5), (math.nan, 0, 5)])
def test_impossible_tables_are_refused(b: float, c: float, n: float) -> None:
    with pytest.raises(ValueError, match="paired table"):
        tango(b, c, n)


@pytest.mark.parametrize(("b", "c"), [(0, 0), (1, 0), (6, 0), (6, 16), (16, 6), (5, 5), (40, 20), (3, 900)])
def test_mcnemar_is_statsmodels_exact_test(b: int, c: int) -> None:
    expected = mcnemar([[10, b], [c, 10]], exact=True).pvalue
    assert mcnemar_exact(b, c) == pytest.approx(min(1.0, expected), rel=1e-9)


def test_mcnemar_of_a_published_table() -> None:
    assert mcnemar_exact(6, 16) == pytest.approx(0.052479, abs=5e-7)
    with pytest.raises(ValueError, match="negative"):
        mcnemar_exact(-1, 3)
