"""What a store of the memory ``platform`` shows, against the embedded platform as a process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from platform_speech import CORRECTION, FACT, URN, ask, found, say, teach

from memassay.core.contracts import Closes, Serves, Snapshots
from memassay.core.errors import MemoryFailure
from memassay.core.taught import BUDGET_EXHAUSTED, Budgets, Identities, Records, Restarts, Reviews, SharedPage, Watched

Open = Callable[..., Any]


def test_a_store_can_do_everything(open_store: Open) -> None:
    store = open_store()
    for contract in (Serves, Records, Identities, Watched, Budgets, Reviews, Snapshots, Restarts, Closes):
        assert isinstance(store, contract), contract
    assert store.calls() == ()


def test_what_is_taught_is_a_record_and_a_call(open_store: Open) -> None:
    store = open_store()
    who = store.identity("teacher", 1)
    assert who == store.identity("teacher", 1) != store.identity("learner", 1)
    toolset = store.toolset(who)
    (server,) = toolset.servers
    assert server.writes
    assert "memory_capture" in server.tools
    assert "platform_info" not in server.tools
    made = say(toolset, "memory_capture", type="business_knowledge", content=FACT, entity_urns=[URN])
    note = teach(store, who, "Yesterday I looked at sales.", type="episodic_event")
    other = teach(store, store.identity("learner", 1), "Something that a learner found out.", URN)
    one, two, three = store.records()
    assert (one.id, one.text, one.status, one.live, one.owner) == (made["id"], FACT, "pending", True, who)
    assert (one.kind, one.entities, one.change) == ("business_knowledge", (URN,), "")
    assert (two.id, two.status, two.live, two.entities) == (note, "active", True, ())
    assert three.id == other
    assert [record.id for record in store.records(owner=who)] == [one.id, two.id]
    assert [record.id for record in store.records(entity=URN)] == [one.id, three.id]
    calls = store.calls()
    assert [call.tool for call in calls] == ["memory_capture"] * 3
    assert [call.identity for call in calls] == [who, who, store.identity("learner", 1)]
    assert len({call.session for call in calls}) == 3
    assert "session_id" not in calls[0].arguments
    assert calls[0].sent and not calls[0].error


def test_a_supersede_names_what_took_the_place_and_how_alike_they_were(open_store: Open) -> None:
    store = open_store()
    who = store.identity("teacher", 1)
    teach(store, who, FACT, URN)
    newer = teach(store, who, CORRECTION, URN)
    old, new = store.records()
    assert (old.status, old.live, old.superseded_by) == ("superseded", False, newer)
    assert old.score is not None and 0.6 <= old.score < 1
    assert (new.status, new.live, new.superseded_by, new.score) == ("pending", True, "", None)
    say(store.toolset(who), "memory_manage", command="forget", id=newer)
    assert [(record.status, record.live) for record in store.records()] == [("superseded", False), ("forgotten", False)]


def test_by_what_every_platform_has_the_records_are_the_same_but_for_scores(open_store: Open) -> None:
    store = open_store()
    who = store.identity("teacher", 1)
    teach(store, who, FACT, URN)
    teach(store, who, CORRECTION, URN)
    teach(store, who, "Yesterday I looked at sales.", type="episodic_event")
    shown = store.records()
    store.__dict__["_shows_records"] = False
    bare = [record.model_copy(update={"score": None, "retired_by": ""}) for record in shown]
    assert list(store.records()) == bare


def test_review_to_an_entity_and_back(open_store: Open) -> None:
    store = open_store()
    record = teach(store, store.identity("teacher", 1), FACT, URN)
    learner = store.identity("learner", 1)
    assert FACT not in found(store, learner, "zorblat sale")
    store.approve(record, "seen")
    change = store.apply(record, entity=URN, description=FACT)
    assert store.applied(change, record)
    assert store.applied("", record)
    assert store.description(URN) == FACT
    assert store.records()[0].change == change
    assert FACT in found(store, learner, "zorblat sale")
    store.roll_back(change)
    assert not store.applied(change, record)
    assert store.description(URN) == "Sales."
    assert store.description("urn:li:dataset:none") is None
    with pytest.raises(MemoryFailure, match="409"):
        store.roll_back(change)


def test_a_change_stands_whatever_becomes_of_its_record(open_store: Open) -> None:
    store = open_store()
    who = store.identity("teacher", 1)
    record = teach(store, who, FACT, URN)
    change = store.apply(record, entity=URN, description=FACT)
    assert store.stands(change, record) and not store.stands(change, "another")
    teach(store, who, CORRECTION, URN)
    assert not store.applied(change, record), "a correction has taken its place"
    assert store.stands(change, record) and store.stands("", record)
    store.roll_back(change)
    assert not store.stands(change, record) and not store.stands("", record)


def test_the_audit_log_of_a_session(open_store: Open) -> None:
    store = open_store()
    who = store.identity("teacher", 1)
    teach(store, who, FACT, URN)
    [call] = store.calls()
    [event] = [one for one in store.audit(call.session) if one["tool_name"] == "memory_capture"]
    assert event["success"] is True and event["duration_ms"] >= 0
    assert list(store.audit("nobody")) == []


def test_review_to_a_page(open_store: Open) -> None:
    store = open_store()
    record = teach(store, store.identity("teacher", 1), FACT, URN)
    page = SharedPage(slug="zorblat", title="Zorblat", summary=FACT, body=f"# Zorblat\n\n{FACT}")
    assert store.page("zorblat") is None
    change = store.apply(record, page=page)
    assert store.applied(change, record)
    assert store.page("zorblat") == page
    other = teach(store, store.identity("teacher", 1), "Another thing about wombats entirely.", URN)
    with pytest.raises(MemoryFailure, match="duplicate_blocked"):
        store.apply(other, page=page.model_copy(update={"slug": "zorblat-2"}))
    store.reject(other, "no")
    assert store.records()[1].status == "rejected"
    with pytest.raises(MemoryFailure, match="409"):
        store.approve(other)


@pytest.mark.parametrize(("faults", "says"), [({"refuse_apply": True}, "tool_error"), ({"conflict": True}, "conflict")])
def test_a_refusal_is_the_memorys_failure(open_store: Open, faults: dict[str, Any], says: str) -> None:
    store = open_store(faults=faults)
    record = teach(store, store.identity("teacher", 1), FACT, URN)
    with pytest.raises(MemoryFailure, match=says):
        store.apply(record, entity=URN, description=FACT)


def test_a_changeset_that_is_not_named_is_looked_for(open_store: Open) -> None:
    store = open_store(faults={"no_changeset_ref": True})
    record = teach(store, store.identity("teacher", 1), FACT, URN)
    change = store.apply(record, entity=URN, description=FACT)
    assert change == ""
    assert store.applied(change, record)


def test_the_warehouse_is_behind_the_gate(open_store: Open) -> None:
    store = open_store()
    toolset = store.toolset(store.identity("teacher", 1))
    refused = ask(toolset, "trino_query", sql="SELECT sum(cents) FROM shop.main.sales")
    assert refused.is_error and "search_required" in refused.text
    say(toolset, "search", intent="sales")
    assert say(toolset, "trino_query", sql="SELECT sum(cents) FROM shop.main.sales")["rows"] == [{"sum(cents)": 350}]
    assert [call.code for call in store.calls()] == ["search_required", "", ""]
    open_gate = open_store("two", gate=False)
    assert say(open_gate.toolset(), "trino_query", sql="SELECT sum(cents) FROM sales")["rows"] == [{"sum(cents)": 350}]


def test_a_budget_is_of_every_session_that_is_opened_from_then_on(open_store: Open) -> None:
    store = open_store()
    free = store.toolset()
    store.budget(2)
    one, two = store.toolset(), store.toolset()
    for _ in range(3):
        say(free, "search", intent="sales")
    for toolset in (one, two):
        for _ in range(2):
            say(toolset, "search", intent="sales")
        refused = ask(toolset, "memory_capture", type="business_knowledge", content=FACT, entity_urns=[URN])
        assert refused.is_error and "final answer" in refused.text
    assert [call.code for call in store.calls()] == ["", "", "", *["", "", BUDGET_EXHAUSTED] * 2]
    assert [call.sent for call in store.calls() if call.code] == [False, False]
    assert store.records() == ()


def test_two_stores_do_not_see_each_other(open_store: Open) -> None:
    one, two = open_store("one"), open_store("one")
    for store, text in ((one, FACT), (two, CORRECTION)):
        teach(store, store.identity("teacher", 1), text, URN)
    assert [record.text for record in one.records()] == [FACT]
    assert [record.text for record in two.records()] == [CORRECTION]
    assert CORRECTION not in found(one, one.identity("teacher", 1), "zorblat sale")
    assert len(one.calls()) == 2 and len(two.calls()) == 1


def test_a_snapshot_is_put_back_in_another_store(open_store: Open, tmp_path: Path) -> None:
    store, place = open_store(), tmp_path / "snapshot"
    place.mkdir()
    who = store.identity("teacher", 1)
    record = teach(store, who, FACT, URN)
    store.snapshot(place)
    store.apply(record, entity=URN, description=FACT)
    teach(store, who, "Something else about wombats.", URN)
    for again in (store, open_store()):
        again.restore(place)
        assert again.identity("teacher", 1) == who
        assert [(one.id, one.status) for one in again.records()] == [(record, "pending")]
        assert again.description(URN) == "Sales."
        assert FACT in found(again, who, "zorblat sale")
    with pytest.raises(MemoryFailure, match="no snapshot"):
        store.restore(tmp_path)


def test_what_was_taught_outlives_a_restart(open_store: Open) -> None:
    store = open_store()
    who = store.identity("teacher", 1)
    teach(store, who, FACT, URN)
    before = store.records()
    store.restart()
    assert store.records() == before
    assert FACT in found(store, who, "zorblat sale")
