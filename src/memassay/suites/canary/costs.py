"""What the cells of a memory cost, and which of several memories is the cheapest by a rule fixed beforehand."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memassay.core.contracts import Outcome

RULE = (
    "the lowest cost per 1,000 queries; then the lowest order of magnitude of the 95th percentile of latency; then the "
    "incumbent; then the first by name. A cost that is not known comes last"
)
FREE = "no paid call was counted; what a service behind the memory charges is not in it"
UNPRICED = "tokens were counted, and the table of prices lacks the model"
BUILDING = (
    "What building took stands under Cost and latency; it is also what a change or a deletion takes, since a store is "
    "then built anew."
)
_FAST_MS = 1000.0  # below, equal runs of one memory on a busy machine differ by more than memories do


@dataclass(frozen=True, slots=True)
class Cost:
    """What one memory took, over its cells.

    Attributes:
        memory: its name.
        cells: counted.
        usd_per_1000: US dollars per 1,000 queries, or None with ``reason``.
        tokens_per_query: read and written by models, mean; None where none was counted.
        wall_ms: 95th percentile of a query, or None where it was not measured. It differs between equal runs.
        reason: why the cost is None, else None.
        speed: order of magnitude of ``wall_ms`` that the rule reads: 3 up to 1 s, 4 up to 10 s, and so on.
    """

    memory: str
    cells: int
    usd_per_1000: float | None
    tokens_per_query: float | None
    wall_ms: float | None
    reason: str | None
    speed: int | None

    @property
    def free(self) -> bool:
        return self.usd_per_1000 is None and self.reason == FREE


def cost_of(memory: str, rows: Sequence[Outcome]) -> Cost:
    """The cost of the cells of a memory."""
    paid = [_paid(row) for row in rows]
    tokens = sum(_tokens(row) for row in rows)
    walls = sorted(row.usage.wall_ms for row in rows if row.usage.wall_ms)
    wall = walls[math.ceil(0.95 * len(walls)) - 1] if walls else None
    unpriced = any(_tokens(row) and value is None for row, value in zip(rows, paid, strict=True))
    known = [value for value in paid if value is not None]
    usd = None if unpriced or not known or not rows else 1000 * math.fsum(known) / len(rows)
    return Cost(
        memory=memory,
        cells=len(rows),
        usd_per_1000=usd or None,
        tokens_per_query=tokens / len(rows) if tokens else None,
        wall_ms=wall,
        reason=None if usd else UNPRICED if unpriced else FREE,
        speed=None if wall is None else math.ceil(math.log10(max(wall, _FAST_MS))),
    )


def cheapest(members: Iterable[str], costs: Mapping[str, Cost], incumbent: str | None) -> str | None:
    """The memory that :data:`RULE` takes, or None where there is none to take."""

    def rank(memory: str) -> tuple[float, float, bool, str]:
        cost = costs[memory]
        usd = 0.0 if cost.free else math.inf if cost.usd_per_1000 is None else cost.usd_per_1000
        return usd, math.inf if cost.speed is None else cost.speed, memory != incumbent, memory

    return min(members, key=rank, default=None)


def _paid(row: Outcome) -> float | None:
    usage = row.usage
    return usage.reported_usd if usage.cost_usd is None else usage.cost_usd


def _tokens(row: Outcome) -> int:
    usage = row.usage
    return usage.input + usage.output + usage.cache_read + usage.cache_write
