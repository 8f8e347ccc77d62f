from __future__ import annotations

import pytest
from lifecycle_protocols import TRANSFER, UPDATE, protocol

from memassay.core.errors import UnknownName
from memassay.suites.lifecycle.protocol import Protocol
from memassay.suites.lifecycle.stages import CHOICES, PUBLISHED, WITHOUT, Stage, available_choices, plan


def names(stages: tuple[Stage, ...]) -> list[str]:
    return [stage.name for stage in stages]


def test_the_published_order() -> None:
    assert names(plan(protocol(TRANSFER))) == ["teach", "recall", "promote", "transfer", "abstain"]
    assert names(plan(protocol(UPDATE))) == ["teach", "recall", "update", "update_recall", "abstain"]
    assert names(plan(protocol(abstain=None, transfer=None))) == ["teach", "recall"]
    assert all(stage.published for stage in plan(protocol()))


def test_ours_stand_between_and_after(generated: tuple[Protocol, ...]) -> None:
    shared, corrected = generated[0], generated[1]
    assert names(plan(shared, CHOICES)) == [
        "never_taught", "teach", "restart", "recall", "isolation", "promote", "transfer", "abstain", "twin", "correct",
        "correct_recall", "correct_transfer", "rollback", "rollback_transfer", "interference.1", "interference.2",
        "interference.3", "interference_recall", "forget", "forget_recall",
    ]  # fmt: skip
    assert names(plan(corrected, CHOICES)) == [
        "never_taught", "teach", "restart", "recall", "update", "update_recall", "abstain", "twin", "interference.1",
        "interference.2", "interference.3", "interference_recall", "forget", "forget_recall",
    ]  # fmt: skip
    for one in (shared, corrected):
        ours = plan(one, CHOICES)
        assert [stage for stage in ours if stage.published] == list(plan(one))
        last = max(place for place, stage in enumerate(ours) if stage.published)
        undoing = ("correct", "rollback", "interference", "forget")
        assert all(place > last for place, stage in enumerate(ours) if stage.name.startswith(undoing))
    assert set(CHOICES) - set(available_choices(shared)) == {"forget"}  # the page would still say it
    assert "forget" in available_choices(corrected)
    assert names(plan(shared, ("forget", "rollback")))[-4:] == [
        "rollback",
        "rollback_transfer",
        "forget",
        "forget_recall",
    ]


def test_a_published_protocol_has_what_some_of_ours_need() -> None:
    assert available_choices(protocol(TRANSFER)) == ("restart", "isolation", "rollback")
    assert available_choices(protocol(UPDATE)) == ("restart",)


def test_who_speaks_and_what_is_asked(generated: tuple[Protocol, ...]) -> None:
    one = generated[0]
    stages = {stage.name: stage for stage in plan(one, CHOICES)}
    assert {stages[name].identity for name in ("teach", "recall", "abstain", "twin", "correct")} == {"teacher"}
    assert {stages[name].identity for name in ("transfer", "rollback_transfer", "correct_transfer")} == {"learner"}
    assert (stages["isolation"].identity, stages["never_taught"].identity) == ("bystander", "stranger")
    assert (stages["promote"].identity, stages["restart"].identity) == ("reviewer", "harness")
    for name in ("recall", "transfer", "isolation", "never_taught", "rollback_transfer"):
        assert (stages[name].prompt, stages[name].grading) == (one.recall.prompt, one.recall.grading)
    assert stages["correct_recall"].stale == one.recall.grading
    assert stages["isolation"].kind == stages["abstain"].kind == "refuse"
    assert stages["abstain"].grading is None
    updated = {stage.name: stage for stage in plan(generated[1], CHOICES)}
    assert updated["update_recall"].stale == updated["forget_recall"].stale == generated[1].recall.grading
    assert updated["update_recall"].after == ("captured", "update_captured")
    assert stages["transfer"].after == ("captured", "promoted")


def test_the_question_among_other_facts_is_the_one_of_that_time(generated: tuple[Protocol, ...]) -> None:
    shared, corrected = generated[0], generated[1]
    assert corrected.update is not None and shared.extras is not None and shared.extras.correction is not None

    def last(one: Protocol, *choices: str) -> Stage:
        return next(stage for stage in plan(one, choices) if stage.name == "interference_recall")

    found = last(corrected, "interference")
    assert (found.grading, found.stale) == (corrected.update.recall.grading, corrected.recall.grading)
    assert found.after == ("captured", "update_captured") and not found.needs
    found = last(shared, "interference")
    assert (found.grading, found.stale) == (shared.recall.grading, None) and not found.needs
    found = last(shared, "interference", "correct")
    assert found.grading == shared.extras.correction.recall.grading and found.after == ("captured", "promoted")
    assert found.unavailable({"capture"}) == "the memory has no review queue and the memory has no changesets"


def test_what_must_be_gone_is_every_answer_that_was_right(generated: tuple[Protocol, ...]) -> None:
    shared = generated[0]
    assert shared.extras is not None and shared.extras.correction is not None
    taught, corrected = shared.recall.grading, shared.extras.correction.recall.grading

    def keys(*choices: str) -> dict[str, set[str]]:
        kept = {stage.name: stage for stage in plan(shared, choices)}
        return {
            name: {repr(key) for key in (kept[name].grading, kept[name].stale) if key is not None}
            for name in ("rollback_transfer", "forget_recall")
        }

    both = {repr(taught), repr(corrected)}
    assert keys("correct", "rollback", "forget") == {"rollback_transfer": both, "forget_recall": both}
    assert keys("rollback", "forget") == {"rollback_transfer": {repr(taught)}, "forget_recall": {repr(taught)}}


def test_what_a_memory_lacks_is_said(generated: tuple[Protocol, ...]) -> None:
    stages = {stage.name: stage for stage in plan(generated[0], CHOICES)}
    everything = set(WITHOUT)
    assert all(stage.unavailable(everything) is None for stage in stages.values())
    bare = {name for name, stage in stages.items() if stage.unavailable(()) is None}
    assert bare == {
        "teach", "interference.1", "interference.2", "interference.3", "recall", "abstain", "twin", "forget",
        "forget_recall",
    }  # fmt: skip
    assert stages["transfer"].unavailable({"review", "changesets"}) == "the memory does not tell identities apart"
    assert stages["promote"].unavailable(()) == "the memory has no review queue and the memory has no changesets"
    assert stages["restart"].unavailable({"capture"}) == "the memory cannot be restarted"


def test_a_choice_that_is_none_is_refused() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'rollback'"):
        plan(protocol(), ("rolback",))
    assert set(PUBLISHED).isdisjoint(CHOICES)
