"""The published result, played back: which records fit what was published, and how far those differ.

68 % against 32 %, "small" by equal weights, an interval that excludes 0, four fabrications of 128, a file system below
both: none of the records behind it are public. So records are made up that fit, under each reading of what a tie and a
fabrication count as. They show what the numbers leave open; they say nothing about the memories.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import cycle, product
from typing import Literal

import numpy as np
import numpy.typing as npt

from memassay.stats.clusters import FloatArray
from memassay.stats.dirichlet import gap_bounds
from memassay.suites.canary.collapse import ORDERS, Order, Place, Vote, collapse, sign_of
from memassay.suites.canary.families import FAMILIES, PUBLISHED, SUPERSESSION
from memassay.suites.canary.scoring import CONVENTIONS, score

PER_FAMILY = 8
JUDGES = ("judge 1", "judge 2")
CHUNKS, GRAPH, FILES = "LightRAG", "Graphiti", "filesystem"
PAIRS = ((CHUNKS, GRAPH), (CHUNKS, FILES), (GRAPH, FILES))
Counting = Literal["questions", "retrievals", "records"]
COUNTINGS: tuple[Counting, ...] = ("questions", "retrievals", "records")
"""Distinct questions; questions in one order, by any judge; questions in one order by one judge."""

_WON = (0.675, 0.685)  # prints as 68 %
_LOST = (0.315, 0.325)
_SMALL = 0.10  # the uniform gap was called small, without a number
_Z = 1.96
_SEED = 20260519
_TABLES = 200_000
_DRAWS = 2_000
_PATTERNS: Mapping[Counting, tuple[tuple[int, ...], ...]] = {
    "questions": ((1, 1, 1, 1), (2, 1, 2, 1), (4, 4, 4, 4)),
    "retrievals": ((1, 1, 1, 1), (2, 1, 1), (2, 2)),
    "records": ((1, 1, 1, 1), (2, 1, 1), (2, 2), (3, 1), (4,)),
}
_WEIGHTS = np.array(PUBLISHED.vector)

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Records:
    """One made-up set of judged records of all three pairs.

    Attributes:
        votes: by pair, one per question, judge and order.
        fabricated: (question, judge, order) where Graphiti's retrieval was labelled as hallucinated.
    """

    votes: Mapping[tuple[str, str], tuple[Vote, ...]]
    fabricated: tuple[tuple[str, str, Order], ...]


@dataclass(frozen=True, slots=True)
class Anchor:
    """One published number: whether records fit it, and what they give."""

    anchor: str
    fits: bool
    says: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What the published numbers allow under one convention for ties and one for fabrications.

    Attributes:
        ties: one of ``CONVENTIONS``; counting: one of ``COUNTINGS``.
        found: different tables of wins, losses and ties that fit, of those drawn.
        clear: share of them whose Jeffreys interval of the weighted gap lies above 0.
        gap: smallest and largest weighted gap, ties in the denominator.
        tied: fewest and most tied questions of 64.
        fabricated: fewest and most distinct questions with a fabrication.
        examples: at least three sets of records: of the smallest gap, the largest, the most ties, and between.
    """

    ties: str
    counting: Counting
    found: int
    clear: float
    gap: tuple[float, float]
    tied: tuple[int, int]
    fabricated: tuple[int, int]
    examples: tuple[Records, ...]


def replay(seed: int = _SEED) -> tuple[Reading, ...]:
    """All nine readings: three of ties, three of the fabrication count."""
    return tuple(_reading(ties, counting, seed) for ties, counting in product(CONVENTIONS, COUNTINGS))


def universal(seed: int = _SEED, sets: int = 3) -> tuple[Records, ...]:
    """Sets of records that fit under every reading at once: nothing is tied and each fabrication was seen once."""
    tables = fitting_tables(CONVENTIONS[0], seed)
    untied = tables[tables[:, :, 2].sum(axis=1) == 0]
    return tuple(make_records(table, (1, 1, 1, 1), "records") for table in untied[:sets])


def anchors(records: Records, ties: str, counting: Counting) -> tuple[Anchor, ...]:
    """A1 to A5 of a set of records under one reading."""
    tables = {pair: table_of(votes) for pair, votes in records.votes.items()}
    first = tables[PAIRS[0]]
    won, lost = _shares(first, ties)
    weighted, uniform = _interval(first, _WEIGHTS), _interval(first, np.full(len(FAMILIES), 1 / len(FAMILIES)))
    count = fabrication_count(records, counting)
    families = {question.rsplit("-", 1)[0] for question, _, _ in records.fabricated}
    below = [_shares(tables[pair], ties) for pair in PAIRS[1:]]
    small = abs(sum(uniform) / 2) <= _SMALL + 1e-9
    return (
        Anchor(
            "A1",
            bool(_prints(np.array([won]), _WON)[0] and _prints(np.array([lost]), _LOST)[0]),
            f"{100 * won:.1f} % against {100 * lost:.1f} %",
        ),
        Anchor("A2", small and uniform[0] <= 0 <= uniform[1], f"uniform {uniform[0]:+.2f} to {uniform[1]:+.2f}"),
        Anchor("A3", weighted[0] > 0, f"weighted {weighted[0]:+.2f} to {weighted[1]:+.2f}, by the normal distribution"),
        Anchor("A4", count == 4 and families == {SUPERSESSION}, f"{count} counted by {counting}"),
        Anchor(
            "A5", all(a > b for a, b in below), ", ".join(f"{100 * b:.0f} % against {100 * a:.0f} %" for a, b in below)
        ),
    )


def fabrication_count(records: Records, counting: Counting) -> int:
    """Graphiti's fabrications under one way of counting."""
    if counting == "questions":
        return len({question for question, _, _ in records.fabricated})
    if counting == "retrievals":
        return len({(question, order) for question, _, order in records.fabricated})
    return len(records.fabricated)


def _reading(ties: str, counting: Counting, seed: int) -> Reading:
    tables = fitting_tables(ties, seed)
    gaps = (tables[:, :, 0] - tables[:, :, 1]) @ _WEIGHTS / PER_FAMILY
    tied = tables[:, :, 2].sum(axis=1)
    order = np.argsort(gaps, kind="stable")
    chosen = (order[0], order[-1], int(np.argmax(tied)), order[len(order) // 2], order[len(order) // 4])
    patterns = _PATTERNS[counting]
    return Reading(
        ties=ties,
        counting=counting,
        found=len(tables),
        clear=_clear(ties, seed),
        gap=(float(gaps.min()), float(gaps.max())),
        tied=(int(tied.min()), int(tied.max())),
        fabricated=(min(map(len, patterns)), max(map(len, patterns))),
        examples=tuple(
            make_records(tables[at], flags, counting) for at, flags in zip(chosen, cycle(patterns), strict=False)
        ),
    )


@lru_cache(maxsize=8)
def _clear(ties: str, seed: int) -> float:
    rng = np.random.Generator(np.random.PCG64([seed, len(CONVENTIONS)]))
    return float((gap_bounds(fitting_tables(ties, seed), _WEIGHTS, rng, draws=_DRAWS).jeffreys_low > 0).mean())


@lru_cache(maxsize=8)
def fitting_tables(ties: str, seed: int = _SEED) -> IntArray:
    """Shape (M, 8, 3): different wins, losses and ties of LightRAG against Graphiti that fit A1, A2 and A3.

    Drawn, not enumerated, so that the ranges made from them are at least this wide. Of the published profile only the
    direction is used: chunks ahead in the first two families, the graph in the third.
    """
    rng = np.random.Generator(np.random.PCG64([seed, CONVENTIONS.index(ties)]))
    ahead = np.array([0.5, 0.4, -0.5, -0.1, -0.1, -0.1, -0.1, -0.1])
    gaps = np.clip(ahead + rng.uniform(-0.5, 0.5, (_TABLES, len(FAMILIES))), -1, 1)
    tied = rng.uniform(0, 0.02 if ties == "strict" else 0.9, (_TABLES, 1))
    chances = np.stack([(1 - tied) * (1 + gaps) / 2, (1 - tied) * (1 - gaps) / 2, tied + 0 * gaps], axis=2)
    tables = rng.multinomial(PER_FAMILY, chances)
    won, lost, _ = np.moveaxis(tables, 2, 0).astype(np.float64)
    half = (PER_FAMILY - won - lost) / 2 if ties == "half credit" else 0.0
    total = won + lost if ties == "decisive" else np.full_like(won, PER_FAMILY)
    share = np.where(total > 0, _WEIGHTS, 0.0)
    share /= np.maximum(share.sum(axis=1, keepdims=True), 1e-9)
    total = np.maximum(total, 1)
    a, b = (share * (won + half) / total).sum(axis=1), (share * (lost + half) / total).sum(axis=1)
    kept = np.unique(tables[_prints(a, _WON) & _prints(b, _LOST)], axis=0)
    even = np.full(len(FAMILIES), 1 / len(FAMILIES))
    low, _ = _intervals(kept, _WEIGHTS)
    uniform_low, uniform_high = _intervals(kept, even)
    middle = np.abs(uniform_low + uniform_high) / 2
    fits: IntArray = kept[(low > 0) & (uniform_low <= 0) & (uniform_high >= 0) & (middle <= _SMALL + 1e-9)]
    fits.flags.writeable = False
    return fits


def make_records(table: IntArray, flags: tuple[int, ...], counting: Counting) -> Records:
    """Judged records that collapse to a table of LightRAG against Graphiti.

    Args:
        table: shape (8, 3).
        flags: by fabricated question, how often it is counted.
        counting: what a flag counts. Four flags of a question are both judges in both orders; under ``retrievals`` one
            flag is one judge in one order.
    """
    outclassed = np.tile([5, 1, 2], (len(FAMILIES), 1))
    votes = {pair: tuple(_votes(table if pair == PAIRS[0] else outclassed)) for pair in PAIRS}
    seen = list(product(JUDGES, ORDERS)) if counting != "retrievals" else [(JUDGES[0], order) for order in ORDERS]
    fabricated = [
        (f"{SUPERSESSION}-{number:03}", judge, order)
        for number, times in enumerate(flags, start=1)
        for judge, order in seen[:times]
    ]
    return Records(votes, tuple(fabricated))


# The votes of two judges in two orders that make each kind of tie, as (a_first, b_first) of each judge.
_TIED: tuple[tuple[tuple[Place, Place], tuple[Place, Place]], ...] = (
    (("tie", "tie"), ("tie", "tie")),
    (("first", "first"), ("tie", "tie")),
    (("first", "second"), ("second", "first")),
    (("first", "second"), ("tie", "tie")),
)
_WINS: tuple[tuple[Place, Place], tuple[Place, Place]] = (("first", "second"), ("first", "second"))
_LOSSES: tuple[tuple[Place, Place], tuple[Place, Place]] = (("second", "first"), ("second", "first"))


def _votes(table: IntArray) -> Iterator[Vote]:
    reasons = cycle(_TIED)
    for family, (won, lost, _) in zip(FAMILIES, table.tolist(), strict=True):
        for number in range(1, PER_FAMILY + 1):
            places = _WINS if number <= won else _LOSSES if number <= won + lost else next(reasons)
            for judge, both in zip(JUDGES, places, strict=True):
                for order, place in zip(ORDERS, both, strict=True):
                    yield Vote(f"{family}-{number:03}", judge, order, place)


def table_of(votes: tuple[Vote, ...]) -> IntArray:
    """Shape (8, 3): wins, losses and ties of the first memory of a pair, by family."""
    table = np.zeros((len(FAMILIES), 3), dtype=np.int64)
    for question, final in collapse(votes, JUDGES).items():
        family = FAMILIES.index(question.rsplit("-", 1)[0])
        table[family, {1: 0, -1: 1, 0: 2}[sign_of(final.outcome) or 0]] += 1
    return table


def _shares(table: IntArray, ties: str) -> tuple[float, float]:
    found = score(ties, table, _WEIGHTS, FAMILIES)
    return found.a or 0.0, found.b or 0.0


def _intervals(tables: IntArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The stratified normal interval, since the published method is not known."""
    gaps = (tables[:, :, 0] - tables[:, :, 1]) / PER_FAMILY
    decided = (tables[:, :, 0] + tables[:, :, 1]) / PER_FAMILY
    middle = gaps @ weights
    half = _Z * np.sqrt((decided - gaps**2) @ weights**2 / PER_FAMILY)
    return middle - half, middle + half


def _interval(table: IntArray, weights: FloatArray) -> tuple[float, float]:
    low, high = _intervals(table[None], weights)
    return float(low[0]), float(high[0])


def _prints(share: FloatArray, ends: tuple[float, float]) -> npt.NDArray[np.bool_]:
    inside: npt.NDArray[np.bool_] = (share >= ends[0] - 1e-9) & (share < ends[1] - 1e-9)
    return inside
