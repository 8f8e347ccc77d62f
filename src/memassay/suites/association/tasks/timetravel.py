"""To what was this talent linked on that day? The same question about today has another answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import chain, islice

from memassay.suites.association.tasks import wording
from memassay.suites.association.tasks.guards import MOST, NEAR_MISSES, answerable
from memassay.suites.association.tasks.record import Draft
from memassay.suites.association.tasks.scene import THREE, THREE_WITH_SIZE, Scene, linked
from memassay.suites.association.world import Change, Node, date_of

_POOLS = (
    (THREE, ("industry", "specialties", "location")),
    (THREE_WITH_SIZE, ("industry", "size_bucket", "location")),
)
_FIRST_EDIT = 3


def timetravel(scene: Scene) -> Iterator[Draft]:
    """The day before a fact of a talent changed, over the edits of the history in a drawn order.

    First, as published, the edits of industry, specialties and location, asked with these three types; then those of
    industry, size bucket and location, asked with the types of these, of talents that have not served yet. The talent
    had 3 to 40 companies on that day and has at least five today that it had not then; those are the near-misses.

    The history has 300 changes at any scale, so this kind is the first to run out.
    """
    past = _Past(scene)
    taken: set[str] = set()
    for types, fields in _POOLS:
        edits = [
            change
            for change in scene.world.changes
            if change.field in fields and change.key.startswith("talent-") and change.day >= _FIRST_EDIT
        ]
        scene.random.shuffle(edits)
        for edit in edits:
            if edit.key in taken or edit.key in scene.avoid or edit.key not in scene.live:
                continue
            draft = _before(scene, past, edit, types)
            if draft is not None:
                taken.add(edit.key)
                yield draft


class _Past:
    """The companies of earlier days, without a copy of the world per day: few nodes ever change."""

    def __init__(self, scene: Scene) -> None:
        world = scene.world
        changing = {change.key for change in world.changes}
        self._fixed = [node for node in world.nodes if node.label == "Company" and node.key not in changing]
        self.changing = cache(replace(world, nodes=tuple(n for n in world.nodes if n.key in changing)).state)

    def linked(self, day: int, talent: Node, types: tuple[str, ...]) -> Iterator[str]:
        """The companies that all the types linked to a talent at the end of a day, in no particular order."""
        moved = (node for node in self.changing(day).values() if node.label == "Company")
        return (node.key for node in chain(self._fixed, moved) if linked(talent, node, types))


def _before(scene: Scene, past: _Past, edit: Change, types: tuple[str, ...]) -> Draft | None:
    day = edit.day - 1
    talent = past.changing(day).get(edit.key)
    now = scene.links.others(edit.key, types, "Company")
    if talent is None or len(now) < NEAR_MISSES:
        return None
    then = sorted(islice(past.linked(day, talent, types), MOST + 1))
    only_now = [company for company in now if company not in then]
    if not answerable(then, only_now):
        return None
    return Draft(
        kind="timetravel",
        question=wording.timetravel(date_of(day), talent.key, types),
        asks={"target": talent.key, "types": list(types), "day": day, "date": date_of(day)},
        as_of=date_of(day),
        answer=tuple(then),
        near=scene.near(only_now),
        more={"moved_next_day": edit.field, "linked_today": len(now)},
    )
