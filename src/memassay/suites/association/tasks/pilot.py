"""Which questions are too easy: a session of the baseline's agent that is done in fewer turns than the floor.

One round is: ask every task without a stamp, take the turns of each session, and make the next pilot of them. What was
too easy goes on the avoid list, and the set that is built with it holds replacements. A round is the last where nothing
is left to ask.

::

    pilot = Pilot()
    while wanted := unstamped(pilot, tasks := tasks_of(world, avoid=pilot.avoid)):
        pilot = judged(pilot, tasks, {task.id: turns for each of wanted})

A task is told by its fingerprint, so one that a rebuild leaves as it was keeps its stamp.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pydantic import Field, ValidationError

from memassay.core.digest import digest_of
from memassay.core.errors import DataError, UsageError
from memassay.core.types import Frozen, Task
from memassay.suites.association.tasks.record import targets_of

FLOOR = 5
"""Turns that a session of a task worth asking takes at least."""

CAP = 30
"""Turns that a session without a count is taken for: all that it may have."""


class Round(Frozen):
    """What one round asked, by id, and which of it was too easy."""

    asked: tuple[str, ...]
    dropped: tuple[str, ...] = ()


class Pilot(Frozen):
    """Where a pilot stands.

    Attributes:
        floor: turns that a task has to take.
        avoid: the targets of what was too easy, sorted; what ``tasks_of`` takes.
        stamps: the turns that a task took, by its fingerprint.
        rounds: what was asked, in order.
        facts: the digest of the world whose questions were asked; "" in a file that was written before it was kept.
    """

    floor: int = FLOOR
    avoid: tuple[str, ...] = ()
    stamps: Mapping[str, int] = Field(default_factory=dict)
    rounds: tuple[Round, ...] = ()
    facts: str = ""


def fingerprint(task: Task) -> str:
    """16 hex digits of the SHA-256 over the prompt and the gold; the id and the number are not part of it."""
    return digest_of([task.prompt, {key: gold.answer for key, gold in task.gold.items()}])[:16]


def unstamped(pilot: Pilot, tasks: Iterable[Task]) -> list[Task]:
    """The tasks that no round has asked yet, in order."""
    return [task for task in tasks if fingerprint(task) not in pilot.stamps]


def judged(pilot: Pilot, tasks: Sequence[Task], turns: Mapping[str, int | None], cap: int = CAP) -> Pilot:
    """The pilot after one more round.

    Args:
        pilot: where it stood.
        tasks: the set that was asked.
        turns: turns by task id; None where a session has no count, which then counts as the cap.
        cap: turns that a session may have.

    Raises:
        DataError: an id is of no task of the set.
    """
    by_id = {task.id: task for task in tasks}
    for name in turns:
        if name not in by_id:
            raise DataError(f"The pilot has turns of {name!r}, which is no task of this set: ask its own tasks.")
    counted = {name: cap if taken is None else taken for name, taken in turns.items()}
    asked = {name: counted[name] for name in by_id if name in counted}
    dropped = [name for name, taken in asked.items() if taken < pilot.floor]
    stamps = {fingerprint(by_id[name]): taken for name, taken in asked.items()}
    avoid = {*pilot.avoid, *(target for name in dropped for target in targets_of(by_id[name]))}
    return pilot.model_copy(
        update={
            "avoid": tuple(sorted(avoid)),
            "stamps": dict(sorted({**pilot.stamps, **stamps}.items())),
            "rounds": (*pilot.rounds, Round(asked=tuple(asked), dropped=tuple(dropped))),
        }
    )


def load_pilot(path: Path, facts: str = "") -> Pilot:
    """The pilot in a file.

    Args:
        path: of the file.
        facts: the digest of the world that it must be of, or "" for any.

    Raises:
        DataError: there is no such file, or it is no pilot's.
        UsageError: it is the pilot of another world.
    """
    try:
        pilot = Pilot.model_validate_json(path.read_bytes())
    except OSError as error:
        raise DataError(f"The pilot {path} cannot be read ({error.strerror}): name the file of a pilot.") from None
    except ValidationError:
        raise DataError(f"{path} is not the file of a pilot: make it anew.") from None
    if facts and pilot.facts not in ("", facts):
        raise UsageError(
            f"{path} is the pilot of the world {pilot.facts} and this is the world {facts}: "
            "name a pilot made with this seed and scale."
        )
    return pilot


def read_pilot(path: Path, facts: str = "") -> tuple[str, ...]:
    """The avoid list of the pilot in a file; see :func:`load_pilot`."""
    return load_pilot(path, facts).avoid


def write_pilot(pilot: Pilot, path: Path) -> None:
    """Write a pilot as JSON; the same pilot gives the same bytes."""
    path.write_text(json.dumps(pilot.model_dump(mode="json"), indent=2) + "\n", encoding="utf-8")
