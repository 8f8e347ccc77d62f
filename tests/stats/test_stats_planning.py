"""Power, control bands, repeated measures, and the public face."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.power import TTestPower

import memassay.stats
from memassay.core.types import Estimate
from memassay.stats import (
    DEFAULT_PILOT,
    Clusters,
    Pilot,
    average_within,
    check_empty,
    check_oracle,
    check_random,
    check_shuffled_gold,
    detectable_difference,
    draw_band,
    paired_difference,
    pilot,
    power_of,
    rerun_noise,
    verdict,
    verdict_power,
)


@pytest.mark.parametrize("count", [5, 8, 10, 30])
def test_power_is_the_one_sample_t_test_of_cluster_means(count: int) -> None:
    found = detectable_difference([100] * count, pilot=Pilot(0.4, 0.0, "test"))
    effect = TTestPower().solve_power(nobs=count, alpha=0.05, power=0.8)
    assert found.detectable == pytest.approx(effect * np.sqrt(count) * found.se, rel=1e-4)
    assert found.se == pytest.approx(0.4 / np.sqrt(100 * count))
    assert found.df == count - 1
    assert power_of(found.detectable, [100] * count, pilot=Pilot(0.4, 0.0, "test")) == pytest.approx(0.8, abs=1e-6)
    assert power_of(-found.detectable, [100] * count, pilot=Pilot(0.4, 0.0, "test")) == pytest.approx(0.8, abs=1e-6)


def test_unequal_and_correlated_clusters_cost_power() -> None:
    plain, alike = Pilot(0.4, 0.0, "test"), Pilot(0.4, 0.02, "test")
    assert detectable_difference([100] * 8, pilot=alike).design_effect == pytest.approx(1 + 99 * 0.02)
    assert detectable_difference([50, 150] * 4, pilot=alike).se > detectable_difference([100] * 8, pilot=alike).se
    assert detectable_difference([100] * 8, pilot=plain).detectable < detectable_difference([100] * 8).detectable
    assert power_of(0.0, [100] * 8) == pytest.approx(0.05)
    assert DEFAULT_PILOT.source


def test_the_verdict_is_harder_to_reach_than_the_interval() -> None:
    sizes = np.linspace(60, 200, 8).astype(int)
    flat = Pilot(0.4, 0.003, "test")
    gap = detectable_difference(sizes, pilot=flat).detectable
    found = verdict_power(gap, sizes, rng=np.random.default_rng(1), pilot=flat)
    assert found == verdict_power(gap, sizes, rng=np.random.default_rng(1), pilot=flat)
    assert 0.65 < found < 0.79
    assert verdict_power(3 * gap, sizes, rng=np.random.default_rng(1), pilot=flat) > 0.99
    assert verdict_power(gap * 3, [200] * 5, rng=np.random.default_rng(1), pilot=flat) == 0.0
    assert verdict_power(0.0, sizes, rng=np.random.default_rng(1), pilot=flat) < 0.035


def test_the_simulated_verdicts_are_the_real_ones() -> None:
    rng = np.random.default_rng(2)
    clusters = Clusters.of(np.repeat(np.arange(8), 40))
    better = 0
    for _ in range(600):
        u = rng.random(320)
        a, b = u < 0.13, (u >= 0.13) & (u < 0.16 + 0.0081)
        result = paired_difference(a.astype(float), b.astype(float), clusters)
        better += verdict(result, primary=True).word == "better"
    flat = Pilot(float(np.sqrt(0.1681 - 0.0919**2)), 0.0, "test")
    expected = verdict_power(0.0919, [40] * 8, rng=np.random.default_rng(1), pilot=flat)
    assert better / 600 == pytest.approx(expected, abs=0.06)


def test_a_pilot_finds_what_was_put_in() -> None:
    rng = np.random.default_rng(4)
    labels = np.repeat(np.arange(400), rng.integers(10, 40, 400))
    d = rng.normal(0, 0.1, 400)[labels] + rng.normal(0, 0.4, len(labels))
    found = pilot(d, labels, "simulated")
    assert found.icc == pytest.approx(0.01 / 0.17, abs=0.01)
    assert found.sd == pytest.approx(np.sqrt(0.17), rel=0.02)
    assert pilot([1, -1, 1, -1], [1, 1, 2, 2], "balanced").icc == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pilot([0.1, 0.2], [1, 1], "x"), "two clusters"),
        (lambda: pilot([0.1, 0.2], [1, 2], "x"), "more questions"),
        (lambda: pilot([0.0] * 4, [1, 1, 2, 2], "x"), "varies"),
        (lambda: detectable_difference([100]), "two clusters"),
        (lambda: detectable_difference([100, 0]), "at least one question"),
        (lambda: detectable_difference([100, 100], pilot=Pilot(0.0, 0.0, "x")), "sd > 0"),
        (lambda: detectable_difference([100, 100], power=1.0), "power"),
        (lambda: detectable_difference([100, 100], power=0.01), "power"),
        (lambda: draw_band([0.1] * 19), "20 draws"),
        (lambda: draw_band([0.1] * 19 + [float("nan")]), "20 draws"),
        (lambda: draw_band([0.1] * 19 + [1.1]), "20 draws"),
        (lambda: rerun_noise([1.0, 2.0]), "repetitions"),
        (lambda: average_within([1.0, float("nan")], [1, 1]), "NaN"),
    ],
)
def test_what_cannot_be_planned_is_refused(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]


def test_the_band_holds_its_draws_and_nearly_all_further_ones() -> None:
    rng = np.random.default_rng(6)
    outside = 0
    for _ in range(1500):
        draws = rng.binomial(1305, 0.1, 201) / 1305
        band = draw_band(draws[:200])
        assert band.low <= draws[:200].min()
        assert draws[:200].max() <= band.high
        outside += float(draws[200]) not in band
    assert outside <= 6  # 1.5 expected at .001; 7 or more has a chance of .0007


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=20, max_size=60))
def test_a_band_stays_in_the_unit(draws: list[float]) -> None:
    band = draw_band(draws)
    assert 0 <= band.low <= band.high <= 1
    assert all(draw in band for draw in draws)


def test_controls_pass_inside_and_fail_outside() -> None:
    band = draw_band(np.linspace(0.08, 0.12, 200))
    assert check_random(0.1, band).passed is True
    for outside, side in ((0.5, "above"), (0.0, "below")):
        check = check_random(outside, band)
        assert check.passed is False
        assert side in (check.reason or "")
    assert check_oracle(0.1 + 0.2, 0.3).passed is True
    assert check_oracle(0.3 - 1 / 1305, 0.3).passed is False
    assert check_empty(0.0).passed is True
    assert check_empty(1e-4).passed is False


def test_shuffled_gold_has_two_limits() -> None:
    arm = Estimate(value=0.5, low=0.45, high=0.55)
    assert check_shuffled_gold(0.15, 0.1, arm).passed is True
    assert check_shuffled_gold(0.2, 0.1, arm).passed is True
    assert "above random" in (check_shuffled_gold(0.21, 0.1, arm).reason or "")
    weak = Estimate(value=0.16, low=0.12, high=0.2)
    assert "lower end" in (check_shuffled_gold(0.15, 0.1, weak).reason or "")
    assert check_shuffled_gold(0.15, 0.1, weak).passed is False
    alone = check_shuffled_gold(0.15, 0.1, Estimate(value=0.5, reason="one cluster"))
    assert (alone.passed, "one cluster" in (alone.reason or "")) == (None, True)


def test_a_control_that_was_not_measured_did_not_pass() -> None:
    band = draw_band([0.1] * 200)
    arm = Estimate(value=0.5, low=0.45, high=0.55)
    for check in (
        check_oracle(None, 1.0),
        check_empty(None),
        check_random(None, band),
        check_shuffled_gold(None, 0.1, arm),
    ):
        assert check.passed is None
        assert "not measured" in (check.reason or "")


def test_repeats_are_averaged_level_by_level() -> None:
    # Two judges of repetition 0, one of repetition 1: each repetition counts once.
    cells, means = average_within([1, 0, 0], [("t", 0), ("t", 0), ("t", 1)])
    assert cells == (("t", 0), ("t", 1))
    tasks, task_means = average_within(means, [task for task, _ in cells])
    assert (tasks, task_means.tolist()) == (("t",), [0.25])


def test_rerun_noise_is_the_spread_of_run_means() -> None:
    scores = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 1], [0, np.nan, 0]])
    noise = rerun_noise(scores)
    whole = scores[:3]
    assert noise.sd == pytest.approx(whole.mean(axis=0).std(ddof=1))
    assert noise.within_task_sd == pytest.approx(np.sqrt(whole.var(axis=1, ddof=1).mean()))
    assert (noise.repetitions, noise.effective_repetitions, noise.tasks) == (3, 3, 3)


def test_a_deterministic_agent_has_one_repetition() -> None:
    noise = rerun_noise(np.tile([[1.0], [0.0]], 5))
    assert (noise.sd, noise.repetitions, noise.effective_repetitions) == (None, 5, 1)
    assert "deterministic" in (noise.reason or "")
    assert rerun_noise(np.ones((3, 1))).reason == "fewer than two repetitions"
    assert rerun_noise(np.full((3, 2), np.nan)).reason == "no task has every repetition"


def test_the_public_face_is_what_it_says() -> None:
    public = {name for name in vars(memassay.stats) if not name.startswith("_")}
    modules = {name for name in public if isinstance(getattr(memassay.stats, name), type(sys))}
    assert set(memassay.stats.__all__) == public - modules
    for name in memassay.stats.__all__:
        assert getattr(memassay.stats, name).__doc__


def test_importing_the_package_does_not_import_scipy() -> None:
    code = "import memassay.stats, sys; sys.exit(any(name.split('.')[0] == 'scipy' for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_statistic_of_a_large_run_is_fast_enough() -> None:
    """Five arms, 10,000 tasks, 70 metrics an arm, all pairs: the goal is 2 s; a slow core gets three times that."""
    import time

    rng = np.random.default_rng(1)
    clusters = memassay.stats.Clusters.of(rng.integers(0, 10, 10_000))
    x = (rng.random((5, 10, 10_000)) < 0.8).astype(float)
    started = time.perf_counter()
    for arm in x:
        for metric in arm:
            for _ in range(7):
                memassay.stats.question_mean(metric, clusters)
    names = [(i, j) for i in range(5) for j in range(i)]
    for metric in range(10):
        memassay.stats.max_t(np.stack([x[i, metric] - x[j, metric] for i, j in names], axis=1), clusters)
        for i, j in names:
            memassay.stats.paired_difference(x[i, metric], x[j, metric], clusters)
    assert time.perf_counter() - started < 6
