"""What is known of an attempt so far. It stands in the facts of every step, so that a killed run goes on from there.

From the steps of an answer alone comes the :class:`~memassay.suites.lifecycle.records.Attempt` that is graded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from pydantic import JsonValue

from memassay.core.types import Answer, Frozen, Step
from memassay.suites.lifecycle.protocol import Protocol
from memassay.suites.lifecycle.records import Attempt, Episode, RecordState, Route
from memassay.suites.lifecycle.stages import Stage, plan

EPISODE, PROGRESS, STATES = "episode", "progress", "states"

States = Sequence[RecordState]


class Progress(Frozen):
    """Everything that a later stage needs of earlier ones; outcomes are as in :class:`.records.Attempt`.

    Attributes:
        capabilities: what the memory is able to.
        unavailable: why stages are left out, by name.
        insight_id: the record that teaching left; ``change`` is the one that promoted it.
        labels, texts: see :class:`.states.Labels`.
    """

    capabilities: tuple[str, ...] = ()
    unavailable: Mapping[str, str] = {}
    insight_id: str = ""
    change: str = ""
    captured: bool | None = None
    capture_attempted: bool | None = None
    teach_budget_exhausted: bool | None = None
    recall_surfaced: bool | None = None
    promoted: bool | None = None
    transfer_surfaced: bool | None = None
    update_captured: bool | None = None
    update_changed: bool | None = None
    duplicated: bool | None = None
    retired_by: Route | None = None
    labels: Mapping[str, str] = {}
    texts: Mapping[str, str] = {}

    def opens(self, stage: Stage) -> bool:
        """Whether what a stage waits for came about, or could not be verified."""
        if stage.name in self.unavailable:
            return False
        # A memory that was corrected in place captured nothing by the published rule, and can be asked all the same.
        missed = {outcome for outcome in stage.after if getattr(self, outcome) is False}
        return not (missed - {"update_captured"} if self.update_changed else missed)

    def facts(
        self, episode: Episode | None = None, *, states: tuple[States, States] | None = None
    ) -> dict[str, JsonValue]:
        """What is noted in a step; what the step itself says stands there only.

        Args:
            episode: of a stage with an agent, which holds the memory's records before and after.
            states: these records of a stage without one.
        """
        noted: dict[str, JsonValue] = {PROGRESS: self.model_dump(mode="json")}
        if states is not None:
            sides = zip(("before", "after"), states, strict=True)
            noted[STATES] = {side: [one.model_dump(mode="json") for one in held] for side, held in sides}
        if episode is not None:
            noted[EPISODE] = episode.model_dump(mode="json", exclude_defaults=True)
        return noted


def progress_of(steps: Sequence[Step]) -> Progress | None:
    """What the last step knew, or None where there is none."""
    noted = next((step.facts[PROGRESS] for step in reversed(steps) if PROGRESS in step.facts), None)
    return None if noted is None else Progress.model_validate(noted)


def attempt_of(protocol: Protocol, answer: Answer, choices: Collection[str]) -> Attempt:
    """The attempt that an answer is the record of, not yet graded.

    A stage in which the memory failed is one with no answer, and wrong; a failure of the provider or the harness is an
    ``error``.

    Args:
        protocol: of the answer's task.
        answer: its steps are those of the drive.
        choices: the extra stages that were chosen.
    """
    progress = progress_of(answer.steps) or Progress()
    episodes = [episode for step in answer.steps if (episode := _episode(step)) is not None]
    values = {name: value for name, value in progress if name in Attempt.model_fields}
    if answer.status.kind == "memory" and (stage := _next(plan(protocol, choices), answer.steps, progress)):
        if stage.kind == "act":
            values |= {"promoted": False} if stage.name == "promote" else {}
        else:
            episodes.append(Episode(stage=stage.name, identity=stage.identity))
        values |= {"teach": {"captured": False}, "update": {"update_captured": False}}.get(stage.name, {})
    kind = answer.status.kind
    return Attempt(
        protocol_id=protocol.id,
        title=protocol.title,
        sink=protocol.sink,
        attempt=answer.cell.repetition + 1,
        episodes=tuple(episodes),
        error=(answer.detail or str(answer.status)) if kind in ("provider", "harness") else "",
        **values,
    )


def _episode(step: Step) -> Episode | None:
    noted = step.facts.get(EPISODE)
    if not isinstance(noted, Mapping):
        return None
    usage = step.usage
    return Episode.model_validate(
        {
            **noted,
            "final_answer": step.text or "",
            "wall_ms": usage.wall_ms,
            "input_tokens": usage.input,
            "output_tokens": usage.output,
            "cache_read_tokens": usage.cache_read,
            "cache_creation_tokens": usage.cache_write,
        }
    )


def _next(stages: Iterable[Stage], steps: Sequence[Step], progress: Progress) -> Stage | None:
    """The stage that was being played when the attempt ended."""
    done = {step.name for step in steps}
    return next((stage for stage in stages if stage.name not in done and progress.opens(stage)), None)
