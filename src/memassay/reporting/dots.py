"""Categories at the headline metric: one row per category, one dot with its interval per arm."""

from __future__ import annotations

from markupsafe import Markup

from memassay.reporting import figures, svg
from memassay.reporting.reading import Reading
from memassay.reporting.slices import category_n, category_names
from memassay.reporting.svg import Frame
from memassay.reporting.text import middle, one_line

MOST_ROWS = 16


def draw(reading: Reading, frame: Frame) -> Markup:
    """The plot at one size, or nothing where no category was measured."""
    metric = reading.headline.name
    names = category_names(reading)[:MOST_ROWS]
    cells = {
        (name, arm.index): found
        for name in names
        for arm in reading.arms
        if (found := arm.estimate(metric, "categories", name)).value is not None
    }
    arms = [arm for arm in reading.arms if any((name, arm.index) in cells for name in names)]
    if not cells:
        return Markup("")
    legend, top = _legend([(arm.name, arm.index) for arm in arms], frame)
    left = 8.0 if frame.narrow else 190.0
    right = frame.width - 12.0
    pitch = max(9.0, 14.0 - len(arms))
    head = 22.0 if frame.narrow else 0.0
    row_height = head + pitch * len(arms) + 16
    bottom = top + row_height * len(names)
    values = [v for e in cells.values() for v in (e.value, e.low, e.high) if v is not None]
    ticks = svg.ticks(min(0.0, *values), max(1.0, *values))

    def x(value: float) -> float:
        return left + (value - ticks[0]) / (ticks[-1] - ticks[0]) * (right - left)

    body = list(legend)
    for tick in ticks:
        body.append(svg.line(x(tick), top, x(tick), bottom, "axis" if tick == 0 else "rule"))
        text = f"{tick:g}".replace("0.", ".") if 0 < abs(tick) < 1 else f"{tick:g}"
        body.append(svg.label(x(tick), bottom + 14, text, "middle", "tick"))
    body.append(svg.label((left + right) / 2, bottom + 34, reading.headline.label, "middle", "title"))
    for number, name in enumerate(names):
        start = top + row_height * number
        if number:
            body.append(svg.line(0, start, right, start, "rule"))
        n = category_n(reading, name)
        count = f"n = {n:,}" if n is not None else ""
        centre = start + head + 8 + pitch * len(arms) / 2
        if frame.narrow:
            body.append(svg.label(left, start + 14, middle(name, 34), "start", "name", hint=name))
            body.append(svg.label(right, start + 14, count, "end", "tick"))
        else:
            body.append(svg.label(0, centre - 8, middle(name, 22), "start", "name", hint=name))
            body.append(svg.label(0, centre + 9, count, "start", "tick"))
        for place, arm in enumerate(arms):
            if (name, arm.index) not in cells:
                continue
            found = cells[name, arm.index]
            y = start + head + 8 + pitch * (place + 0.5)
            parts = []
            if found.low is not None and found.high is not None:
                parts.append(svg.whisker(x(found.low), y, x(found.high), y, "bar", 2.5))
            hint = f"{arm.name}, {name}: {figures.estimate(found)}"
            parts.append(svg.mark(x(found.value or 0), y, arm.index, 3.8, hint))
            body.append(svg.element("g", *parts, class_=f"series {svg.style_of(arm.index)}"))
    said = [
        f"{one_line(name)}: "
        + ", ".join(
            f"{one_line(arm.name)} {figures.share(cells[name, arm.index].value)}"
            for arm in arms
            if (name, arm.index) in cells
        )
        for name in names
    ]
    return svg.drawing(frame, bottom + 46, f"{reading.headline.label} by category", "; ".join(said), body)


def _legend(arms: list[tuple[str, int]], frame: Frame) -> tuple[list[Markup], float]:
    """Marks and names in as many lines as they need; returns where the plot may begin."""
    made: list[Markup] = []
    x, y = 6.0, 12.0
    most = svg.cells_for(frame.width - 40, frame.font)
    for name, index in arms:
        text = middle(name, min(most, 40))
        width = svg.text_width(text, frame.font) + 36
        if x > 6 and x + width > frame.width:
            x, y = 6.0, y + 22
        made.append(svg.mark(x, y, index))
        made.append(svg.label(x + 12, y, text, "start", f"name {svg.style_of(index)}", hint=name))
        x += width
    return made, y + 22
