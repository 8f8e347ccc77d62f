"""Decision rules: what a measured pair is worth, by conditions that were fixed before anything was retrieved."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from memassay.core.errors import UsageError
from memassay.core.types import Estimate
from memassay.stats.proportion import clopper_pearson
from memassay.suites.canary.fabrication import Fabrication, Rate, smallest_ceiling
from memassay.suites.canary.pairs import Measured
from memassay.suites.canary.precision import questions_to_settle

Word = Literal["adopt", "reject", "no decision"]
Outcome = Literal["for", "against", "open", "not measured"]

SEED_GAP, SEED_RATIO = 0.20, 2.0
_ROUNDING = 1e-9
_MOST = 1_000_000


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What the rule ``default`` asks for.

    Attributes:
        margin: smallest weighted gap that is worth a change, in [0, 1).
        ceiling: the upper end of the fabrication rate must lie below it, in (0, 1].
        undetermined: share of questions above which the fabrication leg is not measured, in [0, 1].
        level: of intervals, in [.5, 1); 1 - level for tests.

    Raises:
        UsageError: a value outside of its range.
    """

    margin: float = 0.10
    ceiling: float = 0.10
    undetermined: float = 0.10
    level: float = 0.95

    def __post_init__(self) -> None:
        for name, right, asks in (
            ("margin", 0 <= self.margin < 1, "a gap from 0 to below 1, such as 0.1 for 10 points"),
            ("ceiling", 0 < self.ceiling <= 1, "a share above 0 and at most 1, such as 0.1"),
            ("undetermined", 0 <= self.undetermined <= 1, "a share from 0 to 1, such as 0.1"),
            ("level", 0.5 <= self.level < 1, "a level from 0.5 to below 1, such as 0.95"),
        ):
            if not right:
                raise UsageError(f"The canary's {name} is {getattr(self, name):g}; give {asks}.")


@dataclass(frozen=True, slots=True)
class Leg:
    """One condition: what it asks, whether it speaks for the first memory, and the numbers in one phrase."""

    leg: str
    asks: str
    outcome: Outcome
    reason: str


@dataclass(frozen=True, slots=True)
class Decision:
    """A word about replacing the second memory of a pair by the first.

    Attributes:
        rule: which rule.
        verdict: ``no decision`` is not a tie.
        legs: every condition.
        reasons: the legs that made the verdict.
        needed: questions that would settle a ``no decision``, if the gap stays what it is; None where that is unknown.
        equivalent: the whole interval of the gap lies within the margin; never said of one that merely contains 0.
    """

    rule: str
    verdict: Word
    legs: tuple[Leg, ...]
    reasons: tuple[str, ...]
    needed: int | None = None
    equivalent: bool = False


def default(measured: Measured, fabricated: Fabrication, thresholds: Thresholds | None = None) -> Decision:
    """Adopt: gap, interval, test and fabrications all speak for the first memory.

    Reject: gap, interval and test all speak for the second, or the first fabricates too much, whatever the gap.
    """
    asked = thresholds or Thresholds()
    gap = measured.gaps.weighted.gap
    legs = (*gap_legs(measured, asked), _fabrication(fabricated, asked))
    outcomes = [leg.outcome for leg in legs]
    verdict: Word = "no decision"
    if outcomes == ["for"] * 4:
        verdict = "adopt"
    elif outcomes[:3] == ["against"] * 3 or outcomes[3] == "against":
        verdict = "reject"
    blamed = {"adopt": ("for",), "reject": ("against",), "no decision": ("open", "not measured", "against")}[verdict]
    reasons = tuple(leg.reason for leg in legs if leg.outcome in blamed)
    needed = _needed(measured, fabricated.a, legs[3], asked) if verdict == "no decision" else None
    inside = gap.low is not None and gap.high is not None and -asked.margin < gap.low and gap.high < asked.margin
    return Decision("default", verdict, legs, reasons, None if inside else needed, inside)


def seed_v1(measured: Measured, fabricated: Fabrication, thresholds: Thresholds | None = None) -> Decision:
    """As published: any one of a gap of 20 points, a fabrication ratio of 2, an interval that excludes 0.

    Its thresholds are its own. Where two conditions point to different memories the published text says nothing, and
    there is no decision.
    """
    value = measured.gaps.weighted.gap.value or 0.0
    far = _side(value) if abs(value) >= SEED_GAP - _ROUNDING else "open"
    gap = Leg("gap", "absolute gap of 20 points or more", far, f"the weighted gap is {_points(value)}")
    a, b = fabricated.a.count, fabricated.b.count
    twice = max(a, b) > 0 and max(a, b) >= SEED_RATIO * min(a, b)
    ratio = Leg("fabrication ratio", "2 or more", _side(b - a) if twice else "open", f"{a} against {b} fabrications")
    interval = _interval(measured.gaps.weighted.jeffreys)
    legs = (gap, ratio, interval)
    speaking = {leg.outcome for leg in legs if leg.outcome in ("for", "against")}
    verdict: Word = "no decision"
    if len(speaking) == 1:
        verdict = "adopt" if "for" in speaking else "reject"
    blamed = ("for", "against") if speaking else ("open", "not measured")
    return Decision("seed-v1", verdict, legs, tuple(leg.reason for leg in legs if leg.outcome in blamed))


Rule = Callable[[Measured, Fabrication, Thresholds | None], Decision]
RULES: Mapping[str, Rule] = MappingProxyType({"default": default, "seed-v1": seed_v1})


def gap_legs(measured: Measured, asked: Thresholds) -> tuple[Leg, Leg, Leg]:
    """The conditions of the rule ``default`` on the gap: its size, its interval, its test."""
    gap = measured.gaps.weighted.gap
    return _gap(gap, asked.margin), _interval(gap), _test(measured, asked.level)


def _gap(gap: Estimate, margin: float) -> Leg:
    value = gap.value or 0.0
    outcome = _side(value) if abs(value) >= margin - _ROUNDING else "open"
    reason = f"the weighted gap is {_points(value)}, the margin {100 * margin:.3g} points"
    return Leg("gap", f"weighted gap of at least {100 * margin:.3g} points", outcome, reason)


def _interval(gap: Estimate) -> Leg:
    asks = "95 % interval above 0" if gap.level == 0.95 else f"{100 * gap.level:.3g} % interval above 0"
    if gap.low is None or gap.high is None:
        return Leg("interval", asks, "not measured", f"the gap has no interval: {gap.reason}")
    outcome: Outcome = "for" if gap.low > 0 else "against" if gap.high < 0 else "open"
    return Leg("interval", asks, outcome, f"its interval is {_points(gap.low)} to {_points(gap.high)}")


def _test(measured: Measured, level: float) -> Leg:
    test, value = measured.test, measured.gaps.weighted.gap.value or 0.0
    outcome = _side(value) if test.p < 1 - level else "open"
    reason = f"sign-flip p = {test.p:.2g}"
    if test.reason:
        reason += f" ({test.reason})"
    return Leg("test", f"sign-flip p below {1 - level:.2g}", outcome, reason)


def _fabrication(found: Fabrication, asked: Thresholds) -> Leg:
    rate = found.a
    asks = f"upper end of the fabrication rate below {100 * asked.ceiling:.3g} %"
    counted = f"{rate.memory} fabricated on {rate.count} of {rate.rate.n} questions"
    high, low = rate.rate.high or 0.0, rate.rate.low or 0.0
    upper = f"at most {100 * high:.1f} %"
    if rate.undetermined_share > asked.undetermined:
        reason = f"{rate.undetermined} of {rate.rate.n} questions of {rate.memory} are undetermined"
        return Leg("fabrication", asks, "not measured", reason)
    if low > asked.ceiling:
        return Leg("fabrication", asks, "against", f"{counted}: at least {100 * low:.1f} %")
    if found.only_a > found.only_b and found.p < 1 - asked.level:
        reason = f"{counted}, {found.b.memory} on {found.b.count}: exact p = {found.p:.2g}"
        return Leg("fabrication", asks, "against", reason)
    if rate.highest < asked.ceiling:
        return Leg("fabrication", asks, "for", f"{counted}: {upper}")
    return Leg("fabrication", asks, "open", f"{counted}: {upper}{_why_open(rate, high, asked)}")


def _why_open(rate: Rate, high: float, asked: Thresholds) -> str:
    n = rate.rate.n
    if smallest_ceiling(n, asked.level) >= asked.ceiling:
        return f", and {n} questions can never show a rate below {100 * asked.ceiling:.3g} %"
    if high < asked.ceiling:
        return f", but {100 * rate.highest:.1f} % if all {rate.undetermined} undetermined ones are"
    return ""


def _needed(measured: Measured, rate: Rate, leg: Leg, asked: Thresholds) -> int | None:
    """For the gap, and for the fabrications where the gap is one that would be adopted."""
    weighted = measured.gaps.weighted
    n, pair = len(measured.pair.questions), measured.pair
    if weighted.gap.value is None or not weighted.effective:
        return None
    decided = (n * (1 - pair.tie_rate) + 1) / (n + 1)  # not 0 where all tied so far
    needed = questions_to_settle(weighted.gap.value, asked.margin, math.sqrt(decided / weighted.effective), n)
    if needed is not None and weighted.gap.value > asked.margin and leg.outcome != "for":
        needed = _clean(rate, asked, needed) if leg.outcome == "open" else None
    return needed if needed is None or needed > n else None


def _clean(rate: Rate, asked: Thresholds, questions: int) -> int | None:
    """From how many questions on the upper end lies below the ceiling, if the share stays what it is."""
    share = (rate.count + rate.undetermined) / rate.rate.n
    while questions <= _MOST:
        if clopper_pearson(math.ceil(share * questions - _ROUNDING), questions, asked.level)[1] < asked.ceiling:
            return questions
        questions += math.ceil(questions / 100)
    return None


def _side(value: float) -> Outcome:
    return "for" if value > 0 else "against" if value < 0 else "open"


def _points(value: float) -> str:
    return f"{100 * value:+.1f} points".replace("-", "\N{MINUS SIGN}")
