"""Protocols from templates: drawn until every rule holds, with keys that Python and SQL agree on."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from memassay.core.draws import Draw
from memassay.core.errors import UsageError
from memassay.suites.lifecycle.answers import same_answer
from memassay.suites.lifecycle.protocol import (
    ENTITY_SINK,
    PAGE_SINK,
    Extras,
    Grading,
    Naive,
    Page,
    Prompt,
    Protocol,
    Question,
    Taught,
    Update,
)
from memassay.suites.lifecycle.templates.forms import TEMPLATES, Template, changed, naive_answers
from memassay.suites.lifecycle.templates.queries import Answer, Average, Query, from_sql
from memassay.suites.lifecycle.templates.rules import guesses, lint, lint_set
from memassay.suites.lifecycle.templates.terms import terms
from memassay.suites.lifecycle.templates.topics import ANSWERABLE, UNANSWERABLE, answerable
from memassay.suites.lifecycle.warehouse import MOST_LEDGERS, Warehouse, dataset_of, urn_of

DEFAULT_PROTOCOLS = 4 * len(TEMPLATES)
"""Every template with both sinks, corrected and passed on."""
MOST_PROTOCOLS = MOST_LEDGERS
BUDGET = 15
INTERFERENCE = 3

_FEWEST_HIRES = 8  # a definition that picks out fewer could be guessed
_MOST_DRAWS = 2000
_SAME = 1e-6
# Opposites follow each other, so that every even number of protocols has as many of either.
_TURNS = ((PAGE_SINK, False), (ENTITY_SINK, True), (PAGE_SINK, True), (ENTITY_SINK, False))


@dataclass(frozen=True, slots=True)
class _Draft:
    """A definition, its correction, and the answers."""

    old: Query
    new: Query
    answers: tuple[Answer, Answer]
    naive: tuple[tuple[str, Answer], ...]


def generate(
    warehouse: Warehouse, protocols: int = DEFAULT_PROTOCOLS, *, interference: int = INTERFERENCE
) -> tuple[Protocol, ...]:
    """Protocols about a warehouse, each on a ledger of its own; a small set is the beginning of a large one.

    Args:
        warehouse: at least one ledger per protocol.
        protocols: how many, 1 to ``MOST_PROTOCOLS``; even numbers are balanced, and multiples of 36 in full.
        interference: other facts per protocol to teach between teaching and recall, 0 to 12.

    Raises:
        UsageError: a number out of range, too few ledgers, or a seed without enough sound protocols.
    """
    if not 1 <= protocols <= MOST_PROTOCOLS:
        raise UsageError(f"protocols is {protocols:,}; ask for 1 to {MOST_PROTOCOLS:,}.")
    if not 0 <= interference <= 12:
        raise UsageError(f"interference is {interference}; ask for 0 to 12 other facts.")
    if protocols > len(warehouse.ledgers):
        raise UsageError(
            f"{protocols:,} protocols need as many ledgers, and the warehouse has {len(warehouse.ledgers):,}."
        )
    words = terms(warehouse.seed)
    with closing(warehouse.connect()) as connection:
        made = tuple(_protocol(warehouse, number, words, interference, connection) for number in range(protocols))
    for problem in lint_set(made):
        raise AssertionError(problem)
    return made


def _protocol(
    warehouse: Warehouse, number: int, words: Iterator[str], interference: int, connection: sqlite3.Connection
) -> Protocol:
    template = TEMPLATES[number % len(TEMPLATES)]
    table = tuple(warehouse.ledgers)[number]
    term = next(words)
    others = [next(words) for _ in range(12)][:interference]
    draw = Draw(f"lifecycle-protocol-{warehouse.seed}-{number}")
    broken: tuple[str, ...] = ("no definition has an answer that cannot be guessed",)
    for _ in range(_MOST_DRAWS):
        draft = _draft(warehouse, template, table, draw)
        if draft is None:
            continue
        protocol = _assembled(warehouse, number, template, term, draft, _told(warehouse, number, others, draw), draw)
        broken = lint(protocol, warehouse.vocabulary)
        if not broken:
            _check_keys(protocol, connection)
            return protocol
    raise UsageError(
        f"Seed {warehouse.seed} gives no protocol number {number + 1} of the template {template.name} that keeps the "
        f"rules ({broken[0]}); take another seed."
    )


def _draft(warehouse: Warehouse, template: Template, table: str, draw: Draw) -> _Draft | None:
    """A definition and a correction whose answers differ from each other and from every guess; None where not."""
    old = template.draw(draw, table)
    new = changed(old, template.draw(draw, table), draw)
    answers = []
    for query in (old, new):
        answer = query.answer(warehouse)
        if answer is None or query.tied(warehouse) or len(query.hires(warehouse)) < _FEWEST_HIRES:
            return None
        answers.append(answer)
    naive: dict[Answer, str] = {}
    for query in (old, new):
        for reading, answer in naive_answers(query, warehouse):
            naive.setdefault(answer, reading)
    keys = [_grading(template, answer) for answer in answers]
    if same_answer(*keys) or any(guesses(guess, key) for guess in naive for key in keys):
        return None
    return _Draft(old, new, (answers[0], answers[1]), tuple((reading, answer) for answer, reading in naive.items()))


def _assembled(
    warehouse: Warehouse,
    number: int,
    template: Template,
    term: str,
    draft: _Draft,
    interference: tuple[Taught, ...],
    draw: Draw,
) -> Protocol:
    sink, corrected = _TURNS[number % len(_TURNS)]
    table = draft.old.table
    dataset, name = dataset_of(table), f"{term} {template.noun}"
    fact = template.fact(term, draft.old)
    question = Question(prompt=template.question(term, table), grading=_grading(template, draft.answers[0]))
    correction = _correction(template, term, draft)
    subject = draw.pick([one for one in UNANSWERABLE if not answerable(one, warehouse.vocabulary)])
    known, column = draw.pick(ANSWERABLE)
    whose = template.whose.format(term=term)
    average = Average(draft.new if corrected else draft.old, column)
    value = average.answer(warehouse)
    assert value is not None
    return Protocol(
        id=f"hire-{number + 1:04}-{term}",
        title=f"{term} {template.noun} ({template.name})",
        fact=fact,
        entity_urn=urn_of(table),
        sink=sink,
        page=_page(term, template, fact) if sink == PAGE_SINK else None,
        budget_tool_calls=BUDGET,
        teach=Prompt(prompt=taught(fact, dataset)),
        recall=question,
        transfer=None if corrected else question,
        update=correction if corrected else None,
        abstain=Prompt(prompt=f"What is the average {subject} of {whose} in {dataset}?"),
        extras=Extras(
            template=template.name,
            term=term,
            query=draft.old.sql,
            corrected_query=draft.new.sql,
            naive=tuple(Naive(reading=reading, answer=answer) for reading, answer in draft.naive),
            stale=(_shown(draft.answers[0]),),
            twin=Question(
                prompt=f"What is the average {known} of {whose} in {dataset}?",
                grading=Grading(kind="numeric", value=round(value, 4), abs_tolerance=0.01),
            ),
            never_taught=question,
            interference=interference,
            correction=None if corrected else correction,
            forget=Prompt(
                prompt=f"What I told you about the {name} of {dataset} no longer holds and nothing takes its place. "
                "Remove it from your memory, so that no later session uses it."
            ),
        ),
    )


def taught(fact: str, dataset: str) -> str:
    """What the teacher says."""
    return (
        f"Here is something that I will want you to know in later sessions. {fact} Keep it in memory now, and link it "
        f"to the dataset it is about, {dataset}."
    )


def _correction(template: Template, term: str, draft: _Draft) -> Update:
    fact = template.fact(term, draft.new)
    old, new = draft.answers
    return Update(
        prompt=f"I told you something wrong before; this is how it really is. {fact} Bring what you kept up to date, "
        "so that later sessions go by this alone.",
        fact=fact,
        recall=Question(prompt=template.question(term, draft.new.table), grading=_grading(template, new)),
        superseded_value=old if isinstance(old, float) else None,
    )


def _told(warehouse: Warehouse, number: int, words: list[str], draw: Draw) -> tuple[Taught, ...]:
    """Other facts: on the same ledger by the same template, then by others; every third is on the ledger before."""
    ledgers = tuple(warehouse.ledgers)
    told = []
    for place, word in enumerate(words):
        table = ledgers[max(number - 1, 0)] if place % 3 == 2 else ledgers[number]
        template = TEMPLATES[(number + place) % len(TEMPLATES)]
        fact = template.fact(word, template.draw(draw, table))
        told.append(Taught(prompt=taught(fact, dataset_of(table)), fact=fact, entity_urn=urn_of(table)))
    return tuple(told)


def _page(term: str, template: Template, fact: str) -> Page:
    title = f"The {term} {template.noun}"
    return Page(slug=f"{term}-{template.noun}", title=title, summary=fact, body=f"# {title}\n\n{fact}\n")


def _grading(template: Template, answer: Answer) -> Grading:
    if isinstance(answer, float):
        return Grading(kind="numeric", value=round(answer, 2), abs_tolerance=template.tolerance)
    others = tuple(name for name in template.names if name != answer)
    return Grading(kind="entity", aliases=(answer,), wrong_aliases=others)


def _shown(answer: Answer) -> str:
    return answer if isinstance(answer, str) else f"{answer:.2f}".removesuffix(".00")


def _check_keys(protocol: Protocol, connection: sqlite3.Connection) -> None:
    """Run every definition that a fact states as SQL; Python has made the keys."""
    extras = protocol.extras
    assert extras is not None
    update = protocol.update or extras.correction
    assert update is not None
    for fact, sql, key in (
        (protocol.fact, extras.query, protocol.recall.grading),
        (update.fact, extras.corrected_query, update.recall.grading),
    ):
        assert sql in fact, protocol.id
        found = from_sql(connection, sql)
        right = key.aliases[0] if key.kind == "entity" else key.value
        same = abs(found - right) < _SAME if isinstance(found, float) and isinstance(right, float) else found == right
        if not same:
            raise AssertionError(f"{protocol.id}: {sql} gives {found} in SQL and {right} in Python")
