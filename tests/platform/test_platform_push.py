from __future__ import annotations

from collections.abc import Callable

from platform_kit import CORRECTION, CUSTOMERS, FACT, NOISE, ORDERS, Bench

from memassay.platform.shapes import Caller, Enrichment, Entity, Identity


def pushed(place: Bench, who: Caller, urn: str = ORDERS) -> Enrichment | None:
    return place.platform.datahub_get_entity(who, urn).enrichment


def described(found: Enrichment | None) -> str | None:
    assert found is not None
    (one,) = found.descriptions
    return one.description


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
        assert [memory.reference for memory in found.memories] == [f"mcp:memory:{note.id}", f"mcp:insight:{applied.id}"]
        assert [memory.summary for memory in found.memories] == [NOISE, CORRECTION]


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


def test_a_description_is_told_once_per_session_until_it_changes(bench: Callable[..., Bench]) -> None:
    place = bench(description_ttl_s=0)
    place.platform.put_entities([Entity(urn=ORDERS, name="orders", description=FACT)])
    first, second = pushed(place, place.learner), pushed(place, place.learner)
    assert (described(first), described(second)) == (FACT, None)
    assert second is not None
    assert second.mode == "reference"
    assert described(pushed(place, place.teacher)) == FACT
    place.platform.put_entities([Entity(urn=ORDERS, name="orders", description=NOISE)])
    assert described(pushed(place, place.learner)) == NOISE
    events = place.platform.list_audit(place.admin, session_id=place.learner.session, sort_order="asc").data[1:]
    assert [event.enrichment_mode for event in events] == ["full", "reference", "full"]
    assert [event.enrichment_tokens_dedup for event in events] == [len(FACT) // 4, 0, len(NOISE) // 4]
    assert events[1].enrichment_tokens_full == len(FACT) // 4


def test_the_pushed_description_is_as_old_as_the_cache_allows(bench: Callable[..., Bench]) -> None:
    place = bench(description_ttl_s=300)
    place.platform.put_entities([Entity(urn=ORDERS, name="orders", description=FACT)])
    assert described(pushed(place, place.learner)) == FACT
    place.platform.put_entities([Entity(urn=ORDERS, name="orders", description=NOISE)])
    place.clock.move(299)
    result = place.platform.datahub_get_entity(place.teacher, ORDERS)
    assert (result.description, described(result.enrichment)) == (NOISE, FACT)  # read back fresh, pushed from the cache
    place.clock.move(2)
    assert described(pushed(place, place.teacher)) == NOISE


def test_without_the_entity_sink_no_description_is_pushed(bench: Callable[..., Bench]) -> None:
    place = bench(entity_sink=False)
    place.platform.put_entities([Entity(urn=ORDERS, name="orders", description=FACT)])
    assert pushed(place, place.learner) is None


def test_words_are_cut_to_a_budget_and_the_rest_are_references(bench: Callable[..., Bench]) -> None:
    place = bench(supersede=1.0)
    place.platform.put_entities([Entity(urn=ORDERS, name="orders")])
    for number in range(12):
        place.capture(f"Note {number} é " + "about the harbour " * 40, type="episodic_event")
    found = pushed(place, place.learner)
    assert found is not None
    summaries = [memory.summary for memory in found.memories]
    assert len(summaries) == 10
    assert [summary is not None for summary in summaries] == [True] * 3 + [False] * 7
    assert all(summary.endswith("…") and len(summary.encode()) <= 400 for summary in summaries[:3] if summary)
    assert summaries[0] is not None
    assert summaries[0].startswith("Note 11 é")


def test_only_the_named_entity(place: Bench) -> None:
    place.platform.put_entities([Entity(urn=CUSTOMERS, name="customers")])
    place.capture(NOISE, type="episodic_event")
    assert pushed(place, place.learner, CUSTOMERS) is None
