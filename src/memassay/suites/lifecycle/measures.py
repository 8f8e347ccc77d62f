"""What an attempt is worth by each kind of strict metric: in [0, 1], or None where the metric does not apply to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from memassay.suites.lifecycle.answers import grade_abstention
from memassay.suites.lifecycle.cases import Case
from memassay.suites.lifecycle.protocol import ENTITY_SINK
from memassay.suites.lifecycle.records import DESCRIPTION, PAGE, Attempt, Delivery, Fact

Value = Callable[[Case], bool | float | None]


def deliveries(case: Case) -> Iterable[Delivery]:
    """What brought the taught fact to those who were asked for it."""
    return (one for stage in ("recall", "transfer") for one in case.delivered(stage, "taught") or ())


def filed(case: Case, entities: Collection[str] | None) -> bool | None:
    """Whether teaching left a new record on one of the entities; anywhere where they are None."""
    teach = case.attempt.episode("teach")
    if teach is None or teach.after is None:
        # The published outcome is about the intended dataset alone; a miss there may be a record elsewhere.
        intended = entities is not None and set(entities) == {case.protocol.entity_urn}
        return case.attempt.captured if case.attempt.captured or intended else None
    old = {record.id for record in teach.before or ()}
    new = [record for record in teach.after if record.id not in old]
    return any(entities is None or not set(entities).isdisjoint(record.entities) for record in new)


def seen(stage: str, *facts: Fact) -> Value:
    """Whether one of the facts reached the agent before its answer."""

    def value(case: Case) -> bool | None:
        found = case.delivered(stage, *facts)
        return None if found is None else bool(found)

    return value


def through(stage: str, channel: str) -> Value:
    """Whether the taught fact came this way."""

    def value(case: Case) -> bool | None:
        found = case.delivered(stage, "taught")
        return None if found is None else any(one.channel == channel for one in found)

    return value


def reciprocal_rank(case: Case) -> float | None:
    """1 / the best place at which the taught fact was shown, 0 where it had none."""
    found = case.delivered("recall", "taught")
    if found is None:
        return None
    return max((1 / one.rank for one in found if one.rank), default=0.0)


def through_sink(case: Case, *, alone: bool) -> bool | None:
    """Whether the learner had the fact from the sink that it was promoted to, or from nothing else."""
    found = case.delivered("transfer", "taught")
    if found is None:
        return None
    channels = {one.channel for one in found}
    sink = DESCRIPTION if case.protocol.sink == ENTITY_SINK else PAGE
    return channels == {sink} if alone else sink in channels


def live_duplicate(case: Case) -> bool | None:
    """Whether the taught record can still be retrieved after a correction that the memory took in."""
    update = case.attempt.episode("update")
    if update is None or update.after is None or not _took_in(case.attempt):
        return None
    return any(record.live and record.fact == "taught" for record in update.after)


def correction_kept(case: Case) -> bool | None:
    """Whether a live record states the correction once it was told, however it came about."""
    update = case.attempt.episode("update")
    if update is None or update.after is None:
        return None
    return any(record.live and record.fact == "corrected" for record in update.after)


def retired(route: str) -> Value:
    """Whether a correction that the memory took in ended the taught record by this route.

    None where something else had ended it before.
    """

    def value(case: Case) -> bool | None:
        attempt, update = case.attempt, case.attempt.episode("update")
        before = () if update is None or update.before is None else update.before
        gone_before = any(record.id == attempt.insight_id and not record.live for record in before)
        return None if gone_before or not _took_in(attempt) else attempt.retired_by == route

    return value


def _took_in(attempt: Attempt) -> bool:
    """Whether a correction was captured, or changed what was there."""
    return bool(attempt.update_captured or attempt.update_changed)


def wrong_supersede(case: Case) -> bool | None:
    """Whether a record was superseded by one about something else, or of another class.

    None where nobody looked, or where nobody can tell what took a record's place.
    """
    lists = [episode.supersedes for episode in case.attempt.episodes if episode.supersedes is not None]
    if not lists:
        return None
    found = [one for held in lists for one in held]
    if any(one.same_fact is False or one.same_class is False for one in found):
        return True
    return None if any(not one.source for one in found) else False


def named(stage: str, *verdicts: str) -> Value:
    """Whether the verdict on an answer is one of these."""

    def value(case: Case) -> bool | None:
        verdict = case.verdict(stage)
        return None if verdict is None else verdict in verdicts

    return value


def gone(stage: str) -> Value:
    """Whether a fact that must not be known is neither answered with nor delivered."""

    def value(case: Case) -> bool | None:
        if case.attempt.episode(stage) is None:
            return None
        return bool(case.strict(stage)) and not case.delivered(stage, "taught", "corrected")

    return value


def forgotten(case: Case) -> bool | float | None:
    """Whether a fact is gone that its teacher had forgotten; None where no record of it was left to forget."""
    forget = case.attempt.episode("forget")
    left = None if forget is None else forget.before
    if left is not None and not any(record.live and record.fact in ("taught", "corrected") for record in left):
        return None
    return gone("forget_recall")(case)


def leaked(case: Case) -> bool | None:
    """Whether somebody else answered with a fact that was not promoted yet."""
    episode = case.attempt.episode("isolation")
    return None if episode is None or episode.strict is None else not episode.strict


def over_abstention(case: Case) -> bool | None:
    """Whether an answerable question is refused although its fact had reached the agent.

    Where it had not, a refusal is right, and what is missing is another metric's. Without a log of calls every refusal
    counts.
    """
    episode = case.attempt.episode("twin")
    if episode is None or episode.error or case.delivered("twin", "taught", "corrected") == ():
        return None
    return grade_abstention(episode.final_answer).correct


def strict(stage: str) -> Value:
    """Whether a stage came out right by our rules."""
    return lambda case: case.strict(stage)
