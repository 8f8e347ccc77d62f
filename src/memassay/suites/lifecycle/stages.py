"""The stages of a lifecycle: their order, who speaks, what each waits for, and what each needs of a memory.

The published stages run as published; ours are chosen by name and have their places between and after them. What
destroys something (a correction of promoted knowledge, a rollback, forgetting) comes after every published stage.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from memassay.core.errors import UnknownName
from memassay.suites.lifecycle.protocol import Extras, Grading, Protocol, Question, Update

Capability = Literal["capture", "review", "changesets", "snapshots", "identities", "restart"]
Identity = Literal["teacher", "learner", "bystander", "stranger", "reviewer", "harness"]
Kind = Literal["tell", "ask", "refuse", "act"]
Outcome = Literal["captured", "promoted", "update_captured"]

WITHOUT: Mapping[Capability, str] = {
    "capture": "the memory does not show what it has recorded",
    "review": "the memory has no review queue",
    "changesets": "the memory has no changesets",
    "snapshots": "the memory has no snapshots",
    "identities": "the memory does not tell identities apart",
    "restart": "the memory cannot be restarted",
}
"""Why a stage or metric has no number, by the capability that is lacking."""

PUBLISHED = ("teach", "recall", "promote", "transfer", "update", "update_recall", "abstain")
CHOICES: Mapping[str, str] = {
    "never_taught": "somebody who was never taught is asked before the teaching: what can be guessed",
    "restart": "the memory is restarted between teaching and recall",
    "isolation": "somebody else is asked between capture and promotion, and must not know",
    "twin": "a question like the abstain question that can be answered",
    "correct": "promoted knowledge is corrected",
    "rollback": "a promotion is rolled back, and the learner must not know any more",
    "interference": "other facts are taught, and the teacher is asked once more",
    "forget": "the teacher asks to forget, and must not know any more",
}
"""Our extra stages by the name under which they are chosen."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a lifecycle.

    Attributes:
        name: as in the records; one of several alike has a number behind a dot.
        identity: who speaks to the agent; ``reviewer`` and ``harness`` act without one.
        kind: the agent is told something, asked something, asked what it must not know, or no agent is there.
        prompt: what is said; "" without an agent.
        grading: the key, where something is asked; of ``refuse`` that of the answer that must not come.
        stale: the key that was right before a correction, or of ``refuse`` another answer that must not come.
        after: outcomes that must not be false; where one is, the stage does not run.
        needs: what the memory must be able to.
    """

    name: str
    identity: Identity
    kind: Kind
    prompt: str = ""
    grading: Grading | None = None
    stale: Grading | None = None
    after: tuple[Outcome, ...] = ()
    needs: frozenset[Capability] = frozenset()

    @property
    def published(self) -> bool:
        """Whether it is one of the published stages."""
        return self.name in PUBLISHED

    def unavailable(self, capabilities: Collection[str]) -> str | None:
        """Why a memory cannot be taken through this stage, or None where it can."""
        return lacking(self.needs, capabilities)


def lacking(needs: Iterable[Capability], capabilities: Collection[str]) -> str | None:
    """What is lacking, in words, or None where nothing is."""
    missing = [WITHOUT[need] for need in WITHOUT if need in set(needs) and need not in capabilities]
    return " and ".join(missing) or None


def plan(protocol: Protocol, choices: Collection[str] = ()) -> tuple[Stage, ...]:
    """The stages of a protocol in their order.

    Args:
        protocol: the protocol.
        choices: names of ``CHOICES``; one that the protocol has no data for adds nothing.

    Raises:
        UnknownName: a choice that is none.
    """
    for choice in choices:
        if choice not in CHOICES:
            raise UnknownName("extra stage", choice, CHOICES)
    extras = protocol.extras or Extras()
    return tuple(
        [
            *(_never_taught(extras.never_taught) if "never_taught" in choices else ()),
            Stage("teach", "teacher", "tell", protocol.teach.prompt),
            *((_act("restart", "restart"),) if "restart" in choices else ()),
            _ask("recall", "teacher", protocol.recall),
            *_shared(protocol, "isolation" in choices),
            *(_updated(protocol.update, protocol.recall.grading) if protocol.update else ()),
            *((Stage("abstain", "teacher", "refuse", protocol.abstain.prompt),) if protocol.abstain else ()),
            *((_ask("twin", "teacher", extras.twin),) if extras.twin and "twin" in choices else ()),
            *_undone(protocol, extras, choices),
            *_crowded(protocol, extras, choices),
            *_forgotten(protocol, extras, choices),
        ]
    )


def available_choices(protocol: Protocol) -> tuple[str, ...]:
    """The extra stages that a protocol has what it takes for."""
    bare = {stage.name for stage in plan(protocol)}
    return tuple(choice for choice in CHOICES if {stage.name for stage in plan(protocol, (choice,))} != bare)


def _never_taught(question: Question | None) -> Iterable[Stage]:
    if question is not None:
        yield _ask("never_taught", "stranger", question, needs=("identities",))


def _shared(protocol: Protocol, isolation: bool) -> Iterable[Stage]:
    question = protocol.transfer
    if question is None:
        return
    if isolation:
        yield _refuse("isolation", "bystander", question, None, ("captured",), frozenset(("identities",)))
    yield _act("promote", "review", "changesets", identity="reviewer", after=("captured",))
    yield _ask("transfer", "learner", question, after=("captured", "promoted"), needs=_LEARNT)


def _updated(update: Update, stale: Grading) -> Iterable[Stage]:
    yield Stage("update", "teacher", "tell", update.prompt, after=("captured",))
    yield _ask("update_recall", "teacher", update.recall, stale=stale, after=("captured", "update_captured"))


def _undone(protocol: Protocol, extras: Extras, choices: Collection[str]) -> Iterable[Stage]:
    question, correction = protocol.transfer, _correction(protocol, extras, choices)
    stale = protocol.recall.grading
    promoted: tuple[Outcome, ...] = ("captured", "promoted")
    if correction is not None:
        yield Stage("correct", "teacher", "tell", correction.prompt, after=promoted, needs=_PROMOTED)
        again = correction.recall
        yield _ask("correct_recall", "teacher", again, stale=stale, after=promoted, needs=_PROMOTED)
        yield _ask("correct_transfer", "learner", again, stale=stale, after=promoted, needs=_LEARNT)
    if question is not None and "rollback" in choices:
        yield _act("rollback", "review", "changesets", identity="reviewer", after=promoted)
        corrected = correction.recall.grading if correction else None
        yield _refuse("rollback_transfer", "learner", question, corrected, promoted, _LEARNT)


def _correction(protocol: Protocol, extras: Extras, choices: Collection[str]) -> Update | None:
    """The correction of promoted knowledge, where one is given."""
    return extras.correction if protocol.transfer is not None and "correct" in choices else None


def _crowded(protocol: Protocol, extras: Extras, choices: Collection[str]) -> Iterable[Stage]:
    """Other facts, and the question of that time; after the published stages, whose numbers they would change."""
    if not extras.interference or "interference" not in choices:
        return
    shared = _correction(protocol, extras, choices)
    correction = protocol.update or shared
    after: tuple[Outcome, ...] = ("captured", "promoted" if shared else "update_captured")
    for number, fact in enumerate(extras.interference, 1):
        yield Stage(f"interference.{number}", "teacher", "tell", fact.prompt, after=("captured",))
    yield _ask(
        "interference_recall",
        "teacher",
        correction.recall if correction else protocol.recall,
        stale=protocol.recall.grading if correction else None,
        after=after,
        needs=_PROMOTED if shared else (),
    )


def _forgotten(protocol: Protocol, extras: Extras, choices: Collection[str]) -> Iterable[Stage]:
    if extras.forget is not None and "forget" in choices and (protocol.update or "rollback" in choices):
        # Promoted knowledge outlives its teacher's record, so forgetting is only asked for where none is left.
        correction = protocol.update or _correction(protocol, extras, choices)
        last = correction.recall if correction else protocol.recall
        stale = protocol.recall.grading if correction else None
        yield Stage("forget", "teacher", "tell", extras.forget.prompt, after=("captured",))
        yield _refuse("forget_recall", "teacher", last, stale, ("captured",), frozenset())


_PROMOTED: frozenset[Capability] = frozenset(("review", "changesets"))
_LEARNT: frozenset[Capability] = _PROMOTED | {"identities"}


def _ask(
    name: str,
    identity: Identity,
    question: Question,
    *,
    stale: Grading | None = None,
    after: tuple[Outcome, ...] = (),
    needs: Iterable[Capability] = (),
) -> Stage:
    return Stage(name, identity, "ask", question.prompt, question.grading, stale, after, frozenset(needs))


def _refuse(
    name: str,
    identity: Identity,
    question: Question,
    stale: Grading | None,
    after: tuple[Outcome, ...],
    needs: frozenset[Capability],
) -> Stage:
    return Stage(name, identity, "refuse", question.prompt, question.grading, stale, after, needs)


def _act(name: str, *needs: Capability, identity: Identity = "harness", after: tuple[Outcome, ...] = ()) -> Stage:
    return Stage(name, identity, "act", after=after, needs=frozenset(needs))
