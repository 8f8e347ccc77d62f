"""What the published result leaves open: the same for every run, so it is computed once and printed anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from memassay.core.report import Section
from memassay.suites.canary.families import FAMILIES
from memassay.suites.canary.replay import (
    COUNTINGS,
    PAIRS,
    PER_FAMILY,
    Counting,
    Reading,
    Records,
    anchors,
    fabrication_count,
    replay,
    table_of,
    universal,
)
from memassay.suites.canary.scoring import CONVENTIONS
from memassay.suites.canary.writing import points

COMMAND = "memassay canary replay"
QUESTIONS = PER_FAMILY * len(FAMILIES)


class Open(NamedTuple):
    """Smallest and largest of each number over all records that fit, whatever counts as a tie or a fabrication."""

    gap: tuple[float, float]
    tied: tuple[int, int]
    fabricated: tuple[int, int]


LEFT_OPEN = Open(gap=(0.0825, 0.43), tied=(0, 51), fabricated=(1, 4))
"""What :func:`left_open` finds; written down (and tested) so that no report has to play the records back."""


def left_open(readings: Sequence[Reading]) -> Open:
    """How far the gap, the ties and the fabricated questions can differ over all readings."""
    gaps = [end for one in readings for end in one.gap]
    tied = [end for one in readings for end in one.tied]
    fabricated = [end for one in readings for end in one.fabricated]
    return Open((round(min(gaps), 6), round(max(gaps), 6)), (min(tied), max(tied)), (min(fabricated), max(fabricated)))


def section() -> Section:
    """The section of a report, from ``LEFT_OPEN`` alone."""
    return Section(
        title="What the published result leaves open",
        text="68 % against 32 % and four fabrications of 128 were published without their records, and without what a "
        "tie and a fabrication count as. Records that fit every published number have "
        f"{_in_words(LEFT_OPEN)}. They are made up, and say nothing about those memories. This report prints its ties "
        f"under each convention, and counts distinct questions. The records: {COMMAND}.",
    )


def played_back() -> dict[str, Any]:
    """Every reading with the sets of records that stand for it, and those that fit under all readings, as JSON values.

    A ``table`` holds wins, losses and ties of the first pair by family, ``fabricated`` each way of counting.
    """
    readings = replay()
    return {
        "pair": list(PAIRS[0]),
        "questions": QUESTIONS,
        "left_open": left_open(readings)._asdict(),
        "readings": [
            {
                "ties": one.ties,
                "counting": one.counting,
                "found": one.found,
                "interval_above_0": one.clear,
                "gap": one.gap,
                "tied": one.tied,
                "fabricated": one.fabricated,
                "sets": [_set(records, one.ties, one.counting) for records in one.examples],
            }
            for one in readings
        ],
        "fit_under_every_reading": [
            {
                **_set(records, CONVENTIONS[0], COUNTINGS[0]),
                "fits": all(
                    anchor.fits
                    for ties in CONVENTIONS
                    for counting in COUNTINGS
                    for anchor in anchors(records, ties, counting)
                ),
            }
            for records in universal()
        ],
    }


def _set(records: Records, ties: str, counting: Counting) -> dict[str, Any]:
    table = table_of(records.votes[PAIRS[0]])
    return {
        "table": dict(zip(FAMILIES, table.tolist(), strict=True)),
        "tied": int(table[:, 2].sum()),
        "fabricated": {name: fabrication_count(records, name) for name in COUNTINGS},
        "anchors": [
            {"anchor": one.anchor, "fits": one.fits, "says": one.says} for one in anchors(records, ties, counting)
        ],
    }


def lines(found: Mapping[str, Any]) -> Iterator[str]:
    """What :func:`played_back` gave, for the terminal."""
    yield f"{' against '.join(found['pair'])}: records of {found['questions']} questions that fit A1 to A5"
    row = "{:<12} {:<12} {:>6} {:>16} {:>9} {:>10} {:>5}".format
    yield row("ties", "fabrications", "tables", "gap, points", "tied", "fabricated", "sets")
    for one in found["readings"]:
        gap = " to ".join(points(end) for end in one["gap"])
        tied, made = (" to ".join(map(str, one[key])) for key in ("tied", "fabricated"))
        fits = sum(all(anchor["fits"] for anchor in each["anchors"]) for each in one["sets"])
        yield row(one["ties"], one["counting"], one["found"], gap, tied, made, fits)
    same = sum(one["fits"] for one in found["fit_under_every_reading"])
    yield f"{same} sets fit under every reading at once: nothing is tied, and each fabrication was seen once."
    yield f"So what was published leaves {_in_words(Open(**found['left_open']))}. All sets: --json."


def _in_words(found: Open) -> str:
    gap, tied, fabricated = (
        " to ".join(ends)
        for ends in ([f"{100 * end:.0f}" for end in found.gap], map(str, found.tied), map(str, found.fabricated))
    )
    return (
        f"a weighted gap of {gap} points (ties in the denominator), {tied} ties of {QUESTIONS} questions, and "
        f"fabrications on {fabricated} of them"
    )
