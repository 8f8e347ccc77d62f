"""Whether the forms of a world say the same: every form is read back, and every disagreement is listed.

::

    equivalent({"json-files": place, "sqlite": other, "graph": third})   # [] where they agree

The forms are compared with the first one named: the states of the first and the last day (or of all days), the change
logs row by row, and of the graph, which keeps no log, the history of every changed key against the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memassay.core.errors import UsageError
from memassay.suites.association.forms.reading import Facts, read_json_files, read_sqlite
from memassay.suites.association.world import DAYS, LAST_DAY, Change, Node

if TYPE_CHECKING:
    from memassay.suites.association.graph.store import Event

GRAPH = "graph"
_READERS: Mapping[str, Callable[[Path], Facts]] = {"json-files": read_json_files, "sqlite": read_sqlite}
_DECIMALS = 9
_MISSING = object()


def equivalent(places: Mapping[str, Path], *, every_day: bool = False) -> list[str]:
    """Every disagreement between forms, one sentence each; empty where they say the same.

    At scale 2,000 most of the time goes into opening the graph (10 s); its past is read from a copy of the log
    without derived links (5 s for the histories of 290 keys, or for all days).

    Args:
        places: the folders of the stores by the name of their memory, at least one of ``json-files`` and ``sqlite``,
            ``graph`` last.
        every_day: compare the states of all days, not of the first and the last only.

    Raises:
        UsageError: another form is named, or only the graph.
        DataError: a form is damaged.
    """
    logs = [name for name in places if name in _READERS]
    if not logs or any(name != GRAPH and name not in _READERS for name in places):
        raise UsageError(f"The forms to compare are {', '.join([*_READERS, GRAPH])}, and not {GRAPH} alone.")
    days = range(DAYS) if every_day else (0, LAST_DAY)
    first, *others = [_Log(name, _READERS[name](places[name])) for name in logs]
    found: list[str] = []
    for other in others:
        names = f"{first.name} and {other.name}"
        if first.roles != other.roles:
            found.append(f"{names}: other roles")
        found += [f"{names}: {line}" for line in _log_differences(first.changes, other.changes)]
        for (day, ours), (_, theirs) in zip(first.states(days), other.states(days), strict=True):
            found += [f"{names}, day {day}: {line}" for line in differences(ours, theirs)]
    if GRAPH in places:
        found += [f"{first.name} and {GRAPH}{line}" for line in _graph_differences(first, places[GRAPH], days)]
    return found


def differences(ours: Mapping[str, Node], theirs: Mapping[str, Node]) -> list[str]:
    """What two states say differently, one line per entity, sorted by key; floats count to 9 decimals."""
    lines = []
    for key in sorted(ours.keys() | theirs.keys()):
        one, two = ours.get(key), theirs.get(key)
        if one is None or two is None:
            lines.append(f"{key} is only in the {'second' if one is None else 'first'}")
        elif one.label != two.label:
            lines.append(f"{key} is a {one.label} and a {two.label}")
        else:
            names = sorted(one.fields.keys() | two.fields.keys())
            unlike = [n for n in names if not _same(one.fields.get(n, _MISSING), two.fields.get(n, _MISSING))]
            if unlike:
                lines.append(f"{key} differs in {', '.join(unlike)}")
    return lines


def history_differences(key: str, changes: Sequence[Change], events: Sequence[Event]) -> list[str]:
    """What a store's history of a key and the change log say differently.

    Args:
        key: the entity.
        changes: its own, in order.
        events: what the store remembers of it.
    """
    born = changes[0].op != "insert_node" if changes else True
    wanted: list[tuple[str, int, str | None, Any]] = [("inserted", 0, None, None)] if born else []
    kinds = {"insert_node": "inserted", "set_prop": "set", "delete_node": "deleted"}
    wanted += [(kinds[change.op], change.day, change.field, change.value) for change in changes]
    found = [(event.kind, event.day, event.field, event.value) for event in events]
    return [
        f"{key}: the log has {_told(one)}, the store {_told(two)}"
        for one, two in zip_longest(wanted, found)
        if one is None or two is None or one[:3] != two[:3] or not _same(one[3], two[3])
    ]


class _Log:
    """A form that keeps its first day and its change log."""

    def __init__(self, name: str, facts: Facts) -> None:
        self.name, self.roles = name, facts.roles
        self.nodes = {node.key: node for node in facts.nodes}
        self.changes = list(facts.changes)

    def states(self, days: Iterable[int]) -> Iterator[tuple[int, dict[str, Node]]]:
        """The states of days that go up; what is yielded changes with the next one."""
        live, at = dict(self.nodes), 0
        for day in days:
            while at < len(self.changes) and self.changes[at].day <= day:
                change = self.changes[at]
                at += 1
                if change.node is not None:
                    live[change.key] = change.node
                elif change.field is None:
                    live.pop(change.key, None)
                elif change.key in live:
                    node = live[change.key]
                    live[change.key] = Node(node.key, node.label, {**node.fields, change.field: change.value})
            yield day, live


def _log_differences(ours: Sequence[Change], theirs: Sequence[Change]) -> Iterator[str]:
    for row, (one, two) in enumerate(zip_longest(ours, theirs)):
        if one is None or two is None:
            yield f"change {row} is only in the {'second' if one is None else 'first'}"
            continue
        heads = [(change.seq, change.day, change.date, change.op, change.key, change.field) for change in (one, two)]
        nodes = [{} if change.node is None else {change.key: change.node} for change in (one, two)]
        if heads[0] != heads[1] or not _same(one.value, two.value) or differences(*nodes):
            yield f"change {row} differs"


def _graph_differences(log: _Log, place: Path, days: Iterable[int]) -> Iterator[str]:
    from memassay.suites.association.graph.log import without_links
    from memassay.suites.association.graph.store import GraphReader

    with GraphReader.opened(place) as reader, without_links(reader, place) as past:
        for day, state in log.states(days):
            found = reader.state() if day == LAST_DAY else past.state(day)
            yield from (f", day {day}: {line}" for line in differences(state, found))
        own: dict[str, list[Change]] = {}
        for change in log.changes:
            own.setdefault(change.key, []).append(change)
        for key in sorted(own):
            yield from (f": {line}" for line in history_differences(key, own[key], past.history(key)))


def _told(event: tuple[Any, ...] | None) -> str:
    return "nothing" if event is None else " ".join(str(part) for part in event if part is not None)


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, float) and isinstance(two, float):
        return round(one, _DECIMALS) == round(two, _DECIMALS)
    if isinstance(one, tuple) and isinstance(two, tuple):
        return len(one) == len(two) and all(map(_same, one, two))
    return type(one) is type(two) and bool(one == two)
