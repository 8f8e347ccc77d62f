"""Checks for the settings of a memory: a wrong one is one sentence that names it and what would work."""

from __future__ import annotations

from collections.abc import Sequence

from memassay.core.errors import UsageError, suggestion


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Refuse a value that is not one of ``choices``."""
    if value not in choices:
        hint = suggestion(value, choices) if isinstance(value, str) else f" Known: {', '.join(choices)}."
        raise UsageError(f"Setting {name} cannot be {value!r}.{hint}")


def check_flag(name: str, value: object) -> None:
    """Refuse anything but true or false."""
    if not isinstance(value, bool):
        raise UsageError(f"Setting {name} must be true or false, not {value!r}.")


def check_whole(name: str, value: object, low: int) -> None:
    """Refuse anything but a whole number of at least ``low``."""
    if not isinstance(value, int) or isinstance(value, bool) or value < low:
        raise UsageError(f"Setting {name} must be a whole number of at least {low}, not {value!r}.")


def check_number(name: str, value: object, low: float, high: float) -> None:
    """Refuse anything but a number from ``low`` to ``high``."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
        raise UsageError(f"Setting {name} must be a number from {low:g} to {high:g}, not {value!r}.")
