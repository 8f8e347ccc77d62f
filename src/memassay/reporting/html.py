"""The summary as one page that needs nothing else: no script, no request, charts drawn into it.

Every string that reaches the page is cleaned (``text.clean``) and escaped by Jinja; a policy in the head forbids
scripts and requests even to a string that got through.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from memassay.core.report import Chart, Section
from memassay.reporting import curves, dots, forest, svg
from memassay.reporting.finding import finding, title
from memassay.reporting.grid import DrawnGrid, draw
from memassay.reporting.guide import guide
from memassay.reporting.part import Part
from memassay.reporting.parts import parts
from memassay.reporting.reading import Reading
from memassay.reporting.spending import spending
from memassay.reporting.text import clean, one_line


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart drawn for both widths, with its sentence."""

    drawings: tuple[Markup, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """A part as the template wants it: tables as text, charts drawn."""

    key: str
    title: str
    text: tuple[str, ...]
    listed: tuple[str, ...]
    figures: tuple[Figure, ...]
    grids: tuple[DrawnGrid, ...]


def render(summary: Mapping[str, Any], sections: Sequence[Section] = ()) -> str:
    """The whole ``report.html``."""
    reading = Reading(summary)
    styles = {arm.name: arm.index for arm in reading.arms}
    value, reasons = reading.publishable
    page = _environment().get_template("report.html.j2")
    return page.render(
        reading=reading,
        title=title(reading),
        headline_words=reading.headline.what,
        finding=finding(reading),
        publishable=value,
        reasons=reasons,
        facts=list(_facts(reading)),
        main=None if reading.of_answers else _main_figure(reading, styles),
        views=[_view(part, reading, styles) for part in parts(reading, sections)],
        guide=guide(reading),
        swatches={one_line(name): swatch(index) for name, index in styles.items()},
    )


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("memassay.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )


def _finalize(value: object) -> object:
    """What every expression of the template goes through: our own markup as it is, everything else cleaned."""
    return value if isinstance(value, Markup) else clean(str(value))


def _facts(reading: Reading) -> Iterator[tuple[str, str]]:
    """The few values that a reader needs before any number."""
    n, clusters = reading.counts
    tasks, groups = reading.units
    if n:
        yield tasks, f"{n:,}"
    if clusters:
        yield groups, f"{clusters:,}"
    yield from reading.corpus
    if reading.agent:
        yield "agent", reading.agent
    for key, label in (("tokens", "tokenizer"), ("data", "data"), ("model", "model"), ("stage", "stage")):
        if reading.text(key):
            yield label, reading.text(key)
    spent = spending(reading)
    if spent:
        yield "cost", spent


def _main_figure(reading: Reading, styles: Mapping[str, int]) -> Figure | None:
    chart = curves.main_chart(reading)
    if chart is None:
        return None
    at = reading.headline.at
    missing = [f"{arm.name} is not drawn: {arm.reason}." for arm in reading.arms if arm.reason]
    return _figure(chart, styles, None if at is None else float(at), " ".join([chart.note, *missing]))


def _figure(chart: Chart, styles: Mapping[str, int], headline: float | None = None, note: str | None = None) -> Figure:
    drawings = tuple(curves.draw(chart, frame, styles, headline) for frame in svg.FRAMES)
    return Figure(drawings, chart.note if note is None else note)


def _view(part: Part, reading: Reading, styles: Mapping[str, int]) -> View:
    figures: list[Figure] = []
    if part.key == "arms" and reading.of_answers and (found := _main_figure(reading, styles)):
        figures.append(found)
    if part.key == "comparisons":
        figures.append(Figure(tuple(forest.draw(reading, frame) for frame in svg.FRAMES)))
    if part.key == "categories":
        figures.append(Figure(tuple(dots.draw(reading, frame) for frame in svg.FRAMES)))
    figures += [_figure(chart, styles) for chart in part.charts]
    drawn = tuple(figure for figure in figures if any(figure.drawings))
    return View(part.key, part.title, part.text, part.listed, drawn, tuple(map(draw, part.grids)))


def swatch(index: int) -> Markup:
    """An arm's mark beside its name in a table."""
    return svg.element(
        "svg",
        svg.mark(7.0, 7.0, index, 4),
        class_="swatch",
        viewBox="0 0 14 14",
        width=14,
        height=14,
        aria_hidden="true",
    )
