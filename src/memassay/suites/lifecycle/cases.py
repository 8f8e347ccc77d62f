"""Attempts as strict metrics count them: each with its protocol and the stages that the memory can be taken through."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from memassay.core.errors import DataError
from memassay.suites.lifecycle.protocol import Protocol
from memassay.suites.lifecycle.records import Attempt, Delivery, Fact
from memassay.suites.lifecycle.stages import WITHOUT, plan

EVERYTHING: frozenset[str] = frozenset(WITHOUT)
"""The capabilities of a memory that can be taken through every stage."""


@dataclass(frozen=True, slots=True)
class Case:
    """An attempt with its protocol and the stages that were chosen."""

    protocol: Protocol
    attempt: Attempt
    stages: frozenset[str]

    def strict(self, stage: str) -> bool | None:
        """Whether a stage came out right; None where it was not planned, False where it was not reached."""
        if stage not in self.stages:
            return None
        episode = self.attempt.episode(stage)
        return bool(episode and episode.strict)

    def verdict(self, stage: str) -> str | None:
        """What an answer named; ``missing`` where none was given, None where the stage was not planned."""
        if stage not in self.stages:
            return None
        episode = self.attempt.episode(stage)
        return (episode.verdict if episode else None) or "missing"

    def delivered(self, stage: str, *facts: Fact) -> tuple[Delivery, ...] | None:
        """What reached the agent before its answer and states one of the facts; None where nobody looked."""
        episode = self.attempt.episode(stage) if stage in self.stages else None
        if episode is None:
            return () if stage in self.stages else None
        if episode.deliveries is None:
            return None
        return tuple(one for one in episode.deliveries if one.before_answer and one.fact in facts)


def cases_of(
    protocols: Iterable[Protocol],
    attempts: Iterable[Attempt],
    *,
    choices: Collection[str] = (),
    capabilities: Collection[str] = EVERYTHING,
) -> list[Case]:
    """Attempts without a harness failure, each with its protocol and the stages that the memory can be taken through.

    Raises:
        DataError: an attempt at a protocol that is not there.
    """
    known = {protocol.id: protocol for protocol in protocols}
    stages = {
        name: frozenset(stage.name for stage in plan(one, choices) if stage.unavailable(capabilities) is None)
        for name, one in known.items()
    }
    cases = []
    for attempt in attempts:
        if attempt.protocol_id not in known:
            raise DataError(f"An attempt is at the protocol {attempt.protocol_id!r}, which is not in the set.")
        if not attempt.error:
            cases.append(Case(known[attempt.protocol_id], attempt, stages[attempt.protocol_id]))
    return cases
