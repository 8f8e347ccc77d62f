"""A contender against a baseline on the same tasks: is it materially worse, and at what share of the cost?

Rows "association: correctness" and "association: cost, tokens, turns". Near the ceiling almost every task is a tie, and
an interval of the mean difference then says little (see docs/statistics.md for what a percentile bootstrap covers
there). Counted instead is on how many tasks the contender loses materially, and the rate has an exact bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memassay.core.types import Estimate
from memassay.stats.clusters import FloatArray
from memassay.stats.distributions import two_sided_t
from memassay.stats.flips import DRAWS, Flips
from memassay.stats.gate import Outcome
from memassay.stats.paired import sign_flip
from memassay.stats.power import MATERIAL
from memassay.stats.proportion import clopper_pearson

RATE_LIMIT = 0.10
"""The largest share of tasks with a material loss that may be left possible."""
_ROUNDING = 1e-9  # .8 - .7 is .1 and 2e-16 more
_NO_TASK = "no task was measured in both arms"
_ONE_TASK = "one task: no spread to make an interval from"
_NO_SPREAD = "the ratio is the same on every task: no spread to make an interval from"


@dataclass(frozen=True)
class MaterialLoss:
    """Whether losses are rare enough.

    Attributes:
        outcome: passed, failed or no decision.
        reason: one sentence with the numbers.
        losses: tasks on which the contender is below the baseline by more than ``margin``.
        n: tasks.
        lower, upper: one-sided exact bounds of the rate of such tasks, each at ``level``; None without tasks.
        margin: the largest difference on a task that counts as none, in score units.
        limit: the rate that may not be left possible.
        level: one-sided confidence level.
        enough: the smallest number of tasks that would pass with this many losses.
    """

    outcome: Outcome
    reason: str
    losses: int
    n: int
    lower: float | None
    upper: float | None
    margin: float
    limit: float
    level: float
    enough: int


@dataclass(frozen=True)
class PairedRatio:
    """How many times the baseline's amount the contender takes, on a typical task.

    Attributes:
        ratio: geometric mean over tasks of contender / baseline; below 1 favours the contender.
        p: two-sided sign-flip p of a ratio of 1; None without tasks.
        exact: whether p counts every pattern of signs.
        sign_flips: patterns enumerated or drawn; 0 without tasks.
    """

    ratio: Estimate
    p: float | None
    exact: bool
    sign_flips: int


def material_loss(
    contender: npt.ArrayLike,
    baseline: npt.ArrayLike,
    *,
    margin: float = MATERIAL,
    limit: float = RATE_LIMIT,
    level: float = 0.95,
) -> MaterialLoss:
    """Bounds the rate of tasks on which the contender is materially worse (Clopper and Pearson, Biometrika 26, 1934).

    Passed if the one-sided upper bound of the rate is at most ``limit``; failed if the lower bound is above it; what is
    left is no decision, with the number of tasks that would do.

    Args:
        contender: shape (n,), scores, each a mean over the repetitions of a task.
        baseline: the same of the baseline, on the same tasks in the same order.
        margin: positive; a loss is material if it is larger.
        limit: in (0, 1).
        level: one-sided, in (0.5, 1).

    Raises:
        ValueError: lengths that differ, NaN, or a margin, limit or level outside its range.
    """
    d = _differences(contender, baseline)
    if not (margin > 0 and 0 < limit < 1 and 0.5 < level < 1):
        raise ValueError(f"margin {margin}, limit {limit} or level {level} is outside its range.")
    n, losses = len(d), int(np.count_nonzero(d < -margin - _ROUNDING))
    enough = tasks_needed(losses, limit=limit, level=level)
    if not n:
        return MaterialLoss("no decision", _NO_TASK, 0, 0, None, None, margin, limit, level, enough)
    lower, upper = clopper_pearson(losses, n, 2 * level - 1)
    lost = f"{losses} of {n} tasks lost by more than {margin:g}"
    if upper <= limit:
        outcome: Outcome = "passed"
        reason = f"{lost}: the rate is at most {upper:.3f}, within {limit:g}"
    elif lower > limit:
        outcome = "failed"
        reason = f"{lost}: the rate is at least {lower:.3f}, above {limit:g}"
    else:
        outcome = "no decision"
        reason = (
            f"{lost}: the rate may be up to {upper:.3f}, and {n} tasks cannot certify {limit:g}; "
            f"{enough} tasks with {losses or 'no'} such loss{'es' if losses > 1 else ''} would"
        )
    return MaterialLoss(outcome, reason, losses, n, lower, upper, margin, limit, level, enough)


def tasks_needed(losses: int, *, limit: float = RATE_LIMIT, level: float = 0.95) -> int:
    """The smallest number of tasks at which that many losses leave a rate of at most ``limit`` (29 for none, 61 for 2).

    Args:
        losses: not negative.
        limit: in (0, 1).
        level: one-sided.
    """

    def enough(n: int) -> bool:
        return clopper_pearson(losses, n, 2 * level - 1)[1] <= limit

    high = losses + 1
    while not enough(high):
        high *= 2
    low = losses
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def paired_ratio(
    contender: npt.ArrayLike,
    baseline: npt.ArrayLike,
    *,
    level: float = 0.95,
    rng: np.random.Generator | None = None,
    draws: int = DRAWS,
) -> PairedRatio:
    """Compares amounts (cost, tokens, turns) task by task, on the logarithm: exp(mean +- t(n - 1) x standard error).

    Amounts are skewed and a dear task is dear in both arms; their log ratio is neither. The test flips the sign of
    each task's log ratio.

    Args:
        contender: shape (n,), positive amounts, each a mean over the repetitions of a task.
        baseline: the same of the baseline, on the same tasks in the same order.
        level: two-sided confidence level of the interval.
        rng: named generator of the sign flips; needed above 16 tasks only.
        draws: sign patterns drawn above 16 tasks.

    Returns:
        The ratio with method ``paired log-ratio t``. No task: null with a reason. One task, or the same ratio on every
        task: a value without interval, with a reason.

    Raises:
        ValueError: lengths that differ, an amount that is not positive and finite, or more than 16 tasks without a
            generator.
    """
    a, b = np.asarray(contender, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    if not ((a > 0).all() and (b > 0).all()):
        raise ValueError("Amounts must be positive; leave tasks without a measurement out of both arms and say so.")
    d = _differences(np.log(a), np.log(b))
    n = len(d)
    if not n:
        return PairedRatio(Estimate(value=None, level=level, reason=_NO_TASK), None, False, 0)
    flips = Flips.plan(n, rng, draws)
    p = sign_flip(d, flips)
    mean = float(d.mean())
    spread = float(d.std(ddof=1)) if n > 1 else 0.0
    about = {"value": math.exp(mean), "level": level, "n": n, "clusters": n, "method": "paired log-ratio t"}
    if spread <= _ROUNDING:
        return PairedRatio(Estimate(**about, reason=_ONE_TASK if n == 1 else _NO_SPREAD), p, flips.exact, flips.count)
    half = two_sided_t(level, n - 1) * spread / math.sqrt(n)
    ratio = Estimate(**about, low=math.exp(mean - half), high=math.exp(mean + half))
    return PairedRatio(ratio, p, flips.exact, flips.count)


def _differences(a: npt.ArrayLike, b: npt.ArrayLike) -> FloatArray:
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(f"Arms have values of shape {first.shape} and {second.shape}; one for each task is needed.")
    d: FloatArray = first - second
    if not np.isfinite(d).all():
        raise ValueError("A value is NaN or infinite; leave such tasks out of both arms and say so.")
    return d
