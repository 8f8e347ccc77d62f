"""The grader ``lifecycle``: every published and every strict metric of one attempt, from the steps of its answer alone.

A score is None where the metric does not apply to the task, or the memory has no means for it; such a task is left out
of that metric. The labels hold the whole attempt, graded, from which a run's tables are made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from pydantic import JsonValue

from memassay.core.contracts import Cell, MetricSpec
from memassay.core.types import Judgement
from memassay.suites.lifecycle.cases import EVERYTHING, cases_of
from memassay.suites.lifecycle.frozen import thaw
from memassay.suites.lifecycle.metrics import update_correctness
from memassay.suites.lifecycle.progress import attempt_of, progress_of
from memassay.suites.lifecycle.protocol import Protocol
from memassay.suites.lifecycle.records import Attempt
from memassay.suites.lifecycle.regrading import regrade
from memassay.suites.lifecycle.stages import lacking
from memassay.suites.lifecycle.strict import METRICS, passes

VERSION = 2
ATTEMPT, CAPABILITIES = "attempt", "capabilities"
STRICT = "strict:"
PASS, STRICT_PASS, NEVER_TAUGHT = "pass", "strict:pass", "strict:never_taught"

PUBLISHED: Mapping[str, tuple[str, Callable[[Attempt], bool | None]]] = {
    PASS: ("share of attempts in which every published stage came out right", lambda one: one.passed),
    "capture_rate": ("teaching left a record on the intended dataset", lambda one: one.captured),
    "personal_recall": ("the teacher answers, in a new session", lambda one: one.recall_correct),
    "unprompted_surface": ("the teacher's agent searched, where there was a capture", lambda one: one.recall_surfaced),
    "promoted": ("the memory shows that the record was promoted", lambda one: one.promoted),
    "transfer_rate": ("the learner answers after the promotion", lambda one: one.transfer_correct),
    "transfer_surfaced": ("the promoted words stood in a result", lambda one: one.transfer_surfaced),
    "update_capture_rate": ("the correction was captured", lambda one: one.update_captured),
    "update_correctness": ("the teacher answers by the correction", update_correctness),
    "duplicate_rate": ("the old record was not superseded (less is better)", lambda one: one.duplicated),
    "abstention_rate": ("the question without an answer gets none", lambda one: one.abstain_correct),
}
"""The published metrics under their names; ``pass`` is that of one attempt, of which pass^k is made."""

SHOWN = (
    "filed_acceptably", "recall", "recall_surfaced", "transfer", "transfer_surfaced", "never_taught", "isolation_leak",
    "update", "stale_surfaced", "live_duplicate", "wrong_supersede", "abstention", "over_abstention", "rollback_gone",
    "forgotten",
)  # fmt: skip
"""The strict metrics that have a column of their own in every report; the suite's own tables have all."""
_LOWER = " (less is better)"


def metric_specs() -> list[MetricSpec]:
    """The metrics of a report with their titles, the published ones first."""
    titles = {name: title for name, (title, _) in PUBLISHED.items()}
    titles[STRICT_PASS] = "every published stage came out right by the strict rules"
    titles |= {f"{STRICT}{name}": METRICS[name].title + _LOWER * METRICS[name].lower for name in SHOWN}
    return [MetricSpec(name, title=title, of="answer") for name, title in titles.items()]


class LifecycleJudge:
    """Scores an attempt; see ``PUBLISHED`` and :data:`.strict.METRICS`, the latter under ``strict:NAME``.

    The protocol is the one that the task was frozen with.

    Args:
        choices: the extra stages that were chosen.
    """

    id = "lifecycle"

    def __init__(self, choices: Collection[str]) -> None:
        self._choices = tuple(choices)

    @property
    def config(self) -> Mapping[str, JsonValue]:
        return {"judge": self.id, "version": VERSION}

    def judge(self, cell: Cell) -> Judgement:
        """The verdict on one attempt.

        Raises:
            DataError: the task holds no protocol.
        """
        answer = cell.answer
        protocol = thaw(cell.task)
        attempt = regrade(protocol, attempt_of(protocol, answer, self._choices), self._choices)
        progress = progress_of(answer.steps)
        able: Collection[str] = progress.capabilities if progress is not None else EVERYTHING
        scores = scores_of(protocol, attempt, self._choices, able)
        key = answer.cell
        labels: dict[str, Any] = {
            ATTEMPT: attempt.model_dump(mode="json", exclude_defaults=True),
            CAPABILITIES: None if progress is None else list(progress.capabilities),
        }
        return Judgement(
            id=f"{self.id}/{key.task}/{key.arm}/{key.build}.{key.repetition}",
            judge=self.id,
            subjects=(key,),
            attempt=answer.attempt,
            data=answer.data,
            model=answer.model,
            status="ok" if not attempt.error else "undefined",
            labels=labels,
            scores=scores,
        )


def scores_of(
    protocol: Protocol, attempt: Attempt, choices: Collection[str], capabilities: Collection[str]
) -> dict[str, float | None]:
    """Every score of a graded attempt, by the name of the metric; None throughout where the harness failed."""
    scores: dict[str, float | None] = {
        name: None if attempt.error else _number(outcome(attempt)) for name, (_, outcome) in PUBLISHED.items()
    }
    names = [STRICT_PASS, *(f"{STRICT}{name}" for name in METRICS)]
    cases = cases_of([protocol], [attempt], choices=choices, capabilities=capabilities)
    if not cases:
        return scores | dict.fromkeys(names)
    scores[STRICT_PASS] = float(passes(cases[0]))
    for name, metric in METRICS.items():
        able = lacking(metric.needs, capabilities) is None
        scores[f"{STRICT}{name}"] = _number(metric.value(cases[0])) if able else None
    return scores


def _number(value: bool | float | None) -> float | None:
    return None if value is None else float(value)
