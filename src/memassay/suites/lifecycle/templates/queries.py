"""A definition as a value with three faces: words, SQL, and Python over rows.

The words and the SQL of a fact and both evaluations of its key come from the same object, so a fact cannot say one
thing and its key another; that the two evaluations agree is checked for every protocol.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from memassay.suites.lifecycle.warehouse import MEMBERS, Hire, Warehouse, dataset_of

Answer = float | str
Operator = Literal["=", ">=", "<="]

_COMPARE: Mapping[Operator, Callable[[str | int, str | int], bool]] = {
    "=": lambda value, bound: value == bound,
    ">=": lambda value, bound: value >= bound,  # type: ignore[operator]
    "<=": lambda value, bound: value <= bound,  # type: ignore[operator]
}

_WORDS: Mapping[tuple[str, Operator], str] = {
    ("kind", "="): "was for a {}",
    ("desk", "="): "came in through the {} desk",
    ("state", "="): "ended as {}",
    ("days", ">="): "lasted {} days or more",
    ("days", "<="): "lasted {} days or less",
    ("fee_cents", ">="): "cost {} cents or more",
    ("fee_cents", "<="): "cost {} cents or less",
    ("taken_on", ">="): "was taken on {} or later",
    ("taken_on", "<="): "was taken on {} or earlier",
    ("plan", "="): "was made by somebody on the {} plan",
}
_MEMBER_COLUMNS = frozenset(("plan",))


@dataclass(frozen=True, slots=True)
class Clause:
    """A condition on a hire; ``plan`` is that of the member who made it."""

    column: str
    operator: Operator
    value: str | int

    @property
    def words(self) -> str:
        return _WORDS[self.column, self.operator].format(self.value)

    @property
    def sql(self) -> str:
        value = str(self.value) if isinstance(self.value, int) else f"'{self.value}'"
        test = f"{self.column} {self.operator} {value}"
        if self.column in _MEMBER_COLUMNS:
            return f"member_id IN (SELECT member_id FROM {dataset_of(MEMBERS)} WHERE {test})"
        return test

    def holds(self, hire: Hire, warehouse: Warehouse) -> bool:
        return _COMPARE[self.operator](_value(hire, self.column, warehouse), self.value)


@dataclass(frozen=True, slots=True)
class Total:
    """The sum over hires of a line's worth: ``constant`` and so much per unit of each column; divided by ``per``.

    Without columns it counts hires.
    """

    columns: tuple[tuple[str, int], ...] = ()
    constant: int = 0
    per: int = 1

    @property
    def sql(self) -> str:
        if not self.columns:
            return "count(*)"
        parts = [
            column if times == 1 else f"- {column}" if times == -1 else f"{times} * {column}"
            for column, times in self.columns
        ]
        worth = " ".join(part if not place or part.startswith("-") else f"+ {part}" for place, part in enumerate(parts))
        worth += f" + {self.constant}" if self.constant else ""
        return f"sum({worth}) / {self.per}.0" if self.per > 1 else f"sum({worth})"

    def of(self, hires: Sequence[Hire]) -> Fraction:
        if not self.columns:
            return Fraction(len(hires))
        worth = sum(
            self.constant + sum(times * getattr(hire, column) for column, times in self.columns) for hire in hires
        )
        return Fraction(worth, self.per)


COUNT = Total()


@dataclass(frozen=True, slots=True)
class Query:
    """A number over the hires of a ledger, or the group of hires that stands at a place when groups are ranked.

    Attributes:
        table: the ledger.
        clauses: what a hire must meet, all of them.
        total: what is summed.
        group: a column; None asks for the number itself. ``month`` is the year and month of ``taken_on``.
        place: 1 for the group with the most.
    """

    table: str
    clauses: tuple[Clause, ...] = ()
    total: Total = COUNT
    group: str | None = None
    place: int = 1

    @property
    def where(self) -> str:
        tests = " AND ".join(clause.sql for clause in self.clauses)
        return f" WHERE {tests}" if tests else ""

    @property
    def sql(self) -> str:
        source = f"FROM {dataset_of(self.table)}{self.where}"
        if self.group is None:
            return f"SELECT {self.total.sql} {source}"
        return (
            f"SELECT {self.named} {source} GROUP BY 1 ORDER BY {self.total.sql} DESC, 1 LIMIT 1 OFFSET {self.place - 1}"
        )

    @property
    def named(self) -> str:
        """SQL of the group that a hire is in."""
        if self.group == "plan":
            return f"(SELECT plan FROM {dataset_of(MEMBERS)} WHERE member_id = {self.table}.member_id)"
        return "substr(taken_on, 1, 7)" if self.group == "month" else str(self.group)

    @property
    def words(self) -> str:
        """The conditions, as in "a hire that ..."."""
        return " and ".join(clause.words for clause in self.clauses)

    def hires(self, warehouse: Warehouse) -> list[Hire]:
        """The hires that it is about."""
        return [
            hire
            for hire in warehouse.ledgers[self.table]
            if all(clause.holds(hire, warehouse) for clause in self.clauses)
        ]

    def ranking(self, warehouse: Warehouse) -> list[tuple[str, Fraction]]:
        """The groups with their totals, most first; equal ones by name."""
        assert self.group is not None
        groups: defaultdict[str, list[Hire]] = defaultdict(list)
        for hire in self.hires(warehouse):
            groups[str(_value(hire, self.group, warehouse))].append(hire)
        totals = [(name, self.total.of(hires)) for name, hires in groups.items()]
        return sorted(totals, key=lambda entry: (-entry[1], entry[0]))

    def answer(self, warehouse: Warehouse) -> Answer | None:
        """What Python makes of the rows: a number or a name; None where there is no hire or no such place."""
        if self.group is not None:
            ranking = self.ranking(warehouse)
            return ranking[self.place - 1][0] if self.place <= len(ranking) else None
        hires = self.hires(warehouse)
        return float(self.total.of(hires)) if hires else None

    def tied(self, warehouse: Warehouse) -> bool:
        """Whether the place in the ranking is shared, so that the definition has no one answer."""
        if self.group is None:
            return False
        totals = [total for _, total in self.ranking(warehouse)]
        here = totals[self.place - 1 : self.place]
        return not here or totals.count(here[0]) > 1


@dataclass(frozen=True, slots=True)
class Average:
    """The mean of a column over the hires that a definition picks out."""

    query: Query
    column: str

    @property
    def sql(self) -> str:
        query = self.query
        where = query.where if query.group is None else f" WHERE {query.named} = ({query.sql})"
        return f"SELECT avg({self.column}) FROM {dataset_of(query.table)}{where}"

    def answer(self, warehouse: Warehouse) -> float | None:
        query = self.query
        hires = query.hires(warehouse)
        if query.group is not None:
            name, group = query.answer(warehouse), query.group
            hires = [hire for hire in warehouse.ledgers[query.table] if _value(hire, group, warehouse) == name]
        worth = [getattr(hire, self.column) for hire in hires]
        return float(Fraction(sum(worth), len(worth))) if worth else None


def from_sql(connection: sqlite3.Connection, sql: str) -> Answer | None:
    """What SQLite makes of a query of one row and one column."""
    row = connection.execute(sql).fetchone()
    value = row[0] if row else None
    return value if value is None or isinstance(value, str) else float(value)


def _value(hire: Hire, column: str, warehouse: Warehouse) -> str | int:
    if column == "month":
        return hire.taken_on[:7]
    if column in _MEMBER_COLUMNS:
        value: str = getattr(warehouse.member[hire.member_id], column)
        return value
    found: str | int = getattr(hire, column)
    return found
