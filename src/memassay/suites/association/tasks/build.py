"""The set of tasks of a world: four per kind as published, or more of each under the same guards."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice

from memassay.core.errors import DataError, UsageError
from memassay.core.types import Task
from memassay.suites.association.tasks.guards import FEWEST, MOST, NEAR_MISSES
from memassay.suites.association.tasks.multihop import multihop
from memassay.suites.association.tasks.record import KINDS, Draft, Kind, placed, task_of
from memassay.suites.association.tasks.retraction import retraction
from memassay.suites.association.tasks.scene import Scene
from memassay.suites.association.tasks.timetravel import timetravel
from memassay.suites.association.tasks.visibility import visibility
from memassay.suites.association.tasks.why import why
from memassay.suites.association.world import MIN_SCALE, World, make_world

ROUND = 4
"""Tasks per kind in the published set, and drawn at a time."""

_BUILDERS: Mapping[Kind, Callable[[Scene], Iterator[Draft]]] = {
    "why": why,
    "multihop": multihop,
    "retraction": retraction,
    "timetravel": timetravel,
    "visibility": visibility,
}

_SCALES = tuple(int(100 * 1.3**step) for step in range(16))
"""What is tried to find a scale that works, 100 to 5,118. Far above, answers are too long: they grow with the scale."""


def tasks_of(
    world: World, *, count: int | None = None, avoid: Collection[str] | None = None, scope: str = "world"
) -> list[Task]:
    """The tasks of a world, kind by kind; see :func:`drafts_of` for the arguments and errors.

    Args:
        world: the world.
        count: how many per kind; None is the published four.
        avoid: what no task may be built around, as ``targets_of`` names it.
        scope: id of the corpus.
    """
    drafts = drafts_of(world, count=count, avoid=avoid)
    return [task_of(draft, number, place, scope) for number, place, draft in placed(drafts)]


def drafts_of(world: World, *, count: int | None = None, avoid: Collection[str] | None = None) -> list[Draft]:
    """The questions of a world with their answers, kind by kind.

    They are drawn in rounds of four per kind from one stream, ``association-tasks-<seed>``, kind after kind; the first
    round is the published set. The last round is drawn whole and cut, so a small set is the beginning of a large one.

    Args:
        world: the world.
        count: how many per kind, at least 1; None is the published four.
        avoid: what no task may be built around, as ``targets_of`` names it.

    Raises:
        DataError: the world has too few of a kind; it names the kind and the smallest scale that has enough of all.
        UsageError: the count is below 1.
    """
    wanted = ROUND if count is None else count
    if wanted < 1:
        raise UsageError(f"{wanted} tasks per kind are none: ask for at least 1.")
    found, short = _drawn(world, wanted, avoid or ())
    if short is not None:
        raise DataError(_complaint(world, wanted, avoid or (), short, len(found[short])))
    return [draft for kind in KINDS for draft in found[kind][:wanted]]


def _drawn(world: World, wanted: int, avoid: Collection[str]) -> tuple[dict[Kind, list[Draft]], Kind | None]:
    """Whole rounds of every kind, and the first kind that ran out too early (then the drawing has ended there).

    Time travel is counted first: it is the scarcest kind, and how many it has does not depend on what is drawn, so that
    a world without enough is known for one at once.
    """
    scene = Scene(world, avoid)
    scarce = list(islice(timetravel(scene), wanted))
    if len(scarce) < wanted:
        return {"timetravel": scarce}, "timetravel"
    scene.restart()
    streams = {kind: _BUILDERS[kind](scene) for kind in KINDS}
    found: dict[Kind, list[Draft]] = {kind: [] for kind in KINDS}
    for start in range(0, wanted, ROUND):
        for kind in KINDS:
            found[kind] += islice(streams[kind], ROUND)
            if len(found[kind]) < min(wanted, start + ROUND):
                return found, kind
    return found, None


def _complaint(world: World, wanted: int, avoid: Collection[str], short: Kind, has: int) -> str:
    what = (
        f"The world of seed {world.seed} and scale {world.scale:,} has {has} of {wanted} tasks of the kind {short} "
        f"({FEWEST} to {MOST} answers and {NEAR_MISSES} near-misses each)"
    )
    scale = smallest_scale(world.seed, wanted, avoid)
    if scale is not None:
        return f"{what}; the smallest scale found to have enough of every kind is {scale:,}."
    fewer = has
    while fewer and (again := _drawn(world, fewer, avoid))[1] is not None:
        fewer = len(again[0][again[1]])
    if fewer:
        return f"{what}, and no scale up to {_SCALES[-1]:,} has enough: ask for at most {fewer} per kind."
    return f"{what}, and no scale up to {_SCALES[-1]:,} has enough: ask for fewer per kind or take another seed."


def smallest_scale(seed: int, count: int, avoid: Collection[str] = ()) -> int | None:
    """The smallest scale found to have that many tasks of every kind, or None where none up to 5,118 has.

    Scales are tried in growing steps, then the last step is halved until the scale below is known to be too small. More
    entities nearly always make more tasks, but every scale is another draw: a smaller one may happen to do as well.
    """
    below = MIN_SCALE - 1
    for scale in _SCALES:
        if _enough(seed, scale, count, avoid):
            break
        below = scale
    else:
        return None
    while scale - below > 1:
        middle = (scale + below) // 2
        if _enough(seed, middle, count, avoid):
            scale = middle
        else:
            below = middle
    return scale


def _enough(seed: int, scale: int, count: int, avoid: Collection[str]) -> bool:
    return _drawn(make_world(seed, scale), count, avoid)[1] is None
