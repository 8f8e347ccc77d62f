"""Tables between the summary and a page: cells with their kind, drawn once for Markdown and HTML alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from memassay.core.report import Table
from memassay.core.types import Estimate
from memassay.reporting import figures
from memassay.reporting.text import one_line

Cell = Estimate | str | int | float | None
Kind = Literal["text", "arm", "estimate", "difference", "number", "integer", "share"]
Tone = Literal["", "reference", "primary", "bad"]


@dataclass(frozen=True, slots=True)
class Col:
    """A column; ``key`` sets the headline's column apart."""

    title: str
    kind: Kind = "text"
    hint: str = ""
    key: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """Cells under the columns; ``tone`` sets reference lines and failures apart."""

    cells: tuple[Cell, ...]
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table with its title; ``folded`` ones are opened by the reader."""

    title: str
    cols: tuple[Col, ...]
    rows: tuple[Row, ...]
    note: str = ""
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Drawn:
    """A cell as text: the value, its interval (or ""), and the mark of a footnote (or "")."""

    main: str
    detail: str = ""
    mark: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class DrawnRow:
    cells: tuple[Drawn, ...]
    tone: Tone


@dataclass(frozen=True, slots=True)
class DrawnGrid:
    """A grid as text, with the reasons of its nulls as footnotes (mark, reason)."""

    title: str
    cols: tuple[Col, ...]
    rows: tuple[DrawnRow, ...]
    note: str
    folded: bool
    footnotes: tuple[tuple[str, str], ...]


def from_table(table: Table) -> Grid:
    """A suite's own table; rows are cut or filled to the columns."""
    cols = tuple(Col(c.title, c.kind, c.hint) for c in table.columns)
    rows = tuple(Row((*row, *([None] * len(cols)))[: len(cols)]) for row in table.rows)
    return Grid(table.title, cols, rows, table.note)


def draw(grid: Grid) -> DrawnGrid:
    """Every cell as text. Equal reasons share one footnote."""
    marks: dict[str, str] = {}

    def footnote(reason: str | None) -> str:
        if not reason:
            return ""
        line = one_line(reason)
        return marks.setdefault(line, _mark(len(marks)))

    rows = tuple(
        DrawnRow(tuple(_draw(cell, col, footnote) for cell, col in zip(row.cells, grid.cols, strict=False)), row.tone)
        for row in grid.rows
    )
    footnotes = tuple((mark, reason) for reason, mark in marks.items())
    return DrawnGrid(one_line(grid.title), grid.cols, rows, one_line(grid.note), grid.folded, footnotes)


def _draw(cell: Cell, col: Col, footnote: Callable[[str | None], str]) -> Drawn:
    if isinstance(cell, Estimate):
        return _estimate(cell, col.kind == "difference", footnote)
    if cell is None:
        return Drawn(figures.DASH)
    if isinstance(cell, str):
        return Drawn(one_line(cell))
    if col.kind == "integer":
        return Drawn(figures.integer(cell))
    if col.kind in ("share", "estimate", "difference"):
        return Drawn(figures.share(cell, signed=col.kind == "difference"))
    number = figures.finite(cell)
    return Drawn(figures.DASH if number is None else f"{number:g}")


def _estimate(cell: Estimate, signed: bool, footnote: Callable[[str | None], str]) -> Drawn:
    if figures.finite(cell.value) is None:
        return Drawn(figures.DASH, mark=footnote(cell.reason or "not measured"), hint=one_line(cell.reason or ""))
    around = figures.interval(cell.low, cell.high, signed=signed)
    if not around:
        return Drawn(figures.share(cell.value, signed=signed), mark=footnote(cell.reason))
    counted = [f"n = {cell.n:,}" if cell.n else "", f"{cell.clusters} clusters" if cell.clusters else "", cell.method]
    about = [f"{cell.level:.0%} interval {around}", *filter(None, counted)]
    return Drawn(figures.share(cell.value, signed=signed), around, hint=one_line(", ".join(about)))


def _mark(index: int) -> str:
    letters = "abcdefghijklmnopqrstuvwxyz"
    return letters[index] if index < 26 else f"{letters[index // 26 - 1]}{letters[index % 26]}"


def row(cells: Sequence[Cell], tone: Tone = "") -> Row:
    """A row from any sequence."""
    return Row(tuple(cells), tone)
