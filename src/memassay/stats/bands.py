"""Bands that control arms must stay in, or the run is not publishable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memassay.core.types import Estimate
from memassay.stats.distributions import t_quantile

EXACT = 1e-9  # two sums of the same scores in another order differ by less
SHUFFLED_ALLOWANCE = 0.10


@dataclass(frozen=True)
class Band:
    """Where one more draw of a random control should fall.

    Attributes:
        low, high: ends, in [0, 1].
        mean: mean of the draws; sd: their standard deviation.
        draws: how many; level: the share of draws that the band should hold.
    """

    low: float
    high: float
    mean: float
    sd: float
    draws: int
    level: float

    def __contains__(self, value: float) -> bool:
        return self.low - EXACT <= value <= self.high + EXACT


@dataclass(frozen=True)
class ControlCheck:
    """The outcome of one control arm.

    Attributes:
        control: its name.
        passed: None where it could not be checked; only True counts as passed.
        observed: the control's score; None where it was not measured.
        expected: what it should have been, in words.
        reason: one sentence where it did not pass, else None.
    """

    control: str
    passed: bool | None
    observed: float | None
    expected: str
    reason: str | None


def draw_band(draws: npt.ArrayLike, level: float = 0.999) -> Band:
    """The band for one more draw: the wider of a normal prediction interval and the range of the draws.

    mean +- t(k - 1) x sd x sqrt(1 + 1/k) is the prediction interval of one further draw from the same distribution
    (Hahn and Meeker, Statistical Intervals, 1991). The observed range is added because a share near 0 is skewed:
    there the upper normal end lies below draws that have really happened.

    Args:
        draws: shape (k,), scores in [0, 1] of k >= 20 independent runs of the control; 200 is the rule.
        level: probability that the band should hold one more draw.

    Raises:
        ValueError: fewer than 20 draws, NaN, or a score outside [0, 1].
    """
    values = np.asarray(draws, dtype=np.float64)
    if values.ndim != 1 or len(values) < 20 or not bool(((values >= 0) & (values <= 1)).all()):
        raise ValueError("A band needs at least 20 draws, all of them scores in [0, 1].")
    k = len(values)
    mean, sd = float(values.mean()), float(values.std(ddof=1))
    half = t_quantile(0.5 + level / 2, k - 1) * sd * (1 + 1 / k) ** 0.5
    low = max(0.0, min(mean - half, float(values.min())))
    high = min(1.0, max(mean + half, float(values.max())))
    return Band(low, high, mean, sd, k, level)


def check_oracle(observed: float | None, expected: float) -> ControlCheck:
    """The oracle must reach exactly the share of questions whose gold fits the budget.

    Args:
        observed: the oracle's score; None where it was not measured.
        expected: that share, counted from the tasks and the tokenizer alone.
    """
    return _equal("oracle", observed, expected)


def check_empty(observed: float | None) -> ControlCheck:
    """An empty dossier must score exactly 0."""
    return _equal("empty", observed, 0.0)


def check_random(observed: float | None, band: Band) -> ControlCheck:
    """Random passages must score inside their band."""
    expected = f"{band.low:.4f} to {band.high:.4f} ({band.level:.1%} of {band.draws} draws)"
    if observed is None:
        return _unmeasured("random", expected)
    if observed in band:
        return ControlCheck("random", True, observed, expected, None)
    side = "below" if observed < band.low else "above"
    return ControlCheck("random", False, observed, expected, f"random scored {observed:.4f}, {side} its band")


def check_shuffled_gold(observed: float | None, random: float, arm: Estimate) -> ControlCheck:
    """The gold of another question of the same cluster must be near random and below every arm worth the name.

    Args:
        observed: score of the shuffled-gold control.
        random: score of the random control, or the mean of its band.
        arm: the arm's own score; its lower end is the ceiling.
    """
    limit = random + SHUFFLED_ALLOWANCE
    floor = "the arm's lower end" if arm.low is None else f"the arm's lower end {arm.low:.4f}"
    expected = f"at most {limit:.4f} (random + {SHUFFLED_ALLOWANCE:.2f}) and below {floor}"
    if observed is None:
        return _unmeasured("shuffled-gold", expected)
    if observed > limit + EXACT:
        reason = f"shuffled gold scored {observed:.4f}, more than {SHUFFLED_ALLOWANCE:.2f} above random"
        return ControlCheck("shuffled-gold", False, observed, expected, reason)
    if observed <= EXACT:
        # Nothing can be lower; an arm that finds nothing itself says nothing about the harness.
        return ControlCheck("shuffled-gold", True, observed, expected, None)
    if arm.low is None:
        reason = f"the arm has no interval to compare with ({arm.reason})"
        return ControlCheck("shuffled-gold", None, observed, expected, reason)
    if observed >= arm.low:
        reason = f"shuffled gold scored {observed:.4f}, not below the arm's lower end {arm.low:.4f}"
        return ControlCheck("shuffled-gold", False, observed, expected, reason)
    return ControlCheck("shuffled-gold", True, observed, expected, None)


def _equal(control: str, observed: float | None, expected: float) -> ControlCheck:
    words = f"exactly {expected:.6g}"
    if observed is None:
        return _unmeasured(control, words)
    if abs(observed - expected) <= EXACT:
        return ControlCheck(control, True, observed, words, None)
    return ControlCheck(control, False, observed, words, f"{control} scored {observed:.6g} instead of {expected:.6g}")


def _unmeasured(control: str, expected: str) -> ControlCheck:
    return ControlCheck(control, None, None, expected, f"{control} was not measured")
