"""The one sentence a run comes down to. Words such as "better" only for the primary, and never for a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memassay.reporting import figures
from memassay.reporting.metric import Metric
from memassay.reporting.reading import Comparison, Reading, listed
from memassay.reporting.text import one_line
from memassay.reporting.values import mapping

Tone = Literal["verdict", "none"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found, or why there is no verdict; ``more`` describes without judging."""

    sentence: str
    more: str
    tone: Tone


def title(reading: Reading) -> str:
    """What was compared, on what."""
    names = [one_line(arm.name) for arm in reading.arms]
    on = f"a generated sample for {reading.suite_title}" if reading.sample else reading.suite_title
    on += f", answered by {one_line(reading.agent)}" if reading.agent else ""
    if not names:
        return f"No arm on {on}"
    if len(names) <= 3 and sum(map(len, names)) <= 60:
        return f"{listed(names)} on {on}"
    return f"{len(names)} memories on {on}"


def finding(reading: Reading) -> Finding:
    """The verdict on the primary comparison, or the reason why there is none, and what was observed."""
    primary = reading.primary
    if reading.no_verdict:
        return Finding(f"No verdict: {reading.no_verdict}.", describe(reading), "none")
    if primary is None and not reading.raw.get("primary") and reading.concluded:
        conclusion = mapping(reading.raw.get("conclusion"))
        return Finding(reading.concluded, describe(reading), "verdict" if conclusion.get("decided") else "none")
    if primary is None:
        return Finding(_why_no_primary(reading), describe(reading), "none")
    a, b = primary.a, primary.b
    measured = f"{primary.metric.label} differs by {figures.estimate(primary.diff, signed=True)}{_favour(primary)}"
    on = "" if primary.split == "all" else f" on the {primary.split} split"
    p = primary.raw.get("p")
    test = f", {f'{primary.test} {figures.p_phrase(p)}'.strip()}" if figures.finite(p) is not None else ""
    about = f"{measured}{test}{on}{_counted(reading, primary)}."
    if primary.verdict in ("better", "worse"):
        return Finding(f"{a} is {primary.verdict} than {b}: {about}", _caution(reading, primary), "verdict")
    if primary.verdict == "equivalent":
        return Finding(f"{a} and {b} are equivalent within the margin: {about}", _caution(reading, primary), "verdict")
    why = primary.reason or primary.diff.reason
    sentence = f"No decision between {a} and {b}" + (f": {why.rstrip('.')}." if why else ".")
    more = f"Observed: {about}" if primary.diff.value is not None else describe(reading)
    return Finding(sentence, " ".join(filter(None, [more, _judged(reading, primary)])), "none")


def describe(reading: Reading) -> str:
    """The headline metric of every arm, highest first, in words that judge nothing.

    Where no arm has a value at it, the first metric at which one has stands in for it.
    """
    head = next((m for m in [reading.headline, *reading.main, *reading.metrics] if reading.measured(m)), None)
    if head is None:
        return "Nothing was measured." if reading.arms else ""
    measured = [(arm, arm.estimate(head.name)) for arm in reading.arms]
    shown = sorted((x for x in measured if x[1].value is not None), key=lambda x: -(x[1].value or 0))
    first = shown[: 3 if len(shown) > 4 else 4]
    parts = [f"{one_line(arm.name)} {figures.estimate(found)}" for arm, found in first]
    rest = f"; {len(shown) - len(first)} more below" if len(shown) > len(first) else ""
    about = (
        f"{head.label} ({head.phrase})" if head.at is not None else ", ".join(dict.fromkeys([head.label, head.phrase]))
    )
    missing = "" if head == reading.headline else f"{reading.headline.label} has no value in any arm."
    return " ".join(filter(None, [missing, f"Observed {about}: {'; '.join(parts)}{rest}.", how_wrong(reading, head)]))


def how_wrong(reading: Reading, of: Metric) -> str:
    """How often the judge behind a metric is wrong, in one sentence; "" where no model judged."""
    judge = reading.judge(of)
    if judge is None or not reading.measured(of):
        return ""
    accepts, rejects = judge.rate("false_accept"), judge.rate("false_reject")
    if accepts.value is None or rejects.value is None:
        return f"{of.name}: {(accepts if accepts.value is None else rejects).reason}."
    wrong, right = figures.estimate(accepts), figures.estimate(rejects)
    return f"{of.name}: by the audit the judge accepts {wrong} of the wrong answers and rejects {right} of the right."


def _favour(comparison: Comparison) -> str:
    """Which arm the difference speaks for, where no verdict says it."""
    value = comparison.diff.value
    if not value or comparison.verdict in ("better", "worse"):
        return ""
    return f" in favour of {one_line(comparison.a if value > 0 else comparison.b)}"


def _counted(reading: Reading, comparison: Comparison) -> str:
    tasks, clusters = reading.units
    found = comparison.diff
    if not found.n:
        return ""
    return f" ({found.n:,} {tasks}" + (f" in {found.clusters} {clusters})" if found.clusters else ")")


def _judged(reading: Reading, primary: Comparison) -> str:
    """What the judge of the primary is worth, where ``describe`` has not said it."""
    return how_wrong(reading, primary.metric) if primary.diff.value is not None else ""


def _caution(reading: Reading, primary: Comparison) -> str:
    unfit = "" if reading.publishable[0] else "The run is not publishable as it stands; the reasons are below."
    return " ".join(filter(None, [how_wrong(reading, primary.metric), unfit]))


def _why_no_primary(reading: Reading) -> str:
    if reading.raw.get("primary"):
        return "No verdict: the primary comparison named before the run was not computed."
    if len(reading.arms) < 2:
        return "No verdict: there is only one arm, and nothing to compare it with."
    return "No verdict: no primary comparison was named before the run."
