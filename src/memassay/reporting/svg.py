"""Charts drawn by hand: elements that always escape, scales, labels that do not collide, marks that need no colour.

A drawing is made twice, for a wide and for a narrow page; the style sheet shows one. Colours come from the style sheet
by class (``c0`` to ``c7``), so that one drawing serves light, dark and paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from rich.cells import cell_len

from memassay.reporting.text import clean

COLOURS = 8
SHAPES = 7


@dataclass(frozen=True, slots=True)
class Frame:
    """The size of a drawing in CSS pixels, shown at its own size on the page it is for."""

    name: str
    width: int
    font: int

    @property
    def narrow(self) -> bool:
        return self.name == "narrow"


WIDE = Frame("wide", 1056, 13)
NARROW = Frame("narrow", 350, 12)
FRAMES = (WIDE, NARROW)


def element(tag: str, /, *children: Markup | str, **attributes: object) -> Markup:
    """An element. Text and attributes are cleaned and escaped; None leaves one out; ``class_`` is ``class``."""
    parts = [f"<{tag}"]
    for name, value in attributes.items():
        if value is not None:
            key = name.rstrip("_").replace("_", "-")
            parts.append(f' {key}="{Markup.escape(clean(number(value)))}"')
    inner = Markup("").join(c if isinstance(c, Markup) else Markup.escape(clean(c)) for c in children)
    return Markup(
        "".join(parts) + (f">{inner}</{tag}>" if inner else "/>" if tag not in _NEVER_EMPTY else f"></{tag}>")
    )


_NEVER_EMPTY = frozenset({"text", "g", "title", "desc", "svg"})


def number(value: object) -> str:
    """A coordinate with at most two digits behind the point; other values as they are."""
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".") if math.isfinite(value) else "0"
    return str(value)


def drawing(frame: Frame, height: float, title: str, description: str, body: Sequence[Markup]) -> Markup:
    """An ``svg`` with its role, title and description."""
    return element(
        "svg",
        element("title", title),
        element("desc", description),
        *body,
        class_=f"chart {frame.name}",
        viewBox=f"0 0 {frame.width} {height:.0f}",
        width=frame.width,
        height=f"{height:.0f}",
        role="img",
        aria_label=f"{title}. {description}",
        font_size=frame.font,
    )


def label(x: float, y: float, text: str, anchor: str = "start", class_: str = "", hint: str = "") -> Markup:
    """A text centred on ``y``; ``hint`` is shown when pointed at."""
    children = [Markup.escape(clean(text))]
    if hint:
        children.insert(0, element("title", hint))
    return element("text", *children, x=x, y=y, dy=".35em", text_anchor=anchor, class_=class_ or None)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def style_of(index: int) -> str:
    """The class that carries an arm's colour."""
    return f"c{index % COLOURS}"


def mark(x: float, y: float, index: int, size: float = 4.2, hint: str = "") -> Markup:
    """The mark of an arm: seven shapes beside eight colours, so that none has to be told apart by colour alone."""
    s = size
    shapes: tuple[Callable[[], str], ...] = (
        lambda: "",
        lambda: f"M{x - s:.2f} {y - s:.2f}h{2 * s:.2f}v{2 * s:.2f}h{-2 * s:.2f}z",
        lambda: f"M{x:.2f} {y - 1.25 * s:.2f}L{x + 1.2 * s:.2f} {y + 0.9 * s:.2f}H{x - 1.2 * s:.2f}z",
        lambda: (
            f"M{x:.2f} {y - 1.4 * s:.2f}L{x + 1.4 * s:.2f} {y:.2f}L{x:.2f} {y + 1.4 * s:.2f}L{x - 1.4 * s:.2f} {y:.2f}z"
        ),
        lambda: f"M{x:.2f} {y + 1.25 * s:.2f}L{x + 1.2 * s:.2f} {y - 0.9 * s:.2f}H{x - 1.2 * s:.2f}z",
        lambda: f"M{x - s:.2f} {y - s:.2f}L{x + s:.2f} {y + s:.2f}M{x - s:.2f} {y + s:.2f}L{x + s:.2f} {y - s:.2f}",
        lambda: f"M{x - 1.2 * s:.2f} {y:.2f}H{x + 1.2 * s:.2f}M{x:.2f} {y - 1.2 * s:.2f}V{y + 1.2 * s:.2f}",
    )
    shape = index % SHAPES
    children = [element("title", hint)] if hint else []
    class_ = f"mark {style_of(index)}" + (" open" if shape >= 5 else "")
    if shape == 0:
        return element("circle", *children, cx=x, cy=y, r=s, class_=class_)
    return element("path", *children, d=shapes[shape](), class_=class_)


def whisker(x1: float, y1: float, x2: float, y2: float, class_: str, cap: float = 3) -> Markup:
    """An interval with short caps, upright or level."""
    if x1 == x2:
        ends = f"M{x1 - cap:.2f} {y1:.2f}h{2 * cap:.2f}M{x1 - cap:.2f} {y2:.2f}h{2 * cap:.2f}"
    else:
        ends = f"M{x1:.2f} {y1 - cap:.2f}v{2 * cap:.2f}M{x2:.2f} {y2 - cap:.2f}v{2 * cap:.2f}"
    return element("path", d=f"M{x1:.2f} {y1:.2f}L{x2:.2f} {y2:.2f}{ends}", class_=class_)


def text_width(text: str, font: float) -> float:
    """A generous guess of a text's width in pixels; wide characters count twice."""
    return cell_len(text) * font * 0.57


def cells_for(width: float, font: float) -> int:
    """How many terminal cells of text fit into a width, the other way round."""
    return max(4, int(width / (font * 0.57)))


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions as near as possible to the wanted ones, at least ``gap`` apart, inside [low, high] if they fit.

    Neighbours that collide are merged into one block around the mean of what its members want, again and again.
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    blocks: list[list[float]] = []  # start, size, sum of (wanted - offset in block)
    for i in order:
        blocks.append([wanted[i], 1, wanted[i]])
        while True:
            start = min(max(blocks[-1][2] / blocks[-1][1], low), max(low, high - gap * (blocks[-1][1] - 1)))
            blocks[-1][0] = start
            if len(blocks) < 2 or blocks[-2][0] + gap * blocks[-2][1] <= start + 1e-9:
                break
            _, size, total = blocks.pop()
            before = blocks[-1]
            before[2] += total - size * before[1] * gap
            before[1] += size
    placed = [start + gap * k for start, size, _ in blocks for k in range(int(size))]
    out = [0.0] * len(wanted)
    for position, i in zip(placed, order, strict=True):
        out[i] = position
    return out


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers from ``low`` to ``high``, both ends covered."""
    if not high > low:
        return [low]
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(s * power for s in (1, 2, 2.5, 5, 10) if s * power >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(k * step, 12) for k in range(first, last + 1)]
