"""How a number is written, everywhere in the same way. What is not a finite number is written as a dash."""

from __future__ import annotations

import math

from memassay.core.types import Estimate

DASH = "–"
MINUS = "−"


def finite(value: object) -> float | None:
    """The value as a float, or None where it is no finite number (NaN, infinities, booleans, strings)."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def share(value: object, digits: int = 3, signed: bool = False) -> str:
    """A number near [0, 1] as papers print it: ``.785``, ``1.000``, ``−.034``; with a sign for differences."""
    number = finite(value)
    if number is None:
        return DASH
    text = f"{abs(number):.{digits}f}"
    nothing = float(text) == 0
    text = text.removeprefix("0") if text.startswith("0.") else text
    if nothing:
        return text
    return (MINUS if number < 0 else "+" if signed else "") + text


def interval(low: object, high: object, digits: int = 3, signed: bool = False) -> str:
    """``[.751, .816]``, or "" where an end is missing."""
    if finite(low) is None or finite(high) is None:
        return ""
    return f"[{share(low, digits, signed)}, {share(high, digits, signed)}]"


def span(low: object, high: object, digits: int = 3) -> str:
    """``.751–.816``, the short form for narrow columns."""
    if finite(low) is None or finite(high) is None:
        return ""
    return f"{share(low, digits)}–{share(high, digits)}"


def estimate(value: Estimate, signed: bool = False) -> str:
    """Value and interval in one line."""
    around = interval(value.low, value.high, signed=signed)
    return share(value.value, signed=signed) + (f" {around}" if around else "")


def p_value(value: object) -> str:
    """``.008``, ``< .001``; sign-flip tests at 8 clusters cannot go below .0078, which keeps its fourth digit."""
    number = finite(value)
    if number is None:
        return DASH
    if number < 0.001:
        return "< .001"
    return share(number, 4 if number < 0.01 else 3)


def p_phrase(value: object) -> str:
    """``p = .0078``, ``p < .001``."""
    text = p_value(value)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def integer(value: object) -> str:
    """``1,536``."""
    number = finite(value)
    return DASH if number is None else f"{number:,.0f}"


def short_integer(value: float) -> str:
    """``1k``, ``1.5k``, ``12k``, ``512``."""
    if value >= 1000 and value % 100 == 0:
        return f"{value / 1000:g}k"
    return f"{value:g}"


def seconds(value: object) -> str:
    """A duration: ``40 ms``, ``1.2 s``, ``3 min 5 s``, ``2 h 10 min``."""
    number = finite(value)
    if number is None:
        return DASH
    if number < 1:
        ms = number * 1000
        return f"{ms:.0f} ms" if ms >= 10 or ms == 0 else f"{ms:.1f} ms"
    if number < 60:
        return f"{number:.1f} s"
    whole = round(number)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60} min"


def size(value: object) -> str:
    """Bytes in decimal units: ``812 B``, ``4.2 MB``."""
    number = finite(value)
    if number is None:
        return DASH
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"


def money(value: object, *, signed: bool = False) -> str:
    """US dollars to the cent, below ten cents to two digits (``$0.075``, ``$0.0028``); with a sign for differences.

    Records hold millionths of a dollar; what is less than one is nothing.
    """
    number = finite(value)
    if number is None:
        return DASH
    amount = round(abs(number), 6)
    digits = 2 if amount == 0 or amount >= 0.1 else min(6, 1 - math.floor(math.log10(amount)))
    sign = "" if amount == 0 else MINUS if number < 0 else "+" if signed else ""
    return f"{sign}${amount:,.{digits}f}"
