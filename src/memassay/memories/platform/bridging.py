"""The bridges of a run in one process: every session of an agent has an address of its own.

An agent without a model needs milliseconds, a process of its own for every session half a second; and Claude Code
reaches a server by its address as well. What a bridge does is :mod:`memassay.platform.bridge`'s.

Whoever started the process opens sessions below ``/sessions`` with the control key. A session's address holds a long
random word, which is all that an agent knows: it sees neither the platform's address nor a key.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server import Server, ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send

from memassay.core.errors import EnvironmentProblem
from memassay.platform.bridge import Bridge, open_bridge
from memassay.platform.serve import address_of, listen
from memassay.version import __version__

CONTROL = "MEMASSAY_BRIDGES_CONTROL_KEY"
_BRIDGE = "memassay.bridge"
_WORD_BYTES = 24


class Bridges:
    """Open sessions by the word in their address.

    Args:
        control: the key of whoever may open and close them.
    """

    def __init__(self, control: str) -> None:
        self._control = control
        self._held: dict[str, tuple[Bridge, anyio.Event]] = {}
        self._mcp = StreamableHTTPSessionManager(_server(), json_response=True, stateless=True)

    def app(self) -> Starlette:
        """What answers requests."""

        @contextlib.asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            async with anyio.create_task_group() as self._tasks, self._mcp.run():
                yield
                self._tasks.cancel_scope.cancel()

        routes = [
            Route("/sessions", self._open, methods=["POST"]),
            Route("/sessions/{word}", self._close, methods=["DELETE"]),
            Mount("/s", app=self._speak),
        ]
        return Starlette(routes=routes, lifespan=lifespan)

    async def _open(self, request: Request) -> Response:
        if not self._known(request):
            return Response(status_code=401)
        asked, word = await request.json(), secrets.token_urlsafe(_WORD_BYTES)
        try:
            bridge = await self._tasks.start(self._hold, word, asked)
        except EnvironmentProblem as problem:
            return JSONResponse({"problem": str(problem)}, status_code=502)
        return JSONResponse({"word": word, "tools": [tool.name for tool in bridge.tools]}, status_code=201)

    async def _close(self, request: Request) -> Response:
        if not self._known(request):
            return Response(status_code=401)
        held = self._held.get(request.path_params["word"])
        if held is not None:
            held[1].set()
        return Response(status_code=204 if held is not None else 404)

    async def _hold(self, word: str, asked: dict[str, Any], *, task_status: anyio.abc.TaskStatus[Bridge]) -> None:
        """Keep a session open until it is closed. A platform that fails later is seen in the results of calls."""
        opened = False
        try:
            given = (asked["url"], asked["key"], Path(asked["log"]), asked["identity"], asked["budget"])
            async with open_bridge(*given) as bridge:
                over = anyio.Event()
                self._held[word] = (bridge, over)
                opened = True
                task_status.started(bridge)
                await over.wait()
        except Exception:
            if not opened:
                raise
        finally:
            self._held.pop(word, None)

    async def _speak(self, scope: Scope, receive: Receive, send: Send) -> None:
        held = self._held.get(Request(scope).url.path.rpartition("/")[2])
        if held is None:
            await Response(status_code=404)(scope, receive, send)
            return
        await self._mcp.handle_request({**scope, _BRIDGE: held[0]}, receive, send)

    def _known(self, request: Request) -> bool:
        return secrets.compare_digest(request.headers.get("authorization", ""), f"Bearer {self._control}")


def _server() -> Server[Any]:
    def bridge_of(context: ServerRequestContext[Any]) -> Bridge:
        assert context.request is not None
        bridge: Bridge = context.request.scope[_BRIDGE]
        return bridge

    async def list_tools(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=bridge_of(context).tools)

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        return await bridge_of(context).call(params.name, params.arguments or {})

    return Server("memory", version=__version__, on_list_tools=list_tools, on_call_tool=call_tool)


def main() -> None:
    """Serve on a free port of this machine alone until told to stop; the address is the first line printed."""
    listener = listen("127.0.0.1", 0)
    print(json.dumps({"url": address_of(listener)}), flush=True)
    app = Bridges(os.environ.pop(CONTROL)).app()
    config = uvicorn.Config(app, log_config=None, access_log=False, server_header=False, ws="none")
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
