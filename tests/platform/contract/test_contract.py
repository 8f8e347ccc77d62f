"""What every platform of this kind must do, whoever made it: the same questions to all, over the wire alone."""

from __future__ import annotations

import re
from typing import Any

import httpx2
from contract_target import Target, fact

from memassay.platform.bridge import Bridge, code_of, text_of

TOOLS = {"search", "fetch", "memory_capture", "memory_manage", "apply_knowledge", "datahub_get_entity"}
RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def hits(said: Any, source: str | None = None) -> list[Any]:
    return [hit for group in said["groups"] if source in (None, group["source"]) for hit in group["hits"]]


def page_of(text: str) -> dict[str, str]:
    slug = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:80].strip("-")
    return {"slug": slug, "title": text[:60], "summary": text, "body": f"# {slug}\n\n{text}"}


def apply(target: Target, id: str, **more: Any) -> Any:
    return target.use(target.key, "apply_knowledge", action="apply", insight_ids=[id], confirm=True, **more)


# -- the way in ----------------------------------------------------------------------------------------------------


def test_the_tools_are_there(target: Target) -> None:
    async def scene(bridge: Bridge) -> set[str]:
        return {tool.name for tool in bridge.tools}

    assert target.play(target.agent(), scene) >= TOOLS


def test_without_a_key_there_is_nothing(target: Target) -> None:
    base = str(target.http.base_url)
    for headers in ({}, {"Authorization": "Bearer no-such-key"}):
        for path in ("/admin/knowledge/insights", "/admin/knowledge/changesets", "/admin/audit/events"):
            assert httpx2.get(base.rstrip("/") + path, headers=headers).status_code == 401, path


def test_no_session_no_tool(target: Target) -> None:
    async def scene(bridge: Bridge) -> list[str]:
        codes = []
        for session in ({}, {"session_id": "dps_none"}):
            result = await bridge.client.call_tool("search", {"intent": "x", "purpose": "To know.", **session})
            assert result.is_error
            codes.append(code_of(result))
        return codes

    assert target.play(target.agent(), scene) == ["session_required", "session_expired"]


def test_a_session_says_what_it_is(target: Target) -> None:
    async def scene(bridge: Bridge) -> Any:
        return (await bridge.client.call_tool("platform_info", {})).structured_content

    info = target.play(target.agent(), scene)
    assert info["session_id"].startswith("dps_") and RFC3339.fullmatch(info["session_expires_at"])
    assert {"name", "version", "agent_instructions", "toolkits", "persona"} <= set(info)
    assert info["persona"]["name"]


def test_a_refusal_is_a_line_and_an_object(target: Target) -> None:
    async def scene(bridge: Bridge) -> Any:
        return await bridge.client.call_tool("search", {"intent": "x", "purpose": "To know."})

    result = target.play(target.agent(), scene)
    error = result.structured_content["error"]
    assert (error["code"], error["category"]) == ("session_required", "session_required") and error["message"]
    assert "(code: session_required)" in text_of(result)


def test_the_coverage_of_a_search_says_how_much_is_shown(target: Target) -> None:
    said = target.use(target.agent(), "search", intent="orders", limit=5)
    assert said["ranking"] in ("hybrid", "lexical")
    for one in said["coverage"]:
        assert 0 <= one["shown"] <= one["matched"] and one["source"]
    assert said["count"] == len(hits(said)) <= 5
    for hit in hits(said):
        assert hit["ref"] and isinstance(hit["text"], str) and 0 <= hit["score"] <= 1
    some = target.use(target.agent(), "search", intent="orders", sources=["insights", "no_such"])
    assert some["unknown_sources"] == ["no_such"]


def test_a_limit_beyond_the_most_is_no_fault(target: Target) -> None:
    who = target.agent()
    assert target.use(who, "memory_manage", command="list", limit=5000)["limit"] == 100
    assert target.use(who, "search", intent="orders", limit=5000)["count"] <= 50


# -- a fact ---------------------------------------------------------------------------------------------------------


def test_what_was_taught_waits_and_is_its_owners_alone(target: Target) -> None:
    teacher, learner, text = target.agent(), target.agent(), fact()
    id = target.teach(teacher, text)
    told = target.insight(id)
    assert (told["status"], told["insight_text"], told["captured_by"]) == ("pending", text, target.email(teacher))
    assert target.entity in told["entity_urns"] and RFC3339.fullmatch(told["created_at"])
    listed = target.rest(
        "GET", "/admin/knowledge/insights", captured_by=target.email(teacher), entity_urn=target.entity,
        status="pending", since=told["created_at"],
    )  # fmt: skip
    assert [one["id"] for one in listed["data"]] == [id]
    assert (listed["total"], listed["page"]) == (1, 1)
    assert id in [hit["ref"] for hit in hits(target.use(teacher, "search", intent=text), "insights")]
    assert id not in [hit["ref"] for hit in hits(target.use(learner, "search", intent=text))]
    assert not target.use(learner, "fetch", reference=f"mcp:insight:{id}")["found"]
    assert target.ask(learner, "memory_manage", command="forget", id=id)[0] != ""
    assert target.insight(id)["status"] == "pending"


def test_promoted_to_an_entity_and_back(target: Target) -> None:
    teacher, learner, text = target.agent(), target.agent(), fact()
    id = target.teach(teacher, text)
    path = f"/admin/knowledge/insights/{id}/status"
    assert target.rest("PUT", path, body={"status": "approved", "review_notes": "Yes."}) == {"status": "updated"}
    assert target.insight(id)["status"] == "approved"
    target.rest("PUT", path, 400, body={"status": "applied"})
    change = {"change_type": "update_description", "target": "", "detail": text}
    done = apply(target, id, entity_urn=target.entity, sink="datahub", changes=[change])
    assert done["insights_marked_applied"] == 1
    assert (done["entity_urn"], done["changes_applied"], done["revertible"]) == (target.entity, 1, True)
    told = target.insight(id)
    assert told["status"] == "applied"
    changeset = target.rest("GET", f"/admin/knowledge/changesets/{told['changeset_ref']}")
    assert id in changeset["source_insight_ids"] and not changeset["rolled_back"]
    assert changeset["target_urn"] == target.entity and changeset["id"] == done["changeset_id"]
    listed = target.rest("GET", "/admin/knowledge/changesets", entity_urn=target.entity)["data"]
    assert changeset["id"] in [one["id"] for one in listed]
    assert text in target.use(learner, "datahub_get_entity", urn=target.entity)["description"]
    assert id in [hit["ref"] for hit in hits(target.use(learner, "search", intent=text), "insights")]
    target.rest("PUT", path, 409, body={"status": "approved"})
    target.rest("POST", f"/admin/knowledge/changesets/{changeset['id']}/rollback")
    target.rest("POST", f"/admin/knowledge/changesets/{changeset['id']}/rollback", 409)
    assert target.insight(id)["status"] in ("pending", "rolled_back"), "which of them differs between versions"
    assert text not in target.use(learner, "datahub_get_entity", urn=target.entity)["description"]


def test_promoted_to_a_page(target: Target) -> None:
    teacher, learner, text = target.agent(), target.agent(), fact()
    id, page = target.teach(teacher, text), page_of(text)
    done = apply(target, id, sink="knowledge_page", page=page)
    assert (done["slug"], done["action"], done["insights_marked_applied"]) == (page["slug"], "created", 1)
    told = target.insight(id)
    assert told["status"] == "applied", "a pending insight may be applied"
    changeset = target.rest("GET", f"/admin/knowledge/changesets/{told['changeset_ref']}")
    assert changeset["target_urn"] == f"kp:{page['slug']}" and changeset["change_type"] == "create_page"
    pages = target.rest("GET", "/portal/knowledge-pages", limit=100)["pages"]
    assert page["summary"] in [one["summary"] for one in pages if one["slug"] == page["slug"]]
    found = hits(target.use(learner, "search", intent=text), "knowledge_pages")
    assert any(text in hit["text"] for hit in found)
    target.rest("POST", f"/admin/knowledge/changesets/{changeset['id']}/rollback")


def test_rejected_is_the_end(target: Target) -> None:
    teacher = target.agent()
    id = target.teach(teacher, fact())
    path = f"/admin/knowledge/insights/{id}/status"
    target.rest("PUT", path, body={"status": "rejected", "review_notes": "No."})
    assert target.insight(id)["status"] == "rejected"
    target.rest("PUT", path, 409, body={"status": "approved"})


def test_one_owns_what_one_kept(target: Target) -> None:
    teacher, text = target.agent(), fact()
    id = target.teach(teacher, text)
    [listed] = [one for one in listing(target, teacher)["records"] if one["id"] == id]
    assert (listed["content"], listed["created_by"], listed["status"]) == (text, target.email(teacher), "active")
    assert (listed["dimension"], listed["sink_class"]) == ("knowledge", "business_knowledge")
    assert listed["metadata"]["insight_status"] == "pending"
    assert target.use(teacher, "memory_manage", command="update", id=id, content=text + " So it is.")["id"] == id
    assert target.insight(id)["insight_text"] == text + " So it is."
    target.use(teacher, "memory_manage", command="forget", id=id)
    assert id not in [hit["ref"] for hit in hits(target.use(teacher, "search", intent=text))]


def listing(target: Target, key: str, **more: Any) -> Any:
    return target.use(key, "memory_manage", command="list", limit=100, **more)


def test_a_note_is_live_and_in_no_queue(target: Target) -> None:
    teacher, text = target.agent(), fact()
    made = target.use(teacher, "memory_capture", type="episodic_event", content=text, entity_urns=[target.entity])
    assert (made["sink_class"], made["status"]) == ("episodic_event", "active")
    [listed] = [one for one in listing(target, teacher)["records"] if one["id"] == made["id"]]
    assert listed["dimension"] == "event" and not (listed.get("metadata") or {}).get("insight_status")
    assert made["id"] in [hit["ref"] for hit in hits(target.use(teacher, "search", intent=text), "memory")]
    target.rest("GET", f"/admin/knowledge/insights/{made['id']}", 404)
    target.use(teacher, "memory_manage", command="forget", id=made["id"])
    archived = listing(target, teacher, filter_status="archived")["records"]
    assert made["id"] in [one["id"] for one in archived]
    assert made["id"] not in [one["id"] for one in listing(target, teacher)["records"]]


# -- around it ------------------------------------------------------------------------------------------------------


def test_nothing_is_found_under_a_name_that_is_none(target: Target) -> None:
    for path in ("/admin/knowledge/insights/" + "0" * 32, "/admin/knowledge/changesets/" + "0" * 32):
        told = target.rest("GET", path, 404)
        assert told["status"] == 404 and told["detail"]


def test_calls_leave_events(target: Target) -> None:
    async def scene(bridge: Bridge) -> str:
        assert not (await bridge.call("search", {"intent": "anything"})).is_error
        return bridge.session

    session = target.play(target.agent(), scene)
    events = target.rest("GET", "/admin/audit/events", session_id=session, per_page=200)["data"]
    assert "search" in [event["tool_name"] for event in events]
    assert all(event["session_id"] == session and event["success"] for event in events)
    assert {event["event_kind"] for event in events} == {"mcp_tool_call"}
    assert all(isinstance(event["duration_ms"], int) and RFC3339.fullmatch(event["timestamp"]) for event in events)
