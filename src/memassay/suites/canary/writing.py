"""How the suite writes values in the tables of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memassay.core.report import Column
from memassay.core.types import Estimate

Cell = Estimate | str | int | float | None
BLANK = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"
SHOWN = 12
"""Pairs whose tables are drawn one by one; those with the incumbent come first, and the summary has all."""


def columns(*titles: str, kind: str = "text") -> tuple[Column, ...]:
    """Columns of a kind; the first is text."""
    return tuple(
        Column.model_validate({"title": title, "kind": kind if number else "text"})
        for number, title in enumerate(titles)
    )


def shown(results: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The pairs whose tables are drawn, in order."""
    incumbent = results["choice"]["incumbent"]
    ordered = sorted(results["pairs"], key=lambda pair: pair["b"] != incumbent)
    return ordered[:SHOWN]


def named(pair: Mapping[str, Any]) -> str:
    """A pair as a difference."""
    return f"{pair['a']} {MINUS} {pair['b']}"


def estimate(value: Mapping[str, Any]) -> Estimate:
    """An estimate from its mapping."""
    return Estimate.model_validate(value)


def number(value: float | None, digits: int = 3) -> str:
    """A number with its thousands apart; a dash for what was not measured."""
    return BLANK if value is None else f"{value:,.{digits}f}".replace("-", MINUS)


def points(value: float | None) -> str:
    """A share as points with its sign."""
    return BLANK if value is None else f"{round(100 * value, 1) + 0.0:+.1f}".replace("-", MINUS)


def size(results: Mapping[str, Any]) -> str:
    """How much text memories were compared at."""
    within = f"{results['budget']:,} tokens"
    return f"native sizes within {within}" if results.get("native") else within


def false_alarms(results: Mapping[str, Any], rule: str) -> str:
    """How often a rule speaks of two equal memories, in a sentence; "" where nothing was simulated."""
    if not results["false_alarms"]:
        return ""
    alone, *others = results["false_alarms"]["rules"][rule]
    more = " and ".join(f"{one['share']:.0%} where both invent on {one['rate']:.0%}" for one in others)
    return (
        f"The rule {rule} speaks of two equal memories in {alone['share']:.0%} of simulated runs of these questions"
        f"{f' ({more})' if more else ''}."
    )


def p_value(value: float | None) -> str:
    """A p with two digits."""
    return BLANK if value is None else f"{value:.2g}"
