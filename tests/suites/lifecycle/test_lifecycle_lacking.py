"""Protocols played against platforms that lack something or do something wrong: what is said of it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from fake_platform import Knobs, Plain, Reviewed
from lifecycle_play import FakeEnv, Killed, Rules, Talk, attempt, judged, play

from memassay.core.errors import CannotMeasure, MemoryFailure
from memassay.core.types import Status, Step
from memassay.suites.lifecycle import driving
from memassay.suites.lifecycle.driving import capabilities_of, drive
from memassay.suites.lifecycle.metrics import miss_cause
from memassay.suites.lifecycle.progress import STATES, progress_of
from memassay.suites.lifecycle.protocol import Protocol
from memassay.suites.lifecycle.records import Audit
from memassay.suites.lifecycle.stages import WITHOUT, plan
from memassay.suites.lifecycle.warehouse import Warehouse

pytestmark = pytest.mark.usefixtures("hasty")


def without(*names: str) -> Any:
    """A platform that lacks methods: a class of its own, as what a store can do is seen in its class."""
    methods = {**vars(Plain), **vars(Reviewed)}
    left_out = {*names, "__dict__", "__weakref__"}
    return type("Lacking", (), {name: value for name, value in methods.items() if name not in left_out})


def test_without_a_review_queue_its_stages_are_left_out_with_the_reason(paged: Protocol, warehouse: Warehouse) -> None:
    env = play(paged, warehouse, kind=Plain)
    found = attempt(paged, env)
    why = f"{WITHOUT['review']} and {WITHOUT['changesets']}"
    assert dict(found.unavailable) == dict.fromkeys(
        (
            "promote",
            "transfer",
            "correct",
            "correct_recall",
            "correct_transfer",
            "rollback",
            "rollback_transfer",
            "interference_recall",
        ),
        why,
    )
    assert [step.name for step in env.steps if step.name in found.unavailable] == []
    scores = judged(paged, env).scores
    assert found.promoted is None and scores["transfer_rate"] is None and scores["strict:transfer"] is None
    assert scores["pass"] == scores["strict:pass"] == scores["personal_recall"] == 1.0


def test_without_records_nothing_is_said_of_them(corrected: Protocol, warehouse: Warehouse) -> None:
    env = play(corrected, warehouse, kind=without("records"))
    found, scores = attempt(corrected, env), judged(corrected, env).scores
    assert found.captured is None and scores["capture_rate"] is None and scores["strict:captured_anywhere"] is None
    assert scores["personal_recall"] == scores["update_correctness"] == 1.0
    assert found.episode("teach").after is None and found.episode("recall").deliveries  # type: ignore[union-attr]


def test_without_a_log_of_calls_tools_are_counted_and_nothing_is_attributed(
    corrected: Protocol, warehouse: Warehouse
) -> None:
    env = FakeEnv(corrected, without("calls")(warehouse), Rules())
    ask = env.agent

    async def counted(name: str, **more: Any) -> Step:
        step = await ask(name, **more)
        return step.model_copy(update={"tools": {"mcp__memory__search": 1, "mcp__memory__memory_capture": 1}})

    env.agent = counted  # type: ignore[method-assign, assignment]
    asyncio.run(drive(corrected, plan(corrected, ()), env))
    found = attempt(corrected, env, ())
    recall = found.episode("recall")
    assert recall is not None and recall.deliveries is None and recall.budget_exhausted is None
    assert (recall.tool_calls, recall.search_called, recall.capture_attempted) == (2, True, True)
    assert judged(corrected, env, ()).scores["strict:recall_surfaced"] is None


class Insists(Rules):
    """Looks around to the end of its budget, and then tries to keep what it was told all the same."""

    def save(self, talk: Talk, told: Any) -> str:
        for _ in range(15):
            talk.call("trino_query", sql="SELECT 1")
        return super().save(talk, told)


@pytest.mark.parametrize("held", [True, False])
def test_a_call_past_the_budget_is_refused_where_the_memory_can(
    corrected: Protocol, warehouse: Warehouse, held: bool
) -> None:
    kind = Reviewed if held else without("budget")
    found = attempt(corrected, play(corrected, warehouse, agent=Insists(), kind=kind, choices=()), ())
    teach = found.episode("teach")
    assert teach is not None and (teach.budget_exhausted, teach.tool_errors) == (True, 0)
    assert (teach.tool_calls, teach.capture_attempted, found.captured) == (
        (15, False, False) if held else (16, True, True)
    )  # fmt: skip
    assert (found.capture_attempted, found.teach_budget_exhausted) == (not held, True)
    if held:
        assert miss_cause(found) == "budget_starved"


class Full(Rules):
    """Uses its budget up, and no more."""

    def save(self, talk: Talk, told: Any) -> str:
        for _ in range(14):
            talk.call("trino_query", sql="SELECT 1")
        return super().save(talk, told)


def test_the_last_call_of_a_budget_is_a_call(corrected: Protocol, warehouse: Warehouse) -> None:
    found = attempt(corrected, play(corrected, warehouse, agent=Full(), choices=()), ())
    teach = found.episode("teach")
    assert teach is not None and found.captured
    assert (teach.tool_calls, teach.budget_exhausted, teach.capture_attempted) == (15, False, True)


def test_without_identities_nobody_else_is_asked(paged: Protocol, warehouse: Warehouse) -> None:
    env = play(paged, warehouse, kind=without("identity"))
    found = attempt(paged, env)
    assert {"never_taught", "isolation", "transfer"} <= found.unavailable.keys()
    assert found.unavailable["isolation"] == WITHOUT["identities"] and found.promoted


def test_capabilities() -> None:
    assert capabilities_of(object()) == ()
    assert set(capabilities_of(Reviewed.__new__(Reviewed))) == set(WITHOUT)
    assert "review" not in capabilities_of(without("records").__new__(without("records")))


def test_a_memory_without_tools_cannot_be_measured(paged: Protocol, warehouse: Warehouse) -> None:
    with pytest.raises(CannotMeasure, match="no toolset"):
        play(paged, warehouse, kind=without("toolset"))


def test_a_refused_promotion_is_a_miss(paged: Protocol, warehouse: Warehouse) -> None:
    env = play(paged, warehouse, knobs=Knobs(refuse_apply=True))
    scores = judged(paged, env).scores
    step = next(step for step in env.steps if step.name == "promote")
    assert step.detail == "the sink refuses" and not step.checks
    assert scores["promoted"] == 0.0 and scores["transfer_rate"] is None and scores["strict:transfer"] == 0.0
    assert not {"transfer", "rollback", "correct"} & {step.name for step in env.steps}


def test_a_promotion_that_the_sink_does_not_hold_is_a_miss(
    paged: Protocol, described: Protocol, warehouse: Warehouse
) -> None:
    for protocol in (paged, described):
        env = play(protocol, warehouse, knobs=Knobs(lose_apply=True))
        step = next(step for step in env.steps if step.name == "promote")
        assert [check.passed for check in step.checks] == [True, False]
        assert judged(protocol, env).scores["promoted"] == 0.0


def test_a_rollback_after_which_the_change_still_stands_shows(paged: Protocol, warehouse: Warehouse) -> None:
    """The record was corrected meanwhile, so it is applied no more; only the change itself can tell."""
    for knobs, undone in ((Knobs(), True), (Knobs(keep_change=True), False)):
        step = next(step for step in play(paged, warehouse, knobs=knobs).steps if step.name == "rollback")
        assert {check.name: check.passed for check in step.checks} == {
            "the change is rolled back": undone, "the sink holds it no more": True,
        }  # fmt: skip


def test_a_restart_is_looked_at(paged: Protocol, warehouse: Warehouse) -> None:
    for knobs, kept in ((Knobs(), True), (Knobs(lose_on_restart=True), False)):
        env = play(paged, warehouse, knobs=knobs)
        [check] = next(step for step in env.steps if step.name == "restart").checks
        assert (check.name, check.passed) == ("nothing changed", kept)
    assert judged(paged, env).scores["personal_recall"] == 0.0


def test_what_the_memory_held_stands_with_every_stage(paged: Protocol, warehouse: Warehouse) -> None:
    env = play(paged, warehouse)
    acts = {step.name: step.facts[STATES] for step in env.steps if step.name in ("restart", "promote", "rollback")}
    held: Any = {name: [[one["status"] for one in side["before"]], [one["status"] for one in side["after"]]]
                 for name, side in acts.items()}  # fmt: skip
    assert held["restart"] == [["pending"], ["pending"]] and held["promote"] == [["pending"], ["applied"]]
    assert held["rollback"] == [["superseded", "pending"], ["pending", "pending"]]
    episodes = [step.facts["episode"] for step in env.steps if step.name not in acts]
    assert len(episodes) > 10 and all(one.get("before") is not None or one["stage"] == "teach" for one in episodes)


def test_the_audit_log_of_a_memory_stands_with_its_episodes(paged: Protocol, warehouse: Warehouse) -> None:
    class Logged(Reviewed):
        def audit(self, session: str) -> Any:
            # As in a database: what is put back has lost what came since.
            made = [call for call in self.log if call.session == session and self.state["number"] >= int(session[2:])]
            if not made:
                return []
            if made[0].identity.startswith("learner"):
                raise MemoryFailure("the log is gone")
            return [
                {"duration_ms": 2, "success": not call.error, "enrichment_applied": place == 0,
                 "enrichment_tokens_full": 5, "enrichment_tokens_dedup": None}
                for place, call in enumerate(made)
            ]  # fmt: skip

    found = attempt(paged, play(paged, warehouse, kind=Logged))
    recall, transfer = found.episode("recall"), found.episode("transfer")
    assert recall is not None and transfer is not None and recall.audit is not None
    calls = recall.tool_calls
    assert recall.audit == Audit(
        audited_calls=calls, total_duration_ms=2 * calls, enriched_calls=1, enrichment_tokens_full=5 * calls
    )
    assert (transfer.audit, transfer.audit_read_error) == (None, "the log is gone")
    assert found.passed, "it is no part of any verdict"
    aside = found.episode("never_taught")
    assert aside is not None and aside.audit is not None and aside.audit.audited_calls == aside.tool_calls > 0
    silent = attempt(paged, play(paged, warehouse)).episode("recall")
    assert silent is not None and (silent.audit, silent.audit_read_error) == (None, "")


def test_rows_that_do_not_tell_what_took_their_place_are_read_with_the_log(
    corrected: Protocol, warehouse: Warehouse
) -> None:
    class Terse(Reviewed):
        async def records(self, **which: str) -> Any:
            return [
                one.model_copy(update={"superseded_by": "", "score": None}) for one in await super().records(**which)
            ]

    found = attempt(corrected, play(corrected, warehouse, kind=Terse))
    update = found.episode("update")
    assert update is not None and found.retired_by == "supersede"
    [gone] = update.supersedes or ()
    assert (gone.target, gone.same_fact, gone.score) == (found.insight_id, True, None)
    assert gone.source in {one.id for one in update.after or () if one.fact == "corrected"}


def test_a_rollback_that_leaves_the_sink_as_it_was_shows(paged: Protocol, warehouse: Warehouse) -> None:
    env = play(paged, warehouse, knobs=Knobs(keep_rolled_back=True))
    step = next(step for step in env.steps if step.name == "rollback")
    assert [check.passed for check in step.checks] == [True, False]
    assert judged(paged, env).scores["strict:rollback_gone"] == 0.0


@pytest.mark.parametrize("status", [Status.RATE_LIMIT, Status.HARNESS])
def test_a_failed_session_ends_the_attempt(paged: Protocol, warehouse: Warehouse, status: Status) -> None:
    env = FakeEnv(paged, Reviewed(warehouse), Rules())
    env.fail = {"recall": status}
    with pytest.raises(EOFError, match="recall"):
        asyncio.run(drive(paged, plan(paged, ()), env))
    assert [step.name for step in env.steps] == ["teach"]
    verdict = judged(paged, env, (), status)
    assert verdict.status == "undefined" and set(verdict.scores.values()) == {None}


def test_an_agent_at_its_limit_has_answered_wrong(paged: Protocol, warehouse: Warehouse) -> None:
    env = FakeEnv(paged, Reviewed(warehouse), Rules())
    env.fail = {"recall": Status.LIMIT_TURNS}
    asyncio.run(drive(paged, plan(paged, ()), env))
    scores = judged(paged, env, ()).scores
    assert (scores["personal_recall"], scores["transfer_rate"], scores["pass"]) == (0.0, 1.0, 0.0)


def test_the_stage_in_which_the_memory_fails_is_wrong(paged: Protocol, warehouse: Warehouse) -> None:
    for stage, metric in (("teach", "capture_rate"), ("recall", "personal_recall"), ("abstain", "abstention_rate")):
        env = FakeEnv(paged, Reviewed(warehouse), Rules())
        env.kill_in = stage
        with pytest.raises(Killed):
            asyncio.run(drive(paged, plan(paged, ()), env))
        scores = judged(paged, env, (), Status.MEMORY_CRASH).scores
        assert scores[metric] == scores["pass"] == scores["strict:pass"] == 0.0, stage
    env = FakeEnv(paged, Reviewed(warehouse), Rules())
    env.kill_keeping = "promote"
    with pytest.raises(Killed):
        asyncio.run(drive(paged, plan(paged, ()), env))
    scores = judged(paged, env, (), Status.MEMORY_CRASH).scores
    assert (scores["promoted"], scores["strict:transfer"], scores["personal_recall"]) == (0.0, 0.0, 1.0)


def test_a_capture_that_takes_its_time_is_waited_for(
    corrected: Protocol, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driving, "CAPTURE_SECONDS", 5.0)
    monkeypatch.setattr(driving, "CAPTURE_EVERY", 0.001)
    looks: list[int] = []

    class Slow(Reviewed):
        async def records(self, **which: Any) -> Any:
            looks.append(len(self.state["records"]))
            return [] if looks.count(1) < 7 else await super().records(**which)

    assert attempt(corrected, play(corrected, warehouse, kind=Slow, choices=()), ()).captured
    assert looks.count(1) >= 7


def test_nobody_waits_for_what_nobody_sent(
    paged: Protocol, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driving, "CAPTURE_SECONDS", 60.0)

    class Silent(Rules):
        def save(self, talk: Talk, told: Any) -> str:
            return "Noted."

    env = play(paged, warehouse, agent=Silent())
    assert not attempt(paged, env).captured and "transfer" not in {step.name for step in env.steps}


def test_steps_hold_all_that_is_known(paged: Protocol, warehouse: Warehouse) -> None:
    env = play(paged, warehouse)
    known = progress_of(env.steps)
    assert known is not None and known.promoted and known.change.startswith("c-")
    assert json.loads(env.steps[-1].model_dump_json())["facts"]["progress"]["insight_id"] == known.insight_id
    assert progress_of(()) is None
