"""The history: 300 changes over 90 days, and the calendar they are written in."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import Any, Literal

from memassay.core.errors import DataError
from memassay.suites.association.world.nodes import (
    Node,
    draw_extras,
    draw_location,
    draw_node,
    draw_specialties,
)
from memassay.suites.association.world.vocabulary import (
    BUCKETS,
    INDUSTRIES,
    INDUSTRY_SHARES,
    LABELS,
    METROS,
    SHARES,
    SPECIALTIES,
    STATUSES,
    Label,
)

FIRST_DAY = "2026-06-01"
DAYS = 90
LAST_DAY = DAYS - 1
CHANGES = 300

Operation = Literal["set_prop", "insert_node", "delete_node"]
_OPERATIONS: Mapping[Operation, int] = {"set_prop": 60, "insert_node": 25, "delete_node": 15}

# The only fields that a change sets; every label has them.
MUTABLE = ("status", "industry", "specialties", "location", "size_bucket")

_TRIES = 5  # how often a value is drawn again because it is the one that the node has already


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one node.

    Attributes:
        seq: its place in the history, from 0.
        day: 1..89; changes are in the order of their days, and no key changes twice on a day.
        date: the day as ``YYYY-MM-DD``.
        op: ``set_prop`` (field and value), ``insert_node`` (node), ``delete_node``. A deleted key never returns.
        key: the node that changes.
        field: what is set, one of ``MUTABLE``, or None.
        value: its new value (a list as a tuple), or None.
        node: the new node of an insertion, or None.
    """

    seq: int
    day: int
    date: str
    op: Operation
    key: str
    field: str | None = None
    value: Any = None
    node: Node | None = None


def date_of(day: int) -> str:
    """A day of the window, 0..89, as ``YYYY-MM-DD``.

    Raises:
        DataError: the day is outside the window.
    """
    if not 0 <= day <= LAST_DAY:
        raise DataError(f"Day {day} is outside the window: the days are 0 to {LAST_DAY}.")
    return (date.fromisoformat(FIRST_DAY) + timedelta(days=day)).isoformat()


def day_of(text: str) -> int:
    """The day, 0..89, of a date written as ``YYYY-MM-DD``.

    Raises:
        DataError: it is no such date, or outside the window.
    """
    try:
        found = date.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.isoformat() != text:  # Python reads other ways of writing a date, too
        raise DataError(f"{text!r} is no date: write it as YYYY-MM-DD.")
    day = (found - date.fromisoformat(FIRST_DAY)).days
    if not 0 <= day <= LAST_DAY:
        raise DataError(f"{text} is outside the window: the dates are {FIRST_DAY} to {date_of(LAST_DAY)}.")
    return day


def draw_changes(seed: int, nodes: Sequence[Node], counts: Mapping[Label, int]) -> tuple[Change, ...]:
    """The whole history of a world whose day 0 has those nodes, ``counts`` of each label."""
    rng = Random(f"association-changelog-{seed}")
    ops = rng.choices(list(_OPERATIONS), weights=list(_OPERATIONS.values()), k=CHANGES)
    days = sorted(rng.randint(1, LAST_DAY) for _ in range(CHANGES))
    live = _Live(nodes, counts)
    changes: list[Change] = []
    touched: set[str] = set()
    for seq, (op, day) in enumerate(zip(ops, days, strict=True)):
        if changes and day != changes[-1].day:
            touched.clear()
        change = _change(rng, live, touched, seq, day, op)
        touched.add(change.key)
        changes.append(change)
    return tuple(changes)


class _Live:
    """What is there while the history is drawn: the sorted keys, and the values that changes have set."""

    def __init__(self, nodes: Sequence[Node], counts: Mapping[Label, int]) -> None:
        self.keys = sorted(node.key for node in nodes)
        self.nodes = {node.key: node for node in nodes}
        self.set: dict[tuple[str, str], Any] = {}
        self.next_index = dict(counts)
        self.companies = counts["Company"]

    def value(self, key: str, field: str) -> Any:
        return self.set.get((key, field), self.nodes[key].fields[field])

    def untouched(self, rng: Random, touched: Iterable[str]) -> str | None:
        """A uniform choice over the sorted live keys that are not in ``touched``, or None.

        It is made without a list of them: at scale 1,000,000 that would be 300 lists of a million keys.
        """
        places = [bisect_left(self.keys, key) for key in touched]
        taken = sorted(
            place for place, key in zip(places, touched, strict=True) if self.keys[place : place + 1] == [key]
        )
        left = len(self.keys) - len(taken)
        if not left:
            return None
        chosen = rng.choice(range(left))
        for place in taken:
            chosen += place <= chosen
        return self.keys[chosen]

    def insert(self, rng: Random) -> Node:
        label = rng.choices(LABELS, weights=[SHARES[label] for label in LABELS])[0]
        index = self.next_index[label]
        self.next_index[label] += 1
        industry = rng.choices(INDUSTRIES, weights=INDUSTRY_SHARES)[0]
        node = draw_node(rng, label, index, industry, self.companies)
        self.nodes[node.key] = node
        insort(self.keys, node.key)
        return node

    def delete(self, key: str) -> None:
        del self.keys[bisect_left(self.keys, key)]


def _change(rng: Random, live: _Live, touched: set[str], seq: int, day: int, op: Operation) -> Change:
    when = date_of(day)
    key = None if op == "insert_node" else live.untouched(rng, touched)
    if key is None:  # an insertion, or no key is left to change on this day
        node = live.insert(rng)
        return Change(seq, day, when, "insert_node", node.key, node=node)
    if op == "delete_node":
        live.delete(key)
        return Change(seq, day, when, op, key)
    field = rng.choice(MUTABLE)
    value = _other_value(rng, field, live.value(key, field))
    live.set[key, field] = value
    return Change(seq, day, when, op, key, field, value)


def _other_value(rng: Random, field: str, present: Any) -> Any:
    for _ in range(_TRIES):
        value = _value(rng, field)
        if value != present:
            break
    return value


def _value(rng: Random, field: str) -> Any:
    match field:
        case "status":
            return rng.choice(STATUSES)
        case "industry":
            return rng.choice(INDUSTRIES)
        case "specialties":
            primary = rng.choice(SPECIALTIES)
            return draw_specialties(rng, primary, draw_extras(rng))
        case "location":  # the address stays where it was: a trap that is meant
            return draw_location(rng, rng.choice(range(len(METROS))))
        case _:
            return rng.randint(1, BUCKETS)
