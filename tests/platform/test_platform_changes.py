"""apply_knowledge, changesets and their rollback."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from platform_kit import CORRECTION, CUSTOMERS, FACT, NOISE, ORDERS, Bench, draft, hits, refused

from memassay.platform.errors import ConnectionDropped, PlatformError
from memassay.platform.shapes import Change, ChangesetFilter, Entity, InsightFilter


def test_an_insight_is_applied_to_an_entity_with_what_was_there_before(place: Bench) -> None:
    place.platform.put_entities([Entity(urn=ORDERS, name="orders", description="All orders.")])
    made = place.capture(FACT)
    place.platform.knowledge_approve(place.reviewer, [made.id], "looks right")
    done = place.describe(made.id)
    assert (done.status, done.insights_marked_applied) == ("applied", 1)
    assert done.resulting_state is not None
    assert done.resulting_state.description == FACT
    assert place.platform.get_entity(ORDERS).description == FACT
    change = place.platform.get_changeset(place.admin, done.changeset_id or "")
    assert (change.target_urn, change.change_type) == (ORDERS, "update_description")
    assert (change.previous_value, change.new_value) == ({"description": "All orders."}, {"description": FACT})
    assert (change.approved_by, change.applied_by) == ("bench-admin@apikey.local",) * 2
    assert change.source_insight_ids == (made.id,)
    insight = place.platform.get_insight(place.admin, made.id)
    assert (insight.status, insight.changeset_ref) == ("applied", change.id)
    assert insight.review_notes == "looks right"
    assert insight.applied_at is not None


def test_a_pending_insight_can_be_applied_to_a_page_that_everybody_finds(place: Bench) -> None:
    made = place.capture(FACT)
    done = place.publish(made.id)
    assert (done.status, done.slug, done.action, done.revertible) == ("applied", "zorblat", "created", True)
    change = place.platform.get_changeset(place.admin, done.changeset_id or "")
    assert (change.target_urn, change.change_type, change.previous_value) == ("kp:zorblat", "create_page", {})
    assert place.platform.list_changesets(place.admin, ChangesetFilter(entity_urn=ORDERS)).total == 0
    page = place.platform.get_page(place.learner.identity, "zorblat")
    assert (page.id, page.summary, page.entity_urns, page.current_version) == (done.page_id, FACT, (ORDERS,), 1)
    (hit,) = hits(place.platform.search(place.learner, "zorblat"), "knowledge_pages")
    assert (hit.text, hit.reference) == (f"zorblat\n{FACT}", f"mcp:knowledge_page:{page.id}")


def test_without_confirm_nothing_is_done(place: Bench) -> None:
    made = place.capture(FACT)
    asked = place.describe(made.id, confirm=False)
    assert (asked.status, asked.confirmation_required) == ("confirmation_required", True)
    assert place.status(made.id) == "pending"
    assert place.platform.list_changesets(place.admin).total == 0


@pytest.mark.parametrize("state", ["applied", "rejected", "superseded"])
def test_what_is_no_longer_open_cannot_be_applied(place: Bench, state: str) -> None:
    made = place.capture(FACT)
    if state == "applied":
        place.describe(made.id)
    elif state == "rejected":
        place.platform.knowledge_reject(place.reviewer, [made.id])
    else:
        place.capture(CORRECTION)
    assert place.status(made.id) == state
    with refused("conflict"):
        place.describe(made.id)
    with refused("conflict"):
        place.platform.set_insight_status(place.admin, made.id, "approved")


def test_the_states_of_review(place: Bench) -> None:
    one, two = place.capture(FACT).id, place.capture(NOISE).id
    set_to = place.platform.set_insight_status
    assert set_to(place.admin, one, "approved", "yes").status == "updated"
    assert place.status(one) == "approved"
    with refused("conflict"):
        set_to(place.admin, one, "approved")
    set_to(place.admin, one, "rejected")
    assert place.status(one) == "rejected"
    with refused("conflict"):
        set_to(place.admin, one, "rejected")
    with refused("invalid"):
        set_to(place.admin, two, "applied")
    with refused("not_found"):
        set_to(place.admin, "0" * 32, "approved")
    assert place.table("SELECT lifecycle, status FROM records ORDER BY seq") == [
        ("archived", "rejected"),
        ("active", "pending"),
    ]


def test_all_of_a_list_is_reviewed_or_none(place: Bench) -> None:
    one, two = place.capture(FACT).id, place.capture(NOISE).id
    place.platform.knowledge_reject(place.reviewer, [two])
    for act in (place.platform.knowledge_approve, place.platform.knowledge_reject):
        with refused("conflict"):
            act(place.reviewer, [one, two])
        with refused("not_found"):
            act(place.reviewer, [one, "0" * 32])
        with refused("invalid"):
            act(place.reviewer, [])
    change = Change(change_type="update_description", detail=FACT)
    with refused("conflict"):
        place.platform.knowledge_apply(place.reviewer, [one, two], "datahub", changes=[change], confirm=True)
    assert place.status(one) == "pending"


def test_one_of_two_reviewers_gets_a_conflict(place: Bench) -> None:
    for at in range(8):
        made = place.capture(f"The qualm index number {at} counts refunds of the day.", f"urn:li:dataset:{at}")
        both = threading.Barrier(2)
        outcomes: list[str] = []

        def apply(slug: str, id: str = made.id, both: threading.Barrier = both, into: list[str] = outcomes) -> None:
            both.wait()
            try:
                into.append(place.publish(id, slug=slug, force_new=True).status)
            except PlatformError as problem:
                into.append(problem.code)

        threads = [threading.Thread(target=apply, args=(f"page-{at}-{name}",)) for name in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["applied", "conflict"]
    assert place.platform.list_pages(place.admin).total == 8
    assert place.platform.list_changesets(place.admin).total == 8


def test_rollback_puts_back_what_was_there_and_the_insight_is_pending_again(place: Bench) -> None:
    place.platform.put_entities([Entity(urn=ORDERS, name="orders", description="All orders.", tags=("core",))])
    made = place.capture(FACT)
    done = place.describe(made.id)
    result = place.platform.rollback_changeset(place.admin, done.changeset_id or "")
    assert (result.target_urn, result.insights_rolled_back) == (ORDERS, (made.id,))
    assert (result.reverted_changes, result.rolled_back_by) == (("description",), "bench-admin@apikey.local")
    assert place.platform.get_entity(ORDERS) == Entity(
        urn=ORDERS, name="orders", description="All orders.", tags=("core",)
    )
    insight = place.platform.get_insight(place.admin, made.id)
    assert (insight.status, insight.changeset_ref, insight.applied_by) == ("pending", None, None)
    assert hits(place.platform.search(place.learner, "zorblat"), "insights") == []
    change = place.platform.get_changeset(place.admin, done.changeset_id or "")
    assert (change.rolled_back, change.rolled_back_by) == (True, "bench-admin@apikey.local")
    with refused("conflict"):
        place.platform.rollback_changeset(place.admin, change.id)
    assert place.describe(made.id).status == "applied"


def test_a_page_that_was_rolled_back_is_gone_and_its_slug_is_free(place: Bench) -> None:
    made = place.capture(FACT)
    done = place.publish(made.id)
    place.platform.knowledge_rollback(place.reviewer, done.changeset_id or "")
    assert place.platform.list_pages(place.admin).total == 0
    assert hits(place.platform.search(place.learner, "zorblat")) == []
    with refused("not_found"):
        place.platform.get_page(place.admin, "zorblat")
    again = place.publish(made.id)
    assert again.page_id != done.page_id


def test_a_newer_change_comes_off_first(place: Bench) -> None:
    one, two = place.capture(FACT).id, place.capture(NOISE).id
    first, second = place.publish(one), place.publish(two, NOISE)
    assert place.platform.get_changeset(place.admin, second.changeset_id or "").change_type == "update_page"
    with refused("conflict"):
        place.platform.rollback_changeset(place.admin, first.changeset_id or "")
    place.platform.rollback_changeset(place.admin, second.changeset_id or "")
    page = place.platform.get_page(place.admin, "zorblat")
    assert (page.summary, page.current_version) == (FACT, 3)
    place.platform.rollback_changeset(place.admin, first.changeset_id or "")
    assert place.platform.list_pages(place.admin).total == 0


def test_an_edited_page_or_entity_is_not_rolled_back(place: Bench) -> None:
    one, two = place.capture(FACT).id, place.capture(NOISE).id
    page, entity = place.publish(one), place.describe(two, NOISE)
    place.platform.edit_page(place.admin, "zorblat", draft("zorblat", CORRECTION))
    place.platform.put_entities([Entity(urn=ORDERS, name="orders", description="By hand.")])
    for done in (page, entity):
        with refused("conflict"):
            place.platform.rollback_changeset(place.admin, done.changeset_id or "")
    assert (place.status(one), place.status(two)) == ("applied", "applied")
    assert place.platform.get_page(place.admin, "zorblat").summary == CORRECTION


def test_an_issue_cannot_be_taken_back(place: Bench) -> None:
    made = place.capture(FACT)
    changes = [
        Change(change_type="flag_quality_issue", detail="Refunds are missing in May."),
        Change(change_type="update_description", target="column:amount", detail="In cents."),
        Change(change_type="add_tag", detail="checked"),
    ]
    done = place.describe(made.id, changes=changes)
    assert (done.entity_urn, done.changes_applied, done.revertible) == (ORDERS, 3, False)
    entity = place.platform.get_entity(ORDERS)
    assert (entity.issues, entity.columns, entity.tags) == (
        ("Refunds are missing in May.",),
        {"amount": "In cents."},
        ("checked",),
    )
    assert place.platform.get_changeset(place.admin, done.changeset_id or "").change_type == "multiple"
    with refused("irreversible"):
        place.platform.rollback_changeset(place.admin, done.changeset_id or "")
    with refused("not_found"):
        place.platform.rollback_changeset(place.admin, "0" * 32)
    for target in ("amount", "column:"):
        with refused("invalid"):
            place.describe(
                place.capture(NOISE, CUSTOMERS).id,
                changes=[Change(change_type="update_description", target=target, detail="In cents.")],
            )


def test_a_page_that_says_nearly_the_same_is_refused_unless_forced(bench: Callable[..., Bench]) -> None:
    place = bench(duplicate_page=0.6)
    one, two = place.capture(FACT).id, place.capture(NOISE).id
    place.publish(one)
    blocked = place.publish(two, CORRECTION, slug="other")
    assert (blocked.status, blocked.duplicate_blocked) == ("duplicate_blocked", True)
    assert [page.slug for page in blocked.candidates] == ["zorblat"]
    assert place.status(two) == "pending"
    with refused("conflict"):
        place.platform.create_page(place.admin, draft("third", FACT, title="zorblat"))
    with refused("conflict"):
        place.platform.create_page(place.admin, draft("zorblat", NOISE))
    assert place.publish(two, CORRECTION, slug="other", force_new=True).status == "applied"
    assert bench(duplicate_page=1.0).platform.create_page(place.admin, draft("third")).current_version == 1


def test_bulk_untag_and_its_rollback(place: Bench) -> None:
    place.platform.put_entities(
        [Entity(urn=ORDERS, name="o", tags=("old", "core")), Entity(urn=CUSTOMERS, name="c", tags=("core",))]
    )
    untag = place.platform.knowledge_bulk_untag
    asked = untag(place.reviewer, "old", False)
    assert (asked.confirmation_required, asked.entities_found, asked.entities_untagged) == (True, 1, 0)
    done = untag(place.reviewer, "urn:li:tag:old", True)
    assert (done.entities_untagged, done.affected_urns_sample, len(done.changeset_ids)) == (1, (ORDERS,), 1)
    assert untag(place.reviewer, "new", True).entities_found == 0
    assert place.platform.get_entity(ORDERS).tags == ("core",)
    place.platform.rollback_changeset(place.admin, done.changeset_ids[0])
    assert place.platform.get_entity(ORDERS).tags == ("old", "core")


def test_the_queue_at_a_glance_by_entity_and_as_a_proposal(place: Bench) -> None:
    one, two = place.capture(FACT, category="correction").id, place.capture(NOISE, ORDERS, CUSTOMERS).id
    glance = place.platform.knowledge_bulk_review(place.reviewer, itemize=True)
    assert (glance.total_pending, glance.by_category) == (2, {"business_context": 1, "correction": 1})
    assert [(count.entity_urn, count.count) for count in glance.by_entity] == [(ORDERS, 2), (CUSTOMERS, 1)]
    assert [insight.id for insight in glance.insights or ()] == [one, two]
    assert place.platform.knowledge_bulk_review(place.reviewer).insights is None
    review = place.platform.knowledge_review(place.reviewer, CUSTOMERS)
    assert (review.current_metadata, [insight.id for insight in review.insights]) == (None, [two])
    assert place.platform.knowledge_synthesize(place.reviewer, ORDERS).proposed_changes == ()
    place.platform.knowledge_approve(place.reviewer, [one])
    proposal = place.platform.knowledge_synthesize(place.reviewer, ORDERS)
    (proposed,) = proposal.proposed_changes
    assert [insight.id for insight in proposal.approved_insights] == [one]
    assert (proposed.source_insight_ids, proposed.current_value, proposed.suggested_value) == ((one,), "", FACT)
    change = Change(change_type=proposed.change_type, target=proposed.target, detail=proposed.suggested_value)
    done = place.platform.knowledge_apply(
        place.reviewer, proposed.source_insight_ids, "datahub", changes=[change], confirm=True
    )
    assert done.resulting_state is not None
    assert done.resulting_state.description == FACT
    held = place.platform.knowledge_list_changesets(place.reviewer, ORDERS)
    assert (held.entity_urn, held.total) == (ORDERS, 1)
    assert [change.changeset_id for change in held.changesets] == [done.changeset_id]
    assert place.platform.knowledge_list_changesets(place.reviewer, CUSTOMERS).total == 0
    assert place.platform.knowledge_list_changesets(place.reviewer).total == 1


def test_lists_and_counts_of_the_queue(place: Bench) -> None:
    ids = [
        place.capture(f"Metric {word} is counted by the {word} team only.").id for word in ("alpha", "beta", "gamma")
    ]
    ids = [id for id in ids if place.status(id) == "pending"]
    place.clock.move(60)
    late = place.capture(NOISE, CUSTOMERS, who=place.learner, confidence="high").id
    listed = place.platform.list_insights
    everything = listed(place.admin).data
    assert next(insight.id for insight in everything) == late
    assert listed(place.admin, order="oldest").data[-1].id == late
    at = place.platform.get_insight(place.admin, late).created_at
    assert [one.id for one in listed(place.admin, InsightFilter(since=at)).data] == [late]  # inclusive
    assert late in [one.id for one in listed(place.admin, InsightFilter(until=at)).data]
    assert listed(place.admin, InsightFilter(since=at, captured_by="bench-agent-001@apikey.local")).total == 0
    assert listed(place.admin, InsightFilter(entity_urn=CUSTOMERS, status="pending", confidence="high")).total == 1
    first, second = (listed(place.admin, page=page, per_page=1) for page in (1, 2))
    assert (first.total, first.data[0].id) == (len(everything), late)
    assert second.data[0].id != late
    with refused("invalid"):
        listed(place.admin, InsightFilter(since="yesterday"))
    for bad in ({"page": 0}, {"per_page": 0}, {"per_page": 101}):
        with refused("invalid"):
            listed(place.admin, **bad)
    place.clock.move(31 * 86_400)
    place.capture(CORRECTION, who=place.caller(place.third.identity))
    stats = place.platform.insight_stats(place.admin)
    assert stats.total_pending == len(everything_pending := listed(place.admin, InsightFilter(status="pending")).data)
    assert stats.pending_over_30d == len(everything_pending) - 1
    assert stats.by_status["pending"] == stats.total_pending
    assert stats.oldest_pending_at == everything_pending[-1].created_at


def test_a_reviewer_edits_what_is_open(place: Bench) -> None:
    made = place.capture(FACT).id
    assert place.platform.edit_insight(place.admin, made, insight_text=NOISE, confidence="low").status == "updated"
    edited = place.platform.get_insight(place.admin, made)
    assert (edited.insight_text, edited.confidence, edited.status) == (NOISE, "low", "pending")
    place.describe(made, NOISE)
    with refused("conflict"):
        place.platform.edit_insight(place.admin, made, category="correction")


@pytest.mark.parametrize(("knob", "sink"), [("entity_sink", "datahub"), ("page_sink", "knowledge_page")])
def test_a_sink_that_is_off_refuses_plainly(bench: Callable[..., Bench], knob: str, sink: str) -> None:
    place = bench(**{knob: False})
    made = place.capture(FACT)
    apply = {"datahub": place.describe, "knowledge_page": place.publish}
    with refused("tool_error"):
        apply.pop(sink)(made.id)
    assert place.status(made.id) == "pending"
    ((_, other),) = apply.items()
    assert other(made.id).status == "applied"


def test_what_a_sink_needs_is_said(place: Bench) -> None:
    made = place.capture(FACT, ORDERS, CUSTOMERS).id
    change = [Change(change_type="update_description", detail=FACT)]
    apply = place.platform.knowledge_apply
    for arguments in ({"sink": "datahub"}, {"sink": "knowledge_page"}, {"sink": "datahub", "changes": change}):
        with refused("invalid"):
            apply(place.reviewer, [made], confirm=True, **arguments)  # type: ignore[arg-type]
    with refused("invalid"):
        place.describe(made, entity_urn="orders")


# -- faults on purpose ---------------------------------------------------------------------------------------------


def test_faults_of_apply(bench: Callable[..., Bench]) -> None:
    place = bench(faults={"refuse_apply": True})
    made = place.capture(FACT).id
    with refused("tool_error"):
        place.describe(made)
    assert place.status(made) == "pending"

    place = bench(faults={"conflict": True})
    made = place.capture(FACT).id
    for act in (lambda: place.describe(made), lambda: place.platform.set_insight_status(place.admin, made, "approved")):
        with refused("conflict"):
            act()

    place = bench(faults={"lose_apply": True})
    one, two = place.capture(FACT).id, place.capture(NOISE).id
    assert (place.describe(one).status, place.publish(two).status) == ("applied", "applied")
    assert (place.status(one), place.status(two)) == ("applied", "applied")
    assert place.platform.list_pages(place.admin).total == 0
    with refused("not_found"):
        place.platform.get_entity(ORDERS)

    place = bench(faults={"no_changeset_ref": True})
    made = place.capture(FACT).id
    assert place.describe(made).changeset_id is None
    assert place.platform.get_insight(place.admin, made).changeset_ref is None
    assert place.platform.list_changesets(place.admin).total == 1


def test_faults_of_the_wire(bench: Callable[..., Bench]) -> None:
    place = bench(faults={"drop_connection": "memory_capture"})
    with pytest.raises(ConnectionDropped):
        place.capture(FACT)
    assert place.platform.list_insights(place.admin).total == 1  # the work is done, the reply is lost

    place = bench(faults={"lose_audit": True})
    place.capture(FACT)
    assert place.platform.list_audit(place.admin).total == 0


def test_a_slow_sink_makes_the_caller_wait(bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr("memassay.platform.reviewing.time.sleep", waited.append)
    place = bench(faults={"slow_sink_s": 2.5})
    place.describe(place.capture(FACT).id)
    assert waited == [2.5]
