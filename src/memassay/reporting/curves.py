"""Recall against budget: a line with interval bars for every arm, chance and ceiling as reference lines."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from memassay.core.report import Chart, Curve
from memassay.core.types import Estimate
from memassay.reporting import figures, svg
from memassay.reporting.reading import Reading
from memassay.reporting.svg import Frame
from memassay.reporting.text import middle, one_line
from memassay.reporting.values import estimate

Point = tuple[float, Estimate]


def main_chart(reading: Reading) -> Chart | None:
    """Recall against its budgets, or None where nothing was measured at a budget."""
    metrics = [m for m in reading.recall if m.at is not None]
    curves = [
        Curve(name=arm.name, points=tuple((float(m.at or 0), arm.estimate(m.name)) for m in metrics))
        for arm in reading.arms
    ]
    if not any(e.value is not None for curve in curves for _, e in curve.points):
        return None
    for key, name in (("ceiling", "ceiling"), ("chance", "chance")):
        found = [(float(m.at or 0), reading.reference(key, m.name)) for m in metrics]
        points = tuple((x, e) for x, e in found if e is not None)
        if points:
            curves.append(Curve(name=name, points=points, role="reference"))
    what = reading.found_headline or reading.headline
    x_title = what.unit if what.passages else f"context tokens ({reading.text('tokens', 'tokenizer not named')})"
    shaded = f"Shaded: {what.label}, the headline. " if what == reading.headline else ""
    return Chart(
        title=f"{what.family}@{'k' if what.passages else 'B'} against {what.unit if what.passages else 'budget'}",
        x_title=x_title,
        y_title=f"{what.family}@{'k' if what.passages else 'B'}",
        curves=tuple(curves),
        note=f"{shaded}Bars are 95 % intervals over {reading.units[1]}, each arm's own; a difference between arms has "
        "its own interval, under paired comparisons.",
    )


def draw(chart: Chart, frame: Frame, styles: Mapping[str, int], headline: float | None = None) -> Markup:
    """The chart at one size; ``styles`` maps an arm's name to its index, ``headline`` marks one x."""
    curves = [c.model_copy(update={"points": _finite(c.points)}) for c in chart.curves]
    arms = [c for c in curves if c.role == "arm" and _measured(c)]
    references = [c for c in curves if c.role == "reference" and _measured(c)]
    if not arms and not references:
        return Markup("")
    return _Plot(chart, frame, arms, references, styles, headline).svg()


class _Plot:
    def __init__(
        self,
        chart: Chart,
        frame: Frame,
        arms: Sequence[Curve],
        references: Sequence[Curve],
        styles: Mapping[str, int],
        headline: float | None,
    ) -> None:
        self.chart, self.frame, self.arms, self.references, self.headline = chart, frame, arms, references, headline
        self.index = {c.name: styles.get(c.name, i) for i, c in enumerate(arms)}
        self.xs = sorted({x for c in (*arms, *references) for x, _ in c.points})
        values = [
            v for c in (*arms, *references) for _, e in c.points for v in (e.value, e.low, e.high) if v is not None
        ]
        self.y_ticks = svg.ticks(min(0.0, *values), max(1.0, *values)) if values else [0.0, 1.0]
        self.font = frame.font
        names = [one_line(c.name) for c in (*arms, *references)]
        longest = max((svg.text_width(f"{n} .000", self.font) for n in names), default=0.0)
        self.direct = not frame.narrow
        self.left, self.top = (46.0, 34.0) if not frame.narrow else (32.0, 30.0)
        self.right = frame.width - (min(longest + 34, frame.width * 0.32) if self.direct else 14)
        self.bottom = self.top + (330.0 if not frame.narrow else 250.0)
        self.log = len(self.xs) > 1 and self.xs[0] > 0 and self.xs[-1] / self.xs[0] >= 4
        m = len(arms)
        self.step = min(7.0, (26.0 if not frame.narrow else 18.0) / m) if m > 1 else 0.0

    # -- scales --------------------------------------------------------------------------------------------------

    def x(self, value: float, arm: int | None = None) -> float:
        pad = 26.0 if not self.frame.narrow else 16.0
        low, high = self.xs[0], self.xs[-1]
        if high == low:
            at = 0.5
        elif self.log:
            at = (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))
        else:
            at = (value - low) / (high - low)
        dodge = 0.0 if arm is None else (arm - (len(self.arms) - 1) / 2) * self.step
        return self.left + pad + at * (self.right - self.left - 2 * pad) + dodge

    def y(self, value: float) -> float:
        low, high = self.y_ticks[0], self.y_ticks[-1]
        return self.bottom - (value - low) / (high - low) * (self.bottom - self.top)

    # -- drawing -------------------------------------------------------------------------------------------------

    def svg(self) -> Markup:
        body = [*self._axes()]
        for curve in self.references:
            body.append(self._reference(curve))
        for number, curve in enumerate(self.arms):
            body.append(self._arm(curve, number))
        height = self.bottom + 52
        if self.direct:
            body += self._labels()
        else:
            rows, height = self._legend(self.bottom + 58)
            body += rows
        return svg.drawing(self.frame, height, self.chart.title, self._description(), body)

    def _axes(self) -> list[Markup]:
        made = []
        if self.headline in self.xs and len(self.xs) > 1 and self.headline is not None:
            half = max(14.0, self.step * len(self.arms) / 2 + 9)
            at = self.x(self.headline)
            made.append(
                svg.element(
                    "rect", x=at - half, y=self.top, width=2 * half, height=self.bottom - self.top, class_="focus"
                )
            )
        for tick in self.y_ticks:
            made.append(svg.line(self.left, self.y(tick), self.right, self.y(tick), "axis" if tick == 0 else "rule"))
            made.append(svg.label(self.left - 8, self.y(tick), _tick(tick), "end", "tick"))
        last = -math.inf
        for x in self.xs:
            text = figures.short_integer(x)
            at, half = self.x(x), svg.text_width(text, self.font) / 2
            made.append(svg.line(at, self.bottom, at, self.bottom + 5, "axis"))
            if at - half > last + 3:
                bold = " strong" if x == self.headline else ""
                made.append(svg.label(at, self.bottom + 18, text, "middle", f"tick{bold}"))
                last = at + half
        middle_x = (self.left + self.right) / 2
        made.append(svg.label(middle_x, self.bottom + 40, one_line(self.chart.x_title), "middle", "title"))
        made.append(svg.label(2, self.top - 20, one_line(self.chart.y_title), "start", "title"))
        return made

    def _arm(self, curve: Curve, number: int) -> Markup:
        style = svg.style_of(self.index[curve.name])
        parts = [
            svg.element("path", d=path, class_="line") for path in self._paths(curve.points, number) if "L" in path
        ]
        for x, e in curve.points:
            if e.value is None:
                continue
            at = self.x(x, number)
            if e.low is not None and e.high is not None:
                parts.append(svg.whisker(at, self.y(e.low), at, self.y(e.high), "bar"))
            counted = f", n = {e.n:,}" if e.n else ""
            hint = f"{curve.name} at {figures.short_integer(x)}: {figures.estimate(e)}{counted}"
            parts.append(svg.mark(at, self.y(e.value), self.index[curve.name], hint=hint))
        return svg.element("g", *parts, class_=f"series {style}")

    def _reference(self, curve: Curve) -> Markup:
        parts = []
        banded = [(x, e) for x, e in curve.points if e.low is not None and e.high is not None]
        if len(banded) > 1:
            upper = [f"{self.x(x):.2f} {self.y(e.high or 0):.2f}" for x, e in banded]
            lower = [f"{self.x(x):.2f} {self.y(e.low or 0):.2f}" for x, e in reversed(banded)]
            parts.append(svg.element("path", d="M" + "L".join(upper + lower) + "z", class_="band"))
        parts += [svg.element("path", d=path, class_="line") for path in self._paths(curve.points, None) if "L" in path]
        if len(curve.points) == 1:
            x, e = curve.points[0]
            parts.append(svg.line(self.x(x) - 30, self.y(e.value or 0), self.x(x) + 30, self.y(e.value or 0), "line"))
        kind = "chance" if curve.name == "chance" else "ceiling"
        return svg.element("g", *parts, class_=f"reference {kind}")

    def _paths(self, points: Sequence[Point], number: int | None) -> list[str]:
        """Lines through what was measured; a missing point breaks the line."""
        runs: list[list[str]] = [[]]
        for x, e in points:
            if e.value is None:
                runs.append([])
            else:
                runs[-1].append(f"{self.x(x, number):.2f} {self.y(e.value):.2f}")
        return ["M" + "L".join(run) for run in runs if run]

    def _labels(self) -> list[Markup]:
        """Names at the right end of the lines, moved apart where they would collide."""
        ends: list[tuple[str, float, float, str, int | None]] = []
        for number, curve in enumerate(self.arms):
            x, e = _last(curve)
            ends.append((curve.name, self.x(x, number), e.value or 0, figures.share(e.value), self.index[curve.name]))
        for curve in self.references:
            x, e = _last(curve)
            ends.append((curve.name, self.x(x), e.value or 0, figures.share(e.value), None))
        wanted = [self.y(value) for _, _, value, _, _ in ends]
        placed = svg.spread(wanted, self.font * 1.38, self.top - 2, self.bottom - 4)
        room = svg.cells_for(self.frame.width - self.right - 22, self.font) - 5
        # The values are those at the end of the lines, which need not be the headline's: the heading says so.
        at = {_last(curve)[0] for curve in (*self.arms, *self.references)}
        heading = f"at {figures.short_integer(at.pop())}" if len(at) == 1 else "at the end"
        made = [svg.label(self.right + 11, self.top - 20, heading, "start", "tick")]
        for (name, x, value, shown, index), y in zip(ends, placed, strict=True):
            style = svg.style_of(index) if index is not None else "muted"
            made.append(
                svg.element(
                    "path", d=f"M{x + 8:.2f} {self.y(value):.2f}L{self.right + 6:.2f} {y:.2f}", class_=f"leader {style}"
                )
            )
            text = f"{middle(name, room)} {shown}"
            made.append(svg.label(self.right + 11, y, text, "start", f"name {style}", hint=name))
        return made

    def _legend(self, top: float) -> tuple[list[Markup], float]:
        """Names below a narrow drawing: mark, name, and the value at the headline's budget (else at the last)."""
        made: list[Markup] = []
        room = svg.cells_for(self.frame.width - 30, self.font) - 22
        y = top + 8
        at = self.headline if self.headline in self.xs else self.xs[-1]
        made.append(svg.label(self.frame.width - 4, y, f"at {figures.short_integer(at or 0)}", "end", "tick"))
        y += 20
        for curve in (*self.arms, *self.references):
            found = dict(curve.points).get(at or 0, Estimate(value=None))
            index = self.index.get(curve.name) if curve.role == "arm" else None
            if index is None:
                kind = "chance" if curve.name == "chance" else "ceiling"
                made.append(svg.element("g", svg.line(2, y, 20, y, "line"), class_=f"reference {kind}"))
            else:
                made.append(svg.element("g", svg.line(2, y, 20, y, "line"), class_=f"series {svg.style_of(index)}"))
                made.append(svg.mark(11, y, index))
            style = svg.style_of(index) if index is not None else "muted"
            made.append(svg.label(28, y, middle(curve.name, room), "start", f"name {style}", hint=curve.name))
            made.append(svg.label(self.frame.width - 4, y, figures.estimate(found), "end", "value"))
            y += 21
        return made, y + 4

    def _description(self) -> str:
        said = []
        for curve in (*self.arms, *self.references):
            x, e = _last(curve)
            said.append(f"{one_line(curve.name)} {figures.share(e.value)} at {figures.short_integer(x)}")
        return "; ".join(said)


def _finite(points: Sequence[Point]) -> tuple[Point, ...]:
    """The points without NaN and infinities, by x."""
    kept = [(x, estimate(e)) for x, e in points if figures.finite(x) is not None]
    return tuple(sorted(kept, key=lambda point: point[0]))


def _measured(curve: Curve) -> bool:
    return any(e.value is not None for _, e in curve.points)


def _last(curve: Curve) -> Point:
    return next((x, e) for x, e in reversed(curve.points) if e.value is not None)


def _tick(value: float) -> str:
    return f"{value:g}".replace("0.", ".") if 0 < abs(value) < 1 else f"{value:g}"
