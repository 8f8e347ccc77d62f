from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra platform is not installed")

import jsonschema
from platform_kit import CUSTOMERS, FACT, NOISE, ORDERS
from serving_kit import CONTROL, KEYS, Live, Speaker

from memassay.platform import control, openapi, rest
from memassay.platform.routing import Endpoint

EVERY = [("/api/v1", endpoint) for endpoint in rest.ENDPOINTS] + [("/control", it) for it in control.ENDPOINTS]
TOO_LOW = {"anyone": (), "reviewer": ("ada",), "admin": ("ada", "reviewer")}
NAMES = [endpoint.name for _, endpoint in EVERY]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A server for tests that change nothing."""
    made = Live(tmp_path_factory.mktemp("shared"))
    yield made
    made.close()


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    made = Live(tmp_path / "memory")
    yield made
    made.close()


def problem(reply: Any, status: int, code: str) -> None:
    assert (reply.status_code, reply.headers["content-type"]) == (status, "application/problem+json"), reply.text
    told = reply.json()
    assert set(told) == {"type", "title", "status", "detail", "code", "hint"}
    assert (told["status"], told["code"]) == (status, code)
    assert told["detail"][-1] in ".?" and "\n" not in told["detail"]


def at(prefix: str, endpoint: Endpoint) -> str:
    return prefix + re.sub(r"\{\w+\}", "0" * 32, endpoint.path)


# -- who may -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("prefix", "endpoint"), EVERY, ids=NAMES)
@pytest.mark.parametrize("headers", ({}, {"Authorization": "Bearer no-such-key"}, {"X-API-Key": "no-such-key"},
                                     {"Authorization": "Basic YTpi"}, {"Authorization": ""}))  # fmt: skip
def test_nobody_gets_anything(shared: Live, prefix: str, endpoint: Endpoint, headers: dict[str, str]) -> None:
    reply = shared.speaker(None).http.request(endpoint.method, at(prefix, endpoint), headers=headers)
    problem(reply, 401, "unauthenticated")
    assert reply.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("endpoint", "who"),
    [(it, who) for it in rest.ENDPOINTS for who in TOO_LOW[it.role]],
    ids=lambda value: value if isinstance(value, str) else value.name,
)  # fmt: skip
def test_a_wrong_role_gets_nothing(shared: Live, endpoint: Endpoint, who: str) -> None:
    problem(shared.speaker(who).http.request(endpoint.method, at("/api/v1", endpoint)), 403, "unauthorized")


def test_what_agents_may_see_is_named(shared: Live) -> None:
    assert [endpoint.name for endpoint in rest.ENDPOINTS if endpoint.role == "anyone"] == [
        "listPages", "getPage", "whoAmI", "getOpenApi"
    ]  # fmt: skip


@pytest.mark.parametrize("who", ("ada", "admin"))
@pytest.mark.parametrize("endpoint", control.ENDPOINTS, ids=lambda it: it.name)
def test_no_person_controls_workspaces(shared: Live, endpoint: Endpoint, who: str) -> None:
    reply = shared.speaker(who).http.request(endpoint.method, at("/control", endpoint))
    problem(reply, 401, "unauthenticated")


def test_the_control_key_opens_nothing_else(shared: Live) -> None:
    problem(shared.speaker(CONTROL).http.get("/api/v1/memassay/me"), 401, "unauthenticated")


def test_a_key_is_taken_from_either_header(shared: Live) -> None:
    for headers in ({"X-API-Key": KEYS["ada"]}, {"Authorization": f"bearer {KEYS['ada']}"}):
        assert shared.speaker(None).http.get("/api/v1/memassay/me", headers=headers).json()["user_id"] == "ada"


# -- what is taken -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ("/nothing", "/", "/admin/knowledge/insights/", "/admin/knowledge/insights/a/b", "/admin//x")
)
def test_unknown_paths(shared: Live, path: str) -> None:
    problem(shared.speaker("admin").http.get("/api/v1" + path), 404, "not_found")


def test_unknown_methods(shared: Live) -> None:
    reply = shared.speaker("admin").http.delete("/api/v1/admin/knowledge/insights/x")
    problem(reply, 405, "method_not_allowed")
    assert reply.headers["allow"] == "GET, PUT"
    assert shared.speaker("ada").http.head("/api/v1/memassay/me").status_code == 200


@pytest.mark.parametrize(
    "query",
    ("per_page=0", "per_page=101", "page=0", "page=1.0", "page=%201", "page=1_0", "page=", "page=99999999999999999999",
     "page=1&page=2", "status=lost", "limit=3", "since=yesterday", "since=2026-01-01", "until=2026-01-01T00:00:00",
     "order=up"),
)  # fmt: skip
def test_queries_are_strict(shared: Live, query: str) -> None:
    problem(shared.speaker("admin").http.get(f"/api/v1/admin/knowledge/insights?{query}"), 400, "invalid")


def test_a_path_without_a_query_takes_none(shared: Live) -> None:
    problem(shared.speaker("admin").http.get("/api/v1/memassay/me?x=1"), 400, "invalid")


@pytest.mark.parametrize(
    ("body", "kind", "status", "code"),
    [
        ('{"status": "approved", "note": "x"}', "application/json", 400, "invalid"),
        ('{"status": "applied"}', "application/json", 400, "invalid"),
        ('{"status": "pending"}', "application/json", 400, "invalid"),
        ('{"status": "approved", "review_notes": 7}', "application/json", 400, "invalid"),
        ("{}", "application/json", 400, "invalid"),
        ("[]", "application/json", 400, "invalid"),
        ("{", "application/json", 400, "invalid"),
        ("", "application/json", 400, "invalid"),
        ('{"status": "approved", "review_notes": "\\ud800"}', "application/json", 400, "invalid"),
        (b'{"status": "approved", "review_notes": "\xff"}', "application/json", 400, "invalid"),
        ('{"status": "approved"}', "text/plain", 415, "unsupported_media_type"),
        ('{"status": "approved"}', "", 415, "unsupported_media_type"),
        (b" " * 1_000_001, "application/json", 413, "too_large"),
        ('{"status": "approved"}', "application/json; charset=utf-8", 404, "not_found"),
    ],
)
def test_bodies_are_strict(shared: Live, body: str | bytes, kind: str, status: int, code: str) -> None:
    reply = shared.speaker("admin").http.put(
        "/api/v1/admin/knowledge/insights/none/status", content=body, headers={"Content-Type": kind}
    )
    problem(reply, status, code)


# -- what is done --------------------------------------------------------------------------------------------------


def test_pages_of_a_list(live: Live) -> None:
    ada, reviewer = live.speaker("ada"), live.speaker("reviewer")
    texts = (
        "Alpha lanterns burn blue.",
        "Seven cranes guard customs.",
        "Nobody weighs empty barrels.",
        "Moss grows north.",
    )
    ids = [ada.capture(text, CUSTOMERS if n % 2 else ORDERS) for n, text in enumerate(texts)]
    first = reviewer.get("/admin/knowledge/insights", per_page=3)
    second = reviewer.get("/admin/knowledge/insights", per_page=3, page=2)
    assert [one["id"] for one in first["data"] + second["data"]] == ids[::-1]
    assert (first["total"], second["page"], second["per_page"]) == (4, 2, 3)
    oldest = reviewer.get("/admin/knowledge/insights", order="oldest", entity_urn=ORDERS, captured_by="ada@example.org")
    assert [one["id"] for one in oldest["data"]] == ids[::2]
    moment = oldest["data"][1]["created_at"]
    since = reviewer.get("/admin/knowledge/insights", since=moment, order="oldest")
    assert [one["id"] for one in since["data"]] == ids[2:], "since is inclusive"
    assert reviewer.get("/admin/knowledge/insights/stats", until=moment)["total_pending"] == 3


def test_a_review_over_http(live: Live) -> None:
    ada, reviewer = live.speaker("ada"), live.speaker("reviewer")
    id = ada.capture()
    path = f"/admin/knowledge/insights/{id}"
    done = reviewer.put(path, insight_text="A zorblat order is above 300 units.", confidence="high")
    assert done == {"status": "updated"}
    edited = reviewer.get(path)
    assert (edited["insight_text"], edited["confidence"]) == ("A zorblat order is above 300 units.", "high")
    assert reviewer.put(f"{path}/status", status="approved", review_notes="Yes.") == {"status": "updated"}
    assert reviewer.get(path)["status"] == "approved"
    change = {"change_type": "update_description", "detail": FACT}
    done = reviewer.post("/memassay/apply", insight_ids=[id], sink="datahub", changes=[change])
    assert done["status"] == "applied" and done["resulting_state"]["description"] == FACT
    assert reviewer.get("/memassay/entity", urn=ORDERS)["description"] == FACT
    problem(reviewer.http.put(f"/api/v1{path}/status", json={"status": "approved"}), 409, "conflict")
    problem(reviewer.http.put(f"/api/v1{path}", json={"category": "general"}), 409, "conflict")
    insight = reviewer.get(path)
    assert insight["status"] == "applied" and insight["changeset_ref"] == done["changeset_id"]
    change_path = f"/admin/knowledge/changesets/{done['changeset_id']}"
    assert reviewer.get(change_path)["source_insight_ids"] == [id]
    assert reviewer.get("/admin/knowledge/changesets", entity_urn=ORDERS, rolled_back="false")["total"] == 1
    assert reviewer.post(f"{change_path}/rollback")["insights_rolled_back"] == [id]
    problem(reviewer.http.post(f"/api/v1{change_path}/rollback"), 409, "conflict")
    assert reviewer.get(path)["status"] == "pending"
    assert reviewer.get("/admin/knowledge/changesets", rolled_back="true")["total"] == 1
    admin = live.speaker("admin")
    routes = [it["route"] for it in admin.get("/memassay/history", record_id=id)["data"]]
    assert routes == ["capture", "edit", "approve", "apply", "rollback"]
    called = [it["tool_name"] for it in admin.get("/admin/audit/events", sort_order="asc")["data"]]
    assert called.count("apply_knowledge") == 1 and "rollback_changeset" in called


def test_pages_over_http(live: Live) -> None:
    reviewer, ben = live.speaker("reviewer"), live.speaker("ben")
    draft = {"slug": "zorblat", "title": "Zorblat", "summary": FACT, "body": FACT}
    made = reviewer.post("/portal/knowledge-pages", **draft)
    problem(reviewer.http.post("/api/v1/portal/knowledge-pages", json=draft), 409, "conflict")
    reviewer.put("/portal/knowledge-pages/zorblat", **draft | {"summary": NOISE})
    assert ben.get(f"/portal/knowledge-pages/{made['id']}")["summary"] == NOISE
    assert [page["current_version"] for page in ben.get("/portal/knowledge-pages", limit=1)["pages"]] == [2]


def test_two_reviewers_at_once(live: Live) -> None:
    ada = live.speaker("ada")
    both = [live.speaker("reviewer"), live.speaker("second")]
    change = {"change_type": "update_description", "detail": FACT}
    id = ada.capture()
    approve = lambda who: who.http.put(f"/api/v1/admin/knowledge/insights/{id}/status", json={"status": "approved"})  # noqa: E731
    apply = lambda who: who.http.post(  # noqa: E731
        "/api/v1/memassay/apply", json={"insight_ids": [id], "sink": "datahub", "changes": [change]}
    )
    for act in (approve, apply):
        gate, statuses = threading.Barrier(2), []

        def go(who: Speaker, act: Any = act, gate: Any = gate, statuses: Any = statuses) -> None:
            gate.wait()
            statuses.append(act(who).status_code)

        threads = [threading.Thread(target=go, args=(who,)) for who in both]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(statuses) == [200, 409]
    assert both[0].get("/admin/knowledge/changesets")["total"] == 1


# -- the document --------------------------------------------------------------------------------------------------


def test_the_document_names_every_endpoint(shared: Live) -> None:
    told = shared.speaker("ada").get("/openapi.json")
    assert told["openapi"] == "3.1.0" and told["servers"] == [{"url": "/api/v1"}]
    operations = {
        (method.upper(), path, about["operationId"])
        for path, it in told["paths"].items()
        for method, about in it.items()
    }
    assert operations == {(endpoint.method, endpoint.path, endpoint.name) for endpoint in rest.ENDPOINTS}
    assert len({name for *_, name in operations}) == len(rest.ENDPOINTS)
    for path, methods in told["paths"].items():
        for about in methods.values():
            assert {"400", "401", "503"} <= set(about["responses"]), path
            for parameter in about["parameters"]:
                assert parameter["schema"]["type"] in ("string", "integer", "boolean"), parameter


def test_answers_are_as_the_document_says(live: Live) -> None:
    ada, admin = live.speaker("ada"), live.speaker("admin")
    id = ada.capture()
    page = {"slug": "a", "title": "A", "summary": FACT, "body": FACT}
    done = admin.post("/memassay/apply", insight_ids=[id], sink="knowledge_page", page=page)
    told = openapi.document(rest.ENDPOINTS, "/api/v1")
    paths = {"/admin/knowledge/insights/{id}": id, "/admin/knowledge/changesets/{id}": done["changeset_id"],
             "/portal/knowledge-pages/{id}": "a"}  # fmt: skip
    for endpoint in rest.ENDPOINTS:
        if endpoint.method != "GET" or endpoint.name == "getEntity":
            continue  # the one that cannot do without a query
        reply = admin.get(endpoint.path.replace("{id}", paths.get(endpoint.path, "")))
        schema = told["paths"][endpoint.path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        jsonschema.validate(reply, {**schema, "components": told["components"]}, jsonschema.Draft202012Validator)
    wrong = admin.http.get("/api/v1/admin/knowledge/insights/none").json()
    schema = {"$ref": "#/components/schemas/Problem", "components": told["components"]}
    jsonschema.validate(wrong, schema, jsonschema.Draft202012Validator)


def test_the_document_is_the_same_every_time() -> None:
    assert json.dumps(openapi.document(rest.ENDPOINTS, "/x")) == json.dumps(openapi.document(rest.ENDPOINTS, "/x"))
