"""The piece a report is made of, and what its tables share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memassay.core.report import Chart
from memassay.reporting.grid import Col, Grid
from memassay.reporting.metric import Metric
from memassay.reporting.reading import Reading

UNEQUAL = "unequal budgets"
"""What a comparison is called whose arms did not read the same amount of context; the guide explains it."""


@dataclass(frozen=True, slots=True)
class Part:
    """A heading with its sentences, tables and charts. ``key`` is its anchor."""

    key: str
    title: str
    text: tuple[str, ...] = ()
    grids: tuple[Grid, ...] = ()
    charts: tuple[Chart, ...] = ()
    listed: tuple[str, ...] = ()


def columns(metrics: Iterable[Metric], headline: Metric) -> tuple[Col, ...]:
    """One estimate column per metric; the headline's is set apart."""
    return tuple(Col(m.short, "estimate", f"{m.name}: {m.phrase}", m.name == headline.name) for m in metrics)


def level(reading: Reading, metrics: Iterable[Metric]) -> str:
    """What the brackets are."""
    levels = {e.level for arm in reading.arms for m in metrics if (e := arm.estimate(m.name)).low is not None}
    share = f"{next(iter(levels)):.0%}" if len(levels) == 1 else "95%"
    return f"Brackets are {share.replace('%', ' %')} intervals over {reading.units[1]}."


def family_title(metrics: Sequence[Metric]) -> str:
    """``all@B: every gold item in the dossier``."""
    first = metrics[0] if metrics else Metric("all", "all")
    if first.at is None:
        return first.name
    if first.what == first.family:
        return first.family
    return f"{first.family}@{'k' if first.passages else 'B'}: {first.what}"
