"""The scripts of ``scripted-lifecycle`` played on the embedded platform itself, all in this process.

Everything is real but the wire: the agent, the bridge with its budget, the tools, REST's operations and the client that
the memory ``platform`` reads them with. The platform is that of the suite's control ``perfect``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache, cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import httpx2
import pytest
from lifecycle_play import judged
from mcp import Client

from memassay.agents.rules import agent as speaking
from memassay.agents.scripted_lifecycle import ScriptedLifecycle
from memassay.agents.toolbox import ToolResult
from memassay.core.taught import ToolCall
from memassay.core.types import CellKey, Judgement, Request, Server, Step, Toolset
from memassay.memories.platform import client as asking
from memassay.memories.platform.client import API, PlatformClient
from memassay.memories.platform.people import People, own_numbers
from memassay.memories.platform.store import PlatformStore
from memassay.platform import arguments, problems
from memassay.platform.bridge import INFO, Bridge, Log, text_of
from memassay.platform.errors import PlatformError
from memassay.platform.rest import ROUTER
from memassay.platform.routing import Asked
from memassay.platform.server import Guest, make_server
from memassay.platform.service import Platform
from memassay.platform.settings import Settings
from memassay.suites.lifecycle.driving import drive
from memassay.suites.lifecycle.holdings import Holdings
from memassay.suites.lifecycle.protocol import Protocol
from memassay.suites.lifecycle.stages import plan
from memassay.suites.lifecycle.suite import PERFECT

KEY, AGENTS = "K", 8
# Made anew for every session, schemas take half of the time.
SCHEMA_OF = cache(arguments.schema_of)


class Noted(Log):
    """Calls in a list."""

    def __init__(self) -> None:
        super().__init__(None)
        self.calls: list[ToolCall] = []

    def add(self, call: ToolCall) -> None:
        self.calls.append(call)


class Near:
    """What a client sends its requests with: REST's operations on the platform itself."""

    def __init__(self, platform: Platform, key: str) -> None:
        self._served, self._identity = SimpleNamespace(platform=platform, base=""), platform.authenticate(key)

    def request(self, method: str, path: str, json: Any = None, params: Any = None) -> httpx2.Response:
        found = ROUTER._find(path.removeprefix(API))
        if found is None:
            return httpx2.Response(404, json={"detail": "There is none."})
        endpoint, parts = found[0][method], found[1]
        query = endpoint.query.model_validate(params) if endpoint.query else None
        body = endpoint.body.model_validate(json) if endpoint.body else None
        try:
            said = endpoint.run(self._served, Asked(self._identity, parts, query, body))
        except PlatformError as problem:
            refusal = problems.refused(problem)
            return httpx2.Response(refusal.status_code, content=refusal.body)
        return httpx2.Response(endpoint.status, content=said.model_dump_json())

    def close(self) -> None:
        pass


class Here(PlatformStore):
    """A workspace of one attempt, made from the snapshot of an empty one."""

    def __init__(self, folder: Path, settings: Settings, warehouse: Path, empty: Path) -> None:
        super().__init__(lambda: "", KEY, People(KEY, own_numbers()))
        self._opened = lambda: Platform(folder, settings, warehouse=warehouse)
        self.platform = self._opened()
        self.restore(empty)
        self.noted = Noted()

    def toolset(self, identity: str = "") -> Toolset:
        return Toolset(servers=(Server(url=f"http://127.0.0.1:9/{identity}", writes=True),))

    @asynccontextmanager
    async def box(self, toolset: Toolset) -> AsyncIterator[Any]:
        """What :func:`memassay.agents.toolbox.open_toolbox` would open."""
        who = str(toolset.servers[0].url).rpartition("/")[2]
        async with self.bridge("", self._people.key(who), self.noted, self._budget) as bridge:

            async def call(name: str, arguments: Mapping[str, Any]) -> ToolResult:
                result = await bridge.call(name, arguments)
                return ToolResult(text_of(result), bool(result.is_error))

            yield SimpleNamespace(tools=bridge.tools, call=call)

    @asynccontextmanager
    async def bridge(
        self, url: str, key: str, log: Log | None = None, budget: int | None = None
    ) -> AsyncIterator[Bridge]:
        """A session of somebody's, as :func:`memassay.platform.bridge.open_bridge` would open one."""
        who = self.platform.authenticate(key)
        guest = Guest(self.platform, who, anyio.CapacityLimiter(1))
        async with Client(make_server(lambda _: guest)) as client:
            info = await client.call_tool(INFO, {})
            assert info.structured_content is not None
            tools = (await client.list_tools()).tools
            session = info.structured_content["session_id"]
            yield Bridge(client, session, tools, who.email, log or Log(None), budget)

    def calls(self) -> Sequence[ToolCall]:
        return tuple(self.noted.calls)

    def snapshot(self, place: Path) -> None:
        self.platform.snapshot(place / "platform.sqlite")

    def restore(self, place: Path) -> None:
        self.platform.restore(place / "platform.sqlite")
        self._clients.clear()

    def restart(self) -> None:
        self.platform.close()
        self.platform = self._opened()
        self._clients.clear()

    def close(self) -> None:
        self.platform.close()

    def _client(self, email: str = "") -> PlatformClient:
        key = self._people.key(email) if email else KEY
        if email not in self._clients:
            self._clients[email] = PlatformClient("", key)
            self._clients[email]._http.close()
            self._clients[email]._http = Near(self.platform, key)  # type: ignore[assignment]
        return self._clients[email]


class Env:
    """What a drive needs of the runner; nothing is kept beyond the process."""

    attempt = 1

    def __init__(self, protocol: Protocol, store: Here, who: ScriptedLifecycle) -> None:
        self.cell, self.store, self._who = CellKey(task=protocol.id, arm="a"), store, who
        self.steps: list[Step] = []

    async def agent(self, name: str, *, system: str, prompt: str, toolset: Toolset, identity: str = "") -> Step:
        request = Request(cell=self.cell, system=system, prompt=prompt, toolset=toolset)
        step = await self._who.answer(request)
        assert step.status == "ok", step.detail
        return step.model_copy(update={"name": name, "identity": identity})

    async def keep(self, step: Step) -> None:
        self.steps.append(Step.model_validate_json(step.model_dump_json()))


class Embedded:
    """The embedded platform of the control ``perfect`` over a warehouse, for scripts to play on."""

    def __init__(self, folder: Path, holdings: Holdings) -> None:
        self._folder, self._holdings = folder, holdings
        self._settings = Settings.model_validate({**PERFECT.options, **holdings.settings, "durable": False})

    @cached_property
    def _warehouse(self) -> Path:
        assert self._holdings.warehouse is not None
        self._holdings.warehouse.write(self._folder / "warehouse.sqlite")
        return self._folder / "warehouse.sqlite"

    @cached_property
    def _empty(self) -> Path:
        """The snapshot of a workspace in which nothing was taught."""
        with Platform(self._folder / "empty", self._settings, warehouse=self._warehouse) as platform:
            platform.add_pool(KEY, AGENTS)
            platform.put_entities(self._holdings.entities)
            platform.snapshot(self._folder / "platform.sqlite")
        return self._folder

    def play(self, protocol: Protocol, script: str, choices: Collection[str]) -> Judgement:
        """The verdict on a script's attempt at a protocol."""
        who = ScriptedLifecycle(script=script)
        place = self._folder / f"{script}-{protocol.id}"
        store = Here(place, self._settings, self._warehouse, self._empty)
        try:
            env = Env(protocol, store, who)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(speaking, "open_toolbox", store.box)
                patch.setattr(asking, "open_bridge", store.bridge)
                patch.setattr(arguments, "schema_of", SCHEMA_OF)
                asyncio.run(drive(protocol, plan(protocol, choices), env))  # type: ignore[arg-type]
        finally:
            store.close()
        return judged(protocol, env, choices)  # type: ignore[arg-type]
