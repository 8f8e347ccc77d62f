from __future__ import annotations

from collections.abc import Callable

import pytest
from platform_kit import CORRECTION, CUSTOMERS, FACT, NOISE, ORDERS, Bench, hits, refused
from pydantic import ValidationError

from memassay.platform.shapes import CaptureRequest, RecordFilter


@pytest.mark.parametrize("kind", ["business_knowledge", "schema_entity", "operational_rule"])
def test_knowledge_becomes_a_pending_insight(place: Bench, kind: str) -> None:
    made = place.capture(type=kind)
    assert (made.sink_class, made.status, made.superseded, made.superseded_ids) == (kind, "active", None, ())
    found = place.platform.get_insight(place.admin, made.id)
    assert found.insight_text == FACT
    assert found.entity_urns == (ORDERS,)
    assert found.captured_by == "bench-agent-001@apikey.local"
    assert found.session_id == place.teacher.session
    assert len(found.id) == 32
    assert int(found.id, 16) >= 0
    assert found.created_at.endswith("Z")


@pytest.mark.parametrize("kind", ["personal_preference", "episodic_event"])
def test_what_is_personal_is_live_at_once_and_never_in_the_queue(place: Bench, kind: str) -> None:
    made = place.capture(type=kind)
    assert made.status == "active"
    assert place.platform.list_insights(place.admin).total == 0
    with refused("not_found"):
        place.platform.get_insight(place.admin, made.id)
    (hit,) = hits(place.platform.search(place.teacher, "zorblat"), "memory")
    assert hit.ref == made.id
    assert hits(place.platform.search(place.learner, "zorblat")) == []


def test_a_near_record_on_the_same_entity_is_superseded_with_source_target_and_score(place: Bench) -> None:
    old, new = place.capture(FACT), place.capture(CORRECTION)
    assert (new.superseded, new.superseded_ids) == (old.id, (old.id,))
    assert place.status(old.id) == "superseded"
    assert place.platform.get_insight(place.admin, old.id).superseded_by == new.id
    events = place.platform.list_history(place.admin, record_id=old.id).data
    assert [(event.route, event.from_status, event.to_status) for event in events] == [
        ("capture", None, "pending"),
        ("supersede", "pending", "superseded"),
    ]
    assert events[1].other_id == new.id
    assert events[1].by == "bench-agent-001@apikey.local"
    assert 0.6 <= events[1].score < 1.0
    assert [hit.ref for hit in hits(place.platform.search(place.teacher, "zorblat"))] == [new.id]
    assert place.table("SELECT lifecycle, status FROM records ORDER BY seq") == [
        ("superseded", "superseded"),
        ("active", "pending"),
    ]


def test_another_owners_record_is_never_superseded(place: Bench) -> None:
    theirs = place.capture(FACT, who=place.learner)
    ours = place.capture(FACT)
    assert not ours.superseded
    assert ours.similar_existing == ()
    assert place.status(theirs.id) == "pending"


def test_a_record_of_another_entity_stays_but_one_without_entities_may_replace_any(place: Bench) -> None:
    old = place.capture(FACT)
    assert not place.capture(FACT, CUSTOMERS).superseded
    assert place.status(old.id) == "pending"
    note = place.capture(FACT, type="episodic_event", entity_urns=())
    assert old.id in note.superseded_ids  # the published rule: no entities, no gate, and the type plays no part
    assert place.status(old.id) == "superseded"


def test_the_strict_rule_wants_the_same_type_and_a_shared_entity(bench: Callable[..., Bench]) -> None:
    place = bench(supersede_same_class=True)
    old = place.capture(FACT)
    assert not place.capture(FACT, type="episodic_event").superseded
    assert not place.capture(FACT, type="episodic_event", entity_urns=()).superseded
    assert place.status(old.id) == "pending"
    assert place.capture(FACT).superseded_ids == (old.id,)


def test_the_threshold_decides_between_superseded_and_similar(bench: Callable[..., Bench]) -> None:
    low, high = bench(supersede=0.6, similar=0.4), bench(supersede=0.99, similar=0.4)
    for place in (low, high):
        place.old = place.capture(FACT)  # type: ignore[attr-defined]
    assert low.capture(CORRECTION).superseded
    result = high.capture(CORRECTION)
    assert not result.superseded
    assert [near.id for near in result.similar_existing] == [high.old.id]  # type: ignore[attr-defined]
    assert 0.4 <= result.similar_existing[0].score < 0.99
    assert bench(supersede=0.99, similar=0.99).capture(CORRECTION).similar_existing == ()
    assert not low.capture(NOISE).superseded


def test_without_an_embedder_nothing_is_superseded(bench: Callable[..., Bench]) -> None:
    place = bench(embedder="none")
    old = place.capture(FACT)
    again = place.capture(FACT)
    assert (again.superseded, again.similar_existing) == (None, ())
    found = place.platform.search(place.teacher, "zorblat")
    assert found.ranking == "lexical"
    assert {hit.ref for hit in hits(found)} == {old.id, again.id}


def test_only_the_five_nearest_are_looked_at(place: Bench) -> None:
    """The published rule: the entities are compared after the five are taken, so five others can hide a sixth."""
    old = place.capture(FACT)
    for number in range(4):
        place.capture(FACT, f"urn:{number}")
    assert place.capture(FACT).superseded_ids == (old.id,)
    place.capture(FACT, "urn:4")
    hidden = place.capture(FACT, "urn:5", who=place.learner)
    for number in range(6, 11):
        place.capture(FACT, f"urn:{number}", who=place.learner)
    assert not place.capture(FACT, "urn:5", who=place.learner).superseded
    assert place.status(hidden.id) == "pending"


def test_dead_records_are_not_superseded_again(place: Bench) -> None:
    old = place.capture(FACT)
    place.platform.memory_forget(place.teacher, old.id)
    assert not place.capture(FACT).superseded
    assert place.status(old.id) == "rejected"


def test_an_applied_insight_is_superseded_by_its_owner_and_leaves_the_shared_arm(place: Bench) -> None:
    old = place.capture(FACT)
    place.describe(old.id)
    new = place.capture(CORRECTION)
    assert new.superseded_ids == (old.id,)
    assert hits(place.platform.search(place.learner, "zorblat"), "insights") == []
    assert place.platform.get_entity(ORDERS).description == FACT


@pytest.mark.parametrize("content", ["short", "x" * 4001, " " * 50, "é" * 2001])
def test_content_is_10_to_4000_bytes(place: Bench, content: str) -> None:
    with refused("invalid"):
        place.capture(content)
    assert place.table("SELECT count(*) FROM records") == [(0,)]


def test_the_longest_content_and_any_script_are_kept(place: Bench) -> None:
    assert place.status(place.capture("é" * 2000).id) == "pending"
    made = place.capture("東京の注文は三百を超えると特別です。🙂")
    assert next(hit.ref for hit in hits(place.platform.search(place.teacher, "東京の注文"))) == made.id


def test_the_shape_of_a_request_is_closed() -> None:
    with pytest.raises(ValidationError):
        CaptureRequest.model_validate({"type": "business_knowledge", "content": FACT, "text": "no such field"})
    with pytest.raises(ValidationError):
        CaptureRequest(type="business_knowledge", content=FACT, entity_urns=(ORDERS,) * 11)
    with pytest.raises(ValidationError):
        CaptureRequest(type="gossip", content=FACT)  # type: ignore[arg-type]


def test_an_entity_must_be_a_urn_and_is_kept_once(place: Bench) -> None:
    with refused("invalid"):
        place.capture(FACT, "orders")
    made = place.capture(FACT, ORDERS, ORDERS, CUSTOMERS)
    assert place.platform.get_insight(place.admin, made.id).entity_urns == (ORDERS, CUSTOMERS)


def test_everything_that_is_given_is_kept(place: Bench) -> None:
    made = place.capture(
        category="correction",
        confidence="high",
        related_columns=("amount", {"table": "orders"}),
        suggested_actions=({"do": "describe"},),
        thread_ids=("t1",),
        sources=("urn:x",),
        metadata={"colour": "green"},
    )
    found = place.platform.get_insight(place.admin, made.id)
    assert (found.category, found.confidence) == ("correction", "high")
    assert found.related_columns == ("amount", {"table": "orders"})
    assert found.suggested_actions == ({"do": "describe"},)
    (record,) = place.platform.memory_list(place.teacher, RecordFilter(category="correction")).records
    assert made.unlinked_thread_ids == ("t1",)
    assert record.metadata == {
        "colour": "green", "thread_ids": ["t1"], "sources": ["urn:x"], "insight_status": "pending",
    }  # fmt: skip
