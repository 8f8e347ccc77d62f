"""A generated company and its documents, with questions of which the truth is known.

First comes a table of what is true and since when (services, teams, people, decisions, incidents, invariants, tickets,
names that changed, names that two things share); documents and questions are then made from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from memassay.core.draws import Draw
from memassay.core.types import Document
from memassay.suites.canary.families import PUBLISHED, allocate
from memassay.suites.canary.fixture import Question
from memassay.suites.canary.supersessions import Supersession
from memassay.suites.canary.world.asking import Candidate, Candidates
from memassay.suites.canary.world.history import FEWEST, MOST, make_table
from memassay.suites.canary.world.rendering import Pages
from memassay.suites.canary.world.table import LAST_DAY, Table

__all__ = ["DOCUMENTS", "FEWEST", "LAST_DAY", "MOST", "QUESTIONS", "SEED", "VERSION", "World", "make_world"]

VERSION = 1
"""Version of generator and text together; part of the suite's identity."""

SEED = 20261130
DOCUMENTS = 130
QUESTIONS = 128

# What one handoff note says in place of the one before; what was ruled out stays ruled out.
_STATE = ("stopped", "following", "blocker", "kept", "unsettled")


@dataclass(frozen=True, slots=True)
class World:
    """What was generated.

    Attributes:
        documents: Markdown pages in the order of their paths, which are their ids; sections are units.
        questions: 128, by family in the order of ``FAMILIES``.
        supersessions: every true replacement, by date.
    """

    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    supersessions: tuple[Supersession, ...]


def make_world(seed: int = SEED, documents: int = DOCUMENTS) -> World:
    """The company of a seed; equal arguments give equal worlds on every machine.

    Args:
        seed: any whole number.
        documents: how many, from ``FEWEST`` to ``MOST``; the questions stay 128, allocated by the published weights
            with a floor of 8 per family (55, 22, 11 and five times 8).

    Raises:
        ValueError: ``documents`` is out of range.
    """
    table = make_table(seed, documents)
    pages = Pages(table, Draw(f"canary pages {seed}"))
    return World(
        documents=tuple(page.document for page in pages.all),
        questions=_questions(table, pages, Draw(f"canary questions {seed}")),
        supersessions=_supersessions(table, pages),
    )


def _questions(table: Table, pages: Pages, draw: Draw) -> tuple[Question, ...]:
    candidates = Candidates(table, pages, draw)
    questions: list[Question] = []
    for family, count in allocate(PUBLISHED, QUESTIONS).items():
        chosen = _spread(list(candidates.of(family)), count, draw)
        for number, question in enumerate(chosen, start=1):
            named = {"id": f"{family}-{number:03d}", "line": len(questions) + 1}
            questions.append(question.model_copy(update=named))
    return tuple(questions)


def _spread(candidates: list[Candidate], count: int, draw: Draw) -> list[Question]:
    """So many of the candidates, from as many groups as there are; no wording twice."""
    groups: dict[int, list[Question]] = {}
    for group, question in draw.shuffled(candidates):
        groups.setdefault(group, []).append(question)
    chosen: dict[str, Question] = {}
    while len(chosen) < count:
        left = [found for found in groups.values() if found]
        if not left:
            raise ValueError(f"only {len(chosen)} of {count} questions can be asked of so few documents")
        for found in left:
            question = found.pop()
            if len(chosen) < count:
                chosen.setdefault(question.query, question)
    return list(chosen.values())


def _supersessions(table: Table, pages: Pages) -> tuple[Supersession, ...]:
    rows = []
    for service in table.services:
        rule, old, new, design = service.rule, service.old, service.new, service.design
        changes = [
            ("rule", rule, rule.before, rule.value, f"{rule.topic['name']} of {service.name}"),
            ("adr_new", new, old.choice, new.choice, f"{new.matter['name']} of {service.name}"),
            ("adr_new", new, old.name, new.name, f"{new.matter['name']} of {service.name}"),
            ("second", design, *design.replaced, f"requirement of {design.feature}"),
        ]
        if service.renaming is not None:
            changes.append(("rename", service.renaming, service.former, service.name, "name of the service"))
        changes += [
            ("note", later, getattr(earlier, what), getattr(later, what), f"{what} of {design.feature}")
            for earlier, later in pairwise(service.notes)
            for what in _STATE
        ]
        for kind, row, before, after, subject in changes:
            page = pages.of[kind, row]
            date = service.renamed if kind == "rename" else page.date
            rows.append(Supersession(old=before, new=after, date=date, doc=page.path, subject=subject))
    return tuple(sorted(rows, key=lambda row: (row.date, row.doc, row.old)))
