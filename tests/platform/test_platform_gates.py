"""Keys, roles, sessions, the gate, purposes, audit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from platform_kit import CORRECTION, CUSTOMERS, FACT, ORDERS, Bench, draft, refused

from memassay.platform.errors import PlatformError
from memassay.platform.shapes import Caller, CaptureRequest, Change, Entity, Identity, RecordUpdate

TOOLS: dict[str, Callable[[Bench, Caller], object]] = {
    "search": lambda place, who: place.platform.search(who, "x"),
    "fetch": lambda place, who: place.platform.fetch(who, "x"),
    "datahub_get_entity": lambda place, who: place.platform.datahub_get_entity(who, ORDERS),
    "datahub_search": lambda place, who: place.platform.datahub_search(who, "x"),
    "trino_query": lambda place, who: place.platform.trino_query(who, "SELECT 1"),
    "trino_describe_table": lambda place, who: place.platform.trino_describe_table(who, "orders"),
    "trino_browse": lambda place, who: place.platform.trino_browse(who),
    "memory_capture": lambda place, who: place.capture(who=who),
    "update": lambda place, who: place.platform.memory_update(who, "0" * 32, RecordUpdate(content=FACT)),
    "forget": lambda place, who: place.platform.memory_forget(who, "0" * 32),
    "consolidate": lambda place, who: place.platform.memory_consolidate(who, "0" * 32, "1" * 32),
    "list": lambda place, who: place.platform.memory_list(who),
    "review_stale": lambda place, who: place.platform.memory_review_stale(who),
    "review_duplicates": lambda place, who: place.platform.memory_review_duplicates(who),
    "bulk_review": lambda place, who: place.platform.knowledge_bulk_review(who),
    "review": lambda place, who: place.platform.knowledge_review(who, ORDERS),
    "synthesize": lambda place, who: place.platform.knowledge_synthesize(who, ORDERS),
    "approve": lambda place, who: place.platform.knowledge_approve(who, ["0" * 32]),
    "reject": lambda place, who: place.platform.knowledge_reject(who, ["0" * 32]),
    "apply": lambda place, who: place.platform.knowledge_apply(
        who, ["0" * 32], "datahub", changes=[Change(change_type="add_tag", detail="x")], confirm=True
    ),
    "rollback": lambda place, who: place.platform.knowledge_rollback(who, "0" * 32),
    "list_changesets": lambda place, who: place.platform.knowledge_list_changesets(who),
    "bulk_untag": lambda place, who: place.platform.knowledge_bulk_untag(who, "x", True),
}
READING = (
    "search",
    "fetch",
    "datahub_get_entity",
    "datahub_search",
    "trino_query",
    "trino_describe_table",
)
REST: dict[str, Callable[[Bench, Identity], object]] = {
    "list_insights": lambda place, who: place.platform.list_insights(who),
    "insight_stats": lambda place, who: place.platform.insight_stats(who),
    "get_insight": lambda place, who: place.platform.get_insight(who, "0" * 32),
    "set_insight_status": lambda place, who: place.platform.set_insight_status(who, "0" * 32, "approved"),
    "edit_insight": lambda place, who: place.platform.edit_insight(who, "0" * 32, insight_text=FACT),
    "list_changesets": lambda place, who: place.platform.list_changesets(who),
    "get_changeset": lambda place, who: place.platform.get_changeset(who, "0" * 32),
    "rollback_changeset": lambda place, who: place.platform.rollback_changeset(who, "0" * 32),
    "create_page": lambda place, who: place.platform.create_page(who, draft("x")),
    "edit_page": lambda place, who: place.platform.edit_page(who, "x", draft("x")),
    "list_audit": lambda place, who: place.platform.list_audit(who),
    "list_history": lambda place, who: place.platform.list_history(who),
}


def code_of(act: Callable[[], object]) -> str:
    try:
        act()
    except PlatformError as problem:
        return problem.code
    return ""


@pytest.mark.parametrize("tool", TOOLS)
def test_every_tool_needs_a_live_handle_of_its_own_user(place: Bench, tool: str) -> None:
    act = TOOLS[tool]
    for session, code in (
        ("", "session_required"),
        ("dps_" + "0" * 32, "session_expired"),
        (place.third.session, "session_expired"),
    ):
        with refused(code):
            act(place, place.teacher.model_copy(update={"session": session}))
    place.clock.move(8 * 3600 - 1)
    assert code_of(lambda: act(place, place.teacher)) not in ("session_expired", "session_required")
    place.clock.move(2)
    with refused("session_expired"):
        act(place, place.teacher)


def test_session_hours(bench: Callable[..., Bench]) -> None:
    place = bench(session_hours=0.5)
    assert place.teacher.session.startswith("dps_")
    assert len(place.teacher.session) == 36
    place.clock.move(1799)
    place.capture(FACT)
    place.clock.move(2)
    with refused("session_expired"):
        place.capture(FACT)


@pytest.mark.parametrize("tool", TOOLS)
def test_reading_tools_need_a_purpose_where_the_knob_is_on(bench: Callable[..., Bench], tool: str) -> None:
    for on in (True, False):
        place = bench(purpose=on)
        code = code_of(lambda place=place: TOOLS[tool](place, place.teacher.model_copy(update={"purpose": " "})))
        assert (code == "purpose_required") == (on and tool in READING)


def test_the_gate_opens_for_the_user_by_a_search_and_closes_again(bench: Callable[..., Bench], orders: Path) -> None:
    place = bench(warehouse=orders, discovery_minutes=30)
    query = lambda who: place.platform.trino_query(who, "SELECT 1")  # noqa: E731
    with refused("search_required"):
        query(place.teacher)
    place.platform.search(place.teacher, "anything")
    assert query(place.teacher).rows == ({"1": 1},)
    assert query(place.caller(place.teacher.identity)).rows == ({"1": 1},)  # the user, not the session
    with refused("search_required"):
        query(place.learner)
    place.clock.move(29 * 60)
    place.platform.search(place.teacher, "anything")
    place.clock.move(29 * 60)
    query(place.teacher)  # every search begins it anew
    place.clock.move(2 * 60)
    with refused("search_required"):
        query(place.teacher)
    place.platform.datahub_search(place.teacher, "orders")
    query(place.teacher)
    place.platform.trino_browse(place.learner)
    place.platform.trino_describe_table(place.learner, "orders")
    with refused("search_required"):
        query(place.learner)


def test_a_refused_search_does_not_open_the_gate(bench: Callable[..., Bench], orders: Path) -> None:
    place = bench(warehouse=orders)
    with refused("invalid"):
        place.platform.search(place.teacher, "x", limit=0)
    with refused("search_required"):
        place.platform.trino_query(place.teacher, "SELECT 1")


def test_without_the_gate_a_query_needs_no_search(bench: Callable[..., Bench], orders: Path) -> None:
    place = bench(warehouse=orders, gate=False)
    assert place.platform.trino_query(place.teacher, "SELECT 1").rows == ({"1": 1},)


# -- keys and roles ------------------------------------------------------------------------------------------------


def test_the_pool_has_the_published_names(place: Bench) -> None:
    people = place.platform.identities()
    assert [person.email for person in people] == [
        "bench-admin@apikey.local",
        "bench-agent-001@apikey.local",
        "bench-agent-002@apikey.local",
        "bench-agent-003@apikey.local",
    ]
    second = place.platform.authenticate("K-002")
    assert (second.user_id, second.roles) == ("apikey:bench-agent-002", ("agent",))
    assert place.platform.authenticate("K").administers
    for key in ("K-004", "k", "", None, "\ud800"):
        with refused("unauthenticated"):
            place.platform.authenticate(key)


def test_keys_are_not_in_the_file_and_can_be_changed(place: Bench) -> None:
    secret = "a-very-secret-key"
    me = Identity(user_id="me", email="me@example.org", name="Me", roles=("reviewer",))
    place.platform.add_identity(secret, me)
    assert place.platform.authenticate(secret) == me
    place.platform.add_identity("another", me.model_copy(update={"roles": ("admin",)}))
    with refused("unauthenticated"):
        place.platform.authenticate(secret)
    assert place.platform.authenticate("another").administers
    with refused("conflict"):
        place.platform.add_identity("K", me)
    for key, bad in (("", me), ("k2", me.model_copy(update={"roles": ("king",)}))):
        with refused("invalid"):
            place.platform.add_identity(key, bad)
    place.platform.close()
    assert secret.encode() not in b"".join(path.read_bytes() for path in place.folder.iterdir())


@pytest.mark.parametrize("operation", REST)
def test_rest_is_for_reviewers_and_audit_for_admins(place: Bench, operation: str) -> None:
    with refused("unauthorized"):
        REST[operation](place, place.teacher.identity)
    reviewer = Identity(user_id="r", email="r@example.org", name="r", roles=("reviewer",))
    expected = "unauthorized" if operation in ("list_audit", "list_history") else None
    assert (code_of(lambda: REST[operation](place, reviewer)) == "unauthorized") == (expected is not None)
    assert code_of(lambda: REST[operation](place, place.admin)) != "unauthorized"


def test_everybody_reads_pages(place: Bench) -> None:
    place.platform.create_page(place.admin, draft("zorblat"))
    assert place.platform.list_pages(place.teacher.identity).total == 1
    assert place.platform.get_page(place.teacher.identity, "zorblat").current_version == 1


def test_reviewer_tools_are_for_agents_only_where_the_knob_says_so(bench: Callable[..., Bench]) -> None:
    open_to_all, closed = bench(), bench(reviewer_tools=False)
    for place, may in ((open_to_all, True), (closed, False)):
        assert place.platform.may_review(place.teacher.identity) is may
        assert place.platform.may_review(place.admin)
        for tool in (
            "bulk_review",
            "review",
            "synthesize",
            "approve",
            "reject",
            "apply",
            "rollback",
            "list_changesets",
            "bulk_untag",
        ):
            assert (
                code_of(lambda place=place, tool=tool: TOOLS[tool](place, place.teacher)) == "unauthorized"
            ) is not may


# -- audit ---------------------------------------------------------------------------------------------------------


def test_every_call_leaves_one_event_and_a_refusal_before_it_begins_none(place: Bench) -> None:
    place.platform.put_entities([Entity(urn=ORDERS, name="orders")])
    made = place.capture(FACT)
    place.platform.search(place.teacher, "zorblat")
    with refused("not_found"):
        place.platform.datahub_get_entity(place.teacher, CUSTOMERS)
    with refused("purpose_required"):
        place.platform.search(place.teacher.model_copy(update={"purpose": ""}), "zorblat")
    with refused("conflict"):
        place.platform.memory_consolidate(place.teacher, made.id, place.capture(CORRECTION).id)
    events = place.platform.list_audit(place.admin, session_id=place.teacher.session, sort_order="asc").data
    assert [(event.tool_name, event.success) for event in events] == [
        ("platform_info", True),
        ("memory_capture", True),
        ("search", True),
        ("datahub_get_entity", False),
        ("memory_capture", True),
        ("memory_manage", False),
    ]
    assert events[3].error_message is not None
    assert CUSTOMERS in events[3].error_message
    assert len({event.id for event in events}) == 6
    assert [event.timestamp for event in events] == sorted(event.timestamp for event in events)
    place.platform.set_insight_status(place.admin, place.capture(FACT, CUSTOMERS).id, "approved")
    (last, *_) = place.platform.list_audit(place.admin, per_page=1).data
    assert (last.tool_name, last.event_kind, last.user_id) == ("set_insight_status", "admin", "apikey:bench-admin")


def test_audit_is_paged_and_sorted(place: Bench) -> None:
    for _ in range(3):
        place.platform.search(place.teacher, "zorblat")
    everything = place.platform.list_audit(place.admin, sort_by="duration_ms", sort_order="asc")
    assert [event.duration_ms for event in everything.data] == sorted(event.duration_ms for event in everything.data)
    assert everything.total == 7
    assert len(place.platform.list_audit(place.admin, page=3, per_page=3).data) == 1
    with refused("invalid"):
        place.platform.list_audit(place.admin, per_page=201)


def test_a_stranger_who_was_never_added_can_use_the_library(place: Bench) -> None:
    stranger = place.caller(Identity(user_id="new", email="new@example.org", name="new"))
    request = CaptureRequest(type="business_knowledge", content=FACT, entity_urns=(ORDERS,))
    made = place.platform.memory_capture(stranger, request)
    assert [record.id for record in place.platform.memory_list(stranger).records] == [made.id]
