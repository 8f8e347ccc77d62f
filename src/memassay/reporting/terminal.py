"""The table that a command prints: as much as the terminal is wide, plain where it is no terminal."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from memassay.core.types import Estimate
from memassay.reporting import figures
from memassay.reporting.finding import Finding, finding, how_wrong
from memassay.reporting.metric import Metric
from memassay.reporting.reading import ArmReading, Reading, listed
from memassay.reporting.spending import cost_line
from memassay.reporting.text import middle, one_line
from memassay.reporting.values import mapping, sequence, words

_BREAK = re.compile(r"[-_/+.:@ ]")
NAME_LEAST, NAME_MOST = 10, 32


@dataclass(frozen=True, slots=True)
class Layout:
    """One way to lay the table out: which metrics, how an interval is written, and whether n has a column."""

    metrics: tuple[Metric, ...]
    interval: str  # "beside", "below" or "none"
    digits: int
    counts: bool

    def cell(self, reading: Reading, metric: Metric) -> int:
        """Width of a metric's column: the widest value that stands in it."""
        lines = [line for arm in reading.arms for line in self.value(arm.estimate(metric.name)).split("\n")]
        return max(map(cell_len, [*lines, metric.short, "." + "0" * self.digits, f"{1:.{self.digits}f}"]))

    def value(self, found: Estimate) -> str:
        """A value as it stands in a cell, in one line or two."""
        value = figures.share(found.value, self.digits)
        if self.interval == "none" or found.low is None:
            return value
        if self.interval == "beside":
            return f"{value} {figures.interval(found.low, found.high, self.digits)}"
        return f"{value}\n{figures.span(found.low, found.high, self.digits)}"

    def beside_names(self, reading: Reading) -> int:
        """Width of everything but the names, two blanks before each column."""
        return sum(self.cell(reading, m) + 2 for m in self.metrics) + (9 if self.counts else 0)


def arm_table(summary: Mapping[str, Any], width: int = 80, *, color: bool = False) -> str:
    """Arms x budgets with intervals, then the finding and what stands in the way of publishing.

    Args:
        summary: the parsed ``summary.json``.
        width: columns of the terminal; no line is longer (from 24 up).
        color: escape sequences for a terminal; without them the text is plain.
    """
    reading = Reading(summary)
    return render(Group(*_blocks(reading, max(width, 24))), max(width, 24), color)


def render(what: RenderableType, width: int, color: bool) -> str:
    """A renderable as text of a width, the same wherever it runs."""
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=color,
        no_color=not color,
        color_system="standard" if color else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    with console.capture() as capture:
        console.print(what, soft_wrap=False)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def _blocks(reading: Reading, width: int) -> list[RenderableType]:
    n, clusters = reading.counts
    tasks, groups = reading.units
    counted = [f"{n:,} {tasks}" if n else "", f"{clusters} {groups}" if clusters else ""]
    head = Text(f"{reading.subject}: {_shown(reading)}", "bold")
    if reading.sample:
        head.append("  sample", "bold magenta")
    about = ", ".join(filter(None, [*counted, f"tokens {reading.text('tokens')}" if reading.text("tokens") else ""]))
    blocks: list[RenderableType] = [Text(reading.stopped, "bold yellow")] if reading.stopped else []
    blocks += [head, Text(about, "dim"), Text("")]
    found = finding(reading)
    if reading.arms:
        layout, name = choose(reading, width)
        blocks.append(_table(reading, layout, name))
        left_out = len(reading.main) - len(layout.metrics)
        if left_out:
            what = "metrics" if reading.headline in reading.of_answers else "budgets"
            blocks.append(Text(f"{left_out} more {what} do not fit; they are in report.html.", "dim"))
        blocks += _about_answers(reading, layout, found)
    for arm in reading.arms:
        if arm.reason:
            blocks.append(Text(f"{figures.DASH} {one_line(arm.name)}: {arm.reason}", "dim"))
    blocks += [Text(""), Text(found.sentence, "bold")]
    if found.tone == "verdict" and found.more:
        blocks.append(Text(found.more))
    if found.sentence != reading.concluded:
        said = sequence(mapping(reading.raw.get("conclusion")).get("said"))
        blocks += [Text(one_line(words(one))) for one in said]
    spent = cost_line(reading)
    blocks += [Text(spent)] if spent else []
    value, reasons = reading.publishable
    blocks.append(Text("Publishable: yes" if value else "Publishable: no", "green" if value else "yellow"))
    blocks += [Text(f"  - {reason}") for reason in reasons]
    return blocks


def _about_answers(reading: Reading, layout: Layout, found: Finding) -> list[RenderableType]:
    """What a judge is worth, under its scores, and what stands in no table with these."""
    said = [sentence for m in layout.metrics if (sentence := how_wrong(reading, m))]
    # Below a verdict the judge of the primary has its sentence already.
    said = [sentence for sentence in said if found.tone != "verdict" or sentence not in found.more]
    elsewhere = [m.name for m in reading.of_answers if m not in reading.main]
    if elsewhere and reading.headline in reading.of_answers:
        said.append(f"{listed(elsewhere)}: in report.html; scripts and models share no table.")
    return [*(Text(line, "dim") for line in said), *(Text(line, "bold magenta") for line in reading.stand_ins)]


def _shown(reading: Reading) -> str:
    """What the table is about: the family of its metrics and its cut-off, or who gave the answers."""
    if reading.agent and reading.headline.at is None:
        return f"answers by {reading.agent}"
    cut = "" if reading.headline.at is None else "@k" if reading.headline.passages else "@B"
    return f"{reading.headline.family}{cut}"


def choose(reading: Reading, width: int) -> tuple[Layout, int]:
    """The fullest layout that fits, and the width of the names' column."""
    metrics = reading.main
    names = [cell_len(one_line(arm.name)) for arm in reading.arms] + [len("ceiling")]
    wanted = min(NAME_MOST, max(names))
    layouts = [
        Layout(metrics, "beside", 3, True),
        Layout(metrics, "beside", 3, False),
        Layout(metrics, "below", 3, True),
        Layout(metrics, "below", 3, False),
        Layout(metrics, "below", 2, False),
    ]
    layouts += [Layout(kept, "below", 2, False) for kept in _fewer(metrics, reading.headline)]
    layouts.append(Layout(_fewer(metrics, reading.headline)[-1], "none", 3, False))
    for layout in layouts:
        name = min(wanted, width - layout.beside_names(reading))
        # Names may wrap into two lines before a better layout is given up.
        if name >= min(wanted, max(NAME_LEAST, (wanted + 1) // 2)):
            return layout, name
    return layouts[-1], max(4, min(wanted, width - layouts[-1].beside_names(reading)))


def _fewer(metrics: Sequence[Metric], headline: Metric) -> list[tuple[Metric, ...]]:
    """Ever fewer metrics; the headline stays to the end."""
    kept = list(metrics)
    made = []
    while len(kept) > 1:
        kept.remove(next(m for m in (kept if kept[0] != headline else kept[::-1]) if m != headline))
        made.append(tuple(kept))
    return made or [tuple(metrics)]


def _table(reading: Reading, layout: Layout, name: int) -> Table:
    # Headings are plain, so that the bold column is the headline's and nothing else.
    table = Table(box=None, padding=(0, 0, 0, 2), show_edge=False, pad_edge=False, header_style="not bold")
    table.add_column(Text("arm"), width=name, overflow="fold")
    for metric in layout.metrics:
        style = "bold" if metric == reading.headline else ""
        table.add_column(Text(metric.short), justify="right", no_wrap=True, style=style, header_style=style)
    if layout.counts:
        table.add_column(Text("n"), justify="right", no_wrap=True)
    for arm in reading.arms:
        table.add_row(*_arm_row(arm, layout, name))
    for key in ("ceiling", "chance"):
        found = [reading.reference(key, m.name) for m in layout.metrics]
        if any(found):
            cells = [Text(figures.share(e.value, layout.digits) if e else "", "dim") for e in found]
            table.add_row(Text(key, "dim"), *cells, *([Text("")] if layout.counts else []))
    return table


def _arm_row(arm: ArmReading, layout: Layout, name: int) -> list[Text]:
    cells = [Text("\n".join(wrapped(arm.name, name)))]
    cells += [Text(layout.value(arm.estimate(m.name))) for m in layout.metrics]
    if layout.counts:
        cells.append(Text(figures.integer(arm.n), "dim"))
    return cells


def wrapped(name: str, width: int) -> list[str]:
    """A name in one line or two, broken after a mark between words if there is one; longer ones lose their middle."""
    line = one_line(name)
    if cell_len(line) <= width:
        return [line]
    for at in reversed([m.end() for m in _BREAK.finditer(line)]):
        if cell_len(line[:at].rstrip()) <= width:
            return [line[:at].rstrip(), middle(line[at:], width)]
    first = ""
    for character in line:
        if cell_len(first + character) > width:
            break
        first += character
    return [first, middle(line[len(first) :], width)]
