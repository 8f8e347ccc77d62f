"""Grade attempts again from their records alone: the same answers and the same protocols give the same verdicts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from memassay.core.errors import DataError
from memassay.suites.lifecycle.answers import grade, grade_abstention
from memassay.suites.lifecycle.protocol import Protocol
from memassay.suites.lifecycle.records import Attempt, Episode
from memassay.suites.lifecycle.stages import CHOICES, Stage, plan


def regrade(protocol: Protocol, attempt: Attempt, choices: Collection[str] = tuple(CHOICES)) -> Attempt:
    """An attempt with every verdict that its answers have, given anew.

    What was verified at the memory or seen in the transcript (captured, promoted, duplicated, surfaced) stays as it is.

    Args:
        protocol: of the attempt.
        attempt: graded or not.
        choices: the extra stages that it was played with; what is right after one may hang on whether it was.

    Raises:
        DataError: the attempt is at another protocol.
    """
    if attempt.protocol_id != protocol.id:
        raise DataError(f"The attempt is at the protocol {attempt.protocol_id!r}, not at {protocol.id!r}.")
    stages = {stage.name: stage for stage in plan(protocol, choices)}
    episodes = tuple(_graded(episode, stages.get(episode.stage)) for episode in attempt.episodes)
    graded = attempt.model_copy(update={"episodes": episodes})
    return graded.model_copy(
        update={
            "recall_correct": _correct(graded.episode("recall")),
            "transfer_correct": _correct(graded.episode("transfer")),
            "update_correct": _correct(graded.episode("update_recall")),
            "abstain_correct": _correct(graded.episode("abstain")),
        }
    )


def regrade_all(protocols: Iterable[Protocol], attempts: Iterable[Attempt]) -> tuple[Attempt, ...]:
    """Every attempt graded again, in their order.

    Raises:
        DataError: an attempt at a protocol that is not there.
    """
    known: Mapping[str, Protocol] = {protocol.id: protocol for protocol in protocols}
    graded = []
    for attempt in attempts:
        if attempt.protocol_id not in known:
            raise DataError(f"An attempt is at the protocol {attempt.protocol_id!r}, which is not in the set.")
        graded.append(regrade(known[attempt.protocol_id], attempt))
    return tuple(graded)


def _graded(episode: Episode, stage: Stage | None) -> Episode:
    correct = verdict = strict = None
    if stage is not None and not episode.error:
        if stage.grading is not None:
            graded = grade(episode.final_answer, stage.grading, stage.stale)
            verdict = graded.verdict
            correct = graded.correct if stage.kind == "ask" else verdict == "missing"
            strict = correct and verdict == ("current" if stage.kind == "ask" else "missing")
        elif stage.kind == "refuse":
            abstention = grade_abstention(episode.final_answer, stage.prompt)
            correct, strict = abstention.correct, abstention.strict
    return episode.model_copy(update={"correct": correct, "verdict": verdict, "strict": strict})


def _correct(episode: Episode | None) -> bool | None:
    return episode.correct if episode else None
