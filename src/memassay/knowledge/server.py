"""The notes over the Model Context Protocol: on standard input and output, or over HTTP at ``/mcp``.

What the tools are and do is :mod:`memassay.knowledge.tools`; here they meet the protocol. A tool's complaint is a
result with ``isError``, so that a model reads it and can try again; only an unknown tool is a protocol error. Calls run
in threads. Standard output belongs to the protocol, so whatever there is to say goes to standard error.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import anyio
import anyio.to_thread
import mcp_types as types
import uvicorn
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from memassay.core import listening
from memassay.core.errors import MemassayError, UnknownName, UsageError
from memassay.core.listening import STOPS, is_loopback, quiet_stop
from memassay.knowledge.tools import Offer
from memassay.version import __version__

PATH = "/mcp"
_THREADS = 4
_GRACE_SECONDS = 2
_HERE = ("127.0.0.1", "localhost", "[::1]")
_RISK = "the server asks nobody for a password; keep to 127.0.0.1"

_log = logging.getLogger(__name__)


class Offers(Protocol):
    """What is served; :class:`~memassay.knowledge.tools.Desk` offers tools over notes."""

    @property
    def tools(self) -> Mapping[str, Offer]:
        """By the name that clients use."""
        ...

    @property
    def write(self) -> bool:
        """Whether a tool may change anything."""
        ...

    @property
    def instructions(self) -> str:
        """What a model should know before it calls anything."""
        ...

    def call(self, name: str, arguments: Mapping[str, Any]) -> Sequence[str]:
        """The texts that a tool answers; called from several threads. Raises ``MemassayError`` to refuse."""
        ...

    def close(self) -> None: ...


def make_server(desk: Offers) -> Server[Any]:
    """The protocol's view of the tools; it does not open, refresh or close anything by itself."""
    threads: list[anyio.CapacityLimiter] = []  # made in the event loop that it will belong to

    async def list_tools(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(name, tool, desk.write) for name, tool in desk.tools.items()])

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if not threads:
            threads.append(anyio.CapacityLimiter(_THREADS))
        if params.name not in desk.tools:
            raise MCPError(types.INVALID_PARAMS, str(UnknownName("tool", params.name, desk.tools)))
        try:
            call = partial(desk.call, params.name, params.arguments or {})
            texts = await anyio.to_thread.run_sync(call, limiter=threads[0])
        except MemassayError as error:
            return _refused(str(error))
        except OSError as error:
            return _refused(f"A file cannot be used: {error.strerror or error}.")
        except Exception:
            _log.exception("The tool %r failed.", params.name)
            return _refused("This is a bug of memassay, not of the call; the server's standard error says more.")
        return types.CallToolResult(content=[_said(text) for text in texts])

    return Server(
        "memassay",
        version=__version__,
        instructions=desk.instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def serve_stdio(desk: Offers) -> None:
    """Serve one client on standard input and output until it closes them, or until SIGTERM or Ctrl-C.

    Raises:
        UsageError: there is no standard input.
    """
    if sys.stdin is None:
        raise UsageError("Standard input is closed; the client that starts this command talks to it there.")
    server = make_server(desk)

    async def serve() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_leave_when_told, desk.close)
            async with stdio_server() as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())
            tasks.cancel_scope.cancel()

    try:
        anyio.run(serve)
    except* BrokenPipeError:
        pass  # the client has left in the middle of an answer


def serve_http(desk: Offers, listener: socket.socket) -> None:
    """Serve any number of clients at ``/mcp`` until SIGTERM or Ctrl-C.

    Only pages and programs of this machine get an answer: a request whose ``Origin`` is another site is refused, and on
    a loopback address also one whose ``Host`` is not this machine (DNS rebinding).
    """
    here = is_loopback(listener.getsockname()[0])
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=here,
        allowed_hosts=[f"{name}:*" for name in _HERE],
        allowed_origins=[f"http://{name}:*" for name in _HERE],
    )
    # Nothing is ever sent unasked, so there is no session to keep and no stream to hold open.
    app = make_server(desk).streamable_http_app(
        streamable_http_path=PATH, json_response=True, stateless_http=True, transport_security=security
    )
    config = uvicorn.Config(
        app if here else _own_origin(app),
        log_config=None,
        access_log=False,
        ws="none",
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    with quiet_stop():
        uvicorn.Server(config).run(sockets=[listener])


def listen(host: str, port: int, allow_remote: bool = False) -> socket.socket:
    """A socket to serve a store on; see :func:`memassay.core.listening.listen`."""
    return listening.listen(host, port, _RISK, allow_remote=allow_remote)


def _described(name: str, tool: Offer, write: bool) -> types.Tool:
    may_edit = write and (tool.takes.edits or tool.name == "query")
    return types.Tool(
        name=name,
        description=tool.says,
        input_schema=tool.takes.schema_of(),
        annotations=types.ToolAnnotations(
            read_only_hint=not may_edit, destructive_hint=may_edit, open_world_hint=False
        ),
    )


def _said(text: str) -> types.TextContent:
    # JSON can spell half of a surrogate pair, UTF-8 cannot.
    return types.TextContent(text=text.encode("utf-8", "replace").decode("utf-8"))


def _refused(sentence: str) -> types.CallToolResult:
    return types.CallToolResult(content=[_said(sentence)], is_error=True)


async def _leave_when_told(close: Callable[[], None]) -> None:
    """End the process on a signal. The thread that waits for a line of input cannot be stopped in another way."""
    with anyio.open_signal_receiver(*STOPS) as signals:
        async for _ in signals:
            await anyio.to_thread.run_sync(close)
            os._exit(0)


def _own_origin(app: ASGIApp) -> ASGIApp:
    """Refuse what a web page of another site sends: a browser names the site in ``Origin``, an agent sends none."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        origin = Headers(scope=scope).get("origin") if scope["type"] == "http" else None
        if origin is not None:
            await PlainTextResponse("Requests of web pages are not served.", status_code=403)(scope, receive, send)
        else:
            await app(scope, receive, send)

    return guarded
