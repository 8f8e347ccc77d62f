"""How the suite writes numbers and titles in the tables of a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from memassay.core.report import Column
from memassay.core.types import Estimate

Kind = Literal["text", "estimate", "integer", "share"]
Cell = Estimate | str | int | float | None
BLANK = "\N{EN DASH}"

METRICS: Mapping[str, tuple[str, int]] = {
    "score": ("score", 3),
    "score_substring": ("score, as published", 3),
    "recall": ("recall", 3),
    "wrong_extra": ("near-misses named", 2),
    "cost_usd": ("cost, US dollars", 4),
    "total_tokens": ("total tokens", 0),
    "input_tokens": ("input tokens", 0),
    "output_tokens": ("output tokens", 0),
    "cache_read_tokens": ("tokens read from a cache", 0),
    "cache_write_tokens": ("tokens written to a cache", 0),
    "cache_hit_ratio": ("cache hit ratio", 3),
    "tool_calls": ("tool calls", 2),
    "server_calls": ("calls of the memory's server", 2),
    "tool_search_calls": ("searches for tools", 2),
    "turns": ("turns", 2),
    "seconds": ("seconds", 1),
    "adopted": ("cells that called the server", 2),
}
"""A metric's title, and with how many digits it is written."""


def columns(*titles: str, kind: Kind = "text") -> tuple[Column, ...]:
    """Columns of a kind; the first is text."""
    return tuple(Column(title=title, kind=kind if number else "text") for number, title in enumerate(titles))


def written(value: object, digits: int) -> str:
    """A number with its thousands apart; a dash for what was not measured."""
    return f"{value:,.{digits}f}" if isinstance(value, int | float) else BLANK
