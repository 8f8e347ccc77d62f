"""The templates: kinds of definition, each with how it is drawn, changed, stated and asked about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal

from memassay.core.draws import Draw
from memassay.suites.lifecycle.templates.queries import COUNT, Answer, Clause, Query, Total
from memassay.suites.lifecycle.warehouse import (
    DAYS,
    DESKS,
    FIRST_DAY,
    KINDS,
    MONTHS,
    PLANS,
    STATES,
    Warehouse,
    dataset_of,
)

NET = Total((("fee_cents", 1), ("rebate_cents", -1)), per=100)
_RANKS = {2: "second", 3: "third"}
_SUMMED = {"fee_cents": "fees", "rebate_cents": "rebates", "deposit_cents": "deposits", "days": "days"}


@dataclass(frozen=True)
class Template:
    """A kind of definition.

    Attributes:
        name: how results name the stratum.
        kind: what the answer is.
        noun: what the term qualifies; question and fact may share it.
        meaning: how the fact goes on after "In main.hires_x, the zl... <noun>", from the definition.
        asks: the question, with ``{term}`` and ``{table}``; it has no word of the definition.
        whose: the hires that the term picks out, as the abstain question and its twin call them, with ``{term}``.
        draw: a definition over a ledger, with a draw of its own.
        tolerance: of a numeric answer.
    """

    name: str
    kind: Literal["numeric", "entity"]
    noun: str
    meaning: Callable[[Query], str]
    asks: str
    whose: str
    draw: Callable[[Draw, str], Query]
    tolerance: float = 0.5

    def fact(self, term: str, query: Query) -> str:
        """The definition in words, with its SQL."""
        article = "a" if self.noun == "hire" else "the"
        return (
            f"In {dataset_of(query.table)}, {article} '{term}' {self.noun} is {self.meaning(query)}. SQL: {query.sql};"
        )

    def question(self, term: str, table: str) -> str:
        return self.asks.format(term=term, table=dataset_of(table))

    @property
    def names(self) -> Sequence[str]:
        """Every value that an entity answer could have."""
        return {"kind": KINDS, "desk": DESKS, "plan": PLANS, "month": MONTHS}.get(self.noun, ())


def _hire(query: Query) -> str:
    return f"a hire that {query.words}"


def _ranked(query: Query) -> str:
    column = query.total.columns[0][0]
    return f"the one that comes {_RANKS[query.place]} by {_SUMMED[column]}, summed over every hire that {query.words}"


def _banded(draw: Draw, table: str) -> Query:
    low = 2000 + 50 * draw.below(80)
    high = low + 3000 + 50 * draw.below(80)
    return Query(table, (Clause("fee_cents", ">=", low), Clause("fee_cents", "<=", high)))


def _stretch(draw: Draw, table: str) -> Query:
    first = 5 + draw.below(DAYS - 90)
    days = [(FIRST_DAY + timedelta(days=day)).isoformat() for day in (first, first + 30 + draw.below(45))]
    return Query(table, (Clause("taken_on", ">=", days[0]), Clause("taken_on", "<=", days[1])))


def _drawn_out(draw: Draw, table: str) -> Query:
    return Query(table, (Clause("days", ">=", 3 + draw.below(5)), Clause("state", "=", draw.pick(STATES))))


def _take(draw: Draw, table: str) -> Query:
    return Query(table, (Clause("desk", "=", draw.pick(DESKS)), Clause("days", "<=", 6 + draw.below(6))), NET)


def _points(draw: Draw, table: str) -> Query:
    worth = Total((("days", 2 + draw.below(5)),), constant=3 + draw.below(9))
    return Query(table, (Clause("kind", "=", draw.pick(KINDS)),), worth)


def _by(group: str, clauses: Callable[[Draw], tuple[Clause, ...]]) -> Callable[[Draw, str], Query]:
    def drawn(draw: Draw, table: str) -> Query:
        total = Total(((draw.pick(tuple(_SUMMED)), 1),))
        return Query(table, clauses(draw), total, group, place=2 + draw.below(2))

    return drawn


TEMPLATES: tuple[Template, ...] = (
    Template(
        "fee-band", "numeric", "hire", _hire,
        "How many {term} hires does {table} hold? Answer with the count.", "the {term} hires", _banded,
    ),
    Template(
        "ranked-kind", "entity", "kind", _ranked,
        "Which kind is the {term} kind of {table}? Answer with its name.", "the hires of the {term} kind",
        _by("kind", lambda draw: (Clause("desk", "=", draw.pick(DESKS)), Clause("days", "<=", 9 + draw.below(9)))),
    ),
    Template(
        "stretch", "numeric", "hire", _hire,
        "How many {term} hires are there in {table}? Answer with the count.", "the {term} hires", _stretch,
    ),
    Template(
        "ranked-desk", "entity", "desk", _ranked,
        "Which desk is the {term} desk of {table}? Answer with its name.", "the hires at the {term} desk",
        _by("desk", lambda draw: (Clause("state", "=", draw.pick(STATES)), Clause("days", ">=", 2 + draw.below(6)))),
    ),
    Template(
        "drawn-out", "numeric", "hire", _hire,
        "What is the number of {term} hires in {table}? Answer with the count.", "the {term} hires", _drawn_out,
    ),
    Template(
        "ranked-month", "entity", "month", _ranked,
        "Which month is the {term} month of {table}? Answer as YYYY-MM.", "the hires of the {term} month",
        _by("month", lambda draw: (Clause("kind", "=", draw.pick(KINDS)), Clause("days", "<=", 8 + draw.below(5)))),
    ),
    Template(
        "net-take", "numeric", "take",
        lambda query: "the fees less the rebates, in cents divided by 100, summed over every hire that " + query.words,
        "What is the {term} take of {table}? Answer with the amount.", "the hires in the {term} take", _take, 0.01,
    ),
    Template(
        "ranked-plan", "entity", "plan", _ranked,
        "Which plan is the {term} plan of {table}? Answer with its name.", "the hires on the {term} plan",
        _by("plan", lambda draw: (Clause("days", ">=", 3 + draw.below(4)), Clause("desk", "=", draw.pick(DESKS)))),
    ),
    Template(
        "points", "numeric", "score",
        lambda query: (
            f"the sum, over every hire that {query.words}, of {query.total.columns[0][1]} points for each of its days "
            f"and {query.total.constant} more"
        ),
        "What is the {term} score of {table}? Answer with the number.", "the hires in the {term} score", _points,
    ),
)  # fmt: skip
"""An odd number, so that sinks and stages, which go round in fours, meet every template alike."""


def naive_answers(query: Query, warehouse: Warehouse) -> list[tuple[str, Answer]]:
    """What somebody would answer who does not know a definition, by the reading that gives it."""
    table, total = query.table, query.total
    guesses: list[tuple[str, Query]] = []
    if query.group is not None:
        fees = Total((("fee_cents", 1),))
        guesses += [("the first", replace(query, place=1)), ("the first of all", replace(query, clauses=(), place=1))]
        guesses += [
            ("the most hires", Query(table, group=query.group)),
            ("the most fees", Query(table, (), fees, query.group)),
        ]
    else:
        guesses += [("without conditions", replace(query, clauses=())), ("every hire", Query(table))]
        if len(query.clauses) > 1:
            guesses += [(f"only where {clause.sql}", replace(query, clauses=(clause,))) for clause in query.clauses]
        for column in ("kind", "desk", "state"):
            most = Query(table, group=column).answer(warehouse)
            guesses.append((f"the commonest {column}", replace(query, clauses=(Clause(column, "=", str(most)),))))
        if total.columns:
            plain = replace(total, columns=((total.columns[0][0], 1),), constant=0)
            guesses += [("one column alone", replace(query, total=plain)), ("a count", replace(query, total=COUNT))]
            guesses.append(("one column of every hire", replace(query, total=plain, clauses=())))
    answered = ((reading, guess.answer(warehouse)) for reading, guess in guesses)
    return [(reading, answer) for reading, answer in answered if answer is not None]


def changed(query: Query, other: Query, draw: Draw) -> Query:
    """A definition with one piece, by lot, from another definition of the same template: a correction."""
    pieces = len(query.clauses)
    piece = draw.below(pieces + (1 if other.total != query.total or other.place != query.place else 0))
    if piece == pieces:
        return replace(query, place=other.place, total=other.total)
    clauses = [*query.clauses[:piece], other.clauses[piece], *query.clauses[piece + 1 :]]
    return replace(query, clauses=tuple(clauses))
