"""Shares against scipy and statsmodels."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference
from statsmodels.stats.proportion import proportion_confint

from memassay.stats import clopper_pearson, korn_graubard, wilson
from memassay.stats.distributions import beta_quantile, noncentral_t_cdf, normal_quantile, t_quantile
from memassay.stats.proportion import effective_size


@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 20), (20, 20), (7, 29), (61, 61), (2, 61), (500, 1305)])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.999])
def test_clopper_pearson_is_scipys_exact_interval(k: int, n: int, level: float) -> None:
    expected = reference.binomtest(k, n).proportion_ci(level, "exact")
    assert clopper_pearson(k, n, level) == pytest.approx((expected.low, expected.high), abs=1e-10)


@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 20), (20, 20), (7, 29), (1300, 1305)])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.999])
def test_wilson_is_statsmodels_interval(k: int, n: int, level: float) -> None:
    assert wilson(k, n, level) == pytest.approx(proportion_confint(k, n, 1 - level, "wilson"), abs=1e-12)


def test_the_bounds_that_the_contract_names() -> None:
    # 29 tasks without a loss certify at most .10, 61 with 2 do, 20 without do not (one-sided 95 % = two-sided 90 %).
    assert clopper_pearson(0, 29, 0.9)[1] <= 0.10
    assert clopper_pearson(2, 61, 0.9)[1] <= 0.10
    assert clopper_pearson(0, 20, 0.9)[1] == pytest.approx(0.139, abs=5e-4)


@settings(deadline=None)
@given(st.integers(1, 3000), st.floats(0, 1), st.floats(0.5, 0.999))
def test_intervals_are_ordered_inside_the_unit_and_hold_the_share(n: int, share: float, level: float) -> None:
    k = share * n
    for low, high in (clopper_pearson(k, n, level), wilson(k, n, level)):
        assert 0 <= low <= k / n + 1e-12
        assert k / n - 1e-12 <= high <= 1
        assert low < high


@settings(deadline=None)
@given(st.integers(1, 500), st.floats(0, 1))
def test_swapping_success_and_failure_mirrors_the_interval(n: int, share: float) -> None:
    k = round(share * n)
    for interval in (clopper_pearson, wilson):
        low, high = interval(k, n)
        assert interval(n - k, n) == pytest.approx((1 - high, 1 - low), abs=1e-9)


@pytest.mark.parametrize(("k", "n"), [(0, 0), (1, 0), (-1, 5), (6, 5), (math.nan, 5)])
def test_impossible_counts_are_refused(k: float, n: float) -> None:
    for interval in (clopper_pearson, wilson):
        with pytest.raises(ValueError, match=r"trial|Successes"):
            interval(k, n)


def test_korn_graubard_is_clopper_pearson_at_the_effective_size() -> None:
    p, n, clusters, se = 0.95, 1305, 8, 0.012
    shrink = reference.norm.ppf(0.975) / reference.t.ppf(0.975, 7)
    size = p * (1 - p) / se**2 * shrink**2
    assert effective_size(p, n, clusters, se) == pytest.approx(size)
    low = reference.beta.ppf(0.025, p * size, size - p * size + 1)
    high = reference.beta.ppf(0.975, p * size + 1, size - p * size)
    assert korn_graubard(p, n, clusters, se) == pytest.approx((low, high))


def test_korn_graubard_never_uses_more_questions_than_there_are_and_g_when_clusters_agree() -> None:
    assert effective_size(0.95, 100, 8, 1e-6) == 100
    assert effective_size(1.0, 1305, 8, 0.0) == 8
    low, high = korn_graubard(1.0, 1305, 8, 0.0)
    assert (low, high) == (pytest.approx(0.025 ** (1 / 8)), 1.0)


@pytest.mark.parametrize(("p", "n", "clusters"), [(1.1, 10, 4), (0.5, 0, 4), (0.5, 10, 1)])
def test_korn_graubard_refuses_what_it_cannot_use(p: float, n: int, clusters: int) -> None:
    with pytest.raises(ValueError, match="Korn-Graubard"):
        korn_graubard(p, n, clusters, 0.1)


@settings(deadline=None)
@given(st.floats(0.001, 0.999), st.floats(1, 400))
def test_quantiles_are_scipys(probability: float, df: float) -> None:
    assert t_quantile(probability, df) == pytest.approx(reference.t.ppf(probability, df), rel=1e-8, abs=1e-9)
    assert normal_quantile(probability) == pytest.approx(reference.norm.ppf(probability), abs=1e-12)
    assert beta_quantile(probability, df, 3) == pytest.approx(reference.beta.ppf(probability, df, 3), rel=1e-8)


def test_the_noncentral_t_is_scipys() -> None:
    for t, df, shift in ((2.36, 7, 3.0), (-2.36, 7, 1.0), (1.9, 1304, 2.8)):
        assert noncentral_t_cdf(t, df, shift) == pytest.approx(reference.nct.cdf(t, df, shift), abs=1e-7)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, math.nan])
def test_a_level_outside_the_open_unit_is_refused(level: float) -> None:
    with pytest.raises(ValueError, match="strictly between"):
        wilson(1, 2, level)
    with pytest.raises(ValueError, match="positive"):
        t_quantile(0.9, 0)
