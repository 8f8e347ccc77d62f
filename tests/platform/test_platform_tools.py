from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

pytest.importorskip("mcp", reason="the extra platform is not installed")

import anyio
import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from platform_kit import CORRECTION, CUSTOMERS, FACT, NOISE, ORDERS
from serving_kit import KEYS, SETTINGS, Live, Speaker

from memassay.platform import tools
from memassay.platform.settings import Faults
from memassay.platform.shapes import CaptureRequest, Entity

Serve = Callable[..., Live]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """``serve(gate=False, …)`` starts a server over a warehouse with two tables."""
    made: list[Live] = []
    with sqlite3.connect(tmp_path / "warehouse.sqlite") as con:
        con.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, amount INTEGER)")
        con.executemany("INSERT INTO orders (amount) VALUES (?)", [(100,), (400,), (600,)])
        con.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY)")
    con.close()

    def start(**knobs: Any) -> Live:
        settings = SETTINGS.model_copy(update=knobs)
        made.append(Live(tmp_path / f"memory-{len(made)}", settings, tmp_path / "warehouse.sqlite"))
        made[-1].spaces.main.put_entities([Entity(urn=urn, name=urn[48:-6]) for urn in (ORDERS, CUSTOMERS)])
        return made[-1]

    yield start
    for one in made:
        one.close()


def shown(who: Speaker) -> dict[str, Any]:
    return {tool["name"]: tool["inputSchema"] for tool in who.rpc("tools/list")["result"]["tools"]}


def refusal(result: Any) -> str:
    """The code of a refusal, which a text and the structured content tell alike."""
    assert result["isError"], result
    error = result["structuredContent"]["error"]
    assert list(error) == ["code", "category", "message", "hint"]
    [block] = result["content"]
    hint = f" Hint: {error['hint']}" if error["hint"] else ""
    assert block["text"] == f"{error['message']} (code: {error['code']}){hint}"
    assert error["message"][-1] in ".?" and "\n" not in error["message"]
    return str(error["code"])


# -- what is shown -------------------------------------------------------------------------------------------------


def test_what_a_model_is_shown(serve: Serve) -> None:
    schemas = shown(serve().speaker("ada"))
    assert list(schemas) == list(tools.TOOLS)
    for name, schema in schemas.items():
        assert schema["type"] == "object" and schema["additionalProperties"] is False
        assert "$ref" not in json.dumps(schema) and "$defs" not in schema
        required = set(schema.get("required", ()))
        assert ("session_id" in required) == ("session_id" in schema["properties"]) == (name != "platform_info")
        assert ("purpose" in required) == ("purpose" in schema["properties"]) == (name in tools.PURPOSE_TOOLS)
    page = schemas["apply_knowledge"]["properties"]["page"]["anyOf"][0]
    assert {"slug", "title", "summary", "body"} <= set(page["properties"]), "a property called title is kept"
    own = set(CaptureRequest.model_fields) | {"session_id"}
    assert set(schemas["memory_capture"]["properties"]) == own
    assert tools.TOOLS["trino_query"].says.count("SQLite") == 2


def test_knobs_change_what_is_shown(serve: Serve) -> None:
    live = serve(reviewer_tools=False, purpose=False)
    assert not any("purpose" in schema["properties"] for schema in shown(live.speaker("ada")).values())
    assert set(tools.TOOLS) - set(shown(live.speaker("ada"))) == {"apply_knowledge"}
    assert list(shown(live.speaker("reviewer"))) == list(tools.TOOLS)
    ada = live.speaker("ada")
    ada.tool("search", intent="x")
    call = ada.raw("apply_knowledge", session_id=ada.session, action="bulk_review")
    assert refusal(call) == "unauthorized", "hidden is not enough"


@pytest.mark.parametrize("mode", ("auto", "legacy"))
@pytest.mark.parametrize("path", ("/mcp", "/", ""))
def test_the_protocols_own_client(serve: Serve, mode: Literal["auto", "legacy"], path: str) -> None:
    live = serve()

    async def use() -> None:
        headers = {"Authorization": f"Bearer {KEYS['ada']}"}
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False) as http,
            Client(streamable_http_client(live.url + path, http_client=http), mode=mode) as client,
        ):
            assert client.instructions is not None and "platform_info" in client.instructions
            assert [tool.name for tool in (await client.list_tools()).tools] == list(tools.TOOLS)
            info = (await client.call_tool("platform_info", {})).structured_content
            assert info["user"] == "ada@example.org"
            made = await client.call_tool(
                "memory_capture",
                {"session_id": info["session_id"], "type": "business_knowledge", "content": FACT},
            )
            assert not made.is_error
            with pytest.raises(MCPError, match="Unknown tool 'serach'") as caught:
                await client.call_tool("serach", {})
            assert caught.value.code == -32602

    anyio.run(use)


# -- refusals ------------------------------------------------------------------------------------------------------


def test_codes_of_refusals(serve: Serve) -> None:
    live = serve()
    ada, ben = live.speaker("ada"), live.speaker("ben")
    handle = ada.raw("platform_info")["structuredContent"]["session_id"]
    other = ben.raw("platform_info")["structuredContent"]["session_id"]
    why = {"purpose": "To know."}
    query = {"sql": "SELECT 1"}
    for code, tool, arguments in (
        ("session_required", "search", {"intent": "x", **why}),
        ("session_expired", "search", {"session_id": "dps_0", **why}),
        ("session_expired", "search", {"session_id": other, **why}),
        ("purpose_required", "search", {"session_id": handle}),
        ("purpose_required", "search", {"session_id": handle, "purpose": "  "}),
        ("search_required", "trino_query", {"session_id": handle, **why, **query}),
        ("invalid", "search", {"session_id": 7, **why}),
        ("invalid", "search", {"session_id": handle, **why, "intnt": "x"}),
        ("invalid", "search", {"session_id": handle, **why, "limit": "many"}),
        ("invalid", "memory_capture", {"session_id": handle, "type": "business_knowledge"}),
        ("invalid", "memory_capture", {"session_id": handle, "type": "business_knowledge", "content": "short"}),
        ("invalid", "memory_capture", {"session_id": handle, "type": "rumour", "content": FACT}),
        ("invalid", "memory_manage", {"session_id": handle, "command": "forget"}),
        ("not_found", "memory_manage", {"session_id": handle, "command": "forget", "id": "0" * 32}),
        ("invalid", "apply_knowledge", {"session_id": handle, "action": "rollback"}),
        ("not_found", "apply_knowledge", {"session_id": handle, "action": "rollback", "changeset_id": "x"}),
        ("invalid", "apply_knowledge", {"session_id": handle, "action": "apply", "insight_ids": []}),
        ("invalid", "apply_knowledge", {"session_id": handle, "action": "bulk_untag", "confirm": True}),
        ("not_found", "datahub_get_entity", {"session_id": handle, **why, "urn": "urn:li:none"}),
        ("not_found", "trino_describe_table", {"session_id": handle, **why, "table": "nothing"}),
    ):
        assert refusal(ada.raw(tool, **arguments)) == code, (tool, arguments)
    ada.tool("search", intent="orders")
    assert refusal(ada.raw("trino_query", session_id=handle, sql="DROP TABLE orders", **why)) == "tool_error"
    said = ada.raw("search", session_id=handle, intnt="x", **why)["structuredContent"]["error"]["message"]
    assert said == "search: intnt is not known. Did you mean 'intent' or 'context'?"


# -- every tool ----------------------------------------------------------------------------------------------------


def test_a_life_of_a_fact(serve: Serve) -> None:
    live = serve()
    ada, ben, reviewer = live.speaker("ada"), live.speaker("ben"), live.speaker("reviewer")
    id = ada.capture()
    [hit] = [
        hit
        for group in ada.tool("search", intent="zorblat order")["groups"]
        for hit in group["hits"]
        if "mcp" in hit["reference"]
    ]
    assert (hit["ref"], hit["status"], hit["captured_by"]) == (id, "pending", "ada@example.org")
    assert ada.tool("fetch", reference=hit["reference"])["document"]["body"] == FACT
    assert ada.tool("trino_browse")["items"] == ["warehouse"]
    assert ada.tool("trino_browse", catalog="warehouse", schema="main", pattern="o%")["items"] == ["orders"]
    assert ada.tool("trino_describe_table", table="warehouse.main.orders")["row_count"] == 3
    named = ada.tool("trino_describe_table", catalog="warehouse", schema="main", table="orders")
    assert (named["schema"], named["table"], named["columns"][1]["nullable"]) == ("main", "orders", "YES")
    sql = "SELECT count(*) AS n FROM warehouse.main.orders WHERE amount > 300"
    assert ada.tool("trino_query", sql=sql, timeout_seconds=5, format="json")["rows"] == [{"n": 2}]
    assert ada.tool("datahub_search", query="orders")["total"] >= 1
    change = {"change_type": "update_description", "target": "", "detail": FACT}
    apply = {"action": "apply", "entity_urn": ORDERS, "insight_ids": [id], "sink": "datahub", "changes": [change]}
    assert reviewer.tool("apply_knowledge", action="bulk_review", itemize=True)["total_pending"] == 1
    assert reviewer.tool("apply_knowledge", action="review", entity_urn=ORDERS)["insights"][0]["id"] == id
    assert reviewer.tool("apply_knowledge", action="approve", insight_ids=[id])["updated"] == 1
    [proposed] = reviewer.tool("apply_knowledge", action="synthesize", entity_urn=ORDERS)["proposed_changes"]
    assert proposed["suggested_value"] == FACT
    assert reviewer.tool("apply_knowledge", **apply)["confirmation_required"] is True
    done = reviewer.tool("apply_knowledge", **apply, confirm=True)
    assert done["insights_marked_applied"] == 1
    assert ben.tool("datahub_get_entity", urn=ORDERS)["description"] == FACT
    [listed] = reviewer.tool("apply_knowledge", action="list_changesets", entity_urn=ORDERS)["changesets"]
    assert listed["changeset_id"] == done["changeset_id"]
    back = reviewer.tool("apply_knowledge", action="rollback", changeset_id=done["changeset_id"])
    assert back["insights_rolled_back"] == [id]
    assert reviewer.tool("apply_knowledge", action="reject", insight_ids=[id])["updated"] == 1


def test_what_comes_along_is_a_text_of_its_own(serve: Serve) -> None:
    live = serve(gate=False)
    ada = live.speaker("ada")
    ada.capture(NOISE, ORDERS, type="episodic_event")
    live.spaces.main.put_entities([Entity(urn=ORDERS, name="orders", description=FACT)])
    ada.tool("search", intent="x")
    why = {"session_id": ada.session, "purpose": "To know."}
    result = ada.raw("trino_query", sql="SELECT count(*) AS n FROM orders", **why)
    main, told, known = (json.loads(block["text"]) for block in result["content"])
    assert list(main) == ["columns", "rows", "row_count", "stats"]
    assert told["semantic_context"] == {"urn": ORDERS, "description": FACT}
    assert [record["summary"] for record in known["memory_context"]] == [NOISE]
    assert result["structuredContent"] == main | told | known
    again = ada.raw("trino_describe_table", table="orders", **why)["structuredContent"]
    assert again["metadata_reference"]["tables"] == ["warehouse.main.orders"]
    assert "semantic_context" not in again


def test_a_limit_beyond_the_most_means_the_most(serve: Serve) -> None:
    ada = serve(gate=False).speaker("ada")
    for given, taken in ((0, 20), (-3, 20), (7, 7), (5000, 100)):
        assert ada.tool("memory_manage", command="list", limit=given)["limit"] == taken
    for given, taken in ((0, 10), (51, 50)):
        assert ada.tool("search", sources=["insights"], limit=given)["limit"] == taken
    for given, taken in ((0, 1000), (5000, 1000), (3, 3)):
        assert ada.tool("trino_query", sql="SELECT 1", limit=given)["stats"]["limit_applied"] == taken


def test_own_records(serve: Serve) -> None:
    ada = serve().speaker("ada")
    kept, twin = ada.capture(NOISE, CUSTOMERS), ada.capture("Moss grows on the north side of lanterns.", CUSTOMERS)
    assert ada.tool("memory_manage", command="list", filter_entity_urn=CUSTOMERS, limit=1)["total"] == 2
    assert ada.tool("memory_manage", command="update", id=kept, content=FACT)["id"] == kept
    assert ada.tool("memory_manage", command="review_duplicates")["pairs"] == []
    assert ada.tool("memory_manage", command="review_stale")["total"] == 0
    ada.tool("memory_manage", command="consolidate", id=kept, duplicate_id=twin)
    ada.tool("memory_manage", command="forget", id=kept)
    assert ada.tool("memory_manage", command="list")["total"] == 0
    assert ada.tool("memory_manage", command="list", filter_status="superseded")["records"][0]["id"] == twin
    assert "consolidate" in ada.tool("memory_manage")["commands"]
    nothing = ada.raw("memory_manage", session_id=ada.session, command="update", id=kept)
    assert refusal(nothing) == "invalid"


def test_a_tag_is_taken_off_many(serve: Serve) -> None:
    live = serve()
    tagged = [Entity(urn=urn, name=urn, tags=("old",)) for urn in (ORDERS, CUSTOMERS)]
    live.spaces.main.put_entities(tagged)
    untag = {"action": "bulk_untag", "tag_urn": "urn:li:tag:old"}
    reviewer = live.speaker("reviewer")
    assert reviewer.tool("apply_knowledge", **untag)["confirmation_required"] is True
    assert reviewer.tool("apply_knowledge", **untag, confirm=True)["affected_urns_sample"] == [ORDERS, CUSTOMERS]
    assert live.spaces.main.get_entity(ORDERS).tags == ()


# -- who sees what -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", ({}, pytest.param({"push_scope": "owner"}, marks=pytest.mark.slow)))
def test_a_learner_never_sees_what_was_not_promoted(serve: Serve, settings: dict[str, Any]) -> None:
    live = serve(reviewer_tools=False, **settings)
    ada, ben, reviewer = live.speaker("ada"), live.speaker("ben"), live.speaker("reviewer")
    pending = ada.capture(FACT)
    ada.capture("Ada likes zorblat charts in green ink.", ORDERS, type="personal_preference")
    corrected = ada.capture(CORRECTION)
    # A live note is pushed to everybody of the persona, as in the published platform, unless a knob says otherwise.
    private = ("three hundred", "five hundred", *(["green ink"] if settings else []))

    def everything() -> str:
        """All that ben can get at."""
        told = [ben.tool("search", intent=text, limit=50) for text in ("zorblat order", FACT, CORRECTION, "units")]
        told += [ben.tool("search", entity_urns=[ORDERS], limit=50), ben.tool("search", limit=50)]
        for status in ("pending", "approved", "rejected", "applied", "superseded"):
            told.append(ben.tool("search", intent="zorblat order", status=status))
        for id in (pending, corrected):
            told += [ben.tool("fetch", reference=f"mcp:{kind}:{id}") for kind in ("insight", "memory")]
        told.append(ben.tool("memory_manage", command="list"))
        told.append(ben.tool("memory_manage", command="review_duplicates"))
        told.append(ben.tool("datahub_get_entity", urn=ORDERS))
        told.append(ben.tool("datahub_search", query="zorblat orders"))
        told.append(ben.tool("fetch", reference=ORDERS))
        told.append(ben.tool("trino_browse", catalog="warehouse", schema="main"))
        told.append(ben.tool("trino_describe_table", table="orders"))
        told.append(ben.tool("trino_query", sql="SELECT * FROM orders"))
        session, mine = ben.session, {"session_id": ben.session}
        told += [ben.raw("memory_manage", command="update", id=pending, content=NOISE, **mine)]
        told += [ben.raw("memory_manage", command="forget", id=pending, **mine)]
        told += [
            ben.raw("apply_knowledge", action=action, entity_urn=ORDERS, **mine) for action in ("review", "bulk_review")
        ]
        assert ben.session == session
        for path in ("/admin/knowledge/insights", f"/admin/knowledge/insights/{pending}", "/memassay/history"):
            reply = ben.http.get(f"/api/v1{path}")
            assert reply.status_code == 403
            told.append(reply.text)
        told.append(ben.get("/portal/knowledge-pages"))
        return json.dumps(told)

    before = everything()
    assert not [text for text in private if text in before]
    reviewer.put(f"/admin/knowledge/insights/{corrected}/status", status="approved")
    assert "five hundred" not in everything(), "approved is not yet shared"
    change = {"change_type": "update_description", "detail": CORRECTION}
    done = reviewer.post("/memassay/apply", insight_ids=[corrected], sink="datahub", changes=[change])
    after = everything()
    assert "five hundred" in after and "three hundred" not in after
    reviewer.post(f"/admin/knowledge/changesets/{done['changeset_id']}/rollback")
    assert "five hundred" not in json.dumps(ben.tool("search", intent="zorblat order", limit=50))


# -- faults --------------------------------------------------------------------------------------------------------


def test_a_dropped_connection_has_done_its_work(serve: Serve) -> None:
    live = serve(faults=Faults(drop_connection="memory_capture"))
    ada = live.speaker("ada")
    ada.tool("search", intent="x")
    with pytest.raises(httpx2.RemoteProtocolError):
        ada.capture()
    assert live.speaker("reviewer").get("/admin/knowledge/insights")["total"] == 1
    assert ada.tool("search", intent="zorblat")["count"] >= 1, "the next call is answered"
    live.spaces.main.settings = SETTINGS.model_copy(update={"faults": Faults(drop_connection="set_insight_status")})
    [one] = live.speaker("reviewer").get("/admin/knowledge/insights")["data"]
    with pytest.raises(httpx2.RemoteProtocolError):
        live.speaker("reviewer").put(f"/admin/knowledge/insights/{one['id']}/status", status="approved")
    assert live.speaker("reviewer").get(f"/admin/knowledge/insights/{one['id']}")["status"] == "approved"
