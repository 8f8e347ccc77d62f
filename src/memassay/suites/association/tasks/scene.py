"""What the kinds draw their tasks from: a world at its end, its links, one generator, and what to keep away from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from random import Random

from memassay.suites.association.tasks.guards import NEAR_MISSES
from memassay.suites.association.truth import TASK_RULES, Links, holds
from memassay.suites.association.world import LAST_DAY, Label, Node, World, date_of

INDUSTRY, SPECIALTY, LOCATION, STYLE = (
    "INDUSTRY_ALIGNMENT",
    "SPECIALTY_MATCH",
    "LOCATION_FIT",
    "MATCHES_DESIGN_STYLE",
)
SIZE = "SIMILAR_SIZE"
TWO = (INDUSTRY, SPECIALTY)
THREE = (INDUSTRY, SPECIALTY, LOCATION)
THREE_WITH_SIZE = (INDUSTRY, SIZE, LOCATION)

TODAY = date_of(LAST_DAY)

_RULES = {(rule.edge_type, rule.to): rule for rule in TASK_RULES}


class Scene:
    """A world as the kinds see it.

    Args:
        world: the world.
        avoid: names (see ``targets_of``) that no task may be built around.

    Attributes:
        live: the nodes at the end of the last day, by key.
        links: their links.
        random: the one stream of all kinds, in their order; the published set comes out of no other.
    """

    def __init__(self, world: World, avoid: Iterable[str] = ()) -> None:
        self.world, self.avoid = world, frozenset(avoid)
        self.live = world.state(LAST_DAY)
        self.links = Links(self.live)
        self.restart()

    def restart(self) -> None:
        """Begin all draws anew."""
        self.random = Random(f"association-tasks-{self.world.seed}")

    @cached_property
    def _keys(self) -> dict[Label, list[str]]:
        found: dict[Label, list[str]] = {"Talent": [], "Company": [], "Job": []}
        for key in sorted(self.live):
            found[self.live[key].label].append(key)
        return found

    def keys(self, label: Label) -> list[str]:
        """The live keys of a label, sorted; a fresh list."""
        return list(self._keys[label])

    def nodes(self, label: Label) -> list[Node]:
        """The live nodes of a label, by key."""
        return [self.live[key] for key in self._keys[label]]

    def shuffled(self, label: Label) -> list[str]:
        """The live keys of a label in a drawn order."""
        keys = self.keys(label)
        self.random.shuffle(keys)
        return keys

    def near(self, candidates: Sequence[str]) -> tuple[str, ...]:
        """Five near-misses drawn from sorted candidates, sorted."""
        return tuple(sorted(self.random.sample(candidates, NEAR_MISSES)))


def linked(talent: Node, other: Node, types: Iterable[str]) -> bool:
    """Whether all the types link a talent and a company or job; cheaper than an index where few pairs are asked for."""
    return all(holds(_RULES[edge_type, other.label], talent, other) for edge_type in types)
