"""Which of two places is better, by a rule with adjustable faults: what stands in for a judge where none is asked."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from memassay.core.digest import digest_of

Place = Literal["first", "second", "tie"]


def place(
    first: float, second: float, *, bias: float = 0.0, noise: float = 0.0, band: float = 0.0, draw: Any = None
) -> Place:
    """The place with the greater merit.

    Args:
        first: merit of what stands in the first place.
        second: likewise.
        bias: added to the first; infinity always says ``first``, minus infinity ``second``.
        noise: standard deviation of what is added to each merit.
        band: half-width of a tie.
        draw: names the noise, as a JSON-able value: the same name is the same noise in every process.
    """
    difference = first - second + bias
    if noise and math.isfinite(bias):
        draws = np.random.Generator(np.random.PCG64(int(digest_of(draw)[:15], 16))).normal(0.0, noise, 2)
        difference += float(draws[0] - draws[1])
    if abs(difference) <= band:
        return "tie"
    return "first" if difference > 0 else "second"
