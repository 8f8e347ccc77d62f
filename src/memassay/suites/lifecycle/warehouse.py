"""The warehouse that protocols ask about: the books of a hire company, made from a seed.

Every depot keeps a ledger of its own (``hires_<depot>``), so that every protocol can have a dataset to itself. Beside
them stand the members, the depots, an extract of the year before that nobody should use, and a daily index that stops
before the year does. The same seed gives the same rows on every machine, and a larger warehouse has the ledgers of a
smaller one unchanged.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from memassay.core.digest import digest_of
from memassay.core.draws import Draw
from memassay.core.errors import UsageError
from memassay.suites.lifecycle.tables import write_database

KINDS = ("ladder", "mower", "sander", "drill", "pump", "trencher")
DESKS = ("counter", "phone", "kiosk", "courier", "partner")
STATES = ("returned", "overdue", "damaged", "cancelled")
PLANS = ("shed", "garage", "workshop", "yard", "barn")
MONTHS = tuple(f"2024-{month:02}" for month in range(1, 13))

FIRST_DAY = date(2024, 1, 1)
DAYS = 366
INDEX_DAYS = 320  # the daily index ends on 2024-11-15

_MEMBERS = 240
_FEWEST, _MOST = 220, 320  # hires of a ledger

_BEGINNINGS = (
    "Ard", "Ben", "Cald", "Dun", "Ell", "Fern", "Gars", "Holm", "Inch", "Kel", "Lang", "Marl", "Nether", "Ock", "Pend",
    "Quarn", "Raven", "Sedge", "Thorn", "Ulver", "Wain", "Yar", "Ash", "Brock", "Crag", "Drake", "Eyn", "Frod", "Grim",
    "Heron",
)  # fmt: skip
_ENDINGS = (
    "ley", "row", "stead", "wick", "combe", "ford", "gate", "ham", "ing", "kirk", "lade", "mere", "ness", "over",
    "port", "rigg", "shaw", "thorpe", "vale", "worth", "by", "croft", "dale", "field", "garth", "hurst", "lock",
    "mouth", "pool", "sett", "side", "toft", "wade", "well",
)  # fmt: skip
MOST_LEDGERS = len(_BEGINNINGS) * len(_ENDINGS)

_FIRST_NAMES = ("Abel", "Brid", "Cora", "Dov", "Esme", "Finn", "Greta", "Hal", "Ines", "Jory", "Kit", "Lena")
_LAST_NAMES = ("Amsel", "Birk", "Cole", "Dorn", "Eder", "Falk", "Gant", "Hagen", "Iven", "Jost", "Kell", "Lund")

_HIRE = (
    "hire_id INTEGER PRIMARY KEY, member_id INTEGER NOT NULL, kind TEXT NOT NULL, desk TEXT NOT NULL, "
    "state TEXT NOT NULL, taken_on TEXT NOT NULL, days INTEGER NOT NULL, fee_cents INTEGER NOT NULL, "
    "rebate_cents INTEGER NOT NULL, deposit_cents INTEGER NOT NULL"
)
CATALOG = "warehouse"
MEMBERS, DEPOTS, EXTRACT, INDEX = "members", "depots", "hires_2023_extract", "daily_hires"
_SCHEMA: Mapping[str, str] = {
    MEMBERS: "member_id INTEGER PRIMARY KEY, name TEXT NOT NULL, plan TEXT NOT NULL, joined_on TEXT NOT NULL",
    DEPOTS: "depot TEXT PRIMARY KEY, ledger TEXT NOT NULL, opened_on TEXT NOT NULL",
    EXTRACT: _HIRE,
    INDEX: "day TEXT NOT NULL, depot TEXT NOT NULL, hires INTEGER NOT NULL, fee_cents INTEGER NOT NULL, "
    "PRIMARY KEY (day, depot)",
}

# What a column also answers under another name. With the names of columns and values, this is what a question that
# nobody should be able to answer must keep away from.
_ALSO: Mapping[str, str] = {
    "hire": "rental booking count number volume",
    "member": "customer tenure loyalty",
    "kind": "tool product category",
    "desk": "channel",
    "state": "status return delay damage cancellation share rate outcome",
    "taken": "date month season weekday quarter",
    "days": "length duration time",
    "fee": "price cost charge revenue turnover income gross net spend value",
    "rebate": "discount reduction",
    "deposit": "security",
    "plan": "tier",
    "joined": "registration age",
    "opened": "opening",
    "depot": "branch place",
}


class Member(NamedTuple):
    member_id: int
    name: str
    plan: str
    joined_on: str


class Hire(NamedTuple):
    """A line of a ledger; money in cents, ``taken_on`` an ISO day, ``days`` 1 to 21."""

    hire_id: int
    member_id: int
    kind: str
    desk: str
    state: str
    taken_on: str
    days: int
    fee_cents: int
    rebate_cents: int
    deposit_cents: int


Row = tuple[str | int, ...]


@dataclass(frozen=True)
class Warehouse:
    """The rows as Python values.

    Attributes:
        seed: what everything is drawn from.
        depots: their names; ``ledgers`` are their tables, in the same order.
        members: every member.
        ledgers: hires by table.
        extract: the year before, out of date on purpose.
    """

    seed: int
    depots: tuple[str, ...]
    members: tuple[Member, ...]
    ledgers: Mapping[str, tuple[Hire, ...]]
    extract: tuple[Hire, ...]

    @cached_property
    def member(self) -> Mapping[int, Member]:
        """Members by number."""
        return {member.member_id: member for member in self.members}

    @cached_property
    def tables(self) -> Mapping[str, Sequence[Row]]:
        """Every table with its rows, in the order in which they are written."""
        opened = Draw(f"lifecycle-depots-{self.seed}")
        ledgers = list(zip(self.depots, self.ledgers, strict=True))
        return {
            MEMBERS: self.members,
            DEPOTS: [(depot, ledger, _day(opened.below(2000) - 4000)) for depot, ledger in ledgers],
            **self.ledgers,
            EXTRACT: self.extract,
            INDEX: [row for depot, ledger in ledgers for row in _daily(depot, self.ledgers[ledger])],
        }

    @cached_property
    def digest(self) -> str:
        """SHA-256 over every row of every table."""
        return digest_of([[name, rows] for name, rows in self.tables.items()])

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """Every word that a column, a value or something derived from one goes by, in lower case."""
        words = set()
        for text in (*_SCHEMA.values(), *KINDS, *DESKS, *STATES, *PLANS, *_ALSO, *_ALSO.values()):
            words.update(re.findall("[a-z]+", text.lower()))
        return frozenset(words)

    def connect(self) -> sqlite3.Connection:
        """The warehouse as a database in memory; the caller closes it."""
        connection = sqlite3.connect(":memory:")
        for name, rows in self.tables.items():
            connection.execute(f"CREATE TABLE {name} ({_SCHEMA.get(name, _HIRE)})")
            if rows:
                places = ", ".join("?" * len(rows[0]))
                connection.executemany(f"INSERT INTO {name} VALUES ({places})", rows)
        connection.commit()
        return connection

    def write(self, path: Path) -> None:
        """Write the warehouse as a SQLite file; see :func:`.tables.write_database`."""
        with closing(self.connect()) as connection:
            write_database(connection, path)


def make_warehouse(seed: int, ledgers: int) -> Warehouse:
    """The warehouse of a seed.

    Args:
        seed: any whole number.
        ledgers: how many depots, 1 to ``MOST_LEDGERS``.

    Raises:
        UsageError: too many or too few ledgers.
    """
    if not 1 <= ledgers <= MOST_LEDGERS:
        raise UsageError(f"A warehouse has 1 to {MOST_LEDGERS:,} ledgers, not {ledgers:,}.")
    names = [f"{beginning}{ending}" for beginning in _BEGINNINGS for ending in _ENDINGS]
    depots = tuple(Draw(f"lifecycle-names-{seed}").shuffled(names)[:ledgers])
    members = _members(Draw(f"lifecycle-members-{seed}"))
    books = {f"hires_{depot.lower()}": _ledger(Draw(f"lifecycle-ledger-{seed}-{depot}")) for depot in depots}
    old = _ledger(Draw(f"lifecycle-extract-{seed}"))[:90]
    extract = tuple(hire._replace(taken_on=_day(number * 4 - DAYS)) for number, hire in enumerate(old))
    return Warehouse(seed, depots, members, books, extract)


def dataset_of(table: str) -> str:
    """How a table is called in words and in SQL: ``main.hires_ardley``."""
    return f"main.{table}"


def urn_of(table: str) -> str:
    """The dataset URN of a table, as the embedded platform has it for a warehouse of the catalog ``warehouse``."""
    return f"urn:li:dataset:(urn:li:dataPlatform:trino,{CATALOG}.{dataset_of(table)},PROD)"


def _members(draw: Draw) -> tuple[Member, ...]:
    return tuple(
        Member(number, f"{draw.pick(_FIRST_NAMES)} {draw.pick(_LAST_NAMES)}", draw.pick(PLANS), _day(-draw.below(1800)))
        for number in range(1, _MEMBERS + 1)
    )


def _ledger(draw: Draw) -> tuple[Hire, ...]:
    """Hires of a year. Every depot has its own favourites, so that each column has a clear majority."""
    kinds, desks, states = (_weighted(draw, values) for values in (KINDS, DESKS, STATES))
    hires = []
    for number in range(1, _FEWEST + draw.below(_MOST - _FEWEST + 1) + 1):
        days = 1 + min(draw.below(21), draw.below(21))
        fee = (400 + draw.below(1600)) * days + draw.below(100)
        rebate = fee * draw.below(30) // 100 if draw.below(3) == 0 else 0
        hires.append(
            Hire(
                number,
                1 + draw.below(_MEMBERS),
                draw.pick(kinds),
                draw.pick(desks),
                draw.pick(states),
                _day(draw.below(DAYS)),
                days,
                fee,
                rebate,
                1000 * (1 + draw.below(20)),
            )
        )
    return tuple(hires)


def _weighted(draw: Draw, values: Sequence[str]) -> list[str]:
    """Values with weights: the first of a random order is the most frequent, and none is rare."""
    return [value for place, value in enumerate(draw.shuffled(values)) for _ in range(len(values) + 2 - place)]


def _daily(depot: str, hires: Sequence[Hire]) -> list[Row]:
    last = _day(INDEX_DAYS - 1)
    totals: dict[str, list[int]] = {}
    for hire in hires:
        if hire.taken_on <= last:
            day = totals.setdefault(hire.taken_on, [0, 0])
            day[0] += 1
            day[1] += hire.fee_cents
    return [(day, depot, *totals[day]) for day in sorted(totals)]


def _day(number: int) -> str:
    return (FIRST_DAY + timedelta(days=number)).isoformat()
