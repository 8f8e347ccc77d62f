"""The pieces a report is made of. A suite hands some over; reporting draws them in Markdown and HTML."""

from __future__ import annotations

from typing import Literal

from memassay.core.types import Estimate, Frozen


class Column(Frozen):
    """A column of a table; ``kind`` decides how a value is written."""

    title: str
    kind: Literal["text", "estimate", "integer", "share"] = "text"
    hint: str = ""


class Table(Frozen):
    """Rows under columns; ``note`` stands below."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Estimate | str | int | float | None, ...], ...]
    note: str = ""


class Curve(Frozen):
    """One line of a chart: points (x, estimate)."""

    name: str
    points: tuple[tuple[float, Estimate], ...]
    role: Literal["arm", "reference"] = "arm"


class Chart(Frozen):
    """Estimates against a number (recall against context tokens)."""

    title: str
    x_title: str
    y_title: str
    curves: tuple[Curve, ...]
    note: str = ""


class Section(Frozen):
    """A heading, a few sentences (plain text, escaped when drawn) and what follows."""

    title: str
    text: str = ""
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
