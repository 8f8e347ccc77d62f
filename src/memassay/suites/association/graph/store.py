"""The graph store of a form: opened, with its calendar, and read back as states and histories of the world.

This is the one module that imports the package ``mushroomdb`` (an extra).

A commit that makes a rule derive or retract links writes two frames, the change and a marker with the links; only the
last frame of a commit has a time. Reads of links and reads of fields disagree about the first of the two, so this
module speaks of a commit's last frame only.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memassay.core.errors import MissingExtra, UsageError
from memassay.suites.association.forms.stamp import FORM, damaged, reading
from memassay.suites.association.world import DAYS, FIELDS, FIRST_DAY, LABELS, Node, date_of, day_of

if TYPE_CHECKING:
    from mushroomdb import GraphDb

STORE = "world.mushroomdb"
LOG = "wal.bin"
DAYS_FILE = "days.json"
PACKAGE = "mushroomdb"
EMBEDDING = "embedding"

# The package tells standard error of every query of more than 100 ms; 0 asks it not to. Its errors are exceptions.
_QUIET = ("MUSHROOMDB_SLOW_QUERY_MS", "0")

_MIDNIGHT = datetime.fromisoformat(f"{FIRST_DAY}T00:00:00").replace(tzinfo=UTC)
_DAY_MS = 24 * 60 * 60 * 1000
ECHOED = 200
"""Characters of what a caller gave that are said back to it."""


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened to an entity, as the store remembers it.

    Attributes:
        commit: the last frame of the commit.
        day: when, 0..89.
        kind: ``inserted``, ``set`` or ``deleted``.
        field: what was set, or None; ``value`` is its new value, lists as tuples.
    """

    commit: int
    day: int
    kind: str
    field: str | None = None
    value: Any = None


def version() -> str:
    """The version of the installed package.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        return importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        raise MissingExtra(PACKAGE, PACKAGE) from None


def midnight_ms(day: int) -> int:
    """The time that the commits of a day are stamped with: midnight UTC at its beginning, in ms since 1970."""
    return int((_MIDNIGHT + timedelta(days=day)).timestamp() * 1000)


def open_handle(place: Path, *, read_only: bool = True) -> GraphDb:
    """A handle on the store of a form. Opening reads the whole history: about 10 s at scale 2,000.

    Args:
        place: the folder of the store, above ``world.mushroomdb``.
        read_only: never takes the lock and never writes.

    Raises:
        MissingExtra: the package is not installed.
        DataError: there is no such store, or the package refuses it.
    """
    try:
        import mushroomdb
    except ModuleNotFoundError:
        raise MissingExtra(PACKAGE, PACKAGE) from None
    os.environ.setdefault(*_QUIET)
    path = place / STORE
    if read_only and not (path / LOG).is_file():
        raise damaged(place, f"{STORE}/{LOG} is missing")
    try:
        return mushroomdb.GraphDb.open(path, read_only=read_only)
    except (mushroomdb.MushroomError, OSError, ValueError) as error:
        raise damaged(place, f"{STORE} cannot be opened ({one_line(error)})") from error


def store_errors() -> type[Exception]:
    """The base class of all that the package raises on purpose."""
    import mushroomdb

    return mushroomdb.MushroomError


class Calendar:
    """Which commit ends which day.

    Args:
        ends: of every day the last frame.
        time_of: the recorded time of a frame in ms, or None for a frame in the middle of a commit.
    """

    def __init__(self, ends: Sequence[int], time_of: Callable[[int], int | None]) -> None:
        self.ends, self._time_of = tuple(ends), time_of

    def moment(self, at: int | str) -> tuple[int, int]:
        """The commit and the day of a date (the last commit up to the end of that day), or of any frame of a commit.

        Raises:
            UsageError: the date is none or outside the window, or there is no such commit.
        """
        if isinstance(at, str):
            day = day_of(cut(at))
            return self.ends[day], day
        if not 0 <= at <= self.ends[-1]:
            raise UsageError(f"The graph store has no commit {cut(str(at))}: its commits are 0 to {self.ends[-1]}.")
        commit = at
        while (time := self._time_of(commit)) is None and commit < self.ends[-1]:
            commit += 1
        return commit, 0 if time is None else (time - midnight_ms(0)) // _DAY_MS


def read_days(place: Path) -> list[int]:
    """The last frame of every day, as ``days.json`` has it.

    Raises:
        DataError: the file is missing or damaged, or its days are not those of the window.
    """
    with reading(place, DAYS_FILE):
        rows = json.loads((place / FORM / DAYS_FILE).read_text(encoding="utf-8"))
        ends = [row["commit"] for row in rows]
        said = [(row["day"], row["date"]) for row in rows]
        if said != [(day, date_of(day)) for day in range(DAYS)] or any(type(end) is not int for end in ends):
            raise ValueError("other days")
    if ends != sorted(ends) or ends[0] < 0:
        raise damaged(place, f"the commits in {DAYS_FILE} go back")
    return ends


def recorded_days(db: GraphDb, frames: int) -> list[int]:
    """The last frame of every day, by the times that the store has recorded; it reads no history.

    Args:
        db: an open handle.
        frames: how many there are.
    """
    ends, last = [], 0
    timed = [(time, frame) for frame in range(frames) if (time := db.commit_time_ms(frame)) is not None]
    for day in range(DAYS):
        last = max((frame for time, frame in timed if time <= midnight_ms(day)), default=last)
        ends.append(last)
    return ends


class GraphReader:
    """The world as its store has it. Not for threads: one call after another.

    Args:
        db: an open handle.
        calendar: of its commits.
    """

    def __init__(self, db: GraphDb, calendar: Calendar) -> None:
        self.db, self.calendar = db, calendar

    @classmethod
    @contextlib.contextmanager
    def opened(cls, place: Path) -> Iterator[GraphReader]:
        """Open the store of a form to be read.

        Raises:
            MissingExtra: the package is not installed.
            DataError: the form is damaged.
        """
        ends = read_days(place)
        with contextlib.closing(open_handle(place)) as db:
            yield cls(db, Calendar(ends, db.commit_time_ms))

    def state(self, day: int | None = None) -> dict[str, Node]:
        """Every live entity by key, sorted; ``day`` replays the history (17 s at scale 2,000), None is the present."""
        if day is None:
            found = [row["key"] for row in self.db.query("MATCH (n) RETURN key(n) AS key")]
            return {key: node for key in sorted(found) if (node := self.node(key)) is not None}
        fields = sorted({field for label in LABELS for field in FIELDS[label]})
        asked = ", ".join(f"n.{field} AS {field}" for field in fields)
        rows = self.db.query_at(
            self.calendar.ends[day], f"MATCH (n) RETURN key(n) AS key, labels(n) AS labels, {asked}"
        )
        nodes = {}
        for row in sorted(rows, key=lambda row: str(row["key"])):
            [label] = row["labels"]
            nodes[row["key"]] = Node(row["key"], label, {name: frozen(row[name]) for name in FIELDS.get(label, ())})
        return nodes

    def node(self, key: str) -> Node | None:
        """An entity as it is at present, without its embedding, or None."""
        found = self.db.node_info(key)
        return None if found is None else Node(found["key"], found["label"], fields_of(found["props"]))

    def history(self, key: str) -> list[Event]:
        """What happened to an entity, in order; empty for a key that never was. It reads the whole log (1 s)."""
        events = []
        for event in self.db.node_history(key)["history"]:
            commit, day = self.calendar.moment(event["commit"])
            kind = _KINDS.get(event["kind"], event["kind"])
            events.append(Event(commit, day, kind, event.get("field"), frozen(event.get("value"))))
        return events


_KINDS = {"node_inserted": "inserted", "prop_set": "set", "node_deleted": "deleted"}


def fields_of(props: Mapping[str, Any]) -> dict[str, Any]:
    """An entity's properties without the embedding, lists as tuples."""
    return {name: frozen(value) for name, value in props.items() if name != EMBEDDING}


def frozen(value: Any) -> Any:
    """A value with lists as tuples, as the world has it."""
    return tuple(value) if isinstance(value, list) else value


def cut(text: str) -> str:
    """The beginning of what a caller gave, as it is said back."""
    return text if len(text) <= ECHOED else f"{text[:ECHOED]}..."


def one_line(error: BaseException) -> str:
    """What an error of the package says, in one line and without a full stop."""
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__
