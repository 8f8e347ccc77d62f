"""Values of a parsed summary as a report wants them: whatever is missing or malformed becomes "nothing"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memassay.core.types import Estimate
from memassay.reporting import figures
from memassay.reporting.text import one_line


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def sequence(value: object) -> Sequence[Any]:
    """The value if it is a list or tuple, else an empty one."""
    return value if isinstance(value, (list, tuple)) else ()


def words(value: object) -> str:
    """The value as one clean line, "" for None."""
    return "" if value is None else one_line(str(value))


def estimate(value: object) -> Estimate:
    """An Estimate from its JSON form, from a bare number, or from nothing; never NaN, never an unexplained null."""
    if isinstance(value, Estimate):
        value = value.model_dump()
    if not isinstance(value, Mapping):
        number = figures.finite(value)
        return Estimate(value=number, reason=None if number is not None else "not measured")
    number = figures.finite(value.get("value"))
    low, high = figures.finite(value.get("low")), figures.finite(value.get("high"))
    if number is None or low is None or high is None:
        low = high = None
    reason = words(value.get("reason")) or None
    return Estimate(
        value=number,
        low=low,
        high=high,
        level=figures.finite(value.get("level")) or 0.95,
        n=int(figures.finite(value.get("n")) or 0),
        clusters=int(figures.finite(value.get("clusters")) or 0),
        method=words(value.get("method")),
        reason=reason or ("not measured" if number is None else None),
    )
