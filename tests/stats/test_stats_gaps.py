"""The weighted gap of a pair: plug-in, the three intervals, clusters, drawn weights, mirrors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memassay.stats import Clusters, aggregate_gaps, gap_bounds
from memassay.stats.discordant import tango
from memassay.stats.distributions import beta_quantile
from memassay.stats.gaps import Aggregates, design_effect, question_weights

PUBLISHED = dict(zip("abcdefgh", (0.5, 0.2, 0.1, 0.04, 0.04, 0.04, 0.04, 0.04), strict=True))


def rng() -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(7))


def fixture(per_family: int = 8, seed: int = 1) -> tuple[np.ndarray, list[str]]:
    families = [family for family in PUBLISHED for _ in range(per_family)]
    draws = np.random.default_rng(seed).choice([1.0, -1.0, 0.0], len(families), p=[0.45, 0.2, 0.35])
    return draws, families


def gaps(d: np.ndarray, families: list[str], clusters: object = None, **options: object) -> Aggregates:
    labels = np.arange(len(d)) if clusters is None else clusters
    return aggregate_gaps(d, families, PUBLISHED, labels, rng=rng(), **options)  # type: ignore[arg-type]


def test_the_plug_in_is_the_published_formula() -> None:
    d, families = fixture()
    found = gaps(d, families)
    by_family = {name: d[[family == name for family in families]].mean() for name in PUBLISHED}
    weighted = sum(PUBLISHED[name] * gap for name, gap in by_family.items())
    uniform = sum(by_family.values()) / 8
    assert found.weighted.gap.value == pytest.approx(weighted)
    assert found.uniform.gap.value == pytest.approx(uniform)
    assert found.difference.gap.value == pytest.approx(weighted - uniform)
    assert (found.weighted.gap.n, found.weighted.gap.clusters) == (64, 64)


def test_the_effective_size_of_eight_questions_a_family_is_26() -> None:
    d, families = fixture()
    found = gaps(d, families)
    assert found.weighted.effective == pytest.approx(25.97, abs=0.01)
    assert found.uniform.effective == pytest.approx(64)


def test_one_family_without_ties_is_the_jeffreys_beta_interval() -> None:
    # With one family and no posterior mass on ties, (1 + gap) / 2 is Beta; one tied half is left by the prior, so the
    # comparison is with draws of the same Dirichlet made another way: Beta for ties, Beta for wins among the rest.
    won, lost = 30, 10
    found = gap_bounds([[[won, lost, 0]]], [1.0], rng(), draws=400_000)
    other = np.random.default_rng(3)
    rest = 1 - other.beta(0.5, won + lost + 1, 400_000)
    share = other.beta(won + 0.5, lost + 0.5, 400_000)
    expected = np.quantile(rest * (2 * share - 1), [0.025, 0.5, 0.975])
    assert [found.jeffreys_low[0], found.median[0], found.jeffreys_high[0]] == pytest.approx(expected, abs=0.004)
    assert found.jeffreys_low[0] == pytest.approx(2 * beta_quantile(0.025, won + 0.5, lost + 0.5) - 1, abs=0.02)


def test_the_interval_is_never_narrower_than_jeffreys_or_the_combined_scores() -> None:
    counts = np.random.default_rng(5).multinomial(8, [0.5, 0.2, 0.3], (50, 4)).astype(float)
    weights = np.array([0.4, 0.3, 0.2, 0.1])
    found = gap_bounds(counts, weights, rng(), draws=2000)
    plug_in = ((counts[:, :, 0] - counts[:, :, 1]) / 8) @ weights
    reach = np.array([[tango(w, lost, 8) for w, lost, _ in run] for run in counts.tolist()])
    gap = (counts[:, :, 0] - counts[:, :, 1]) / 8
    low = plug_in - np.sqrt(((weights * (gap - reach[:, :, 0])) ** 2).sum(axis=1))
    high = plug_in + np.sqrt(((weights * (reach[:, :, 1] - gap)) ** 2).sum(axis=1))
    assert (found.low <= np.minimum(found.jeffreys_low, low) + 1e-12).all()
    assert (found.high >= np.maximum(found.jeffreys_high, high) - 1e-12).all()
    assert ((found.low <= plug_in) & (plug_in <= found.high)).all()


def test_eight_of_eight_everywhere_lies_outside_the_jeffreys_interval_and_is_not_moved() -> None:
    families = [family for family in PUBLISHED for _ in range(8)]
    found = gaps(np.ones(64), families).weighted
    assert found.outside
    assert found.gap.value == 1.0
    assert (found.jeffreys.low, found.jeffreys.high) == (pytest.approx(0.63, abs=0.02), pytest.approx(0.95, abs=0.02))
    assert found.gap.low == pytest.approx(found.jeffreys.low)
    assert found.gap.high == 1.0


def test_a_negative_weight_swaps_the_ends() -> None:
    counts = [[[6, 1, 1], [2, 2, 4]]]
    one, other = (gap_bounds(counts, weights, rng(), draws=100_000) for weights in ([0.5, -0.3], [-0.5, 0.3]))
    assert one.low[0] == pytest.approx(-other.high[0], abs=0.005)
    assert one.high[0] == pytest.approx(-other.low[0], abs=0.005)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from([1.0, 0.0, -1.0]), min_size=16, max_size=16), st.booleans())
def test_swapping_the_memories_mirrors_every_number(values: list[float], counted: bool) -> None:
    families = [family for family in PUBLISHED for _ in range(2)]
    d = np.array(values)
    concentration = {family: 240 * weight + 0.5 for family, weight in PUBLISHED.items()} if counted else None
    one, other = (gaps(x, families, np.arange(16) // 2, concentration=concentration, draws=300) for x in (d, -d))
    for name in ("weighted", "uniform", "difference"):
        a, b = getattr(one, name), getattr(other, name)
        for kind in ("gap", "jeffreys", "drawn"):
            x, y = getattr(a, kind), getattr(b, kind)
            if x is None:
                assert y is None
                continue
            assert x.value == -y.value
            assert (x.low, x.high) == (-y.high, -y.low)
        assert (a.outside, a.design_effect) == (b.outside, b.design_effect)


def test_drawn_weights_widen_the_interval_where_the_families_differ() -> None:
    d, families = fixture()
    d = np.where(np.array(families) == "a", 1.0, d)
    few = {family: 24 * weight + 0.5 for family, weight in PUBLISHED.items()}
    many = {family: 24_000 * weight + 0.5 for family, weight in PUBLISHED.items()}
    fixed, loose, tight = (gaps(d, families, concentration=parameters).weighted for parameters in (None, few, many))
    assert fixed.drawn is None
    assert loose.drawn is not None and tight.drawn is not None
    assert loose.drawn.low is not None and loose.gap.low is not None
    assert loose.drawn.low < loose.gap.low - 0.005
    assert tight.drawn.low == pytest.approx(tight.gap.low, abs=0.01)
    assert "weights drawn" in loose.drawn.method


def test_clusters_that_repeat_one_question_halve_the_counts() -> None:
    d, families = fixture(per_family=20)
    twice = np.repeat(d, 2), [family for family in families for _ in range(2)]
    single = gaps(d, families).weighted
    joined = gaps(*twice, np.repeat(np.arange(len(d)), 2)).weighted
    assert joined.gap.value == pytest.approx(single.gap.value)
    assert joined.design_effect == pytest.approx(2, rel=0.02)
    assert joined.effective == pytest.approx(single.effective, rel=0.02)
    assert joined.gap.low == pytest.approx(single.gap.low, abs=0.01)
    assert joined.gap.high == pytest.approx(single.gap.high, abs=0.01)


def test_few_or_unvarying_clusters_count_as_fully_alike() -> None:
    strata = Clusters.of(np.repeat(np.arange(2), 12))
    each = question_weights(strata, np.array([0.5, 0.5]))
    three = Clusters.of(np.arange(24) // 8)
    alternating = np.tile([1.0, -1.0], 12)  # a measured effect would be 0
    assert design_effect(alternating, strata, each, three) == pytest.approx(8)
    twelve = Clusters.of(np.arange(24) // 2)
    assert design_effect(alternating, strata, each, twelve) == 1.0
    assert design_effect(np.ones(24), strata, each, twelve) == pytest.approx(2)
    assert design_effect(np.ones(24), strata, each, Clusters.of(np.arange(24))) == 1.0


def test_one_cluster_has_no_interval_and_equal_weights_have_no_difference() -> None:
    d, families = fixture()
    alone = gaps(d, families, np.zeros(64, dtype=int)).weighted
    assert alone.gap.value is not None and alone.gap.low is None
    assert "one cluster" in (alone.gap.reason or "")
    even = aggregate_gaps(d, families, dict.fromkeys(PUBLISHED, 1 / 8), np.arange(64), rng=rng())
    assert (even.difference.gap.value, even.difference.gap.low) == (0.0, None)
    nothing = aggregate_gaps([], [], {}, [], rng=rng()).weighted
    assert (nothing.gap.value, nothing.gap.n) == (None, 0)


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="sum to 1"):
        aggregate_gaps([1, 0], ["a", "b"], PUBLISHED, [0, 1], rng=rng())
    with pytest.raises(ValueError, match="take the sign"):
        aggregate_gaps([0.5, 0], ["a", "a"], {"a": 1.0}, [0, 1], rng=rng())
    with pytest.raises(ValueError, match="one of each"):
        aggregate_gaps([1, 0], ["a"], {"a": 1.0}, [0, 1], rng=rng())


def test_the_same_seed_gives_the_same_digits() -> None:
    d, families = fixture()
    assert gaps(d, families) == gaps(d, families)


@pytest.mark.parametrize("truth", [0.0, 0.36, 0.9])
def test_coverage_at_eight_a_family(truth: float) -> None:
    weights = list(PUBLISHED.values())
    ties = min(0.3, 1 - truth)
    counts = np.random.default_rng(11).multinomial(8, [(1 - ties + truth) / 2, (1 - ties - truth) / 2, ties], (800, 8))
    found = gap_bounds(counts, weights, rng(), draws=500)
    assert ((found.low <= truth) & (truth <= found.high)).mean() >= 0.93
    jeffreys = ((found.jeffreys_low <= truth) & (truth <= found.jeffreys_high)).mean()
    assert jeffreys < 0.8 if truth == 0.9 else jeffreys > 0.9
