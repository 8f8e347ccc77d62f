"""How the company comes to be: a table of a given size, drawn from a seed."""

from __future__ import annotations

from memassay.core.draws import Draw
from memassay.suites.canary.world.table import (
    Chore,
    Decision,
    Design,
    Incident,
    Namesake,
    Note,
    Person,
    Rule,
    Service,
    Table,
    Team,
    Ticket,
    day,
)
from memassay.suites.canary.world.vocabulary import Row, Vocabulary

FEWEST, MOST = 60, 5000
"""Documents: fewer cannot carry 128 questions, and for more there are not enough words."""
ABSENT = 8

_PAGES = 12  # of a service, beside the ticket of its renaming
_TEAM_SERVICES = 3
_RENAMED_EVERY = 3
_MAX_PAIRS = 20
_MAX_TEAMS = 100
_CHORES = 0.06  # of the documents at least, so that some tickets lead nowhere
_SYMPTOMS = ("the lag gauge", "the refusal count", "the depth of the line", "the clock drift", "the retry rate")


def make_table(seed: int, documents: int) -> Table:
    """A company that fills so many documents exactly.

    Raises:
        ValueError: ``documents`` is not between ``FEWEST`` and ``MOST``.
    """
    if not FEWEST <= documents <= MOST:
        raise ValueError(f"the generated corpus has {FEWEST} to {MOST:,} documents, not {documents:,}")
    services = _services(documents)
    history = _History(Vocabulary(Draw(f"canary world {seed}")), services)
    for _ in range(documents - _documents(services)):
        history.chore()
    return history.numbered()


def _services(documents: int) -> int:
    """The most services whose pages leave room for some chores."""
    count = 1
    while _documents(count + 1) <= documents * (1 - _CHORES):
        count += 1
    return count


def _documents(services: int) -> int:
    return services * _PAGES + _renamed(services) + _teams(services) + 2 * _pairs(services)


def _renamed(services: int) -> int:
    return -(-services // _RENAMED_EVERY)


def _teams(services: int) -> int:
    return min(_MAX_TEAMS, -(-services // _TEAM_SERVICES))


def _pairs(services: int) -> int:
    return min(_MAX_PAIRS, max(2, services // 5))


class _History:
    def __init__(self, vocabulary: Vocabulary, services: int) -> None:
        self._words, self._draw = vocabulary, vocabulary.draw
        self._purposes = self._draw.shuffled(
            [(doing, thing) for doing in vocabulary.rows("doing") for thing in vocabulary.rows("thing")]
        )
        self.table = Table()
        places = self._draw.shuffled(vocabulary.rows("places"))
        for number in range(_teams(services)):
            people = [Person(vocabulary.person(), vocabulary.slot("duty")) for _ in range(3)]
            self.table.teams.append(Team(vocabulary.team(), places[number % len(places)], people))
        for number in range(services):
            self.table.services.append(self._service(number))
        self._namesakes(_pairs(services))
        self.table.absent = [vocabulary.product() for _ in range(ABSENT)]

    def chore(self) -> None:
        """One more ticket that matters little."""
        ticket = self._ticket(self._words.between(60, 535))
        service = self.table.services[len(self.table.chores) % len(self.table.services)]
        self.table.chores.append(Chore(self._words.slot("chore"), ticket, service))

    def numbered(self) -> Table:
        """The table once decisions and tickets have their numbers, by date."""
        services = self.table.services
        decisions = [d for service in services for d in (service.old, service.new, service.standing)]
        tickets = [ticket for s in services for ticket in (s.ticket, s.renaming) if ticket is not None]
        tickets += [chore.ticket for chore in self.table.chores]
        for number, decision in enumerate(sorted(decisions, key=lambda one: one.date), start=1):
            decision.number = number
        for number, ticket in enumerate(sorted(tickets, key=lambda one: one.date), start=101):
            ticket.number = number
        return self.table

    def _service(self, number: int) -> Service:
        words, between = self._words, self._words.between
        matters = self._draw.shuffled(words.rows("matter"))
        begun = between(0, 80)
        broke = between(200, 320)
        task = broke + between(2, 9)
        decided = task + between(14, 45)
        renamed = number % _RENAMED_EVERY == 0
        changing = between(280, 420)
        written = between(100, 440)
        old = self._decision(matters[0], begun, ())
        team = self.table.teams[(number // _TEAM_SERVICES) % len(self.table.teams)]
        return Service(
            name=words.product(),
            former=words.product() if renamed else "",
            renamed=day(between(430, 455)) if renamed else "",
            team=team,
            doing=self._purposes[-1][0],
            thing=self._purposes.pop()[1],
            runbook=day(written),
            first=words.slot("first"),
            wake=self._wake(team.people[1]),
            after=words.slot("after"),
            symptom=self._draw.pick(_SYMPTOMS),
            stale=written < changing,
            rule=self._rule(changing),
            old=old,
            new=self._decision(matters[0], decided, (old.option,)),
            standing=self._decision(matters[1], begun + between(20, 200), ()),
            incident=Incident(
                self._draw.pick(words.rows("effect")),
                words.slot("trouble"),
                words.slot("remedy"),
                words.fresh(lambda: str(between(61, 999))),
                day(broke),
            ),
            ticket=self._ticket(task),
            renaming=self._ticket(455) if renamed else None,
            design=self._design(between(60, 150), decided + between(10, 40)),
            notes=self._notes(),
            updated=number % 2 == 0,
        )

    def _wake(self, person: Person) -> str:
        return self._words.fresh(lambda: f"{person.name} after {self._words.between(5, 59)} minutes")

    def _decision(self, matter: Row, date: int, taken: tuple[str, ...]) -> Decision:
        options = self._draw.shuffled([option for option in matter["options"] if option not in taken])
        choice = f"{options[0]}, {self._words.slot('detail')}"
        reason = self._words.slot("trouble")
        return Decision(matter, options[0], choice, reason, day(date), (options[1], options[2]))

    def _rule(self, changed: int) -> Rule:
        topic = self._draw.pick(self._words.rows("topic"))
        before, value = self._words.bound(topic), self._words.bound(topic)
        return Rule(topic, before, value, day(changed), self._words.slot("trouble"), self._words.slot("guard"))

    def _ticket(self, date: int) -> Ticket:
        return Ticket(day(date), self._words.slot("accept"), self._words.slot("work"))

    def _design(self, first: int, second: int) -> Design:
        """Of three requirements one is altered, and two are added."""
        points = [self._words.slot("point") for _ in range(6)]
        altered = self._words.between(0, 2)
        after = [points[3] if place == altered else point for place, point in enumerate(points[:3])]
        return Design(
            self._words.slot("feature"), tuple(points[:3]), (*after, points[4], points[5]), (day(first), day(second))
        )

    def _notes(self) -> list[Note]:
        date = self._words.between(462, 490)
        notes = []
        for _ in range(3):
            drawn = [self._words.slot(name) for name in ("stopped", "work", "blocker", "ruled", "kept", "unsettled")]
            notes.append(Note(day(date), *drawn))
            date += self._words.between(6, 20)
        return notes

    def _namesakes(self, pairs: int) -> None:
        """Systems and people of one name in different places."""
        teams = self.table.teams
        for number in range(pairs):
            name, topic = self._words.product(), self._draw.pick(self._words.rows("topic"))
            first, second = (self._namesake(name, topic, teams[(number + step) % len(teams)]) for step in (0, 1))
            self.table.namesakes.append((first, second))
        for one, other in list(zip(teams[::2], teams[1::2], strict=False))[:_MAX_PAIRS]:
            other.people[2].name = one.people[2].name
            self.table.doubles.append(((one, one.people[2]), (other, other.people[2])))

    def _namesake(self, name: str, topic: Row, team: Team) -> Namesake:
        doing, thing = self._purposes.pop()
        return Namesake(
            name=name,
            team=team,
            doing=doing,
            thing=thing,
            topic=topic,
            value=self._words.bound(topic),
            first=self._words.slot("first"),
            wake=self._wake(team.people[1]),
            after=self._words.slot("after"),
            date=day(self._words.between(100, 500)),
        )
