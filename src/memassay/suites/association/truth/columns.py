"""One field of many nodes as numpy columns: which rows a value matches, and how many pairs of rows match each other.

A *span* is the slice of rows that one label takes. No method makes an object per pair of rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memassay.suites.association.truth.rules import (
    EARTH_RADIUS_KM,
    Rule,
    Scalar,
    haversine,
    number,
    place,
    scalar,
    tokens,
)

Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

_WORD = 64
_BLOCK = 1 << 22  # pairs of sets that are compared at once: 32 MB of masks
_MARGIN = 1e-9  # of the radius; the error of a chord is 1e-14 of it


class Column(Protocol):
    """One field, indexed for one kind of rule."""

    def match(self, rule: Rule, value: Any, rows: slice | Rows) -> Mask:
        """Which of those rows the rule links to a node with that value."""

    def pairs(self, rule: Rule, ours: slice, theirs: slice) -> int:
        """How many pairs of one row of each span the rule links."""


class Scalars:
    """For ``equal``: every distinct scalar has a number, -1 is none."""

    def __init__(self, values: Iterable[Any]) -> None:
        self._numbers: dict[Scalar, int] = {}
        known = (scalar(value) for value in values)
        self._codes = np.array(
            [-1 if v is None else self._numbers.setdefault(v, len(self._numbers)) for v in known], dtype=np.int32
        )

    def match(self, rule: Rule, value: Any, rows: slice | Rows) -> Mask:
        found = scalar(value)
        code = -2 if found is None else self._numbers.get(found, -2)
        mask: Mask = self._codes[rows] == code
        return mask

    def pairs(self, rule: Rule, ours: slice, theirs: slice) -> int:
        a, b = (np.bincount(self._codes[span] + 1, minlength=len(self._numbers) + 1)[1:] for span in (ours, theirs))
        return int(a @ b)


class Numbers:
    """For ``difference``: a number per row, NaN is none (and is within no distance of anything)."""

    def __init__(self, values: Iterable[Any]) -> None:
        known = (number(value) for value in values)
        self._values = np.array([math.nan if v is None else v for v in known], dtype=np.float64)

    def match(self, rule: Rule, value: Any, rows: slice | Rows) -> Mask:
        found = number(value)
        mask: Mask = np.abs(self._values[rows] - (math.nan if found is None else found)) <= rule.threshold
        return mask

    def pairs(self, rule: Rule, ours: slice, theirs: slice) -> int:
        a, b = (np.unique(self._values[span], return_counts=True) for span in (ours, theirs))
        return sum(
            int(count) * int(b[1][np.abs(b[0] - value) <= rule.threshold].sum())
            for value, count in zip(*a, strict=True)
        )


class Sets:
    """For ``overlap``: a bit mask per row, as many words of 64 bits as the vocabulary needs."""

    def __init__(self, values: Iterable[Any]) -> None:
        self._bits: dict[Scalar, int] = {}
        self._words = self._masks(tokens(value) for value in values)

    def match(self, rule: Rule, value: Any, rows: slice | Rows) -> Mask:
        wanted = tokens(value)
        known = [token for token in wanted if token in self._bits]
        mask = self._masks([known])
        words = self._words[rows]
        shared = np.bitwise_count(words & mask).sum(axis=1, dtype=np.int64)
        union = np.bitwise_count(words | mask).sum(axis=1, dtype=np.int64) + len(wanted) - len(known)
        found: Mask = (shared > 0) & (shared / np.maximum(union, 1) >= rule.threshold)
        return found

    def pairs(self, rule: Rule, ours: slice, theirs: slice) -> int:
        """Sets of one size against sets of another: the least number of shared tokens is then the same for all."""
        total = 0
        for size, words, weights in self._by_size(ours):
            for other_size, others, other_weights in self._by_size(theirs):
                enough = (
                    k for k in range(1, min(size, other_size) + 1) if k / (size + other_size - k) >= rule.threshold
                )
                least = next(enough, None)
                if least is None:
                    continue
                step = max(1, _BLOCK // len(others))
                for start in range(0, len(words), step):
                    block = words[start : start + step, None]
                    shared = np.bitwise_count(block & others).sum(axis=2, dtype=np.uint16)
                    total += int(weights[start : start + step] @ ((shared >= least) @ other_weights))
        return total

    def _masks(self, sets: Iterable[Iterable[Scalar]]) -> NDArray[np.uint64]:
        """A row of words per set; a token that is new gets the next bit."""
        bits = self._bits
        masks = [sum(1 << bits.setdefault(token, len(bits)) for token in found) for found in sets]
        full = (1 << _WORD) - 1
        shifts = range(0, max(len(bits), 1), _WORD)
        words = [np.fromiter((mask >> shift & full for mask in masks), np.uint64, len(masks)) for shift in shifts]
        return np.stack(words, axis=1)

    def _by_size(self, span: slice) -> list[tuple[int, NDArray[np.uint64], NDArray[np.int64]]]:
        """The distinct masks of a size and how many rows have each, for every size."""
        masks, weights = np.unique(self._words[span], axis=0, return_counts=True)
        sizes = np.bitwise_count(masks).sum(axis=1, dtype=np.int64)
        return [(int(size), masks[sizes == size], weights[sizes == size]) for size in np.unique(sizes)]


class Places:
    """For ``distance``: points of the unit sphere in a grid of cubes as wide as the chord of the radius.

    What is within the radius of a point lies in its cube or one of the 26 around it. A chord that is within a hair of
    the limit is decided by the formula of the rule.

    Args:
        values: a value per row.
        radius_km: the radius of every rule that reads the field.
        spans: the spans that are asked for.
    """

    def __init__(self, values: Sequence[Any], radius_km: float, spans: Iterable[slice]) -> None:
        known = (place(value) or (math.nan, math.nan) for value in values)
        self._degrees = np.array(list(known), dtype=np.float64).reshape(-1, 2)
        self._points = _on_sphere(self._degrees)
        self._radius = radius_km
        self._chord = 2.0 * math.sin(min(radius_km / EARTH_RADIUS_KM, math.pi) / 2.0)
        self._side = 2 * math.ceil(1.0 / self._chord) + 3  # cubes along an axis, with an empty one at either end
        self._cells = {(span.start, span.stop): self._grid(span) for span in spans}

    def near(self, value: Any, span: slice) -> Rows:
        """The rows of a span that may be within the radius of a value: those of the cubes around it."""
        found = place(value)
        if found is None:
            return np.empty(0, dtype=np.intp)
        cell = int(self._cell(_on_sphere(np.array([found])))[0])
        around = (
            cell + (x * self._side + y) * self._side + z for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1)
        )
        cells = self._cells[span.start, span.stop]
        return np.concatenate([np.empty(0, dtype=np.intp), *(cells[c] for c in around if c in cells)])

    def match(self, rule: Rule, value: Any, rows: slice | Rows) -> Mask:
        found = place(value)
        if found is None:
            return np.zeros(len(self._points[rows]), dtype=np.bool_)
        chords = np.sqrt(((self._points[rows] - _on_sphere(np.array([found]))) ** 2).sum(axis=1))
        mask: Mask = chords <= self._chord
        for row in np.flatnonzero(np.abs(chords - self._chord) <= _MARGIN * self._chord):
            latitude, longitude = self._degrees[rows][row]
            mask[row] = haversine(found, (float(latitude), float(longitude))) <= self._radius
        return mask

    def pairs(self, rule: Rule, ours: slice, theirs: slice) -> int:
        """Cube against cube by the spheres around their points; only cubes at the limit are counted point by point."""
        a, b = (self._cells[span.start, span.stop] for span in (ours, theirs))
        if not a or not b:
            return 0
        centres, radii = self._spheres(b)
        numbers = np.array([len(rows) for rows in b.values()])
        members = list(b.values())
        total = 0
        for rows, centre, radius in zip(a.values(), *self._spheres(a), strict=True):
            apart = np.sqrt(((centres - centre) ** 2).sum(axis=1))
            inside = apart + radii + radius <= self._chord * (1 - _MARGIN)
            unsure = ~inside & (apart - radii - radius <= self._chord * (1 + _MARGIN))
            total += len(rows) * int(numbers[inside].sum())
            if unsure.any():
                others = np.concatenate([members[i] for i in np.flatnonzero(unsure)])
                total += sum(int(self.match(rule, self._degrees[row].tolist(), others).sum()) for row in rows)
        return total

    def _grid(self, span: slice) -> dict[int, Rows]:
        rows = np.flatnonzero(~np.isnan(self._degrees[span, 0])) + span.start
        cells = self._cell(self._points[rows])
        order = np.argsort(cells, kind="stable")
        names, starts = np.unique(cells[order], return_index=True)
        return dict(zip(names.tolist(), np.split(rows[order], starts[1:]), strict=True)) if len(names) else {}

    def _cell(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        steps = np.floor(points / self._chord).astype(np.int64) + self._side // 2
        cells: NDArray[np.int64] = (steps[:, 0] * self._side + steps[:, 1]) * self._side + steps[:, 2]
        return cells

    def _spheres(self, cells: dict[int, Rows]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A centre and a radius around the points of every cube."""
        points = [self._points[rows] for rows in cells.values()]
        centres = np.array([(p.min(axis=0) + p.max(axis=0)) / 2 for p in points])
        return centres, np.array(
            [np.sqrt(((p - c) ** 2).sum(axis=1)).max() for p, c in zip(points, centres, strict=True)]
        )


def _on_sphere(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    latitude, longitude = np.radians(degrees).T
    flat = np.cos(latitude)
    return np.stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)], axis=1)
