"""A platform for the agents ``rules`` and ``scripted-lifecycle``: the real one, in process, with protocols of ours.

The bridge between an agent and a platform gives handle and purpose; here the toolbox does.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from mcp import Client

from memassay.agents.rules import Rules, agent
from memassay.agents.toolbox import ToolResult
from memassay.core.types import CellKey, Request, Server, Step, Toolset
from memassay.platform.bridge import INFO, Bridge, Log, text_of
from memassay.platform.entities import dataset_urn
from memassay.platform.server import Guest, make_server
from memassay.platform.service import Platform
from memassay.platform.settings import Settings
from memassay.platform.shapes import Caller, Change, Entity, Identity, Insight, PageDraft
from memassay.suites.lifecycle.protocol import Protocol
from memassay.suites.lifecycle.templates import generate
from memassay.suites.lifecycle.warehouse import MEMBERS, make_warehouse

SERVED = Toolset(servers=(Server(name="platform", url="http://127.0.0.1:9/mcp"),))
WAREHOUSE = make_warehouse(7, 9)
PROTOCOLS = generate(WAREHOUSE, 9)
CALLS = PROTOCOLS[0].budget_tool_calls


class Box:
    """A session of one identity: the platform's own server behind the bridge, all in this process."""

    def __init__(self, platform: Platform, identity: Identity) -> None:
        self._platform, self._identity = platform, identity
        self.tools: list[Any] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Box]:
        guest = Guest(self._platform, self._identity, anyio.CapacityLimiter(1))
        async with Client(make_server(lambda _: guest)) as client:
            info = await client.call_tool(INFO, {})
            session = json.loads(text_of(info))["session_id"]
            tools = (await client.list_tools()).tools
            self._bridge = Bridge(client, session, tools, self._identity.email, Log(None), CALLS)
            self.tools = self._bridge.tools
            yield self

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        self.calls.append((name, dict(arguments)))
        result = await self._bridge.call(name, arguments)
        return ToolResult(text_of(result), bool(result.is_error))


class Script:
    """A toolbox that gives fixed results by the name of the tool; a list is given in its order."""

    def __init__(self, **results: Any) -> None:
        self.results = results
        self.tools = [SimpleNamespace(name=name) for name in results]
        self.calls: list[tuple[str, dict[str, Any]]] = []

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        self.calls.append((name, dict(arguments)))
        result = self.results[name]
        result = result.pop(0) if isinstance(result, list) else result
        if isinstance(result, Exception):
            raise result
        return (
            result
            if isinstance(result, ToolResult)
            else ToolResult(result if isinstance(result, str) else json.dumps(result))
        )

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Script]:
        yield self

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.calls]


def refused(code: str) -> ToolResult:
    return ToolResult(json.dumps({"error": {"code": code, "message": "No."}}), is_error=True)


def ask(monkeypatch: pytest.MonkeyPatch, box: Box | Script, prompt: str, who: Rules | None = None, **more: Any) -> Step:
    """What an agent makes of a prompt with these tools."""

    monkeypatch.setattr(agent, "open_toolbox", lambda toolset: box.open())
    request = Request(cell=CellKey(task="q", arm="a"), prompt=prompt, **{"toolset": SERVED, **more})
    return asyncio.run((who or Rules()).answer(request))


class World:
    """A fresh workspace about the warehouse, with people in it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path, **knobs: Any) -> None:
        chosen = {"embedder": "hash", "supersede": 0.8, "similar": 0.6, "durable": False} | knobs
        warehouse = folder / "warehouse.sqlite"
        if not warehouse.exists():
            folder.mkdir(parents=True, exist_ok=True)
            WAREHOUSE.write(warehouse)
        self.platform = Platform(folder, Settings(**chosen), warehouse=warehouse)
        self.teacher, self.learner, self.stranger = self.platform.add_pool("K", 3)
        self.admin = self.platform.authenticate("K")
        tables = [*WAREHOUSE.ledgers, MEMBERS]
        self.platform.put_entities(Entity(urn=urn_of(table), name=f"main.{table}") for table in tables)
        self.used: list[tuple[str, dict[str, Any]]] = []
        self._monkeypatch = monkeypatch

    def say(self, prompt: str, by: Identity | None = None, agent: Rules | None = None) -> str:
        """A session of its own; ``used`` are its calls afterwards."""
        box = Box(self.platform, by or self.teacher)
        step = ask(self._monkeypatch, box, prompt, agent)
        self.used = box.calls
        assert step.status == "ok", step.detail
        assert step.text is not None
        return step.text

    @property
    def tools(self) -> list[str]:
        return [name for name, _ in self.used]

    def insights(self) -> list[Insight]:
        """Of everybody, the oldest first."""
        return list(reversed(self.platform.list_insights(self.admin).data))

    def promote(self, protocol: Protocol) -> None:
        """Apply the newest insight to the protocol's sink."""
        handle = self.platform.platform_info(self.admin).session_id
        reviewer = Caller(identity=self.admin, session=handle)
        ids, fact = [self.insights()[-1].id], protocol.fact
        if protocol.page is not None:
            page = PageDraft(**protocol.page.model_dump())
            self.platform.knowledge_apply(reviewer, ids, "knowledge_page", page=page, confirm=True)
        else:
            changes = [Change(change_type="update_description", detail=fact)]
            urn = urn_of(ledger_of(protocol))
            self.platform.knowledge_apply(reviewer, ids, "datahub", entity_urn=urn, changes=changes, confirm=True)


def ledger_of(protocol: Protocol) -> str:
    return protocol.entity_urn.partition("main.")[2].partition(",")[0]


def urn_of(table: str) -> str:
    """As the platform itself names the warehouse's tables, so that results about them carry what is known."""
    return dataset_urn(f"warehouse.main.{table}")
