"""The pages of the company, one kind after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memassay.core.draws import Draw
from memassay.suites.canary.world.pages import Page, Place, capital, filled, slug
from memassay.suites.canary.world.table import Chore, Decision, Namesake, Note, Service, Table, Team, Ticket
from memassay.suites.canary.world.vocabulary import read_text

Slots = Mapping[str, str]

_STALE = "At the time of writing it is {before}. "
_NOTICE = "Replaced by {to_new} on {since}. "
_LINEAGE = "It takes the place of {to_first} and builds on {to_new}. "
_PREVIOUS = "The session before is described in {to_previous}. "
_TEAM_PAGES = "2026-01-12"


class Pages:
    """Every page of a table.

    Attributes:
        all: the pages, in the order of their paths.
        of: pages by kind and row; the two versions of a design are the kinds ``first`` and ``second``.
        about: the number of the service that a page is about, by path; other pages are not in it.
    """

    def __init__(self, table: Table, draw: Draw) -> None:
        self._text = read_text("pages.toml")
        self._draw = draw
        self._places = {service: _places(service) for service in table.services}
        self._numbers = {service: number for number, service in enumerate(table.services)}
        self.of: dict[tuple[str, Any], Page] = {}
        self.about: dict[str, int] = {}
        for team in table.teams:
            self._team(team)
        for pair in table.namesakes:
            for namesake in pair:
                self._namesake(namesake)
        for service in table.services:
            self._service(service)
        for chore in table.chores:
            self._chore(chore)
        self.all = sorted(self.of.values(), key=lambda page: page.path)

    def _write(self, kind: str, row: Any, place: Place, date: str, slots: Slots, template: str = "") -> None:
        text = self._text[template or kind]
        sections = [("", text["head"]), *((entry["heading"], entry["texts"]) for entry in text["section"])]
        written = [(heading, filled(self._draw.pick(texts), slots)) for heading, texts in sections]
        front = {"date": date, "team": slots["team"]} | ({"status": slots["status"]} if "status" in slots else {})
        title = filled(text["title"], slots)
        self.of[kind, row] = Page(place.path, front, title, [(heading, capital(words)) for heading, words in written])

    def _team(self, team: Team) -> None:
        members = "\n".join(f"- {one.name}: <<duty{number}|{one.duty}>>" for number, one in enumerate(team.people))
        slots = {"team": team.name, "place": team.place, "members": members}
        self._write("team", team, Place(f"teams/{slug(team.name)}.md", team.name), _TEAM_PAGES, slots)

    def _namesake(self, row: Namesake) -> None:
        slots = {
            "name": row.name,
            "team": row.team.name,
            "place": row.team.place,
            "purpose": f"{row.doing['text']} {row.thing['text']}",
            "topic": row.topic["name"],
            "value": row.value,
            "first": row.first,
            "wake": row.wake,
            "after": row.after,
        }
        place = Place(f"runbooks/{slug(row.team.place)}/{slug(row.name)}.md", row.name)
        self._write("namesake", row, place, row.date, slots)

    # -- a service -------------------------------------------------------------------------------------------------

    def _service(self, service: Service) -> None:
        places = self._places[service]
        self._of_service("runbook", service, places["to_runbook"], service, service.runbook)
        self._of_service("rule", service.rule, places["to_rule"], service, service.rule.changed)
        self._of_service("incident", service.incident, places["to_incident"], service, service.incident.date)
        self._of_service("ticket", service.ticket, places["to_ticket"], service, service.ticket.date)
        for kind, decision, key in (
            ("adr_old", service.old, "to_old"),
            ("adr_new", service.new, "to_new"),
            ("adr", service.standing, "to_standing"),
        ):
            more = _decision_slots(decision, replaced=kind == "adr_old" and service.updated)
            self._of_service(kind, decision, places[key], service, decision.date, more)
        if service.renaming is not None:
            place = _ticket_place(service.renaming)
            more = _ticket_slots(service.renaming)
            self._of_service("rename", service.renaming, place, service, service.renaming.date, more)
        for version, key in ((1, "to_first"), (2, "to_design")):
            self._design(service, version, places[key])
        for number, note in enumerate(service.notes):
            before = _note_place(service, service.notes[number - 1]) if number else None
            place = _note_place(service, note)
            more = _note_slots(note) | ({"to_previous": before.link(place.path)} if before else {})
            self._of_service("note", note, place, service, note.date, more)

    def _design(self, service: Service, version: int, place: Place) -> None:
        design = service.design
        points = design.first if version == 1 else design.second
        listed = "\n".join(f"- <<point{number}|{capital(point)}>>" for number, point in enumerate(points))
        kind = "first" if version == 1 else "second"
        more = {"version": str(version), "points": listed}
        self._of_service(kind, design, place, service, design.dates[version - 1], more, template="design")

    def _chore(self, chore: Chore) -> None:
        places = self._places[chore.service]
        place = _ticket_place(chore.ticket)
        target = places[self._draw.pick(("to_rule", "to_runbook", "to_old", "to_new", "to_standing"))]
        more = {**_ticket_slots(chore.ticket), "chore": chore.title, "to_any": target.link(place.path)}
        self._of_service("chore", chore, place, chore.service, chore.ticket.date, more)

    def _of_service(
        self,
        kind: str,
        row: Any,
        place: Place,
        service: Service,
        date: str,
        more: Slots | None = None,
        template: str = "",
    ) -> None:
        links = {key: target.link(place.path) for key, target in self._places[service].items()}
        slots = {**_slots(service, date), "lead": self._draw.pick(service.team.people).name, **links, **(more or {})}
        notes = {
            "stale_note": _STALE if service.stale else "",
            "notice": _NOTICE if service.updated else "",
            "lineage": _LINEAGE if kind == "second" else "",
            "previous": _PREVIOUS if "to_previous" in slots else "",
        }
        slots |= {key: filled(text, slots) for key, text in notes.items()}
        self.about[place.path] = self._numbers[service]
        self._write(kind, row, place, date, slots, template)


def _places(service: Service) -> dict[str, Place]:
    """Where the pages of a service are that others link to, by the hole of the link."""
    rule, incident, feature = service.rule, service.incident, service.design.feature
    then = service.name_on(rule.changed)
    places = {
        "to_runbook": Place(
            f"runbooks/{slug(service.team.place)}/{slug(service.name_on(service.runbook))}.md",
            f"Runbook of {service.name_on(service.runbook)}",
        ),
        "to_rule": Place(
            f"invariants/{slug(then)}-{slug(rule.topic['name'])}.md", f"Invariant: {rule.topic['name']} of {then}"
        ),
        "to_incident": Place(
            f"incidents/{incident.date}-{slug(service.name_on(incident.date))}.md",
            f"Review: {incident.effect['text']} at {service.name_on(incident.date)}",
        ),
        "to_ticket": _ticket_place(service.ticket),
    }
    for key, decision in (("to_old", service.old), ("to_new", service.new), ("to_standing", service.standing)):
        path = f"adr/{decision.number:04d}-{slug(decision.matter['name'])}.md"
        places[key] = Place(path, decision.name)
    for key, version in (("to_first", 1), ("to_design", 2)):
        called = service.name_on(service.design.dates[version - 1])
        title = f"Design: {feature} for {called}, version {version}"
        places[key] = Place(f"designs/{slug(feature)}-v{version}.md", title)
    return places


def _ticket_place(ticket: Ticket) -> Place:
    return Place(f"tickets/{ticket.name.lower()}.md", ticket.name)


def _note_place(service: Service, note: Note) -> Place:
    return Place(
        f"handoffs/{slug(service.design.feature)}/{note.date}.md", f"Handoff of {note.date}: {service.design.feature}"
    )


def _slots(service: Service, date: str) -> dict[str, str]:
    """What every page of a service can say, in the names of its day."""
    rule, incident = service.rule, service.incident
    return {
        "name": service.name_on(date),
        "former": service.former,
        "renamed": service.renamed,
        "date": date,
        "purpose": f"{service.doing['text']} {service.thing['text']}",
        "place": service.team.place,
        "team": service.team.name,
        "owner": service.owner.name,
        "oncall": service.oncall.name,
        "symptom": service.symptom,
        "topic": rule.topic["name"],
        "value": rule.value,
        "before": rule.before,
        "changed": rule.changed,
        "why": rule.why,
        "guard": rule.guard,
        "first": service.first,
        "wake": service.wake,
        "after": service.after,
        "effect": incident.effect["text"],
        "duration": incident.minutes,
        "cause": incident.cause,
        "remedy": incident.remedy,
        "remedy_up": capital(incident.remedy),
        "feature": service.design.feature,
        "since": service.new.date,
        "old_option": service.old.option,
        "matter_low": service.old.matter["name"].lower(),
        **_ticket_slots(service.ticket),
    }


def _ticket_slots(ticket: Ticket) -> dict[str, str]:
    return {"ticket": ticket.name, "work": ticket.work, "work_up": capital(ticket.work), "accept": ticket.accept}


def _decision_slots(decision: Decision, *, replaced: bool) -> dict[str, str]:
    first, second = decision.rejected
    return {
        "status": "superseded" if replaced else "accepted",
        "adr": decision.name,
        "matter": decision.matter["name"],
        "matter_low": decision.matter["name"].lower(),
        "choice": decision.choice,
        "reason": decision.reason,
        "other_a": capital(first),
        "other_a_low": first,
        "other_b": capital(second),
        "other_b_low": second,
    }


def _note_slots(note: Note) -> dict[str, str]:
    return {
        "stopped": note.stopped,
        "following": note.following,
        "blocker": note.blocker,
        "ruled": note.ruled,
        "kept": note.kept,
        "unsettled": note.unsettled,
    }
