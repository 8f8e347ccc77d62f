"""A tool server over the Model Context Protocol, started as a child process or reached by its address."""

from __future__ import annotations

import os
import tempfile
import urllib.parse
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import IO, Any

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CONNECTION_CLOSED, CallToolResult, TextContent

from memassay.agents.toolbox.box import Call, ToolResult, ToolSpec
from memassay.agents.toolbox.problems import ToolsMissing
from memassay.core.types import Server

# Beside what the protocol's own client hands on (PATH, HOME, USER, LOGNAME, SHELL, TERM); nothing else of ours.
_HANDED_ON = ("LANG", "LC_ALL", "LC_CTYPE", "TMPDIR")

# The limit of an answer is the agent's to keep; this one only has to be longer.
_CALL_SECONDS = 24 * 3600.0
_CONNECT_SECONDS = 30.0

# The shell leads a process group of its own (the client makes it so) and ends the group, itself included, once the
# server is gone, whether it was told to stop or died: nothing that a server started outlives it.
_WITH_ITS_GROUP = ("/bin/sh", "-c", '"$@"; kill -KILL 0', "sh")

_LAST_WORDS = 300


async def tools_of(server: Server, stack: AsyncExitStack, start_seconds: float) -> list[tuple[ToolSpec, Call]]:
    """Start or reach a server and list the tools that the arm is to have; ``stack`` ends it.

    Raises:
        ToolsMissing: it cannot be started or reached, does not answer in time, or lacks a tool.
    """
    if not server.command and server.url is None:
        raise ToolsMissing(f"The tool server {server.name!r} has neither a command nor an address.")
    errors: IO[str] = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
    stack.callback(errors.close)
    try:
        # Servers of today know the handshake; the newer way of asking first makes some of them leave.
        client = Client(_transport(server, errors, stack), mode="legacy", read_timeout_seconds=start_seconds)
        await stack.enter_async_context(client)
        listed = await _listed(client)
    except Exception as error:
        doing = "be started" if server.command else "be reached"
        reason = _last_words(errors) or _reason(error)
        raise ToolsMissing(f"The tool server {server.name!r} could not {doing}: {reason}") from error
    missing = [name for name in server.tools if name not in listed]
    if missing:
        raise ToolsMissing(
            f"The tool server {server.name!r} has no tool {missing[0]!r}; it has {', '.join(sorted(listed)) or 'none'}."
        )
    return [(listed[name], _caller(client, server, name)) for name in server.tools or sorted(listed)]


def _transport(server: Server, errors: IO[str], stack: AsyncExitStack) -> Any:
    if server.url is not None:
        return (
            streamable_http_client(server.url, http_client=_near(server.url, stack))
            if _is_here(server.url)
            else server.url
        )
    return stdio_client(
        StdioServerParameters(
            command=_WITH_ITS_GROUP[0],
            args=[*_WITH_ITS_GROUP[1:], *server.command],
            env={name: os.environ[name] for name in _HANDED_ON if name in os.environ} | dict(server.env),
            cwd=server.cwd,
            encoding_error_handler="replace",
        ),
        errlog=errors,  # type: ignore[arg-type]  # any text file with a descriptor
    )


def _is_here(url: str) -> bool:
    return urllib.parse.urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")


def _near(url: str, stack: AsyncExitStack) -> httpx2.AsyncClient:
    """A client for a server on this machine, which no proxy of the environment can reach; ``stack`` closes it."""
    client = httpx2.AsyncClient(
        trust_env=False,
        timeout=httpx2.Timeout(_CONNECT_SECONDS, read=_CALL_SECONDS),
        verify=url.startswith("https:"),  # reading the machine's certificates takes longer than most sessions
    )
    stack.push_async_callback(client.aclose)
    return client


async def _listed(client: Client) -> dict[str, ToolSpec]:
    tools: dict[str, ToolSpec] = {}
    cursor: str | None = None
    while True:
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            tools[tool.name] = ToolSpec(tool.name, tool.description or "", tool.input_schema)
        cursor = page.next_cursor
        if cursor is None:
            return tools


def _caller(client: Client, server: Server, name: str) -> Call:
    async def call(arguments: Mapping[str, Any]) -> ToolResult:
        try:
            result = await client.call_tool(name, dict(arguments), read_timeout_seconds=_CALL_SECONDS)
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                raise ToolsMissing(f"The tool server {server.name!r} ended in a call of {name!r}.") from error
            return ToolResult(error.message, is_error=True)
        except (RuntimeError, ValueError) as error:  # a result that does not keep to the protocol
            return ToolResult(f"The result of {name!r} cannot be read: {_reason(error)}", is_error=True)
        return ToolResult(_text(result), bool(result.is_error))

    return call


def _text(result: CallToolResult) -> str:
    """The texts of a result, one after another; anything else is named, since a model could not read it here."""
    return "\n".join(block.text if isinstance(block, TextContent) else f"[{block.type}]" for block in result.content)


def _last_words(errors: IO[str]) -> str:
    errors.seek(0)
    lines = [line.strip() for line in errors.read().splitlines() if line.strip()]
    return lines[-1][:_LAST_WORDS] if lines else ""


def _reason(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = " ".join(str(error).split()) or type(error).__name__
    return text if text.endswith(".") else f"{text}."
