"""Agents that misbehave in one way each, and otherwise follow the rules."""

from __future__ import annotations

import re

from lifecycle_play import Rules, Talk, defines, hits

from memassay.suites.lifecycle.warehouse import urn_of


def teaches(talk: Talk) -> bool:
    """Whether this is the lesson itself and not another one between it and the question."""
    return talk.prompt.startswith("Here is something") and not any(
        call.tool == "memory_capture" and call.identity == talk.who for call in talk.store.log
    )


class NeverCaptures(Rules):
    def save(self, talk: Talk, told: re.Match[str]) -> str:
        return "Noted." if teaches(talk) else super().save(talk, told)


class CapturesTwice(Rules):
    """The second record is in other words, so that the platform does not see that both say the same."""

    def save(self, talk: Talk, told: re.Match[str]) -> str:
        lesson = teaches(talk)
        said = super().save(talk, told)
        if lesson:
            talk.call("memory_capture", type="schema_entity", content=padded(told), entity_urns=[urn_of(told.group(2))])
        return said

    def meaning(self, talk: Talk) -> re.Match[str] | None:
        return newest(talk)


class WrongTable(Rules):
    def save(self, talk: Talk, told: re.Match[str]) -> str:
        if not teaches(talk):
            return super().save(talk, told)
        talk.call("memory_capture", type="schema_entity", content=told.group(0), entity_urns=[urn_of("daily_hires")])
        return "Noted."


class UpdatesInPlace(Rules):
    def correct(self, talk: Talk, told: re.Match[str]) -> str:
        for name in mine(talk, told):
            talk.call("memory_manage", command="update", id=name, content=told.group(0))
        return "Changed."


class RejectsTheOld(Rules):
    """What was kept goes by the reviewer's tools, before the correction is kept."""

    def correct(self, talk: Talk, told: re.Match[str]) -> str:
        talk.call("apply_knowledge", action="reject", insight_ids=mine(talk, told))
        return self.save(talk, told)


class KeepsItsAnswer(Rules):
    """Notes down what it worked out, filed on nothing: the platform takes it for the better record."""

    def say(self, talk: Talk, sql: str) -> str:
        known = self.meaning(talk)
        said = super().say(talk, sql)
        if known is not None and talk.who.startswith("teacher") and "average" not in talk.prompt:
            talk.call("memory_capture", type="episodic_event", content=known.group(0).replace("SQL:", "so it is"))
        return said


class AnswersStale(Rules):
    """Knows both and goes by the first."""

    def __init__(self) -> None:
        self.first: dict[str, str] = {}

    def say(self, talk: Talk, sql: str) -> str:
        return super().say(talk, self.first.setdefault(f"{talk.store.name} {talk.prompt}", sql))


class Hedges(AnswersStale):
    def say(self, talk: Talk, sql: str) -> str:
        old = self.first.setdefault(f"{talk.store.name} {talk.prompt}", sql)
        now = Rules.say(self, talk, sql)
        before = Rules.say(self, talk, old).rpartition(" ")[2]
        return now if old == sql else f"{now}, or {before}"


class Guesses(Rules):
    def refuse(self, talk: Talk) -> str:
        return "FINAL ANSWER: 3.7"


class NeverAnswersAverages(Rules):
    """Takes every question of that form for one that has no answer."""

    def say(self, talk: Talk, sql: str) -> str:
        return self.refuse(talk) if "the average" in talk.prompt else super().say(talk, sql)


class BurnsTheBudget(Rules):
    """Looks around until it may not any more, and keeps nothing."""

    def save(self, talk: Talk, told: re.Match[str]) -> str:
        if not teaches(talk):
            return super().save(talk, told)
        for _ in range(15):
            talk.call("trino_query", sql="SELECT 1")
        return "I could not."


class NeverSearches(Rules):
    """Finds what is pushed to it; the teacher's own pending record is not."""

    def __call__(self, talk: Talk) -> str:
        if talk.who.startswith("teacher") and "average" not in talk.prompt and "FINAL ANSWER" in talk.system:
            return "FINAL ANSWER: unclear"
        return super().__call__(talk)


def padded(told: re.Match[str]) -> str:
    return " ".join([told.group(0), *(f"word{number}" for number in range(90))])


def mine(talk: Talk, told: re.Match[str]) -> list[str]:
    """The teacher's own records on the term."""
    return [hit["id"] for hit in hits(talk) if f"'{told.group(3)}'" in hit["text"] and hit["id"].startswith("r-")]


def newest(talk: Talk) -> re.Match[str] | None:
    """The definition that was kept last; a page is older than any record."""
    known = [(hit["id"], one) for hit in hits(talk) if (one := defines(hit["text"], talk.prompt))]
    age = {name: int(name[2:]) if name.startswith("r-") else 0 for name, _ in known}
    return max(known, key=lambda one: age[one[0]])[1] if known else None
