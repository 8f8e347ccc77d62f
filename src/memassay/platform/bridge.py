"""A tool server of ours between an agent and a platform, on standard input and output.

It opens a session by itself, hides ``platform_info``, takes ``session_id`` and ``purpose`` out of every schema and puts
them into every call, so that an agent sees a memory and not a protocol. Where a session has ended it opens another and
makes the call again. Results pass through as they are. With a budget it makes so many calls and refuses the rest.
Every call is a line of the log, a :class:`~memassay.core.taught.ToolCall`, written before the agent has its result:
what really happened is read there and not in a transcript.
"""

from __future__ import annotations

import json
import os
import threading
import time
import urllib.parse
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types as types
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

from memassay.core.errors import EnvironmentProblem, UsageError
from memassay.core.taught import BUDGET_EXHAUSTED, ToolCall
from memassay.version import __version__

INFO = "platform_info"
INJECTED = ("session_id", "purpose")
PURPOSE = "To answer the question that the user asked, or to keep what the user taught."

_CONNECT_SECONDS = 30.0
_CALL_SECONDS = 600.0
_HERE = ("127.0.0.1", "localhost", "::1")
_ENDED = ("session_expired", "session_required")
_LOST = (httpx2.HTTPError, RuntimeError, ValueError, anyio.ClosedResourceError)


class Log:
    """Calls as lines of a file, each written whole; None keeps nothing."""

    def __init__(self, path: Path | None) -> None:
        self._path, self._lock = path, threading.Lock()

    def add(self, call: ToolCall) -> None:
        """Append a call; it is in the file when this returns.

        Raises:
            EnvironmentProblem: the file cannot be written.
        """
        if self._path is None:
            return
        line = call.model_dump_json().encode("utf-8", "replace") + b"\n"
        try:
            with self._lock:
                file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
                try:
                    os.write(file, line)
                finally:
                    os.close(file)
        except OSError as error:
            raise EnvironmentProblem(f"{self._path} cannot be written: {error.strerror}.") from None


class Bridge:
    """An open session of a platform.

    Args:
        client: speaks to the platform.
        session: the handle that ``platform_info`` gave.
        tools: all tools of the platform.
        identity: as the log is to name it.
        log: where calls are noted.
        budget: the most calls that are made, or None for any number.
        version: of the platform, as it says.

    Attributes:
        client, version: as given.
        session: the handle that is used now.
        tools: as an agent is to see them.
    """

    def __init__(
        self,
        client: Client,
        session: str,
        tools: list[types.Tool],
        identity: str,
        log: Log,
        budget: int | None = None,
        version: str = "",
    ) -> None:
        self.client, self.session, self.version = client, session, version
        self._identity, self._log = identity, log
        self._budget, self._made = budget, 0
        self._renewing = anyio.Lock()
        self._takes = {tool.name: set(tool.input_schema.get("properties", {})) for tool in tools}
        self.tools = [_bare(tool) for tool in tools if tool.name != INFO]

    async def call(self, name: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
        """Pass a call on and note it. A platform that is gone, or a spent budget, is a result with ``isError``."""
        started, session, reached = time.perf_counter(), self.session, False
        if self._made == self._budget:
            spent = f"The budget of {self._budget} tool calls is spent; this call was not made."
            result = _complaint(spent, BUDGET_EXHAUSTED, "Call no more tools. Give your final answer now.")
        else:
            self._made += 1
            if name not in self._takes or name == INFO:
                result = _complaint(f"There is no tool {name!r}.", "not_found")
            else:
                result, reached = await self._sent(session, name, arguments)
                if code_of(result) in _ENDED and (renewed := await self._renewed(session)) is not None:
                    session = renewed
                    result, reached = await self._sent(session, name, arguments)
        call = ToolCall(
            session=session,
            identity=self._identity,
            tool=name,
            arguments=dict(arguments),
            result=text_of(result),
            error=bool(result.is_error),
            code=code_of(result),
            sent=reached,
            wall_ms=round((time.perf_counter() - started) * 1000, 3),
        )
        await anyio.to_thread.run_sync(self._log.add, call)
        return result

    async def _sent(self, session: str, name: str, arguments: Mapping[str, Any]) -> tuple[types.CallToolResult, bool]:
        """The result of a call, and whether it reached the platform."""
        said = {"session_id": session, "purpose": PURPOSE}
        sent = {**arguments, **{key: value for key, value in said.items() if key in self._takes[name]}}
        try:
            return await self.client.call_tool(name, sent, read_timeout_seconds=_CALL_SECONDS), True
        except MCPError as error:
            return _complaint(error.message, "protocol"), True
        except _LOST as error:
            lost = _complaint(f"The platform cannot be reached: {_reason(error)}", "transport")
            return lost, not isinstance(error, httpx2.ConnectError)

    async def _renewed(self, ended: str) -> str | None:
        """The handle after one that has ended, or None where the platform gives none."""
        async with self._renewing:
            if self.session == ended:  # else another call has renewed it in the meantime
                try:
                    self.session = (await _info(self.client))["session_id"]
                except (EnvironmentProblem, MCPError, *_LOST):
                    return None
            return self.session


@asynccontextmanager
async def open_bridge(
    url: str, key: str, log: Path | None = None, identity: str = "", budget: int | None = None
) -> AsyncIterator[Bridge]:
    """Open a session of the platform at ``url``.

    Args:
        url: where the tools are served, such as ``http://127.0.0.1:8600/w/NAME``.
        key: of the identity that calls.
        log: a file to append to, or None.
        identity: how the log names it; "" is what the platform says.
        budget: see :class:`Bridge`.

    Raises:
        EnvironmentProblem: the platform cannot be reached, does not know the key, or is none.
    """
    failure: Exception | None = None
    opened = refused = False

    async def noted(response: httpx2.Response) -> None:
        nonlocal refused  # the client's own error does not tell
        refused = response.status_code in (401, 403)

    try:
        async with AsyncExitStack() as stack:
            near = urllib.parse.urlsplit(url).hostname in _HERE
            http = httpx2.AsyncClient(
                headers={"Authorization": f"Bearer {key}"},
                event_hooks={"response": [noted]},
                trust_env=not near,  # a server of this machine is not asked through a proxy
                verify=url.startswith("https:"),  # reading the machine's certificates takes longer than a session
                timeout=httpx2.Timeout(_CONNECT_SECONDS, read=_CALL_SECONDS),
            )
            await stack.enter_async_context(http)
            # Servers of today know the handshake; the newer way of asking first makes some of them leave.
            client = Client(streamable_http_client(url, http_client=http), mode="legacy")
            await stack.enter_async_context(client)
            tools = await _tools(client)
            info = await _info(client)
            opened = True
            try:
                who = identity or str(info.get("user", ""))
                version = str(info.get("version") or "")
                yield Bridge(client, info["session_id"], tools, who, Log(log), budget, version)
            except Exception as error:
                failure = error  # the client's task group would wrap it into a group
    except EnvironmentProblem:
        raise
    except Exception as error:
        if not opened:
            why = "it does not know the key." if refused else _reason(error)
            raise EnvironmentProblem(f"The platform at {url} cannot be used: {why}") from None
    if failure is not None:
        raise failure


def run_bridge(url: str, key_env: str, log: Path | None = None, identity: str = "", budget: int | None = None) -> None:
    """Serve the bridge on standard input and output until the client closes them.

    Args:
        url: see :func:`open_bridge`.
        key_env: name of the environment variable that holds the key.
        log: see :func:`open_bridge`.
        identity: see :func:`open_bridge`.
        budget: see :class:`Bridge`.

    Raises:
        UsageError: the variable is not set.
        EnvironmentProblem: see :func:`open_bridge`.
    """
    key = os.environ.get(key_env, "")
    if not key:
        raise UsageError(f"The variable {key_env} is not set; it must hold the key.")

    async def serve() -> None:
        async with open_bridge(url, key, log, identity, budget) as bridge, stdio_server() as (incoming, outgoing):
            server = _server(bridge)
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(serve)


def text_of(result: types.CallToolResult) -> str:
    """Everything that a result says, as text."""
    return "\n".join(
        block.text if isinstance(block, types.TextContent) else f"[{block.type}]" for block in result.content
    )


def code_of(result: types.CallToolResult) -> str:
    """The code of a refusal, or ""; a platform may give it as structured content or as text."""
    if not result.is_error:
        return ""
    said = result.structured_content
    if not isinstance(said, dict):
        try:
            said = json.loads(text_of(result))
        except ValueError:
            return ""
    error = said.get("error") if isinstance(said, dict) else None
    return str(error.get("code", "")) if isinstance(error, dict) else ""


def _server(bridge: Bridge) -> Server[Any]:
    async def list_tools(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=bridge.tools)

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        return await bridge.call(params.name, params.arguments or {})

    return Server("memory", version=__version__, on_list_tools=list_tools, on_call_tool=call_tool)


async def _tools(client: Client) -> list[types.Tool]:
    tools: list[types.Tool] = []
    cursor: str | None = None
    while True:
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            return tools


async def _info(client: Client) -> dict[str, Any]:
    """What ``platform_info`` tells; the handle is in the structured content, or in the text where there is none."""
    result = await client.call_tool(INFO, {})
    said = result.structured_content
    if not isinstance(said, dict) or "session_id" not in said:
        try:
            said = json.loads(text_of(result))
        except ValueError:
            said = None
    if result.is_error or not isinstance(said, dict) or not isinstance(said.get("session_id"), str):
        raise EnvironmentProblem(f"The platform opens no session; its {INFO} says: {text_of(result)[:200]!r}.")
    return said


def _bare(tool: types.Tool) -> types.Tool:
    """A tool without the arguments that the bridge gives."""
    schema = dict(tool.input_schema)
    schema["properties"] = {name: about for name, about in schema.get("properties", {}).items() if name not in INJECTED}
    if required := [name for name in schema.pop("required", ()) if name not in INJECTED]:
        schema["required"] = required
    return tool.model_copy(update={"input_schema": schema})


def _complaint(message: str, code: str, hint: str = "") -> types.CallToolResult:
    said = {"error": {"code": code, "category": "bridge", "message": message, "hint": hint}}
    text = f"{message} (code: {code})" + (f" Hint: {hint}" if hint else "")
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=said, is_error=True)


def _reason(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = " ".join(str(error).split()) or type(error).__name__
    return text if text.endswith(".") else f"{text}."
