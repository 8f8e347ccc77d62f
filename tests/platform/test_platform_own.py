"""memory_manage: one's own records."""

from __future__ import annotations

from collections.abc import Callable

from platform_kit import CORRECTION, CUSTOMERS, FACT, NOISE, ORDERS, Bench, hits, refused

from memassay.platform.shapes import RecordFilter, RecordUpdate

DAY = 86_400


def test_update_changes_words_vector_and_index(place: Bench) -> None:
    made = place.capture(FACT)
    done = place.platform.memory_update(place.teacher, made.id, RecordUpdate(content=NOISE))
    assert (done.id, place.status(made.id)) == (made.id, "pending")
    assert place.platform.get_insight(place.admin, made.id).insight_text == NOISE
    (hit,) = hits(place.platform.search(place.teacher, "harbour committee"))
    assert hit.text == NOISE
    assert not place.capture(FACT).superseded  # the old vector is gone
    assert place.capture(NOISE).superseded_ids == (made.id,)


def test_update_changes_what_it_is_given_and_leaves_the_rest(place: Bench) -> None:
    made = place.capture(FACT, metadata={"colour": "green"})
    update = RecordUpdate(category="correction", confidence="high", metadata={"shape": "round"})
    place.platform.memory_update(place.teacher, made.id, update)
    (record,) = place.platform.memory_list(place.teacher).records
    assert (record.content, record.category, record.confidence) == (FACT, "correction", "high")
    assert record.metadata == {"colour": "green", "shape": "round", "insight_status": "pending"}


def test_words_that_were_replaced_find_nothing(bench: Callable[..., Bench]) -> None:
    place = bench(embedder="none")
    made = place.capture(FACT)
    place.platform.memory_update(place.teacher, made.id, RecordUpdate(content=NOISE))
    assert hits(place.platform.search(place.teacher, "zorblat")) == []
    place.platform.memory_forget(place.teacher, made.id)
    assert hits(place.platform.search(place.teacher, "harbour")) == []


def test_nobody_touches_anothers_record(place: Bench) -> None:
    made = place.capture(FACT)
    for act in (
        lambda: place.platform.memory_update(place.learner, made.id, RecordUpdate(content=CORRECTION)),
        lambda: place.platform.memory_forget(place.learner, made.id),
        lambda: place.platform.memory_consolidate(place.learner, made.id, "0" * 32),
        lambda: place.platform.memory_forget(place.teacher, "0" * 32),
    ):
        with refused("not_found"):
            act()
    assert place.platform.memory_list(place.learner).total == 0
    assert place.status(made.id) == "pending"


def test_what_was_reviewed_cannot_be_reworded_by_its_owner(place: Bench) -> None:
    approved, applied = place.capture(FACT), place.capture(NOISE, CUSTOMERS)
    place.platform.knowledge_approve(place.reviewer, [approved.id])
    place.describe(applied.id, NOISE, entity_urn=CUSTOMERS)
    for made in (approved, applied):
        with refused("conflict"):
            place.platform.memory_update(place.teacher, made.id, RecordUpdate(content=CORRECTION))
    place.platform.memory_forget(place.teacher, approved.id)
    with refused("conflict"):
        place.platform.memory_update(place.teacher, approved.id, RecordUpdate(content=CORRECTION))


def test_forget_archives_and_the_queue_calls_it_rejected(place: Bench) -> None:
    insight, note = place.capture(FACT), place.capture(NOISE, type="episodic_event")
    for made in (insight, note):
        assert place.platform.memory_forget(place.teacher, made.id).id == made.id
    assert place.status(insight.id) == "rejected"
    assert hits(place.platform.search(place.teacher, FACT)) == []
    assert place.platform.list_history(place.admin, record_id=insight.id).data[-1].route == "forget"
    assert place.platform.memory_list(place.teacher).total == 0
    archived = place.platform.memory_list(place.teacher, RecordFilter(status="archived"))
    assert [record.id for record in archived.records] == [note.id, insight.id]
    with refused("conflict"):
        place.platform.memory_forget(place.teacher, note.id)


def test_a_forgotten_insight_leaves_what_it_was_applied_to(place: Bench) -> None:
    made = place.capture(FACT)
    place.publish(made.id)
    place.platform.memory_forget(place.teacher, made.id)
    found = place.platform.search(place.learner, "zorblat")
    assert [group.source for group in found.groups] == ["knowledge_pages"]


def test_list_filters_and_pages(place: Bench) -> None:
    ids = [place.capture(f"{NOISE} Number {word}.", CUSTOMERS, type="episodic_event").id for word in ("a", "b")][-1:]
    ids.append(place.capture(FACT).id)
    ids.append(place.capture("Blue curtains are what I prefer to look at.", type="personal_preference").id)
    assert [record.id for record in place.platform.memory_list(place.teacher).records] == ids[::-1]
    only = place.platform.memory_list(place.teacher, RecordFilter(dimension="knowledge", entity_urn=ORDERS))
    assert [record.id for record in only.records] == [ids[1]]
    for dimension, id in zip(("event", "knowledge", "preference"), ids, strict=True):
        (record,) = place.platform.memory_list(place.teacher, RecordFilter(dimension=dimension)).records
        assert (record.id, record.dimension, record.status) == (id, dimension, "active")
        assert record.metadata == ({"insight_status": "pending"} if dimension == "knowledge" else {})
        assert record.created_by == place.teacher.identity.email
    second = place.platform.memory_list(place.teacher, limit=1, offset=1)
    assert ([record.id for record in second.records], second.total) == ([ids[1]], 3)
    for bad in ({"limit": 0}, {"limit": 101}, {"offset": -1}):
        with refused("invalid"):
            place.platform.memory_list(place.teacher, **bad)


def test_duplicates_are_found_and_consolidated(bench: Callable[..., Bench]) -> None:
    place = bench(supersede=0.99)
    one, two, _ = place.capture(FACT), place.capture(CORRECTION), place.capture(NOISE)
    place.capture(FACT, who=place.learner)
    found = place.platform.memory_review_duplicates(place.teacher)
    (pair,) = found.pairs
    assert (pair.older.id, pair.newer.id, found.total, found.more_pairs) == (one.id, two.id, 1, False)
    assert pair.older.content_preview == FACT
    assert pair.score >= 0.4
    done = place.platform.memory_consolidate(place.teacher, two.id, one.id)
    assert (done.id, done.superseded) == (two.id, one.id)
    assert place.status(one.id) == "superseded"
    event = place.platform.list_history(place.admin, record_id=one.id).data[-1]
    assert (event.route, event.other_id) == ("consolidate", two.id)
    assert place.platform.memory_review_duplicates(place.teacher).pairs == ()
    with refused("invalid"):
        place.platform.memory_consolidate(place.teacher, two.id, two.id)


def test_what_has_not_changed_for_long_is_stale_and_still_found(bench: Callable[..., Bench]) -> None:
    place = bench(stale_days=10, session_hours=10_000)
    old = place.capture(FACT)
    place.clock.move(11 * DAY)
    place.capture(NOISE, CUSTOMERS)
    stale = place.platform.memory_review_stale(place.teacher)
    assert [record.id for record in stale.records] == [old.id]
    assert stale.records[0].status == "stale"
    assert old.id in [hit.ref for hit in hits(place.platform.search(place.teacher, "zorblat"))]
    place.platform.memory_update(place.teacher, old.id, RecordUpdate(content=CORRECTION))
    assert place.platform.memory_review_stale(place.teacher).total == 0
