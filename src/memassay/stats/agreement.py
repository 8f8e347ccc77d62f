"""How far two raters, two orders or repeated readings agree (row "judges: kappa, AC1, consistency").

The unit is the question. Labels given in two orders, or by two judges, belong to one question and never count as two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from memassay.core.types import Estimate
from memassay.stats.clustered import NO_QUESTION, ONE_CLUSTER, question_mean
from memassay.stats.clusters import ClusterLabels, Clusters, FloatArray
from memassay.stats.discordant import mcnemar_exact
from memassay.stats.independent import question_share
from memassay.stats.proportion import clopper_pearson

RESAMPLES = 4000
METHOD = "wider of bootstrap and Bayesian bootstrap over clusters"
FIRST, SECOND, TIE = "first", "second", "tie"


@dataclass(frozen=True)
class LabelAgreement:
    """One label: how often each rater gave it, both did, and 2 x both / (first + second); None if nobody gave it."""

    label: str
    first: int
    second: int
    both: int
    share: float | None


@dataclass(frozen=True)
class Agreement:
    """Two raters on the same questions.

    Attributes:
        labels: the order of the rows and columns of ``table``.
        table: counts; rows are the first rater's labels.
        raw: share of equal labels.
        kappa: Cohen's, which falls when one label is rare.
        ac1: Gwet's, which does not.
        per_label: agreement on each label; a rare one (a fabrication) drowns in every average.
    """

    labels: tuple[str, ...]
    table: tuple[tuple[int, ...], ...]
    raw: Estimate
    kappa: Estimate
    ac1: Estimate
    per_label: tuple[LabelAgreement, ...]


@dataclass(frozen=True)
class Positions:
    """A judge that saw every pair in both orders.

    Attributes:
        consistency: share of questions with the same verdict in both orders; two ties are the same verdict.
        first_twice, second_twice: flips, where the same *place* won both times and so the other memory.
        half: a tie in one order only.
        first_share: share of the flips that went to the first place.
        p: exact binomial p of the flips against one half.
    """

    consistency: Estimate
    first_twice: int
    second_twice: int
    half: int
    first_share: Estimate
    p: float


def agreement(
    first: Sequence[str],
    second: Sequence[str],
    labels: Sequence[str],
    clusters: ClusterLabels,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
) -> Agreement:
    """Raw agreement, Cohen's kappa (1960) and Gwet's AC1 (2008), with intervals over whole clusters.

    Args:
        first: the first rater's label of each question.
        second: the second rater's.
        labels: every label that a rater may give, also those that nobody gave: AC1 depends on their number.
        clusters: n labels or a ``Clusters``.
        rng: named generator, for the bootstrap of kappa and AC1.
        level: two-sided confidence level.

    Returns:
        Where kappa is not defined (both gave one and the same label throughout) it is None with the reason.

    Raises:
        ValueError: lengths that differ, a label that is not listed, or fewer than two labels.
    """
    groups, listed = Clusters.of(clusters), tuple(labels)
    if len(first) != groups.n or len(second) != groups.n:
        raise ValueError(f"{len(first)} and {len(second)} labels for {groups.n} cluster labels; one each is needed.")
    if len(set(listed)) != len(listed) or len(listed) < 2:
        raise ValueError("Agreement needs at least two labels, each listed once.")
    k = len(listed)
    code = {label: position for position, label in enumerate(listed)}
    unknown = sorted({*first, *second} - code.keys())
    if unknown:
        raise ValueError(f"The label {unknown[0]!r} is not among {', '.join(listed)}.")
    rows = np.array([code[label] for label in first], dtype=np.int64)
    columns = np.array([code[label] for label in second], dtype=np.int64)
    cells = np.zeros((groups.count, k * k))
    np.add.at(cells, (groups.codes, rows * k + columns), 1.0)
    table = cells.sum(axis=0).reshape(k, k)
    drawn = _drawn(cells, table, rng) if groups.count > 1 else None
    equal = (rows == columns).astype(np.float64)
    return Agreement(
        labels=listed,
        table=tuple(tuple(int(value) for value in row) for row in table),
        raw=question_share(equal, groups, level=level),
        kappa=_chance_corrected(kappas, table, drawn, groups, level),
        ac1=_chance_corrected(ac1s, table, drawn, groups, level),
        per_label=tuple(_label(listed[i], table, i) for i in range(k)),
    )


def kappas(tables: FloatArray) -> FloatArray:
    """Cohen's kappa of tables of shape (R, k, k); NaN where chance agreement is complete."""
    total = tables.sum(axis=(1, 2))
    chance = (tables.sum(axis=2) * tables.sum(axis=1)).sum(axis=1) / total**2
    return _corrected(np.trace(tables, axis1=1, axis2=2) / total, chance)


def ac1s(tables: FloatArray) -> FloatArray:
    """Gwet's AC1 of tables of shape (R, k, k)."""
    total = tables.sum(axis=(1, 2))
    shares = (tables.sum(axis=2) + tables.sum(axis=1)) / (2 * total[:, None])
    chance = (shares * (1 - shares)).sum(axis=1) / (tables.shape[1] - 1)
    return _corrected(np.trace(tables, axis1=1, axis2=2) / total, chance)


def positions(
    one_way: Sequence[str], other_way: Sequence[str], clusters: ClusterLabels, *, level: float = 0.95
) -> Positions:
    """Position consistency of one judge, and whether its flips favour the first place.

    Args:
        one_way: the place that won with memory a shown first: ``first``, ``second`` or ``tie``.
        other_way: the same with memory b shown first.
        clusters: one label per question.
        level: two-sided confidence level.

    Raises:
        ValueError: lengths that differ, or another word.
    """
    groups = Clusters.of(clusters)
    if len(one_way) != groups.n or len(other_way) != groups.n:
        raise ValueError(f"{len(one_way)} and {len(other_way)} verdicts for {groups.n} questions; one each is needed.")
    if not {*one_way, *other_way} <= {FIRST, SECOND, TIE}:
        raise ValueError("A place is first, second or tie.")
    pairs = list(zip(one_way, other_way, strict=True))
    same = [(a == TIE) == (b == TIE) and (a == TIE or a != b) for a, b in pairs]
    first_twice, second_twice = pairs.count((FIRST, FIRST)), pairs.count((SECOND, SECOND))
    flips = first_twice + second_twice
    share = Estimate(value=None, level=level, reason="no flip")
    if flips:
        low, high = clopper_pearson(first_twice, flips, level)
        share = Estimate(
            value=first_twice / flips,
            low=low,
            high=high,
            level=level,
            n=flips,
            clusters=flips,
            method="clopper-pearson",
        )
    return Positions(
        consistency=question_share(np.array(same, dtype=np.float64), groups, level=level),
        first_twice=first_twice,
        second_twice=second_twice,
        half=groups.n - sum(same) - flips,
        first_share=share,
        p=mcnemar_exact(first_twice, second_twice),
    )


def repetition_stability(votes: Sequence[Sequence[str]], clusters: ClusterLabels, *, level: float = 0.95) -> Estimate:
    """How often two readings of the same question by the same judge agree.

    Args:
        votes: per question, the labels of its repetitions, at least two.
        clusters: one label per question.
        level: two-sided confidence level.

    Raises:
        ValueError: a question with fewer than two repetitions.
    """
    if any(len(labels) < 2 for labels in votes):
        raise ValueError("Stability needs at least two repetitions of every question.")
    shares = [float(np.mean([a == b for a, b in combinations(labels, 2)])) for labels in votes]
    return question_mean(shares, clusters, level=level)


def _corrected(raw: FloatArray, chance: FloatArray) -> FloatArray:
    defined = chance < 1 - 1e-12
    return np.where(defined, (raw - chance) / np.where(defined, 1 - chance, 1.0), np.nan)


def _drawn(cells: FloatArray, table: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Tables of a bootstrap over clusters, and of a posterior.

    The bootstrap never sees a disagreement where there was none. So it stands beside a Bayesian bootstrap (Rubin,
    Annals of Statistics 9, 1981) of the clusters and one more question, on which the two raters agree by chance only.

    Args:
        cells: shape (G, k^2): the table of each cluster.
        table: shape (k, k): their sum.
        rng: named generator.
    """
    k, count = len(table), len(cells)
    shape = (RESAMPLES, k, k)
    picks = rng.multinomial(count, np.full(count, 1 / count), RESAMPLES)
    margins = [(table.sum(axis=axis) + 0.5) / (table.sum() + k / 2) for axis in (1, 0)]
    by_chance = np.outer(*margins).ravel()
    weighed = rng.standard_exponential((RESAMPLES, count)) @ cells + rng.standard_gamma(by_chance, (RESAMPLES, k * k))
    return (picks @ cells).reshape(shape), weighed.reshape(shape)


def _chance_corrected(
    statistic: Callable[[FloatArray], FloatArray],
    table: FloatArray,
    drawn: tuple[FloatArray, FloatArray] | None,
    groups: Clusters,
    level: float,
) -> Estimate:
    n, count = groups.n, groups.count
    if not n:
        return Estimate(value=None, level=level, reason=NO_QUESTION)
    value = float(statistic(table[None])[0])
    if np.isnan(value):
        return Estimate(value=None, level=level, n=n, clusters=count, reason="both gave the same one label throughout")
    if drawn is None:
        return Estimate(value=value, level=level, n=n, clusters=count, reason=ONE_CLUSTER)
    tails = [(1 - level) / 2, (1 + level) / 2]
    # Resampling G clusters varies by G - 1 of them.
    stretch = np.sqrt(count / (count - 1))
    ends = value + (np.nanquantile(statistic(drawn[0]), tails) - value) * stretch
    posterior = np.nanquantile(statistic(drawn[1]), tails)
    low, high = min(float(ends[0]), float(posterior[0]), value), max(float(ends[1]), float(posterior[1]), value)
    return Estimate(
        value=value, low=max(-1.0, low), high=min(1.0, high), level=level, n=n, clusters=count, method=METHOD
    )


def _label(label: str, table: FloatArray, i: int) -> LabelAgreement:
    first, second, both = int(table[i].sum()), int(table[:, i].sum()), int(table[i, i])
    return LabelAgreement(label, first, second, both, 2 * both / (first + second) if first + second else None)
