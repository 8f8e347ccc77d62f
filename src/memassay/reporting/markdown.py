"""The summary as Markdown: the same parts as the page, every string of a stranger escaped."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from memassay.core.report import Chart, Section
from memassay.reporting import figures
from memassay.reporting.finding import finding, title
from memassay.reporting.grid import Drawn, DrawnGrid, Grid, draw
from memassay.reporting.guide import guide
from memassay.reporting.part import Part
from memassay.reporting.parts import parts
from memassay.reporting.reading import Reading
from memassay.reporting.spending import cost_line
from memassay.reporting.text import one_line
from memassay.reporting.values import estimate

_SPECIAL = re.compile(r"([\\`*\[\]|~#!$])|(?<![^\W_])_|_(?![^\W_])")
_LINE_START = re.compile(r"^(\d+)([.)])(?=\s)|^([-+=>])")
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_AUTOLINK = re.compile(r"(?i)(https?|ftp):(?=//)|\bwww\.(?=\w)")


def escape(text: str) -> str:
    """One line that Markdown shows as it is: no markup, no HTML, no table cell ended early, no link made."""
    line = _SPECIAL.sub(lambda m: "\\" + m.group(0), one_line(text)).translate(_HTML)
    line = _AUTOLINK.sub(lambda m: f"{m.group(1)}&#58;" if m.group(1) else "www&#46;", line)
    return _LINE_START.sub(lambda m: f"{m[1]}\\{m[2]}" if m[1] else f"\\{m[3]}", line)


def render(summary: Mapping[str, Any], sections: Sequence[Section] = ()) -> str:
    """The whole ``summary.md``."""
    reading = Reading(summary)
    found = finding(reading)
    blocks = [f"# {escape(title(reading))}"]
    blocks += [f"> **{escape(reading.stopped)}**"] if reading.stopped else []
    blocks += [f"**{escape(found.sentence)}**", escape(found.more), _facts(reading), escape(cost_line(reading))]
    blocks.append(_publishable(reading))
    if reading.sample:
        blocks.append(
            "> **sample**: the data are generated. These numbers show how a report looks; they carry no verdict."
        )
    blocks += [f"> **scripted stand-in**: {escape(sentence)}" for sentence in reading.stand_ins]
    for part in parts(reading, sections):
        blocks += _part(part)
    blocks.append("## How to read this")
    blocks.append("\n".join(f"- **{escape(word)}**: {escape(meaning)}" for word, meaning in guide(reading)))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _facts(reading: Reading) -> str:
    n, clusters = reading.counts
    tasks, groups = reading.units
    counted = [f"{n:,} {tasks}" if n else "", f"{clusters} {groups}" if clusters else ""]
    corpus = [f"{label} {value}" for label, value in reading.corpus]
    named = [f"agent {reading.agent}"] if reading.agent else []
    named += [f"{label} {reading.text(key)}" for label, key in _FACTS if reading.text(key)]
    return escape(" · ".join(filter(None, [f"run {reading.text('run', 'unnamed')}", *counted, *corpus, *named])))


_FACTS = (("tokens", "tokens"), ("data", "data"), ("model", "model"), ("stage", "stage"))


def _publishable(reading: Reading) -> str:
    value, reasons = reading.publishable
    head = "Publishable: **yes**" if value else "Publishable: **no**"
    return "\n".join([head + (", because:\n" if reasons else "."), *(f"- {escape(r)}" for r in reasons)])


def _part(part: Part) -> list[str]:
    blocks = [f"## {escape(part.title)}", *map(escape, part.text)]
    if part.listed:
        blocks.append("\n".join(f"- {escape(item)}" for item in part.listed))
    for grid in part.grids:
        blocks += _grid(grid, heading=len(part.grids) > 1)
    for chart in part.charts:
        blocks += _chart(chart)
    return blocks


def _grid(grid: Grid, heading: bool) -> list[str]:
    drawn = draw(grid)
    blocks = [f"### {escape(drawn.title)}"] if heading and drawn.title else []
    blocks.append(table(drawn))
    if drawn.footnotes:
        blocks.append("\n".join(f"- {mark}: {escape(reason)}" for mark, reason in drawn.footnotes))
    if drawn.note:
        blocks.append(escape(drawn.note))
    return blocks


def table(drawn: DrawnGrid) -> str:
    """A pipe table; numbers stand right."""
    heads = [escape(c.title) or " " for c in drawn.cols]
    rules = ["---" if c.kind in ("text", "arm") else "---:" for c in drawn.cols]
    rows = [[_cell(cell) for cell in row.cells] for row in drawn.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in [heads, rules, *rows])


def _cell(cell: Drawn) -> str:
    text = escape(" ".join(filter(None, (cell.main, cell.detail)))) or " "
    return f"{text} ({cell.mark})" if cell.mark else text


def _chart(chart: Chart) -> list[str]:
    """A suite's chart as a table: x down, curves across."""
    xs = sorted({x for curve in chart.curves for x, _ in curve.points if figures.finite(x) is not None})
    lines = [["", *(escape(c.name) for c in chart.curves)], ["---:"] * (len(chart.curves) + 1)]
    for x in xs:
        at = [dict(c.points).get(x) for c in chart.curves]
        lines.append([f"{x:,g}", *(figures.DASH if e is None else escape(figures.estimate(estimate(e))) for e in at)])
    body = "\n".join(f"| {' | '.join(cell or ' ' for cell in line)} |" for line in lines)
    return [f"### {escape(chart.title)}", body, *([escape(chart.note)] if chart.note else [])]
