from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from platform_kit import CORRECTION, CUSTOMERS, FACT, NOISE, ORDERS, Bench

from memassay.platform.shapes import Caller, Enrichment, Entity, Identity, SemanticContext


def pushed(place: Bench, who: Caller, urn: str = ORDERS) -> Enrichment | None:
    return place.platform.datahub_get_entity(who, urn).enrichment


def told(place: Bench, who: Caller, table: str = "orders") -> Enrichment | None:
    return place.platform.trino_describe_table(who, table).enrichment


def described(found: Enrichment | None) -> str | None:
    """The one description; None where it was told before."""
    assert found is not None
    assert found.additional_tables == ()
    if found.semantic_context is None:
        assert found.metadata_reference is not None
        return None
    assert found.metadata_reference is None
    return found.semantic_context.description


def test_notes_of_the_persona_and_applied_insights_are_pushed_but_nothing_that_waits(
    bench: Callable[..., Bench],
) -> None:
    place = bench(supersede=1.0)
    place.platform.put_entities([Entity(urn=ORDERS, name="orders")])
    assert pushed(place, place.learner) is None
    pending, applied = place.capture(FACT), place.capture(CORRECTION)
    note = place.capture(NOISE, type="episodic_event")
    place.describe(applied.id, CORRECTION)
    place.platform.knowledge_approve(place.reviewer, [pending.id])
    for who in (place.learner, place.teacher):
        found = pushed(place, who)
        assert found is not None
        assert found.semantic_context is None  # the result says itself what the entity is
        assert [memory.reference for memory in found.memory_context] == [
            f"mcp:memory:{note.id}",
            f"mcp:insight:{applied.id}",
        ]
        assert [memory.summary for memory in found.memory_context] == [NOISE, CORRECTION]


def test_push_scope_owner_keeps_notes_to_their_owner(bench: Callable[..., Bench]) -> None:
    place = bench(push_scope="owner")
    place.platform.put_entities([Entity(urn=ORDERS, name="orders")])
    place.capture(NOISE, type="episodic_event")
    assert pushed(place, place.learner) is None
    assert pushed(place, place.teacher) is not None


def test_another_persona_gets_nothing(place: Bench) -> None:
    place.platform.put_entities([Entity(urn=ORDERS, name="orders")])
    place.capture(NOISE, type="episodic_event")
    stranger = Identity(user_id="s", email="s@example.org", name="s", persona="engineer")
    assert pushed(place, place.caller(stranger)) is None


def test_push_can_be_switched_off(bench: Callable[..., Bench]) -> None:
    place = bench(push=False)
    place.describe(place.capture(FACT).id)
    assert pushed(place, place.teacher) is None


def test_a_description_is_told_once_per_session_until_it_changes(bench: Callable[..., Bench], orders: Path) -> None:
    place = bench(description_ttl_s=0, warehouse=orders)
    place.platform.put_entities([Entity(urn=ORDERS, name="orders", description=FACT)])
    first, second = told(place, place.learner), told(place, place.learner)
    assert (described(first), described(second)) == (FACT, None)
    assert second is not None
    assert second.mode == "reference"
    assert described(told(place, place.teacher)) == FACT
    place.platform.put_entities([Entity(urn=ORDERS, name="orders", description=NOISE)])
    assert described(told(place, place.learner)) == NOISE
    events = place.platform.list_audit(place.admin, session_id=place.learner.session, sort_order="asc").data[1:]
    assert [event.enrichment_mode for event in events] == ["full", "reference", "full"]
    assert [event.enrichment_tokens_dedup for event in events] == [len(FACT) // 4, 0, len(NOISE) // 4]
    assert events[1].enrichment_tokens_full == len(FACT) // 4


def test_the_pushed_description_is_as_old_as_the_cache_allows(bench: Callable[..., Bench], orders: Path) -> None:
    place = bench(description_ttl_s=300, warehouse=orders)
    place.platform.put_entities([Entity(urn=ORDERS, name="orders", description=FACT)])
    assert described(told(place, place.learner)) == FACT
    place.platform.put_entities([Entity(urn=ORDERS, name="orders", description=NOISE)])
    place.clock.move(299)
    assert place.platform.datahub_get_entity(place.teacher, ORDERS).description == NOISE  # read back fresh
    assert described(told(place, place.teacher)) == FACT  # from the cache
    place.clock.move(2)
    assert described(told(place, place.teacher)) == NOISE


def test_of_several_tables_each_is_told_apart_from_those_that_were_told_before(
    bench: Callable[..., Bench], orders: Path
) -> None:
    place = bench(warehouse=orders, gate=False)
    both = "SELECT 1 FROM customers, orders"
    place.platform.put_entities(
        [
            Entity(urn=ORDERS, name="orders", description=FACT),
            Entity(urn=CUSTOMERS, name="customers", description=NOISE),
        ]
    )
    first = place.platform.trino_query(place.learner, both).enrichment
    assert first is not None
    assert first.semantic_context == SemanticContext(urn=CUSTOMERS, description=NOISE)
    (more,) = first.additional_tables
    assert (more.table, more.urn, more.description) == ("warehouse.main.orders", ORDERS, FACT)
    assert [list(block) for block in first.blocks()] == [["semantic_context", "additional_tables"]]
    assert described(told(place, place.teacher)) == FACT
    second = place.platform.trino_query(place.teacher, both).enrichment
    assert second is not None
    assert second.mode == "full"
    assert second.metadata_reference is not None
    assert second.metadata_reference.tables == ("warehouse.main.orders",)
    assert [list(block) for block in second.blocks()] == [["semantic_context"], ["metadata_reference"]]


def test_without_the_entity_sink_no_description_is_pushed(bench: Callable[..., Bench], orders: Path) -> None:
    place = bench(entity_sink=False, warehouse=orders)
    place.platform.put_entities([Entity(urn=ORDERS, name="orders", description=FACT)])
    assert told(place, place.learner) is None


def test_words_are_cut_to_a_budget_and_the_rest_are_references(bench: Callable[..., Bench]) -> None:
    place = bench(supersede=1.0)
    place.platform.put_entities([Entity(urn=ORDERS, name="orders")])
    for number in range(12):
        place.capture(f"Note {number} é " + "about the harbour " * 40, type="episodic_event")
    found, others = pushed(place, place.teacher), pushed(place, place.learner)
    assert found is not None and others is not None
    summaries = [memory.summary for memory in found.memory_context]
    assert (len(summaries), len(found.memory_context_omitted)) == (3, 7)
    assert all(summary.endswith("…") and len(summary.encode()) <= 400 for summary in summaries)
    assert all(memory.truncated and memory.dimension == "event" for memory in found.memory_context)
    assert summaries[0].startswith("Note 11 é")
    assert all(one.reference == f"mcp:memory:{one.id}" for one in found.memory_context_omitted)
    assert all(place.platform.fetch(place.teacher, one.reference).found for one in found.memory_context_omitted)
    assert others.memory_context == found.memory_context and others.memory_context_omitted == (), "they lead nowhere"


def test_only_the_named_entity(place: Bench) -> None:
    place.platform.put_entities([Entity(urn=CUSTOMERS, name="customers")])
    place.capture(NOISE, type="episodic_event")
    assert pushed(place, place.learner, CUSTOMERS) is None
