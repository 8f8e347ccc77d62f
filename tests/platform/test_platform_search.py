from __future__ import annotations

from collections.abc import Callable

import pytest
from platform_kit import CORRECTION, CUSTOMERS, FACT, NOISE, ORDERS, Bench, draft, hits, refused

from memassay.platform.shapes import BrowseResult, Entity, SearchResult


def sources(result: SearchResult) -> list[str]:
    return [group.source for group in result.groups]


def test_own_records_are_seen_at_once_and_others_only_when_applied(place: Bench) -> None:
    made = place.capture(FACT)
    assert [hit.ref for hit in hits(place.platform.search(place.teacher, "zorblat"))] == [made.id]
    for who in (place.learner, place.reviewer):
        assert hits(place.platform.search(who, "zorblat")) == []
    place.platform.knowledge_approve(place.reviewer, [made.id])
    assert hits(place.platform.search(place.learner, "zorblat")) == []
    place.describe(made.id)
    found = hits(place.platform.search(place.learner, "zorblat"), "insights")
    assert [(hit.ref, hit.status, hit.reference) for hit in found] == [(made.id, "applied", f"mcp:insight:{made.id}")]


def test_what_others_keep_back_takes_no_place_among_the_candidates(bench: Callable[..., Bench]) -> None:
    place = bench(supersede=1.0)
    for number in range(30):
        place.capture(f"zorblat order {number}", f"urn:{number}")
    applied = place.capture("Zorblats are ordered by the harbour committee.", who=place.third)
    place.describe(applied.id)
    assert [hit.ref for hit in hits(place.platform.search(place.learner, "zorblat order"), "insights")] == [applied.id]


def test_the_shared_arm_can_be_switched_off(bench: Callable[..., Bench]) -> None:
    place = bench(shared_applied=False)
    made = place.capture(FACT)
    place.publish(made.id)
    assert sources(place.platform.search(place.learner, "zorblat")) == ["knowledge_pages"]
    assert sources(place.platform.search(place.teacher, "zorblat")) == ["insights", "knowledge_pages"]
    assert not place.platform.fetch(place.learner, f"mcp:insight:{made.id}").found


@pytest.mark.parametrize(
    ("knob", "source"), [("page_sink", "knowledge_pages"), ("entity_sink", "catalog"), ("gate", None)]
)
def test_a_sink_that_is_off_is_no_source(bench: Callable[..., Bench], knob: str, source: str | None) -> None:
    place = bench(**{knob: False})
    place.platform.create_page(place.admin, draft("zorblat"))
    place.platform.put_entities([Entity(urn=ORDERS, name="orders", description=FACT)])
    found = place.platform.search(place.learner, "zorblat")
    expected = {"insights", "memory", "knowledge_pages", "catalog"} - {source}
    assert {coverage.source for coverage in found.coverage} == expected
    assert source not in sources(found)


def test_words_and_meaning_rank_together(place: Bench) -> None:
    right, other = place.capture(FACT), place.capture(NOISE, CUSTOMERS)
    found = place.platform.search(place.teacher, "What counts as a zorblat order?")
    assert found.ranking == "hybrid"
    assert [(hit.ref, hit.score) for hit in hits(found)] == [(right.id, 1.0), (other.id, 0.0)]
    assert found.count == 2


def test_an_unknown_word_still_finds_by_meaning_but_not_without_an_embedder(bench: Callable[..., Bench]) -> None:
    words_only = bench(embedder="none")
    for place in (words_only, bench()):
        place.capture(FACT)
    assert words_only.platform.search(words_only.teacher, "bicycle").count == 0
    assert words_only.platform.search(words_only.teacher, "ORDERS, zorblats").count == 1  # stems, whatever the case


def test_the_answer_is_among_many_and_shown_first(bench: Callable[..., Bench]) -> None:
    place = bench(supersede=1.0)
    for number in range(60):
        place.capture(f"Report {number} of the harbour office counts {number * 7} crates of fish.", CUSTOMERS)
    made = place.capture(FACT)
    found = place.platform.search(place.teacher, "zorblat order", limit=5)
    assert hits(found)[0].ref == made.id
    (coverage,) = [one for one in found.coverage if one.source == "insights"]
    assert (coverage.matched, coverage.shown, coverage.matched_capped) == (25, 5, True)


def test_every_source_has_a_hit_and_none_more_than_half(bench: Callable[..., Bench]) -> None:
    place = bench(supersede=1.0, duplicate_page=1.0)
    for number in range(12):
        place.capture(f"A zorblat order of kind {number} is above {number} units.")
    place.capture("I saw a zorblat order once.", type="episodic_event")
    place.platform.create_page(place.admin, draft("zorblat", FACT))
    found = place.platform.search(place.teacher, "zorblat order")
    counts = {group.source: len(group.hits) for group in found.groups}
    assert counts == {"insights": 5, "memory": 1, "knowledge_pages": 1}
    alone = place.platform.search(place.teacher, "zorblat order", sources=["insights"])
    assert len(hits(alone)) == 10
    for limit in (1, 2, 3):
        assert place.platform.search(place.teacher, "zorblat order", limit=limit).count == limit


def test_only_what_is_filed_on_an_entity(place: Bench) -> None:
    one, two = place.capture(FACT), place.capture(NOISE, CUSTOMERS)
    place.publish(one.id)
    place.platform.put_entities([Entity(urn=CUSTOMERS, name="customers")])
    found = place.platform.search(place.teacher, "zorblat", entity_urns=[CUSTOMERS])
    assert [hit.ref for hit in hits(found)] == [two.id, CUSTOMERS]
    found = place.platform.search(place.learner, "zorblat", entity_urns=[ORDERS])
    assert sources(found) == ["insights", "knowledge_pages"]
    assert place.platform.search(place.teacher, "zorblat", entity_urns=["urn:li:nothing"]).count == 0


def test_browsing_gives_the_newest_first(place: Bench) -> None:
    one, two = place.capture(FACT), place.capture(NOISE, CUSTOMERS)
    page = place.platform.create_page(place.admin, draft("harbour", NOISE))
    found = place.platform.search(place.teacher)
    assert found.ranking == "entity"
    assert sorted(hit.ref for hit in hits(found)) == sorted([one.id, two.id, page.id])
    first = place.platform.search(place.teacher, limit=1)
    second = place.platform.search(place.teacher, limit=1, offset=1)
    assert [hits(result)[0].ref for result in (first, second)] == [page.id, two.id]
    assert [one.matched for one in second.coverage] == [2, 0, 1, 0]
    assert not any(one.matched_capped for one in second.coverage)
    only = place.platform.search(place.teacher, entity_urns=[ORDERS])
    assert [hit.ref for hit in hits(only)] == [one.id]


def test_one_source_is_gone_through_page_by_page(bench: Callable[..., Bench]) -> None:
    place = bench(supersede=1.0)
    ids = [place.capture(f"Zorblat order of kind {number}.").id for number in range(3)]
    for offset, expected in ((0, ids[:0:-1]), (2, ids[:1]), (3, [])):
        found = place.platform.search(place.teacher, sources=["insights"], limit=2, offset=offset)
        assert isinstance(found, BrowseResult)
        assert ([hit.ref for hit in found.items], found.count) == (expected, len(expected))
        assert (found.source, found.total, found.offset, found.limit) == ("insights", 3, offset, 2)
    off = bench(page_sink=False)
    nothing = off.platform.search(off.teacher, sources=["knowledge_pages"])
    assert isinstance(nothing, BrowseResult)
    assert (nothing.total, nothing.items) == (0, ())


def test_sources_that_are_none_are_named(place: Bench) -> None:
    made = place.capture(FACT)
    for asked, expected in ((["web", "insights", "web"], [made.id]), (["web"], [])):
        for intent in ("zorblat", ""):
            found = place.platform.search(place.teacher, intent, sources=asked)
            assert isinstance(found, SearchResult)
            assert [hit.ref for hit in hits(found)] == expected
            assert found.unknown_sources == ("web",)


def test_a_status_is_asked_of_insights_alone(place: Bench) -> None:
    pending, applied = place.capture(FACT), place.capture(NOISE, CUSTOMERS)
    place.describe(applied.id, NOISE, entity_urn=CUSTOMERS)
    place.capture(FACT, CUSTOMERS, type="personal_preference", entity_urns=(CUSTOMERS,))
    for status, who, expected in (
        ("pending", place.teacher, [pending.id]),
        ("applied", place.teacher, [applied.id]),
        ("approved", place.teacher, []),
        ("rejected", place.teacher, []),
        ("pending", place.learner, []),
        ("applied", place.learner, [applied.id]),
    ):
        for intent in ("zorblat harbour", ""):
            found = place.platform.search(who, intent, status=status)
            assert [hit.ref for hit in hits(found)] == expected, (status, intent)


def test_what_is_dead_is_not_found(place: Bench) -> None:
    old = place.capture(FACT)
    place.capture(CORRECTION)
    rejected = place.capture(NOISE, CUSTOMERS)
    place.platform.knowledge_reject(place.reviewer, [rejected.id])
    for intent in ("zorblat harbour", ""):
        found = [hit.ref for hit in hits(place.platform.search(place.teacher, intent))]
        assert old.id not in found
        assert rejected.id not in found
    for id in (old.id, rejected.id):
        assert not place.platform.fetch(place.teacher, f"mcp:insight:{id}").found


def test_fetch_shows_what_search_shows(place: Bench) -> None:
    made, note = place.capture(FACT), place.capture(NOISE, CUSTOMERS, type="episodic_event")
    insight, memory = f"mcp:insight:{made.id}", f"mcp:memory:{note.id}"
    document = place.platform.fetch(place.teacher, insight).document
    assert document is not None
    assert (document.body, document.entity_urns, document.source) == (FACT, (ORDERS,), "insights")
    assert place.platform.fetch(place.teacher, memory).found
    for reference in (insight, memory, f"mcp:memory:{made.id}", "mcp:insight:", "nonsense", "", ORDERS):
        assert place.platform.fetch(place.learner, reference).document is None
    done = place.publish(made.id)
    assert place.platform.fetch(place.learner, insight).found
    by_id = place.platform.fetch(place.learner, f"mcp:knowledge_page:{done.page_id}").document
    by_slug = place.platform.fetch(place.learner, "mcp:knowledge_page:zorblat").document
    assert by_id is not None
    assert by_slug is not None
    assert (by_id.title, by_id.body, by_id.entity_urns) == (by_slug.title, by_slug.body, by_slug.entity_urns)
    assert by_id.body == f"# zorblat\n\n{FACT}"
    place.platform.put_entities([Entity(urn=ORDERS, name="orders", description=NOISE)])
    entity = place.platform.fetch(place.learner, ORDERS).document
    assert entity is not None
    assert entity.body == NOISE


def test_entities_are_searched_by_name_and_description(place: Bench) -> None:
    place.platform.put_entities(
        [Entity(urn=ORDERS, name="orders", description=FACT), Entity(urn=CUSTOMERS, name="customers")]
    )
    found = place.platform.datahub_search(place.learner, "zorblat", limit=1)
    assert [entity.urn for entity in found.entities] == [ORDERS]
    assert found.total == 2
    place.platform.put_entities([Entity(urn=ORDERS, name="orders", description=NOISE)])
    (hit, _) = hits(place.platform.search(place.learner, "harbour committee", sources=["catalog"]))
    assert (hit.ref, hit.reference, hit.text) == (ORDERS, ORDERS, f"orders\n{NOISE}")
    assert [entity.urn for entity in place.platform.datahub_search(place.learner, "").entities] == [CUSTOMERS, ORDERS]


def test_questions_that_make_no_sense_are_refused_and_odd_ones_are_not(place: Bench) -> None:
    place.capture(FACT)
    for bad in ({"limit": 0}, {"limit": 51}, {"offset": -1}, {"offset": 1}):
        with refused("invalid"):
            place.platform.search(place.teacher, "zorblat", **bad)
    for odd in (
        '"',
        "AND OR NOT",
        "body:zorblat*",
        "the of and",
        "🙂",
        "a" * 100_000,
        "{labels} : i1",
        "don't NEAR(x)",
    ):
        place.platform.search(place.teacher, odd)
    with refused("invalid"):
        place.platform.search(place.teacher, entity_urns=["\ud800"])


def test_labels_cannot_be_asked_for(bench: Callable[..., Bench]) -> None:
    """The words of the index that say who may see a record are not words of a question."""
    place = bench(embedder="none")
    place.capture(FACT)
    for text in ("pending", "i2", "i2 pending applied", "m2"):
        assert place.platform.search(place.teacher, text).count == 0
