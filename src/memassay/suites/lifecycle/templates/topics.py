"""What is asked that no warehouse of ours can answer, and what is asked in the same form that it can."""

from __future__ import annotations

import re
from collections.abc import Collection

UNANSWERABLE = (
    "towing distance in kilometres", "noise level in decibels", "carbon footprint in kilograms",
    "satisfaction score in stars", "battery capacity in watt hours", "fuel use in litres", "blade width in millimetres",
    "vibration in metres per second", "humidity in percent", "insurance excess in pounds", "queue position",
    "engine power in watts", "operator height in centimetres", "outdoor temperature in degrees",
    "tyre pressure in bars", "repair effort in man hours",
)  # fmt: skip
"""Subjects that no column, value or derived metric knows; ``answerable`` is asked before each is used."""

ANSWERABLE = (
    ("deposit in cents", "deposit_cents"),
    ("fee in cents", "fee_cents"),
    ("rebate in cents", "rebate_cents"),
    ("length in days", "days"),
)
"""Subjects with the column that answers them."""

# What a subject is measured in says nothing of whether it is known.
_UNITS = frozenset((
    "in", "per", "of", "and", "a", "kilometres", "decibels", "kilograms", "stars", "watt", "hours", "litres",
    "millimetres", "metres", "second", "percent", "pounds", "watts", "centimetres", "degrees", "bars", "man",
))  # fmt: skip


def answerable(subject: str, vocabulary: Collection[str]) -> frozenset[str]:
    """The words of a subject by which a warehouse knows it; none for a subject that it has no answer to.

    Args:
        subject: such as ``deposit in cents``.
        vocabulary: every word of its columns, values and derived metrics (``Warehouse.vocabulary``), in lower case.
    """
    known = set(vocabulary) - _UNITS
    words = set(re.findall("[a-z]+", subject.lower())) - _UNITS
    return frozenset(word for word in words if word in known or word.removesuffix("s") in known or f"{word}s" in known)
