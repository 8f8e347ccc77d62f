"""What a run can show, before it is paid for."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memassay.stats.clusters import ClusterLabels, Clusters, scores
from memassay.stats.distributions import noncentral_t_cdf, two_sided_t
from memassay.stats.flips import DRAWS, Flips


@dataclass(frozen=True)
class Pilot:
    """The two numbers that decide power, and where they come from.

    Attributes:
        sd: standard deviation over questions of the paired difference, in score units.
        icc: intra-cluster correlation of the paired difference, at least 0.
        source: printed beside every number made from them.
    """

    sd: float
    icc: float
    source: str


# A difference that nobody may call small: the contract's material loss (row "association: correctness"). A primary that
# would miss it in more than 20 % of runs is exploratory.
MATERIAL = 0.10

# Measured on LOCOMO, ten conversations, 1,536 questions of categories 1-4, all@B of BM25 over 5-turn windows minus BM25
# over turns: sd .42, .37, .35 and icc .012, 0, 0 at B = 1k, 4k, 8k tokens (characters / 4). Between judged full-context
# runs of one published audit: sd .35 to .46, icc .001 to .002. The default is the middle of the sds and near the mean
# of the correlations; a pilot of one's own is better.
DEFAULT_PILOT = Pilot(sd=0.40, icc=0.003, source="default: LOCOMO retrieval and published full-context runs, see docs")


@dataclass(frozen=True)
class Power:
    """What n questions in G clusters can show.

    Attributes:
        detectable: smallest true difference that is found with probability ``power``, in score units.
        se: expected cluster standard error of the difference.
        design_effect: variance relative to independent questions.
        df: degrees of freedom, G - 1.
        power, level: as asked.
        pilot: the standard deviation and correlation behind it.
    """

    detectable: float
    se: float
    design_effect: float
    df: int
    power: float
    level: float
    pilot: Pilot


def pilot(diffs: npt.ArrayLike, clusters: ClusterLabels, source: str) -> Pilot:
    """Standard deviation and intra-cluster correlation of paired differences of a pilot run.

    The correlation is the one-way analysis-of-variance estimate for unequal clusters (Donner, International Statistical
    Review 54, 1986), cut off at 0 below.

    Args:
        diffs: shape (n,), differences without NaN.
        clusters: n labels or a ``Clusters``; at least two clusters and more questions than clusters.
        source: what to print as the origin.

    Raises:
        ValueError: too little data, or no difference varies.
    """
    groups = Clusters.of(clusters)
    d = scores(diffs, groups, "diffs", unit=False)
    n, count = groups.n, groups.count
    if count < 2 or n <= count:
        raise ValueError("A pilot needs at least two clusters and more questions than clusters.")
    means = groups.sums(d) / groups.sizes
    between = float((groups.sizes * (means - d.mean()) ** 2).sum()) / (count - 1)
    within = float(((d - means[groups.codes]) ** 2).sum()) / (n - count)
    typical = (n - float((groups.sizes**2).sum()) / n) / (count - 1)
    total = between + (typical - 1) * within
    if total <= 0:
        raise ValueError("No difference varies in this pilot; take the defaults or a larger pilot.")
    return Pilot(sd=float(d.std(ddof=1)), icc=max(0.0, (between - within) / total), source=source)


def detectable_difference(
    sizes: npt.ArrayLike,
    *,
    pilot: Pilot = DEFAULT_PILOT,
    power: float = 0.8,
    level: float = 0.95,
) -> Power:
    """The smallest true difference that a two-sided t(G - 1) test finds with probability ``power``.

    se^2 = sd^2 x (1 + (sum n_g^2 / n - 1) x icc) / n (Kish, Survey Sampling, 1965, for unequal clusters); the
    detectable difference is se times the noncentrality at which the noncentral t reaches ``power``.

    Args:
        sizes: shape (G,), planned questions per cluster, G >= 2.
        pilot: standard deviation and correlation of the paired difference.
        power: wanted probability, in (0, 1) and above 1 - level.
        level: two-sided confidence level.

    Raises:
        ValueError: fewer than two clusters, an empty one, or a power outside (1 - level, 1).
    """
    if not 1 - level < power < 1:
        raise ValueError(f"The wanted power must lie between {1 - level:.2g} and 1, not {power}.")
    se, effect, df = _standard_error(sizes, pilot)
    low, high = 0.0, 1.0
    while _power(high, df, level) < power:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _power(middle, df, level) < power else (low, middle)
    return Power(high * se, se, effect, df, power, level, pilot)


def power_of(difference: float, sizes: npt.ArrayLike, *, pilot: Pilot = DEFAULT_PILOT, level: float = 0.95) -> float:
    """The probability that a two-sided t(G - 1) test finds a true difference of this size.

    Args:
        difference: true difference in score units.
        sizes: shape (G,), planned questions per cluster, G >= 2.
        pilot: standard deviation and correlation of the paired difference; sd must be positive.
        level: two-sided confidence level.
    """
    se, _, df = _standard_error(sizes, pilot)
    return _power(abs(difference) / se, df, level)


def verdict_power(
    difference: float,
    sizes: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    pilot: Pilot = DEFAULT_PILOT,
    level: float = 0.95,
    runs: int = 2000,
) -> float:
    """The probability of the word ``better``, which needs the sign flips as well as the interval, by simulation.

    It is below ``power_of``: with 8 to 10 clusters the flips have few patterns, and unequal or small clusters cost them
    more (.75 instead of .80 with conversations of 60 to 200 questions, .6 with 5 to 14). Differences are -1, 0 or 1 per
    question, with normal shifts of whole clusters.

    Args:
        difference: true difference in score units, positive.
        sizes: shape (G,), planned questions per cluster, G >= 2.
        rng: named generator.
        pilot: standard deviation and correlation of the paired difference.
        level: two-sided confidence level.
        runs: simulated experiments; the Monte Carlo error at .8 and 2,000 is .009.

    Raises:
        ValueError: as in ``power_of``.
    """
    _, _, df = _standard_error(sizes, pilot)
    w = np.asarray(sizes, dtype=np.int64)
    n, count = int(w.sum()), len(w)
    shift = np.clip(difference + rng.normal(0, pilot.sd * math.sqrt(pilot.icc), (runs, count)), -1, 1)
    spread = np.clip(pilot.sd**2 * (1 - pilot.icc) + shift**2, np.abs(shift), 1)
    up, down = (spread + shift) / 2, (spread - shift) / 2
    wins = rng.binomial(w, up)
    losses = rng.binomial(w - wins, np.clip(down / np.maximum(1 - up, 1e-12), 0, 1))
    sums = (wins - losses).astype(np.float64)
    total = sums.sum(axis=1)
    residuals = sums - w * (total / n)[:, None]
    cluster = two_sided_t(level, df) * np.sqrt((residuals**2).sum(axis=1) * count / df) / n
    squares = (wins + losses).sum(axis=1) - total**2 / n
    question = two_sided_t(level, n - 1) * np.sqrt(squares / (n - 1) / n)
    flips = Flips.plan(count, rng, DRAWS)
    hits = np.zeros(runs)
    for signs in flips.blocks(runs):
        hits += (np.abs(signs @ sums.T) >= np.abs(total) - 1e-9).sum(axis=0)
    found = (flips.share(hits) <= 1 - level + 1e-12) & (total / n > np.maximum(cluster, question))
    return float(found.mean())


def mcnemar_power(
    difference: float, sizes: npt.ArrayLike, *, pilot: Pilot = DEFAULT_PILOT, level: float = 0.95
) -> float:
    """The probability that McNemar's exact test finds a true difference of this size, with the right sign.

    Summed over the binomial number of discordant questions, of which the share is sd^2 + difference^2: differences are
    -1, 0 or 1 and their variance is that share minus difference^2. Joined questions count as fully alike, so that n is
    ``Clusters.effective``; Tango's interval excludes 0 wherever this test rejects, so it is the power of a verdict.

    Args:
        difference: true difference in score units, in [0, 1].
        sizes: shape (G,), planned questions per cluster.
        pilot: standard deviation of the paired difference; the correlation plays no part.
        level: two-sided confidence level.

    Raises:
        ValueError: no cluster, an empty one, or a difference outside [0, 1].
    """
    from scipy.special import bdtr, bdtrik

    if not 0 <= difference <= 1:
        raise ValueError(f"A difference of shares to be found lies in [0, 1], not {difference}.")
    n = int(_effective(sizes))
    share = min(1.0, max(pilot.sd**2 + difference**2, difference))
    middle, reach = n * share, 9 * math.sqrt(n * share * (1 - share))  # what lies outside has a chance under 1e-16
    discordant = np.arange(max(0, math.floor(middle - reach)), min(n, math.ceil(middle + reach)) + 1)
    chance = np.diff(bdtr(discordant, n, share), prepend=0.0)
    half = (1 - level) / 2
    # The largest number of losses that is still significant: the quantile of a fair coin, rounded down with care.
    losses = np.floor(np.nan_to_num(bdtrik(half, discordant, 0.5), nan=-1.0) + 1e-9)
    losses -= bdtr(np.maximum(losses, 0), discordant, 0.5) > half + 1e-15
    found = bdtr(np.maximum(losses, 0), discordant, (1 - difference / share) / 2)
    return float((chance * np.where(losses >= 0, found, 0.0)).sum())


def mcnemar_detectable(
    sizes: npt.ArrayLike, *, pilot: Pilot = DEFAULT_PILOT, power: float = 0.8, level: float = 0.95
) -> Power | None:
    """The smallest true difference that McNemar's exact test finds with probability ``power``.

    Args:
        sizes: shape (G,), planned questions per cluster.
        pilot: standard deviation of the paired difference.
        power: wanted probability, in (0, 1).
        level: two-sided confidence level.

    Returns:
        The difference, or None where too few questions are planned to find any.
    """
    n = _effective(sizes)
    low, high = 0.0, 1.0
    if mcnemar_power(high, sizes, pilot=pilot, level=level) < power:
        return None
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if mcnemar_power(middle, sizes, pilot=pilot, level=level) < power else (low, middle)
    counts = np.asarray(sizes, dtype=np.float64)
    total = float(counts.sum())
    return Power(high, pilot.sd / math.sqrt(n), total / n, len(counts) - 1, power, level, pilot)


def _effective(sizes: npt.ArrayLike) -> float:
    counts = np.asarray(sizes, dtype=np.float64)
    if counts.ndim != 1 or len(counts) < 1 or not (counts >= 1).all():
        raise ValueError("Power needs the sizes of the clusters, each with at least one question.")
    return float(counts.sum() ** 2 / (counts**2).sum())


def _standard_error(sizes: npt.ArrayLike, pilot: Pilot) -> tuple[float, float, int]:
    counts = np.asarray(sizes, dtype=np.float64)
    if counts.ndim != 1 or len(counts) < 2 or not (counts >= 1).all():
        raise ValueError("Power needs the sizes of at least two clusters, each with at least one question.")
    if not pilot.sd > 0 or not 0 <= pilot.icc <= 1:
        raise ValueError(f"A pilot needs sd > 0 and icc in [0, 1], not {pilot.sd} and {pilot.icc}.")
    n = float(counts.sum())
    effect = 1 + (float((counts**2).sum()) / n - 1) * pilot.icc
    return pilot.sd * math.sqrt(effect / n), effect, len(counts) - 1


def _power(noncentrality: float, df: int, level: float) -> float:
    critical = two_sided_t(level, df)
    return 1 - noncentral_t_cdf(critical, df, noncentrality) + noncentral_t_cdf(-critical, df, noncentrality)
