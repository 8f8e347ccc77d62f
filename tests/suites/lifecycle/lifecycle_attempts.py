"""Attempts made by hand: answers and what the memory showed, stage by stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memassay.suites.lifecycle.protocol import Protocol
from memassay.suites.lifecycle.records import Attempt, Delivery, Episode, RecordState
from memassay.suites.lifecycle.stages import plan

OLD = RecordState(id="r1", status="pending", live=True, owner="t", entities=(), fact="taught")


def right_answer(protocol: Protocol, stage: str) -> str:
    """What a perfect agent says in a stage."""
    found = next(one for one in plan(protocol, ALL) if one.name == stage)
    if found.kind == "refuse":
        return "FINAL ANSWER: INSUFFICIENT INFORMATION"
    if found.grading is None:
        return "Noted."
    return f"FINAL ANSWER: {found.grading.aliases[0] if found.grading.aliases else found.grading.value}"


ALL = ("never_taught", "interference", "restart", "isolation", "twin", "correct", "rollback", "forget")


def attempt(
    protocol: Protocol,
    number: int = 1,
    *,
    answers: Mapping[str, str] | None = None,
    deliveries: Mapping[str, Sequence[Delivery]] | None = None,
    leave_out: Sequence[str] = (),
    choices: Sequence[str] = (),
    episode: Mapping[str, Mapping[str, Any]] | None = None,
    **outcomes: Any,
) -> Attempt:
    """A perfect attempt, but for what is given; verdicts are not set."""
    entity = protocol.entity_urn
    taught = OLD.model_copy(update={"entities": (entity,)})
    corrected = RecordState(id="r2", status="pending", live=True, entities=(entity,), fact="corrected")
    gone = taught.model_copy(update={"status": "superseded", "live": False})
    states: dict[str, Any] = {
        "teach": {"before": (), "after": (taught,)},
        "update": {"before": (taught,), "after": (gone, corrected)},
    }
    episodes = []
    for stage in plan(protocol, choices):
        if stage.kind == "act" or stage.name in leave_out:
            continue
        seen = [Delivery(channel="insight", fact="taught", record="r1", rank=1)] if stage.kind == "ask" else []
        if stage.name in ("update_recall", "correct_recall", "correct_transfer"):
            seen = [Delivery(channel="insight", fact="corrected", record="r2", rank=1)]
        if stage.name == "never_taught":
            seen = []
        episodes.append(
            Episode(
                stage=stage.name,
                identity=stage.identity,
                search_called=stage.kind == "ask",
                final_answer=(answers or {}).get(stage.name, right_answer(protocol, stage.name)),
                deliveries=tuple((deliveries or {}).get(stage.name, seen)),
                input_tokens=10,
                output_tokens=2,
                cache_read_tokens=3,
                cache_creation_tokens=1,
                **{"supersedes": (), **states.get(stage.name, {}), **(episode or {}).get(stage.name, {})},
            )
        )
    update = protocol.update is not None
    found: dict[str, Any] = {
        "captured": True,
        "recall_surfaced": True,
        "capture_attempted": True,
        "teach_budget_exhausted": False,
        "promoted": None if update else True,
        "transfer_surfaced": None if update else True,
        "update_captured": True if update else None,
        "duplicated": False if update else None,
        "retired_by": "supersede" if update else None,
        **outcomes,
    }
    return Attempt(
        protocol_id=protocol.id,
        title=protocol.title,
        sink=protocol.sink,
        attempt=number,
        episodes=tuple(episodes),
        **found,
    )
