"""The grader on answers alone: what it notes, what it leaves out, and that it needs no memory."""

from __future__ import annotations

import pytest
from lifecycle_play import judged, play

from memassay.core.contracts import Cell
from memassay.core.errors import DataError
from memassay.core.types import Answer, CellKey, Gold, Status, Step, Task
from memassay.suites.lifecycle.cases import EVERYTHING
from memassay.suites.lifecycle.frozen import freeze, thaw
from memassay.suites.lifecycle.grading import (
    CAPABILITIES,
    PUBLISHED,
    SHOWN,
    STRICT,
    STRICT_PASS,
    LifecycleJudge,
    metric_specs,
    scores_of,
)
from memassay.suites.lifecycle.progress import Progress, attempt_of
from memassay.suites.lifecycle.protocol import Protocol
from memassay.suites.lifecycle.records import Attempt
from memassay.suites.lifecycle.stages import CHOICES, WITHOUT, plan
from memassay.suites.lifecycle.strict import METRICS
from memassay.suites.lifecycle.warehouse import Warehouse


def answer(status: Status, *steps: Step, detail: str = "") -> Answer:
    return Answer(cell=CellKey(task="t", arm="a", repetition=2), attempt=3, status=status, steps=steps, detail=detail)


def test_every_metric_has_a_score_and_the_shown_ones_a_title(
    generated: tuple[Protocol, ...], warehouse: Warehouse
) -> None:
    verdict = judged(generated[1], play(generated[1], warehouse))
    assert list(verdict.scores) == [*PUBLISHED, STRICT_PASS, *(f"{STRICT}{name}" for name in METRICS)]
    assert set(SHOWN) <= set(METRICS)
    assert [spec.name for spec in metric_specs()] == [*PUBLISHED, STRICT_PASS, *(f"{STRICT}{name}" for name in SHOWN)]
    assert verdict.labels[CAPABILITIES] == list(WITHOUT)
    assert verdict.scores["transfer_rate"] is None and verdict.scores["strict:transfer"] is None, "it has none"
    assert verdict.scores["strict:retired:supersede"] == 1.0


def test_an_attempt_comes_from_steps_alone_and_is_graded_again_alike(
    generated: tuple[Protocol, ...], warehouse: Warehouse
) -> None:
    for one in generated[:2]:
        env = play(one, warehouse)
        first, again = judged(one, env), judged(one, env)
        assert first == again
        held = Attempt.model_validate(first.labels["attempt"])
        assert scores_of(one, held, CHOICES, EVERYTHING) == first.scores, "the label is the whole of it"
        assert [episode.stage for episode in held.episodes] == [
            stage.name for stage in plan(one, CHOICES) if stage.kind != "act"
        ]


def test_another_key_gives_another_verdict(generated: tuple[Protocol, ...], warehouse: Warehouse) -> None:
    one = generated[0]
    env = play(one, warehouse)
    grading = one.recall.grading.model_copy(update={"value": (one.recall.grading.value or 0) + 9})
    other = one.model_copy(update={"recall": one.recall.model_copy(update={"grading": grading})})
    assert (judged(one, env).scores["personal_recall"], judged(other, env).scores["personal_recall"]) == (1.0, 0.0)


def test_what_the_harness_failed_is_undefined(generated: tuple[Protocol, ...]) -> None:
    found = attempt_of(generated[0], answer(Status.NETWORK, detail="the line is dead"), CHOICES)
    assert (found.error, found.attempt, found.captured) == ("the line is dead", 3, None)
    assert set(scores_of(generated[0], found, CHOICES, EVERYTHING).values()) == {None}
    assert attempt_of(generated[0], answer(Status.HARNESS), ()).error == "harness-error"


def test_a_memory_that_fails_before_anything_has_captured_nothing(generated: tuple[Protocol, ...]) -> None:
    found = attempt_of(generated[0], answer(Status.MEMORY_CRASH), ())
    assert found.captured is False and not found.error and [one.stage for one in found.episodes] == ["teach"]
    scores = scores_of(generated[0], found, (), EVERYTHING)
    assert scores["pass"] == scores["capture_rate"] == scores["strict:recall"] == scores["strict:transfer"] == 0.0
    assert scores["personal_recall"] is None, "by the published rule it was not reached"


def test_what_a_stage_waits_for(generated: tuple[Protocol, ...]) -> None:
    stages = {stage.name: stage for one in generated[:2] for stage in plan(one, CHOICES)}
    assert Progress().opens(stages["update"]) and Progress(captured=True).opens(stages["update_recall"])
    assert not Progress(captured=False).opens(stages["update"])
    missed = Progress(captured=True, update_captured=False)
    assert not missed.opens(stages["update_recall"])
    assert missed.model_copy(update={"update_changed": True}).opens(stages["update_recall"])
    assert not Progress(captured=True, unavailable={"update": "why"}).opens(stages["update"])
    assert not Progress(captured=False, update_captured=False, update_changed=True).opens(stages["update_recall"])


def test_a_task_without_its_protocol_is_refused() -> None:
    task = Task(id="lost", suite="lifecycle", scope="w", cluster="c", category="c", prompt="p")
    for gold in ({}, {"original": Gold(answer="1")}, {"original": Gold(truth={"id": "lost"})}):
        with pytest.raises(DataError, match="'lost' holds no protocol"):
            LifecycleJudge(()).judge(Cell(task.model_copy(update={"gold": gold}), answer(Status.OK), None))


def test_a_protocol_comes_back_from_its_task_as_it_was(generated: tuple[Protocol, ...]) -> None:
    for one in generated:
        task = Task(id=one.id, suite="lifecycle", scope="w", cluster="c", category="c", prompt="p", gold=freeze(one))
        assert thaw(Task.model_validate_json(task.model_dump_json())) == one


def test_without_the_correction_the_first_answer_stays_right(
    generated: tuple[Protocol, ...], warehouse: Warehouse
) -> None:
    choices = ("interference",)
    one = next(one for one in generated if one.transfer is not None)
    env = play(one, warehouse, choices=choices)
    assert judged(one, env, choices).scores["strict:interference_recall"] == 1.0
