"""The stand-in for a judge: merits, bias, band and noise."""

from __future__ import annotations

import math

import pytest

from memassay.stats.places import place


@pytest.mark.parametrize(
    ("first", "second", "faults", "expected"),
    [
        (1.0, 0.0, {}, "first"),
        (0.0, 1.0, {}, "second"),
        (0.5, 0.5, {}, "tie"),
        (0.5, 0.25, {"band": 0.25}, "tie"),
        (0.5, 0.25, {"band": 0.2}, "first"),
        (0.0, 0.5, {"bias": 1.0}, "first"),
        (0.0, 0.5, {"bias": math.inf}, "first"),
        (9.0, 0.5, {"bias": -math.inf, "noise": 1.0}, "second"),
    ],
)
def test_the_greater_merit_wins_but_for_faults(
    first: float, second: float, faults: dict[str, float], expected: str
) -> None:
    assert place(first, second, **faults) == expected


def test_noise_has_the_spread_that_is_asked_for_and_is_named() -> None:
    said = [place(0.5, 0.0, noise=0.5, draw=["judge", number]) for number in range(2000)]
    # The difference has a standard deviation of .5 * sqrt(2): it falls below 0 with probability .24.
    assert said.count("second") / 2000 == pytest.approx(0.24, abs=0.03)
    assert said == [place(0.5, 0.0, noise=0.5, draw=["judge", number]) for number in range(2000)]
    assert said != [place(0.5, 0.0, noise=0.5, draw=["other", number]) for number in range(2000)]
