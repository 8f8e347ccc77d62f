"""A server in a thread of the test, and how a test speaks to it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
from platform_kit import FACT, ORDERS
from starlette.types import ASGIApp

from memassay.core.blocks import merged
from memassay.platform.app import make_app
from memassay.platform.serve import address_of, listen
from memassay.platform.settings import Settings
from memassay.platform.shapes import Identity
from memassay.platform.workspaces import Workspaces

CONTROL = "control-key-0123456789"
KEYS = {role: f"key-of-the-{role}-0123456789" for role in ("ada", "ben", "reviewer", "second", "admin")}
ROLES = {"ada": "agent", "ben": "agent", "reviewer": "reviewer", "second": "reviewer", "admin": "admin"}
SETTINGS = Settings(embedder="hash", supersede=0.6, similar=0.4, durable=False)
ACCEPT = "application/json, text/event-stream"


class Speaker:
    """Somebody who speaks to a workspace."""

    def __init__(self, url: str, key: str | None, base: str = "") -> None:
        self.url, self.base = url, base
        headers = {"Accept": ACCEPT} | ({} if key is None else {"Authorization": f"Bearer {key}"})
        self.http = httpx2.Client(base_url=url + base, headers=headers, trust_env=False, timeout=60, verify=False)
        self.session = ""

    def rpc(self, method: str, **params: Any) -> Any:
        reply = self.http.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        assert reply.status_code == 200, (reply.status_code, reply.text)
        return reply.json()

    def raw(self, tool: str, **arguments: Any) -> Any:
        """A tool's result as it comes."""
        return self.rpc("tools/call", name=tool, arguments=arguments)["result"]

    def tool(self, tool: str, **arguments: Any) -> Any:
        """What a tool says, in a session, with a purpose; a refusal fails the test."""
        if not self.session:
            self.session = self.raw("platform_info")["structuredContent"]["session_id"]
        purpose = {"purpose": "A test wants to know."} if tool.startswith(("search", "fetch", "trino", "data")) else {}
        result = self.raw(tool, session_id=self.session, **purpose, **arguments)
        assert not result["isError"], result
        assert merged("\n".join(block["text"] for block in result["content"])) == result["structuredContent"]
        return result["structuredContent"]

    def capture(self, content: str = FACT, *urns: str, type: str = "business_knowledge") -> str:
        made = self.tool("memory_capture", type=type, content=content, entity_urns=urns or [ORDERS])
        return str(made["id"])

    def get(self, path: str, **query: Any) -> Any:
        return self._done(self.http.get(f"/api/v1{path}", params=query))

    def put(self, path: str, **body: Any) -> Any:
        return self._done(self.http.put(f"/api/v1{path}", json=body))

    def post(self, path: str, **body: Any) -> Any:
        return self._done(self.http.post(f"/api/v1{path}", json=body))

    def _done(self, reply: httpx2.Response) -> Any:
        assert reply.status_code in (200, 201), (reply.status_code, reply.text)
        return reply.json()


class Live:
    """A running server with five people; ``ada`` and ``ben`` are agents."""

    def __init__(
        self,
        folder: Path,
        settings: Settings = SETTINGS,
        warehouse: Path | None = None,
        wrap: Callable[[ASGIApp], ASGIApp] = lambda app: app,
        control_key: str | None = CONTROL,
    ) -> None:
        self.spaces = Workspaces(folder, settings, warehouse)
        for name, role in ROLES.items():
            who = Identity(user_id=name, email=f"{name}@example.org", name=name, roles=(role,))
            self.spaces.main.add_identity(KEYS[name], who)
        listener = listen("127.0.0.1", 0)
        self.url = address_of(listener)
        app = wrap(make_app(self.spaces, control_key=control_key))
        self._server = uvicorn.Server(uvicorn.Config(app, log_config=None, ws="none", timeout_graceful_shutdown=1))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listener]})
        self._thread.start()
        self._speakers: list[Speaker] = []

    def speaker(self, name: str | None, base: str = "") -> Speaker:
        """``name`` of ``KEYS``, another key, or None for nobody."""
        made = Speaker(self.url, None if name is None else KEYS.get(name, name), base)
        self._speakers.append(made)
        return made

    def control(self, method: str, where: str, **body: Any) -> httpx2.Response:
        return httpx2.request(
            method,
            f"{self.url}/control{where}",
            headers={"Authorization": f"Bearer {CONTROL}"},
            trust_env=False,
            **({"json": body} if method != "GET" else {}),
        )

    def close(self) -> None:
        for speaker in self._speakers:
            speaker.http.close()
        self._server.should_exit = True
        self._thread.join()
        self.spaces.close()
