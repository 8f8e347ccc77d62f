"""What a fixture can show before money is spent, and how often the chosen rule speaks where there is nothing to say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memassay.core.errors import UsageError, suggestion
from memassay.stats.clusters import FloatArray
from memassay.stats.dirichlet import GapBounds, gap_bounds
from memassay.stats.discordant import mcnemar_exact
from memassay.stats.proportion import clopper_pearson
from memassay.stats.stratified import flip_ps
from memassay.suites.canary.precision import POWER, Precision, precision, questions_needed
from memassay.suites.canary.rules import RULES, SEED_GAP, SEED_RATIO, Thresholds

FABRICATION_RATES = (0.0, 0.01, 0.03)
"""At which equal rates of both memories false alarms are simulated."""
GAPS = (0.10, 0.20)

_SEED = 20260519
_RUNS = 4_000  # a Monte Carlo error of .008 at .5, .003 at .05
_GAP_RUNS = 40_000
_DRAWS = 1_000
_FLIPS = 999
_ROUNDING = 1e-9

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class CanaryPower:
    """The power of one fixture.

    Attributes:
        questions: in all; allocation: by family; weights: by family.
        tie_rate: as expected.
        weighted, uniform: precision of both aggregates.
        large_gap: how often two equal memories show a weighted gap of 20 points or more.
        rule: whose false alarms these are.
        false_alarms: (rate at which both memories fabricate, how often the rule says adopt or reject; for
            ``seed-v1``, how often any of its conditions is met).
        target: a true gap, the same in every family.
        found: how often the rule says adopt there, without fabrications.
        confirmatory: whether that is 80 % or more.
        needed: (gap, questions with equal allocation, questions with allocation by weight) for 80 % power.
    """

    questions: int
    allocation: Mapping[str, int]
    weights: Mapping[str, float]
    tie_rate: float
    weighted: Precision
    uniform: Precision
    large_gap: float
    rule: str
    false_alarms: tuple[tuple[float, float], ...]
    target: float
    found: float
    confirmatory: bool
    needed: tuple[tuple[float, int, int], ...]


@dataclass(frozen=True)
class Evidence:
    """R simulated experiments: arrays of shape (R,); gaps, intervals, sign-flip p, and questions of each."""

    gaps: FloatArray
    bounds: GapBounds
    p: FloatArray
    questions: int


@dataclass(frozen=True)
class Said:
    """Masks of shape (R,): the rule said adopt, reject, or met any of its conditions (``seed-v1``)."""

    adopt: BoolArray
    reject: BoolArray
    spoke: BoolArray


def power(
    allocation: Mapping[str, int],
    weights: Mapping[str, float],
    tie_rate: float = 0.4,
    *,
    rule: str = "default",
    target: float = 0.20,
    thresholds: Thresholds | None = None,
    seed: int = _SEED,
    runs: int = _RUNS,
) -> CanaryPower:
    """Simulates identical memories and memories ``target`` apart on a planned fixture.

    Questions are independent, ties equally frequent in every family, and both memories fabricate alike.

    Args:
        allocation: questions by family.
        weights: by family; those of the families with questions are scaled to sum to 1.
        tie_rate: expected share of ties, in [0, 1).
        rule: a name of ``RULES``.
        target: a true gap, positive, at most 1 - tie_rate.
        thresholds: of the rule ``default``.
        seed: of the simulation.
        runs: simulated experiments of each kind.

    Raises:
        UsageError: no question with weight, a rate outside its range, or an unknown rule.
    """
    asked = thresholds or Thresholds()
    families = [family for family, n in allocation.items() if n > 0]
    total = sum(weights.get(family, 0.0) for family in families)
    if not total:
        raise UsageError("Power needs at least one question in a family with a weight; check allocation and weights.")
    if not 0 <= tie_rate < 1:
        raise UsageError(f"The tie rate is a share of all questions, at least 0 and below 1, not {tie_rate:g}.")
    if not 0 < target <= 1 - tie_rate:
        raise UsageError(f"A true gap lies between 0 and 1 - ties = {1 - tie_rate:g}, not at {target:g}.")
    if rule not in RULES:
        raise UsageError(f"The canary has no rule {rule!r}.{suggestion(rule, RULES)}")
    sizes = [allocation[family] for family in families]
    shares = [weights.get(family, 0.0) / total for family in families]
    even = [1 / len(families)] * len(families)
    rng = np.random.Generator(np.random.PCG64(seed))
    gaps = _gaps(_outcomes(sizes, tie_rate, 0.0, _GAP_RUNS, rng), shares)
    equal = evidence(_outcomes(sizes, tie_rate, 0.0, runs, rng), shares, asked.level, rng)
    alarms = []
    for rate in FABRICATION_RATES:
        said = decide(rule, equal, fabrications(sum(sizes), rate, runs, rng), asked)
        alarms.append((rate, float(said.spoke.mean())))
    apart = evidence(_outcomes(sizes, tie_rate, target, runs, rng), shares, asked.level, rng)
    found = float(decide(rule, apart, fabrications(sum(sizes), 0.0, runs, rng), asked).adopt.mean())
    return CanaryPower(
        questions=sum(sizes),
        allocation=dict(zip(families, sizes, strict=True)),
        weights=dict(zip(families, shares, strict=True)),
        tie_rate=tie_rate,
        weighted=precision(sizes, shares, tie_rate),
        uniform=precision(sizes, even, tie_rate),
        large_gap=float((np.abs(gaps) >= SEED_GAP - _ROUNDING).mean()),
        rule=rule,
        false_alarms=tuple(alarms),
        target=target,
        found=found,
        confirmatory=found >= POWER,
        needed=tuple(
            (
                gap,
                questions_needed(gap, shares, tie_rate, proportional=False),
                questions_needed(gap, shares, tie_rate, proportional=True),
            )
            for gap in GAPS
        ),
    )


def evidence(counts: IntArray, weights: Sequence[float], level: float, rng: np.random.Generator) -> Evidence:
    """Gaps, intervals and tests of R experiments on independent questions.

    Args:
        counts: shape (R, F, 3): wins, losses, ties.
        weights: of the F families, summing to 1.
        level: of the intervals.
        rng: named generator.
    """
    each = np.asarray(weights) / counts[0].sum(axis=1)
    return Evidence(
        gaps=_gaps(counts, weights),
        bounds=gap_bounds(counts, weights, rng, level=level, draws=_DRAWS),
        p=flip_ps(counts[:, :, 0], counts[:, :, 1], each, rng, draws=_FLIPS),
        questions=int(counts[0].sum()),
    )


def fabrications(questions: int, rate: float, runs: int, rng: np.random.Generator) -> IntArray:
    """Shape (R, 3): questions where both, only the first, only the second fabricated, each on its own at ``rate``."""
    alike = [rate * rate, rate * (1 - rate), rate * (1 - rate), (1 - rate) ** 2]
    return rng.multinomial(questions, alike, runs)[:, :3].astype(np.int64)


def decide(rule: str, shown: Evidence, fabricated: IntArray, thresholds: Thresholds) -> Said:
    """What a rule says about every experiment: ``rules.py`` over arrays; the tests hold them against each other.

    Args:
        rule: a name of ``RULES``.
        shown: R experiments.
        fabricated: shape (R, 3), as from ``fabrications``.
        thresholds: of the rule ``default``.
    """
    both, only_a, only_b = fabricated.T
    a, b = both + only_a, both + only_b
    gaps, bounds = shown.gaps, shown.bounds
    if rule == "seed-v1":
        far = np.where(np.abs(gaps) >= SEED_GAP - _ROUNDING, np.sign(gaps), 0)
        more, fewer = np.maximum(a, b), np.minimum(a, b)
        ratio = np.where((more > 0) & (more >= SEED_RATIO * fewer), np.sign(b - a), 0)
        clear = np.where(bounds.jeffreys_low > 0, 1, np.where(bounds.jeffreys_high < 0, -1, 0))
        speaking = np.stack([far, ratio, clear])
        ahead: BoolArray = np.asarray((speaking > 0).any(axis=0))
        behind: BoolArray = np.asarray((speaking < 0).any(axis=0))
        return Said(ahead > behind, behind > ahead, ahead | behind)
    beyond: BoolArray = (np.abs(gaps) >= thresholds.margin - _ROUNDING) & (shown.p < 1 - thresholds.level)
    ends: FloatArray = np.array(
        [clopper_pearson(k, shown.questions, thresholds.level) for k in range(int(a.max()) + 1)]
    )
    pairs, which = np.unique(fabricated[:, 1:], axis=0, return_inverse=True)
    exact: FloatArray = np.array([mcnemar_exact(int(x), int(y)) for x, y in pairs])[which.ravel()]
    worse: BoolArray = (ends[a, 0] > thresholds.ceiling) | ((only_a > only_b) & (exact < 1 - thresholds.level))
    adopt: BoolArray = beyond & (bounds.low > 0) & ~worse & (ends[a, 1] < thresholds.ceiling)
    reject: BoolArray = (beyond & (bounds.high < 0)) | worse
    return Said(adopt, reject, adopt | reject)


def _outcomes(sizes: Sequence[int], tie_rate: float, gap: float, runs: int, rng: np.random.Generator) -> IntArray:
    chances = [(1 - tie_rate + gap) / 2, (1 - tie_rate - gap) / 2, tie_rate]
    return np.stack([rng.multinomial(n, chances, runs) for n in sizes], axis=1).astype(np.int64)


def _gaps(counts: IntArray, weights: Sequence[float]) -> FloatArray:
    gaps: FloatArray = ((counts[:, :, 0] - counts[:, :, 1]) / counts.sum(axis=2)) @ np.asarray(weights)
    return gaps
