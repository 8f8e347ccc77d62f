"""A world: its day 0, its history, and what is there on any day."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from random import Random

from memassay.core.errors import UsageError
from memassay.suites.association.world.facts import facts_digest
from memassay.suites.association.world.history import Change, date_of, draw_changes
from memassay.suites.association.world.nodes import Node, day_zero, split

SEED = 20260910
SCALE = 2000
MIN_SCALE = 3
MAX_SCALE = 1_000_000


@dataclass(frozen=True)
class World:
    """A generated marketplace.

    Attributes:
        seed: what all its draws come from.
        scale: how many nodes day 0 has.
        nodes: day 0: talents, companies, jobs, each by key.
        changes: the history, in order.
    """

    seed: int
    scale: int
    nodes: tuple[Node, ...] = field(repr=False)
    changes: tuple[Change, ...] = field(repr=False)

    def state(self, day: int) -> dict[str, Node]:
        """What is live at the end of a day, by key: the order of day 0, then of the insertions.

        Raises:
            DataError: the day is outside the window.
        """
        date_of(day)  # refuses a day outside the window
        live = {node.key: node for node in self.nodes}
        for change in self.changes:
            if change.day > day:
                break
            if change.node is not None:
                live[change.key] = change.node
            elif change.field is None:
                del live[change.key]
            else:
                node = live[change.key]
                live[change.key] = Node(node.key, node.label, {**node.fields, change.field: change.value})
        return live

    @cached_property
    def digest(self) -> str:
        """The digest of the facts, 16 hex digits."""
        return facts_digest(self.nodes, self.changes)


def make_world(seed: int = SEED, scale: int = SCALE) -> World:
    """The world of a seed and a scale; the same arguments give the same world everywhere.

    Args:
        seed: any whole number.
        scale: how many entities day 0 has, 3 to 1,000,000.

    Raises:
        UsageError: the scale is outside its range.
    """
    if scale < MIN_SCALE:
        raise UsageError(
            f"Scale {scale} is too small: a world needs one talent, one company and one job, so at least 3."
        )
    if scale > MAX_SCALE:
        raise UsageError(f"Scale {scale:,} is too large: keys have six digits, so at most {MAX_SCALE:,}.")
    counts = split(scale)
    nodes = day_zero(Random(seed), counts)
    return World(seed, scale, nodes, draw_changes(seed, nodes, counts))
