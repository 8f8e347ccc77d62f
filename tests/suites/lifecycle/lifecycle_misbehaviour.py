"""Agents that misbehave in one way each, and otherwise follow the rules."""

from __future__ import annotations

from lifecycle_play import Rules, Talk


class KeepsItsAnswer(Rules):
    """Notes down what it worked out, filed on nothing: the platform takes it for the better record."""

    def say(self, talk: Talk, sql: str) -> str:
        known = self.meaning(talk)
        said = super().say(talk, sql)
        if known is not None and talk.who.startswith("teacher") and "average" not in talk.prompt:
            talk.call("memory_capture", type="episodic_event", content=known.group(0).replace("SQL:", "so it is"))
        return said


class Guesses(Rules):
    def refuse(self, talk: Talk) -> str:
        return "FINAL ANSWER: 3.7"
