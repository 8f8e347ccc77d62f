"""Paired differences with their intervals around a zero line; the primary stands out and carries its verdict."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup
from rich.cells import cell_len

from memassay.reporting import figures, svg
from memassay.reporting.parts import shown_comparisons, verdict_words
from memassay.reporting.reading import Comparison, Reading
from memassay.reporting.svg import Frame
from memassay.reporting.text import middle, one_line

_BELOW = 13.0
"""How far a bar stands below the middle of its row on a narrow page, where the names stand above it."""

_GAP = 16.0
"""Blank between the columns of a wide page."""
_BOLD = 1.14
"""How much wider bold text is than plain (measured in the sans serif fonts of the style sheet)."""


def draw(reading: Reading, frame: Frame) -> Markup:
    """The plot at one size, or nothing where no difference was measured."""
    shown = [c for c in shown_comparisons(reading) if c.diff.value is not None]
    return _Forest(reading, shown, frame).svg() if shown else Markup("")


class _Forest:
    def __init__(self, reading: Reading, shown: Sequence[Comparison], frame: Frame) -> None:
        self.reading, self.shown, self.frame, self.font = reading, shown, frame, frame.font
        ends = [v for c in shown for v in (c.diff.value, c.diff.low, c.diff.high) if v is not None]
        reach = max(abs(min(ends)), abs(max(ends)), 0.01)
        low, high = min(min(ends), -0.15 * reach), max(max(ends), 0.15 * reach)
        self.ticks = svg.ticks(low, high, 4 if frame.narrow else 6)
        if frame.narrow:
            self.left, self.right, self.pitch = 14.0, frame.width - 14.0, 54.0
        else:
            numbers = max(self._width(c, figures.estimate(c.diff, signed=True)) for c in shown)
            verdict = max((self._width(c, _verdict(c, reading)) + _GAP for c in shown if c.primary), default=0.0)
            self.where = min(frame.width * 0.16, max(self._width(c, _where(c)) for c in shown))
            self.names = min(frame.width * 0.28, max(self._width(c, _pair(c)) for c in shown))
            self.left = self.names + self.where + 2 * _GAP
            self.right, self.pitch = frame.width - numbers - verdict - 1.5 * _GAP, 30.0
        self.top = 50.0

    def _width(self, c: Comparison, text: str) -> float:
        """Of a text in a row; that of the primary is bold."""
        return svg.text_width(text, self.font) * (_BOLD if c.primary else 1)

    def x(self, value: float) -> float:
        low, high = self.ticks[0], self.ticks[-1]
        return self.left + (value - low) / (high - low) * (self.right - self.left)

    def svg(self) -> Markup:
        rows = [self._row(c, self.top + self.pitch * (i + 0.5)) for i, c in enumerate(self.shown)]
        bottom = self.top + self.pitch * len(self.shown)
        said = [f"{c.a} minus {c.b} {c.metric.label} {figures.estimate(c.diff, signed=True)}" for c in self.shown[:8]]
        return svg.drawing(
            self.frame,
            bottom + 26,
            "Paired differences",
            "; ".join(said),
            [*self._axes(bottom), *rows],
        )

    def _axes(self, bottom: float) -> list[Markup]:
        made = []
        for tick in self.ticks:
            at = self.x(tick)
            kind = "zero" if tick == 0 else "rule"
            for upper, lower in self._free(bottom):
                made.append(svg.line(at, upper, at, lower, kind))
            made.append(svg.label(at, bottom + 14, _tick(tick), "middle", "tick"))
        # Each side says what it favours, so that nobody has to remember which arm was subtracted: beside the zero
        # line where both fit, else at the edges.
        first, second, zero = "first higher →", "← second higher", self.x(0)
        beside = all(
            room > svg.text_width(text, self.font) + 10
            for text, room in ((first, self.frame.width - zero), (second, zero))
        )
        made.append(svg.label(zero + 8 if beside else self.frame.width, self.top - 22, first,
                              "start" if beside else "end", "tick"))  # fmt: skip
        made.append(svg.label(zero - 8 if beside else 0, self.top - 22, second, "end" if beside else "start", "tick"))
        return made

    def _free(self, bottom: float) -> list[tuple[float, float]]:
        """Where vertical lines may be drawn: past the names, which stand above each bar on a narrow page."""
        if not self.frame.narrow:
            return [(self.top - 6, bottom)]
        rows = [self.top + self.pitch * (i + 0.5) + _BELOW for i in range(len(self.shown))]
        return [(y - 9, y + 9) for y in rows]

    def _row(self, c: Comparison, y: float) -> Markup:
        numbers = figures.estimate(c.diff, signed=True)
        verdict, where = _verdict(c, self.reading), _where(c)
        tone = "primary" if c.primary else "explore"
        hint = f"{c.a} − {c.b}, {where}: {numbers}"
        parts: list[Markup] = []
        if self.frame.narrow:
            room = svg.cells_for(self.frame.width - svg.text_width(numbers, self.font) - 20, self.font)
            name = _pair(c, room)
            tags = where if not c.primary else f"{where}; primary: {verdict}"
            parts.append(svg.label(0, y - 18, name, "start", "name", hint))
            parts.append(svg.label(self.frame.width, y - 18, numbers, "end", "value"))
            parts.append(svg.label(0, y - 3, middle(tags, svg.cells_for(self.frame.width, self.font)), "start", "tick"))
            y += _BELOW
        else:
            font = self.font * (_BOLD if c.primary else 1)
            room = svg.cells_for(self.names + 1, font)
            parts.append(svg.label(0, y, _pair(c, room), "start", "name", hint))
            where = middle(where, svg.cells_for(self.where + 1, self.font))
            parts.append(svg.label(self.left - _GAP, y, where, "end", "tick"))
            parts.append(svg.label(self.right + _GAP, y, numbers, "start", "value"))
            if c.primary:
                parts.append(svg.label(self.frame.width, y, verdict, "end", "verdict"))
        if c.diff.low is not None and c.diff.high is not None:
            parts.append(svg.whisker(self.x(c.diff.low), y, self.x(c.diff.high), y, "bar", 4))
        parts.append(_diamond(self.x(c.diff.value or 0), y, 6 if c.primary else 4.5, hint))
        return svg.element("g", *parts, class_=f"difference {tone}")


def _verdict(c: Comparison, reading: Reading) -> str:
    return middle(verdict_words(c, reading), 20)


def _where(c: Comparison) -> str:
    return c.metric.label if c.split == "all" else f"{c.metric.label}, {c.split}"


def _pair(c: Comparison, room: int = 1000) -> str:
    """Both names in ``room`` cells; the longer one gives way first."""
    a, b, half = one_line(c.a), one_line(c.b), max(4, (room - 3) // 2)
    if cell_len(a) + cell_len(b) + 3 > room:
        a, b = middle(a, max(half, room - 3 - cell_len(b))), middle(b, max(half, room - 3 - cell_len(a)))
    return f"{a} − {b}"


def _diamond(x: float, y: float, size: float, hint: str) -> Markup:
    path = f"M{x:.2f} {y - size:.2f}l{size:.2f} {size:.2f}l{-size:.2f} {size:.2f}l{-size:.2f} {-size:.2f}z"
    return svg.element("path", svg.element("title", hint), d=path, class_="mark")


def _tick(value: float) -> str:
    return "0" if value == 0 else f"{value:+g}".replace("-", figures.MINUS).replace("0.", ".")
