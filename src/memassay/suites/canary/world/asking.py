"""Questions about the company, of which every answer is read from the table or computed from the pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memassay.core.draws import Draw
from memassay.suites.canary.families import (
    CURRENT,
    ENTITY,
    FALSE_PREMISE,
    HANDOFF,
    LINKS,
    MULTI_HOP,
    SUPERSESSION,
    UPDATE,
)
from memassay.suites.canary.fixture import Atom, Question, Split
from memassay.suites.canary.world.pages import Page, capital, filled
from memassay.suites.canary.world.rendering import Pages
from memassay.suites.canary.world.table import LAST_DAY, Chore, Namesake, Person, Service, Table, Team
from memassay.suites.canary.world.vocabulary import Row, read_text

AUTHOR = "generator"

Candidate = tuple[int, Question]
"""A question and the group that it is of: a service, a pair of namesakes, a name of nothing."""

_DESCRIBED = 0.2  # of the questions about a service say what it does, in other words than the pages, and not its name
_FEWEST_LINKS, _MOST_LINKS = 2, 4
_DEV_EVERY = 4


class Candidates:
    """Every question that can be asked of a table.

    Args:
        table: what is true.
        pages: what is written.
        draw: what wordings and descriptions are drawn from.
    """

    def __init__(self, table: Table, pages: Pages, draw: Draw) -> None:
        self._table, self._pages, self._draw = table, pages, draw
        self._asks = read_text("questions.toml")

    def of(self, family: str) -> Iterator[Candidate]:
        """The candidates of a family, in the order of the table."""
        kinds = {
            CURRENT: self._current,
            HANDOFF: self._handoffs,
            SUPERSESSION: self._supersessions,
            MULTI_HOP: self._chains,
            UPDATE: self._updates,
        }
        if family in kinds:
            for group, service in enumerate(self._table.services):
                for question in kinds[family](service):
                    yield group, self._placed(question, group)
        others = {ENTITY: self._entities, FALSE_PREMISE: self._absent, LINKS: self._links}
        if family in others:
            for group, question in others[family]():
                yield group, self._placed(question, group)

    def _placed(self, question: Question, group: int) -> Question:
        split: Split = "sealed" if group % _DEV_EVERY else "dev"
        return question.model_copy(update={"split": split})

    # -- how a question is made --------------------------------------------------------------------------------------

    def _worded(self, asks: Sequence[str], slots: Mapping[str, str]) -> str:
        return capital(filled(self._draw.pick(asks), slots))

    def _question(self, family: str, query: str, required: Sequence[Atom], **more: Any) -> Question:
        documents = tuple(dict.fromkeys(atom.doc for atom in required if atom.doc))
        known = {
            "id": "?",
            "family": family,
            "query": query,
            "answer": "; ".join(atom.text for atom in required),
            "expected_label": "correct",
            "expected_doc_ids": documents,
            "required": tuple(required),
            "cluster": documents[0] if documents else "",
            "author": AUTHOR,
        }
        return Question(**{**known, **more})

    def _slots(self, service: Service) -> dict[str, str]:
        described = self._draw.below(1000) < 1000 * _DESCRIBED
        who = f"the service that {purpose_asked(service)}" if described else service.name
        return {
            "who": who,
            "what": f"the unfinished project in {who}" if described else service.design.feature,
            "feature": service.design.feature,
            "topic_ask": service.rule.topic["ask"],
            "matter_ask": service.new.matter["ask"],
            "matter": service.new.matter["name"].lower(),
            "effect_ask": service.incident.effect["ask"],
            "effect": service.incident.effect["text"],
            "old_option": service.old.option,
        }

    def _names(self, service: Service) -> dict[str, Any]:
        return {"aliases": (service.former,)} if service.former else {}

    # -- 1 and 2: what holds now -------------------------------------------------------------------------------------

    def _current(self, service: Service) -> Iterator[Question]:
        pages = [
            ("runbook", service),
            ("rule", service.rule),
            ("adr", service.standing),
            ("adr_new", service.new),
            ("incident", service.incident),
            ("ticket", service.ticket),
            *(("chore", chore) for chore in self._table.chores if chore.service is service),
        ]
        stale = {
            ("rule", "value"): _until(self._pages.of["rule", service.rule].atom("before"), service.rule.changed),
            ("adr_new", "choice"): _until(self._pages.of["adr_old", service.old].atom("choice"), service.new.date),
        }
        for kind, row in pages:
            page = self._pages.of[kind, row]
            for label, asks in self._asks["current"][kind].items():
                slots = self._slots(service)
                if kind == "adr":
                    matter = service.standing.matter
                    slots |= {"matter_ask": matter["ask"], "matter": matter["name"].lower()}
                if isinstance(row, Chore):
                    slots["ticket"] = row.ticket.name
                more = self._names(service)
                if (kind, label) in stale:
                    more |= {"forbidden": (stale[kind, label],), "as_of": LAST_DAY}
                yield self._question(CURRENT, self._worded(asks, slots), [page.atom(label)], **more)

    def _handoffs(self, service: Service) -> Iterator[Question]:
        """The latest note is right; what the others say ended with the note after them."""
        pages = [self._pages.of["note", note] for note in service.notes]
        ends = [page.date for page in pages[1:]]
        for label, asks in self._asks["handoff"].items():
            older = [page.atom(label) for page in pages[:-1]]
            if label != "ruled":  # which stays ruled out; it is only not the latest
                older = [_until(atom, end) for atom, end in zip(older, ends, strict=True)]
            yield self._question(
                HANDOFF,
                self._worded(asks, self._slots(service)),
                [pages[-1].atom(label)],
                forbidden=tuple(older),
                as_of=LAST_DAY,
                cluster=service.design.feature,
                **self._names(service),
            )

    # -- 3: things of one name ---------------------------------------------------------------------------------------

    def _entities(self) -> Iterator[Candidate]:
        for group, pair in enumerate(self._table.namesakes):
            for one, other in (pair, pair[::-1]):
                for question in self._namesake(one, other):
                    yield group, question
        for group, double in enumerate(self._table.doubles, start=len(self._table.namesakes)):
            for one_of, other_of in (double, double[::-1]):
                yield group, self._double(one_of, other_of)

    def _namesake(self, one: Namesake, other: Namesake) -> Iterator[Question]:
        right, wrong = self._pages.of["namesake", one], self._pages.of["namesake", other]
        slots = {
            "name": one.name,
            "place": one.team.place,
            "purpose_ask": purpose_asked(one),
            "topic_ask": one.topic["ask"],
        }
        for label, asks in self._asks["entity"]["namesake"].items():
            query = self._worded(asks, slots)
            forbidden = (wrong.atom(label),)
            yield self._question(ENTITY, query, [right.atom(label)], forbidden=forbidden, cluster=one.name)

    def _double(self, one: tuple[Team, Person], other: tuple[Team, Person]) -> Question:
        (team, person), (wrong_team, wrong) = one, other
        label, wrong_label = (f"duty{t.people.index(p)}" for t, p in ((team, person), (wrong_team, wrong)))
        slots = {"person": person.name, "team": team.name}
        return self._question(
            ENTITY,
            self._worded(self._asks["entity"]["person"]["duty"], slots),
            [self._pages.of["team", team].atom(label)],
            forbidden=(self._pages.of["team", wrong_team].atom(wrong_label),),
            cluster=person.name,
        )

    # -- 4, 5 and 6: changes, chains, versions -----------------------------------------------------------------------

    def _supersessions(self, service: Service) -> Iterator[Question]:
        asks = self._asks["supersession"]
        old, new = self._pages.of["adr_old", service.old], self._pages.of["adr_new", service.new]
        rule, names = self._pages.of["rule", service.rule], self._names(service)
        about = {"cluster": new.path, **names}
        query = self._worded(asks["decision"], self._slots(service))
        yield self._question(SUPERSESSION, query, [new.atom("choice"), new.atom("since")], as_of=LAST_DAY, **about)
        query = self._worded(asks["rule"], self._slots(service))
        yield self._question(SUPERSESSION, query, [rule.atom("value"), rule.atom("before")], as_of=LAST_DAY, **names)
        if service.renaming is not None:
            page = self._pages.of["rename", service.renaming]
            query = self._worded(asks["rename"], self._slots(service))
            yield self._question(SUPERSESSION, query, [page.atom("rename")], as_of=LAST_DAY)
        then = service.incident.date
        query = self._worded(asks["earlier"], self._slots(service) | {"who": service.name_on(then)})
        if service.former:
            about["aliases"] = (service.name,)
        later = (new.atom("choice"),)
        yield self._question(SUPERSESSION, query, [old.atom("choice")], forbidden=later, as_of=then, **about)

    def _chains(self, service: Service) -> Iterator[Question]:
        asks, about = self._asks["multi_hop"], self._names(service)
        new, ticket = self._pages.of["adr_new", service.new], self._pages.of["ticket", service.ticket]
        incident = self._pages.of["incident", service.incident]
        about |= {"cluster": new.path, "expected_doc_ids": (new.path, ticket.path, incident.path)}
        chain = [new.atom("choice"), ticket.atom("task")]
        query = self._worded(asks["back"], self._slots(service))
        yield self._question(MULTI_HOP, query, [*chain, incident.atom("cause")], as_of=LAST_DAY, **about)
        query = self._worded(asks["forth"], self._slots(service))
        yield self._question(MULTI_HOP, query, chain, as_of=LAST_DAY, **about)

    def _updates(self, service: Service) -> Iterator[Question]:
        """The difference of the two versions, requirement by requirement."""
        asks, design = self._asks["update"], service.design
        first, second = self._pages.of["first", design], self._pages.of["second", design]
        before, after = design.replaced
        more = {
            "forbidden": (_until(self._point(first, design.first, before), second.date),),
            "as_of": LAST_DAY,
            **self._names(service),
        }
        points = [self._point(second, design.second, point) for point in design.added]
        yield self._question(UPDATE, self._worded(asks["added"], self._slots(service)), points, **more)
        points = [self._point(second, design.second, after)]
        yield self._question(UPDATE, self._worded(asks["replaced"], self._slots(service)), points, **more)

    def _point(self, page: Page, points: Sequence[str], point: str) -> Atom:
        return page.atom(f"point{points.index(point)}")

    # -- 7 and 8: nothing, and links ---------------------------------------------------------------------------------

    def _absent(self) -> Iterator[Candidate]:
        for number, (name, ask) in enumerate(zip(self._table.absent, self._asks["absent"]["asks"], strict=True)):
            query = filled(ask, {"absent": name})
            more = {"expected_label": "abstained", "premise_valid": False, "cluster": f"nothing: {name}"}
            yield number, self._question(FALSE_PREMISE, query, [], as_of=LAST_DAY, **more)

    def _links(self) -> Iterator[Candidate]:
        """Pages to which a few others link, each with another sentence."""
        linking: dict[str, list[Page]] = {}
        for page in self._pages.all:
            for target in page.document.links:
                linking.setdefault(target, []).append(page)
        titles = Counter(page.title for page in self._pages.all)
        for page in self._pages.all:
            found = linking.get(page.path, [])
            if not _FEWEST_LINKS <= len(found) <= _MOST_LINKS or titles[page.title] > 1:
                continue
            atoms = [one.linking(page.path) for one in found]
            if len({atom.text for atom in atoms}) == len(atoms):
                query = self._worded(self._asks["links"]["pages"], {"title": page.title})
                answer = "; ".join(one.title for one in found)
                question = self._question(LINKS, query, atoms, answer=answer, cluster=page.path, as_of=LAST_DAY)
                yield self._pages.about[page.path], question


def _until(atom: Atom, date: str) -> Atom:
    """Words that stopped being true on a day."""
    return atom.model_copy(update={"until": date})


def purpose_asked(row: Service | Namesake) -> str:
    """What a system does, in the words of questions."""
    doing: Row = row.doing
    return f"{doing['ask']} {row.thing['ask']}"
