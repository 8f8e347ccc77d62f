"""What an attempt at a protocol leaves behind: one record, from which every metric is computed and graded again.

The published fields have their published names, so that published result files can be read; what we add is beside them
and empty there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ValidationError

from memassay.core.errors import DataError
from memassay.core.types import Frozen
from memassay.suites.lifecycle.answers import Verdict

Fact = Literal["taught", "corrected", "interference", "other"]
Route = Literal["supersede", "update", "reject", "consolidate", "forget"]

DESCRIPTION, PAGE = "description", "page"
"""Channels of the two sinks; others are named by whoever records them (``insight``, ``memory``, ``push``)."""


class Audit(Frozen):
    """What the platform's audit log says of an episode."""

    audited_calls: int = 0
    errors: int = 0
    total_duration_ms: int = 0
    enriched_calls: int = 0
    enrichment_tokens_full: int = 0
    enrichment_tokens_dedup: int = 0


class Delivery(Frozen):
    """Something that reached the agent in a tool result.

    Attributes:
        channel: how: ``insight`` (found by searching), ``memory``, ``push``, or that of a sink.
        fact: what it states.
        record: id of the record or page.
        rank: place among what the same result showed, from 1, or None where it has none.
        before_answer: whether it came before the final answer was given.
    """

    channel: str
    fact: Fact = "other"
    record: str = ""
    rank: int | None = None
    before_answer: bool = True


class Supersede(Frozen):
    """One record took another's place.

    Attributes:
        source: id of the new record; ``target``: of the old one.
        score: their similarity, as the memory gave it.
        same_fact: whether both state the fact of the protocol; None where nobody could tell.
        same_class: whether both are of one class of record.
    """

    source: str
    target: str
    score: float | None = None
    same_fact: bool | None = None
    same_class: bool | None = None


class RecordState(Frozen):
    """A record of the memory at one moment.

    Attributes:
        status: as the memory calls it.
        live: whether it can still be retrieved.
        owner: who wrote it.
        entities: datasets that it is filed on.
        fact: what it states.
    """

    id: str
    status: str
    live: bool
    owner: str = ""
    entities: tuple[str, ...] = ()
    fact: Fact = "other"


class Episode(Frozen):
    """One stage with an agent: one session, one conversation. Above ``correct`` are the published fields.

    Attributes:
        fact_surfaced: whether the promoted text stood in a tool result; None where it was not looked for.
        correct: by the published rules; None where nothing is graded, or the episode failed.
        verdict: by ours.
        strict: whether an answer was right, or a refusal clean, by our rules.
        deliveries: what reached the agent, in order.
        supersedes: what took the place of what.
        before, after: the memory's records; None where it does not show them.
    """

    stage: str
    identity: str = ""
    email: str = ""
    session_id: str = ""
    tool_calls: int = 0
    tool_errors: int = 0
    search_called: bool = False
    capture_attempted: bool | None = None
    budget_exhausted: bool | None = None
    fact_surfaced: bool | None = None
    final_answer: str = ""
    wall_ms: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_creation_tokens: int = 0
    audit: Audit | None = None
    audit_read_error: str = ""
    error: str = ""

    correct: bool | None = None
    verdict: Verdict | None = None
    strict: bool | None = None
    deliveries: tuple[Delivery, ...] | None = None
    supersedes: tuple[Supersede, ...] | None = None
    before: tuple[RecordState, ...] | None = None
    after: tuple[RecordState, ...] | None = None


class Attempt(Frozen):
    """One attempt at a protocol. Outcomes are None where a stage does not apply or was not reached.

    Attributes:
        protocol_id: the protocol.
        attempt: from 1.
        error: the harness failure that ended it; such an attempt is in no rate.
        update_changed: whether the correction changed what the memory holds, by whatever way; None where nobody looked.
        retired_by: how the taught record went, after a correction; None where it did not or nobody knows.
        unavailable: why stages were left out, by stage: the memory lacks something.
    """

    schema_version: Literal[1] = 1
    protocol_id: str
    title: str = ""
    sink: str = ""
    attempt: int = 1
    insight_id: str = ""
    captured: bool | None = None
    recall_correct: bool | None = None
    recall_surfaced: bool | None = None
    promoted: bool | None = None
    transfer_correct: bool | None = None
    transfer_surfaced: bool | None = None
    update_correct: bool | None = None
    update_captured: bool | None = None
    duplicated: bool | None = None
    abstain_correct: bool | None = None
    capture_attempted: bool | None = None
    teach_budget_exhausted: bool | None = None
    episodes: tuple[Episode, ...] = ()
    error: str = ""

    update_changed: bool | None = None
    retired_by: Route | None = None
    unavailable: Mapping[str, str] = {}

    def episode(self, stage: str) -> Episode | None:
        """The last episode of a stage, or None."""
        return next((episode for episode in reversed(self.episodes) if episode.stage == stage), None)

    @property
    def passed(self) -> bool:
        """Whether every stage that applies came out right, by the published rule."""
        if self.error or not self.captured or not self.recall_correct:
            return False
        if self.update_captured is False:
            return False
        if self.update_correct is not None and (not self.update_correct or self.duplicated):
            return False
        return all(outcome is not False for outcome in (self.promoted, self.transfer_correct, self.abstain_correct))


def published_attempts(results: object, where: str) -> tuple[Attempt, ...]:
    """The attempts of a published results file (its ``runs``); fields that we do not know are left out.

    Args:
        results: the file's JSON.
        where: what an error names.

    Raises:
        DataError: it is no such file.
    """
    runs = results.get("runs") if isinstance(results, Mapping) else None
    if not isinstance(runs, list):
        raise DataError(f"{where} is no results file of lifecycles: it has no list of runs.")
    try:
        return tuple(Attempt.model_validate(_known(Attempt, run)) for run in runs)
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(str(part) for part in first["loc"])
        raise DataError(f"{where} is no results file of lifecycles: {path}: {first['msg']}.") from None


def _known(model: type[Frozen], values: Any) -> Any:
    """Values with the fields of a model alone; what is no mapping stays as it is, to be refused."""
    if not isinstance(values, Mapping):
        return values
    known = {name: value for name, value in values.items() if name in model.model_fields}
    if model is Attempt and isinstance(known.get("episodes"), list):
        known["episodes"] = [_known(Episode, episode) for episode in known["episodes"]]
    if model is Episode and "audit" in known:
        known["audit"] = _known(Audit, known["audit"])
    return known
