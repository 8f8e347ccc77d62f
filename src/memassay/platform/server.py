"""The tools over the Model Context Protocol.

A refusal is a result with ``isError``: one line that names the code, and ``{"error": {code, category, message, hint}}``
as structured content, so that a model reads it and can try again; only an unknown tool is an error of the protocol.
Every result is given twice, as text and as structured content, since some clients show a model only one of them. What
comes along with a result (see ``Enrichment``) is a text of its own for each block, and further fields of the structured
content. Calls run in threads.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from memassay.core.errors import UnknownName, UsageError
from memassay.platform import tools
from memassay.platform.errors import ConnectionDropped, PlatformError
from memassay.platform.service import Platform
from memassay.platform.shapes import Enrichment, Identity
from memassay.version import __version__

INSTRUCTIONS = (
    "A memory that lasts between sessions. Call platform_info first and pass its session_id with every other call; "
    "search before you answer, and keep what you are taught with memory_capture."
)

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Guest:
    """Who is being served, for the time of a request.

    Attributes:
        threads: where calls run.
        dropped: set where the connection is to be closed without a reply (a fault on purpose).
    """

    platform: Platform
    identity: Identity
    threads: anyio.CapacityLimiter
    dropped: bool = False


def make_server(guest_of: Callable[[ServerRequestContext[Any]], Guest]) -> Server[Any]:
    """The protocol's view of the tools.

    Args:
        guest_of: finds out whom a request is from.
    """

    async def list_tools(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        guest = guest_of(context)
        shown = tools.offered(guest.platform, guest.identity)
        return types.ListToolsResult(tools=[_described(name, *about) for name, about in shown.items()])

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        guest = guest_of(context)
        if params.name not in tools.TOOLS:
            raise MCPError(types.INVALID_PARAMS, str(UnknownName("tool", params.name, tools.TOOLS)))
        call = partial(tools.call, guest.platform, guest.identity, params.name, params.arguments or {})
        try:
            done = await anyio.to_thread.run_sync(call, limiter=guest.threads)
        except PlatformError as problem:
            return _refused(problem)
        except ConnectionDropped:
            guest.dropped = True
            raise
        except Exception:
            _log.exception("The tool %r failed.", params.name)
            bug = PlatformError("tool_error", "This is a bug of the platform, not of the call; its log says more.")
            return _refused(bug)
        return _result(done)

    return Server(
        "memassay-platform",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def serve_stdio(platform: Platform, identity: Identity) -> None:
    """Serve one client on standard input and output until it closes them, or until SIGTERM or Ctrl-C.

    Raises:
        UsageError: there is no standard input.
    """
    if sys.stdin is None:
        raise UsageError("Standard input is closed; the client that starts this command talks to it there.")

    async def serve() -> None:
        guest = Guest(platform, identity, anyio.CapacityLimiter(4))
        server = make_server(lambda _: guest)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_leave_when_told, platform.close)
            async with stdio_server() as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())
            tasks.cancel_scope.cancel()

    try:
        anyio.run(serve)
    except* BrokenPipeError:
        pass  # the client has left in the middle of an answer


async def _leave_when_told(close: Callable[[], None]) -> None:
    """End the process on a signal. The thread that waits for a line of input cannot be stopped in another way."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            await anyio.to_thread.run_sync(close)
            os._exit(0)


def _described(name: str, tool: tools.Tool, schema: dict[str, Any]) -> types.Tool:
    hints = types.ToolAnnotations(read_only_hint=tool.reads, destructive_hint=not tool.reads, open_world_hint=False)
    return types.Tool(name=name, description=tool.says, input_schema=schema, annotations=hints)


def _result(done: BaseModel) -> types.CallToolResult:
    value = done.model_dump(mode="json", exclude={"enrichment"})
    enrichment: Enrichment | None = getattr(done, "enrichment", None)
    blocks = [] if enrichment is None else enrichment.blocks()
    merged = {name: part for block in (value, *blocks) for name, part in block.items()}
    texts = [types.TextContent(text=_json(block)) for block in (value, *blocks)]
    return types.CallToolResult(content=[*texts], structured_content=merged)


def _refused(problem: PlatformError) -> types.CallToolResult:
    text = f"{problem.message} (code: {problem.code})" + (f" Hint: {problem.hint}" if problem.hint else "")
    return types.CallToolResult(
        content=[types.TextContent(text=text)], structured_content=tools.refusal(problem), is_error=True
    )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
