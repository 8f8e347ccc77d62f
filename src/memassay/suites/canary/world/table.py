"""The generated company as a table: what is true in it, and since when. Documents and questions are made from it."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field

from memassay.suites.canary.world.vocabulary import Row

FIRST_DAY = datetime.date(2025, 1, 6)
LAST_DAY = "2026-06-30"
"""The day on which the questions are asked."""


def day(offset: int) -> str:
    """The ISO date so many days after the first one."""
    return (FIRST_DAY + datetime.timedelta(days=offset)).isoformat()


@dataclass(slots=True, eq=False)
class Person:
    name: str
    duty: str


@dataclass(slots=True, eq=False)
class Team:
    name: str
    place: str
    people: list[Person]


@dataclass(slots=True, eq=False)
class Decision:
    """What an ADR settles; ``number`` counts them by date."""

    matter: Row
    option: str
    choice: str
    reason: str
    date: str
    rejected: tuple[str, str]
    number: int = 0

    @property
    def name(self) -> str:
        return f"ADR-{self.number:04d}"


@dataclass(slots=True, eq=False)
class Rule:
    """An invariant: ``before`` held until ``changed``, ``value`` since then."""

    topic: Row
    before: str
    value: str
    changed: str
    why: str
    guard: str


@dataclass(slots=True, eq=False)
class Incident:
    effect: Row
    cause: str
    remedy: str
    minutes: str
    date: str


@dataclass(slots=True, eq=False)
class Ticket:
    """A task; ``number`` counts them by date."""

    date: str
    accept: str
    work: str = ""
    number: int = 0

    @property
    def name(self) -> str:
        return f"T-{self.number:04d}"


@dataclass(slots=True, eq=False)
class Design:
    """Two versions of a design: the requirements of each, in order."""

    feature: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    dates: tuple[str, str]

    @property
    def added(self) -> list[str]:
        """What the second version has and the first had not, without the requirement that it altered."""
        return [point for point in self.second if point not in (*self.first, self.replaced[1])]

    @property
    def replaced(self) -> tuple[str, str]:
        """The requirement that the second version altered: before and after."""
        return next((old, new) for old, new in zip(self.first, self.second, strict=False) if old != new)


@dataclass(slots=True, eq=False)
class Note:
    date: str
    stopped: str
    following: str
    blocker: str
    ruled: str
    kept: str
    unsettled: str


@dataclass(slots=True, eq=False)
class Service:
    """A service and all that happened to it: incident, ticket, new decision, each because of the one before.

    Attributes:
        wake: whom to ring in an alarm, and after how many minutes.
        former: its name before ``renamed``, or "".
        runbook: date of its runbook; ``stale`` where that gives the bound that the invariant had before.
        updated: whether the record of the old decision was given a notice that it is replaced.
    """

    name: str
    former: str
    renamed: str
    team: Team
    doing: Row
    thing: Row
    runbook: str
    first: str
    wake: str
    after: str
    symptom: str
    stale: bool
    rule: Rule
    old: Decision
    new: Decision
    standing: Decision
    incident: Incident
    ticket: Ticket
    renaming: Ticket | None
    design: Design
    notes: list[Note]
    updated: bool

    @property
    def owner(self) -> Person:
        return self.team.people[0]

    @property
    def oncall(self) -> Person:
        return self.team.people[1]

    def name_on(self, date: str) -> str:
        """What the service was called on a day."""
        return self.former if self.former and date < self.renamed else self.name


@dataclass(slots=True, eq=False)
class Namesake:
    """One of two systems of the same name in different places."""

    name: str
    team: Team
    doing: Row
    thing: Row
    topic: Row
    value: str
    first: str
    wake: str
    after: str
    date: str


@dataclass(slots=True, eq=False)
class Chore:
    """A small ticket about a service, of which nothing depends."""

    title: str
    ticket: Ticket
    service: Service


@dataclass(slots=True, eq=False)
class Table:
    """All of it. ``doubles`` are two people of one name; ``absent`` are names of nothing at all."""

    teams: list[Team] = field(default_factory=list)
    services: list[Service] = field(default_factory=list)
    namesakes: list[tuple[Namesake, Namesake]] = field(default_factory=list)
    doubles: list[tuple[tuple[Team, Person], tuple[Team, Person]]] = field(default_factory=list)
    chores: list[Chore] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
