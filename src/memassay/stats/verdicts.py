"""Words for one comparison: only the primary one gets a verdict, everything else is exploratory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memassay.stats.paired import Paired

Word = Literal["better", "worse", "equivalent", "no decision", "exploratory"]


@dataclass(frozen=True)
class Verdict:
    """A word about the first arm, and one sentence why."""

    word: Word
    reason: str


def verdict(comparison: Paired, *, primary: bool, margin: float | None = None) -> Verdict:
    """The word that may be printed beside a comparison.

    ``better`` and ``worse`` need both the test and the interval; ``equivalent`` needs a margin fixed before
    the run and the whole interval inside it. An interval that merely crosses 0 is ``no decision``.

    Args:
        comparison: arm a against arm b.
        primary: whether this is the one comparison that the experiment named before the run, with enough power.
        margin: the largest difference that counts as none, positive; None where equivalence was not asked.

    Raises:
        ValueError: a margin that is not positive.
    """
    if margin is not None and not margin > 0:
        raise ValueError(f"A margin must be positive, not {margin}.")
    if not primary:
        return Verdict("exploratory", "not the primary comparison: an interval, no verdict")
    diff = comparison.diff
    if comparison.p is None or diff.value is None or diff.low is None or diff.high is None:
        return Verdict("no decision", comparison.reason or diff.reason or "not measured")
    alpha = 1 - diff.level
    crosses = diff.low <= 0 <= diff.high
    if comparison.decidable and comparison.p <= alpha + 1e-12 and not crosses:
        word: Word = "better" if diff.value > 0 else "worse"
        return Verdict(word, f"{comparison.test} p = {comparison.p:.2g} and the interval excludes 0")
    if margin is not None and -margin < diff.low and diff.high < margin:
        return Verdict("equivalent", f"the whole interval lies within the margin of {margin:g}")
    if not comparison.decidable:
        return Verdict("no decision", comparison.reason or "too few clusters")
    if comparison.p <= alpha:
        return Verdict("no decision", f"{comparison.test} p = {comparison.p:.2g}, but the interval contains 0")
    if not crosses:
        return Verdict("no decision", f"the interval excludes 0, but {comparison.test} p = {comparison.p:.2g}")
    return Verdict("no decision", f"{comparison.test} p = {comparison.p:.2g} and the interval contains 0")
