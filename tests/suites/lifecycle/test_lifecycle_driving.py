"""Protocols played against a platform within the process: order, verification, kills."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from fake_platform import Knobs, Reviewed
from lifecycle_play import FakeEnv, Killed, Rules, Talk, answer_of, attempt, judged, play

from kit import printed_elsewhere
from memassay.suites.lifecycle.attribution import PUSH
from memassay.suites.lifecycle.driving import drive
from memassay.suites.lifecycle.progress import attempt_of
from memassay.suites.lifecycle.protocol import Protocol
from memassay.suites.lifecycle.stages import CHOICES, plan
from memassay.suites.lifecycle.warehouse import Warehouse

pytestmark = pytest.mark.usefixtures("hasty")


def test_every_stage_is_a_step_and_all_come_out_right(generated: tuple[Protocol, ...], warehouse: Warehouse) -> None:
    for protocol in generated[:4]:
        env = play(protocol, warehouse)
        assert [step.name for step in env.steps] == [stage.name for stage in plan(protocol, CHOICES)]
        found = attempt(protocol, env)
        assert found.passed and not found.unavailable and found.captured and found.insight_id.startswith("r-")
        acts = {step.name: step for step in env.steps if step.name in ("restart", "promote", "rollback")}
        assert all(step.usage.cost_usd == 0.0 and step.text is None for step in acts.values())
        assert env.store.restarts == 1
        identities = {step.identity for step in env.steps}
        everybody = {"teacher", "stranger", "harness"}
        assert identities == everybody | ({"learner", "bystander", "reviewer"} if protocol.transfer else set())
        assert all(check.passed for step in env.steps for check in step.checks if check.name != "replaced")


def test_what_an_episode_says(corrected: Protocol, warehouse: Warehouse) -> None:
    found = attempt(corrected, play(corrected, warehouse))
    recall, update, asked = (found.episode(name) for name in ("recall", "update", "update_recall"))
    assert recall is not None and update is not None and asked is not None
    assert recall.search_called and recall.email == "teacher-1" and recall.session_id.startswith("s-")
    assert (recall.tool_calls, recall.tool_errors, recall.capture_attempted) == (2, 0, False)
    assert (recall.input_tokens, recall.output_tokens) == (7, 3)
    first = (recall.deliveries or ())[0]
    assert (first.channel, first.fact, first.record, first.rank) == ("insight", "taught", found.insight_id, 1)
    assert {one.fact for one in recall.deliveries or ()} == {"taught"}
    crowded = found.episode("interference_recall")
    assert crowded is not None and {one.fact for one in crowded.deliveries or ()} == {"corrected", "interference"}
    [superseded] = update.supersedes or ()
    assert (superseded.target, superseded.same_fact, superseded.same_class) == (found.insight_id, True, True)
    assert superseded.score is not None and superseded.score > 0.6
    before = {one.id: one for one in update.before or ()}
    after = {one.id: one for one in update.after or ()}
    assert before[found.insight_id].live and not after[found.insight_id].live
    assert after[superseded.source].fact == "corrected"
    assert [one.fact for one in asked.deliveries or () if one.fact != "interference"] == ["corrected"]
    assert (found.update_captured, found.update_changed, found.duplicated, found.retired_by) == (
        True, True, False, "supersede",
    )  # fmt: skip


def test_a_promotion_is_seen_in_the_sink_and_by_which_way_the_fact_came(
    paged: Protocol, described: Protocol, warehouse: Warehouse
) -> None:
    for protocol, sink in ((paged, "page"), (described, "description")):
        env = play(protocol, warehouse)
        found = attempt(protocol, env)
        asked = found.episode("transfer")
        assert asked is not None and found.promoted and found.transfer_surfaced
        channels = {one.channel for one in asked.deliveries or () if one.fact == "taught"}
        assert {"insight", PUSH, sink} <= channels
        knobs = Knobs(shared=False, push=False)
        alone = attempt(protocol, play(protocol, warehouse, knobs=knobs)).episode("transfer")
        assert alone is not None and {one.channel for one in alone.deliveries or ()} == {sink}
        assert judged(protocol, play(protocol, warehouse, knobs=knobs)).scores["strict:transfer_sink_only"] == 1.0


# -- kills ---------------------------------------------------------------------------------------------------------


def bare(steps: Any) -> list[Any]:
    """Steps but for the time they took."""
    return [step.model_copy(update={"usage": step.usage.model_copy(update={"wall_ms": 0.0})}) for step in steps]


@pytest.mark.parametrize("number", [0, 1])
def test_a_killed_attempt_goes_on_after_the_last_kept_step(
    generated: tuple[Protocol, ...], warehouse: Warehouse, number: int
) -> None:
    protocol = generated[number]
    whole = bare(play(protocol, warehouse).steps)
    for place, stage in enumerate(plan(protocol, CHOICES)):
        env = FakeEnv(protocol, Reviewed(warehouse), Rules())
        # The agent, or the platform, has done its work; its step is not kept.
        env.kill_in, env.kill_keeping = ("", stage.name) if stage.kind == "act" else (stage.name, "")
        with pytest.raises(Killed):
            asyncio.run(drive(protocol, plan(protocol, CHOICES), env))
        assert bare(env.steps) == whole[:place], "what was kept before"
        again = FakeEnv(protocol, Reviewed(warehouse, state=env.saved), Rules(), env.steps)
        asyncio.run(drive(protocol, plan(protocol, CHOICES), again))
        assert bare(again.steps) == whole, f"killed in {stage.name}"


def test_a_finished_attempt_plays_nothing_more(paged: Protocol, warehouse: Warehouse) -> None:
    env = play(paged, warehouse)
    again = FakeEnv(paged, Reviewed(warehouse, state=env.saved), None, env.steps)
    asyncio.run(drive(paged, plan(paged, CHOICES), again))
    assert again.steps == env.steps


def test_the_same_bytes_in_every_process(generated: tuple[Protocol, ...], tmp_path: Path) -> None:
    here = str(Path(__file__).parent)
    program = (
        f"import sys; sys.path[:0] = [{here!r}, {str(Path(here).parents[1])!r}]\n"
        "from lifecycle_play import judged, play\n"
        "from memassay.core.digest import digest_of\n"
        "from memassay.suites.lifecycle.templates import generate\n"
        "from memassay.suites.lifecycle.warehouse import make_warehouse\n"
        "warehouse = make_warehouse(11, 1)\n"
        "made = generate(warehouse, 1)\n"
        "envs = [play(one, warehouse) for one in made]\n"
        "steps = [[s.model_dump(exclude={'usage'}) for s in env.steps] for env in envs]\n"
        "print(digest_of(steps), digest_of([judged(*pair).scores for pair in zip(made, envs)]))"
    )
    assert len(printed_elsewhere(program, tmp_path)) == 1


# -- those who must not know ---------------------------------------------------------------------------------------


class Leaks(Rules):
    """Tells the memory all it hears, whoever asks."""

    def answer(self, talk: Talk) -> str:
        talk.call("memory_capture", type="episodic_event", content=f"somebody asked: {talk.prompt}")
        return super().answer(talk)


def test_the_never_taught_leave_nothing_behind(paged: Protocol, warehouse: Warehouse) -> None:
    env = FakeEnv(paged, Reviewed(warehouse), Leaks())
    asyncio.run(drive(paged, plan(paged, ("never_taught",)), env))
    first = env.steps[0]
    episode = attempt_of(paged, answer_of(env), CHOICES).episode("never_taught")
    assert first.name == "never_taught" and first.identity == "stranger"
    assert episode is not None and len(episode.after or ()) == 1, "it is on record what was left"
    assert not [one for one in env.store.state["records"] if one["owner"].startswith("stranger")]
    assert env.store.state["records"][0]["owner"] == "teacher-1"


def test_a_second_attempt_has_new_identities(paged: Protocol, warehouse: Warehouse) -> None:
    env = FakeEnv(paged, Reviewed(warehouse), Rules(), attempt=2)
    asyncio.run(drive(paged, plan(paged, ()), env))
    assert {call.identity for call in env.store.log} == {"teacher-2", "learner-2"}
