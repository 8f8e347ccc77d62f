"""What was true before a question was asked: forbidden words with an end, and what a table of replacements adds."""

from __future__ import annotations

from collections.abc import Iterable

from memassay.core.wording import stands
from memassay.suites.canary.fixture import Atom, Question
from memassay.suites.canary.reading import plain
from memassay.suites.canary.supersessions import Supersession

_DAY = len("2026-03-31")


def outdated(question: Question) -> tuple[Atom, ...]:
    """The forbidden words that had stopped being true when the question was asked.

    Words in which a required fact stands are left out: they still say it.
    """
    if not question.premise_valid:
        return ()
    facts = [plain(atom.text) for atom in question.required]
    return tuple(
        atom
        for atom in question.forbidden
        if atom.until is not None
        and (question.as_of is None or atom.until[:_DAY] <= question.as_of[:_DAY])
        and not any(stands(fact, plain(atom.text)) for fact in facts)
    )


def with_table(question: Question, table: Iterable[Supersession]) -> Question:
    """The question with what its required facts replaced among the forbidden words, as the table has it."""
    facts = {plain(atom.text) for atom in question.required}
    known = {plain(atom.text) for atom in (*question.forbidden, *question.required)}
    more = tuple(
        Atom(text=row.old, until=row.date) for row in table if plain(row.new) in facts and plain(row.old) not in known
    )
    return question.model_copy(update={"forbidden": (*question.forbidden, *more)}) if more else question
