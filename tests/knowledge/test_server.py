"""The server as clients see it: in this process, over standard input and output, and over HTTP on this machine."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

import anyio
import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import CallToolResult, TextContent

from kit import child_environment
from memassay.core.errors import EnvironmentProblem, UsageError
from memassay.knowledge import server
from memassay.knowledge.store import KnowledgeStore
from memassay.knowledge.tools import Desk

Mode = Literal["auto", "legacy"]
MODES: tuple[Mode, ...] = ("auto", "legacy")

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    root = tmp_path / "notes"
    root.mkdir()
    (root / "index.md").write_text("# Notes\n\n[Tea](tea.md)\n")
    (root / "tea.md").write_text("# Tea\n\nGreen tea is brewed at 75 °C, never with [boiling](water.md) water.\n")
    return root


def call_of(number: int, tool: str, arguments: Any) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": number,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }


def texts(result: CallToolResult) -> list[str]:
    assert all(isinstance(block, TextContent) for block in result.content)
    return [block.text for block in result.content if isinstance(block, TextContent)]


EVERY: list[tuple[str, dict[str, Any]]] = [
    ("find", {"lexical": "brewed", "project": ["key"]}),
    ("retrieve", {"keys": ["tea"], "expand": {"includedBy": 1}}),
    ("search", {"text": "how hot is green tea"}),
    ("tree", {}),
    ("squash", {"key": "index"}),
    ("stats", {}),
    ("query", {"operation": "count", "document": ""}),
    ("create", {"key": "coffee", "content": "# Coffee\n"}),
    ("update", {"key": "coffee", "content": "# Espresso\n"}),
    ("rename", {"old_key": "coffee", "new_key": "drinks/coffee"}),
    ("delete", {"key": "drinks/coffee"}),
]


async def use_every_tool(client: Client, prefix: str = "") -> None:
    listed = (await client.list_tools()).tools
    assert [tool.name for tool in listed] == [prefix + name for name, _ in EVERY[:7]] + [
        prefix + name for name in ("create", "update", "delete", "rename")
    ]
    for name, arguments in EVERY:
        result = await client.call_tool(prefix + name, arguments)
        assert not result.is_error, (name, result)
        [text] = texts(result)
        if name == "squash":
            assert text == "# Notes\n\n## Tea\n\nGreen tea is brewed at 75 °C, never with [boiling](water.md) water.\n"
        else:
            assert text == json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":")), name
    refused = await client.call_tool(prefix + "find", {"limt": 1})
    assert refused.is_error
    assert texts(refused) == [f"{prefix}find has no parameter 'limt'. Did you mean 'limit'?"]
    with pytest.raises(MCPError, match="Unknown tool 'fnid'") as caught:
        await client.call_tool("fnid", {})
    assert caught.value.code == -32602


# -- in this process -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_every_tool(notes: Path, mode: Mode) -> None:
    async def use() -> None:
        with KnowledgeStore.open(notes, writable=True) as store:
            desk = Desk(store, write=True, prefix="iwe_")
            async with Client(server.make_server(desk), mode=mode) as client:
                await use_every_tool(client, "iwe_")

    anyio.run(use)
    assert sorted(path.name for path in notes.rglob("*.md")) == ["index.md", "tea.md"]


def test_what_a_client_is_told(notes: Path) -> None:
    async def use() -> None:
        with KnowledgeStore.open(notes) as store:
            async with Client(server.make_server(Desk(store)), mode="legacy") as client:
                assert client.instructions is not None and "not edited" in client.instructions
                for tool in (await client.list_tools()).tools:
                    assert tool.annotations is not None and tool.annotations.read_only_hint
                first, second = texts(await client.call_tool("retrieve", {"keys": ["tea", "index"], "max_tokens": 9}))
                assert [page["key"] for page in json.loads(first)] == ["tea"]
                assert json.loads(second)["truncated"] is True

    anyio.run(use)
    assert sorted(path.name for path in notes.iterdir()) == ["index.md", "tea.md"]


def test_two_clients_at_once(notes: Path) -> None:
    async def use() -> None:
        with KnowledgeStore.open(notes) as store:
            served = server.make_server(Desk(store))
            async with Client(served) as one, Client(served, mode="legacy") as other:
                found: list[list[str]] = []

                async def ask(client: Client, words: str) -> None:
                    found.append(texts(await client.call_tool("find", {"lexical": words, "project": ["key"]})))

                async with anyio.create_task_group() as tasks:
                    for _ in range(10):
                        tasks.start_soon(ask, one, "brewed")
                        tasks.start_soon(ask, other, "nothing")
                assert sorted(found) == [["[]"]] * 10 + [['[{"key":"tea"}]']] * 10

    anyio.run(use)


def test_a_bug_is_said_without_a_traceback(
    notes: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def use() -> None:
        with KnowledgeStore.open(notes) as store:
            desk = Desk(store)
            monkeypatch.setattr(store, "stats", lambda *args, **more: 1 / 0)
            async with Client(server.make_server(desk)) as client:
                result = await client.call_tool("stats", {})
                assert result.is_error and texts(result)[0].startswith("This is a bug of memassay")
                assert not (await client.call_tool("tree", {})).is_error

    anyio.run(use)
    assert "ZeroDivisionError" in caplog.text


def test_a_folder_that_vanished_is_said(notes: Path, tmp_path: Path) -> None:
    async def use() -> None:
        with KnowledgeStore.open(notes) as store:
            async with Client(server.make_server(Desk(store))) as client:
                notes.rename(tmp_path / "elsewhere")
                result = await client.call_tool("tree", {})
                assert result.is_error and "cannot be read" in texts(result)[0]

    anyio.run(use)


# -- as a process --------------------------------------------------------------------------------------------------


def command(notes: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "memassay", "memory", "serve", "--store", str(notes), *more]


@contextlib.contextmanager
def running(words: list[str], home: Path) -> Iterator[subprocess.Popen[bytes]]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(words, env=child_environment(home), cwd=home, **pipes)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


def send(process: subprocess.Popen[bytes], *messages: Any) -> None:
    assert process.stdin is not None
    for message in messages:
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        process.stdin.write(line + b"\n")
    process.stdin.flush()


def receive(process: subprocess.Popen[bytes]) -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def test_a_client_over_standard_input_and_output(notes: Path, own_home: Path) -> None:
    async def use() -> None:
        words = command(notes, "--write")
        start = StdioServerParameters(command=words[0], args=words[1:], env=child_environment(own_home))
        async with Client(start, mode="legacy") as client:
            await use_every_tool(client)

    anyio.run(use)


def test_a_hostile_client_over_standard_input_gets_answers(notes: Path, own_home: Path) -> None:
    with running(command(notes), own_home) as process:
        send(process, INITIALIZE, READY)
        assert receive(process)["result"]["serverInfo"]["name"] == "memassay"
        send(process, b"garbage", b"\xff\xfe", b"[" * 100_000, b'{"jsonrpc":"2.0","id":5,"method":"tools/call"}')
        assert receive(process)["error"]["code"] == -32602
        send(process, call_of(6, "find", "not a mapping"))
        assert receive(process)["error"]["code"] == -32602
        send(process, call_of(7, "retrieve", {"keys": ["../../etc/passwd"] * 1000}))
        assert receive(process)["result"]["isError"] is True
        send(process, call_of(8, "find", {"lexical": "a" * 2_000_000, "limit": 10**40}))
        assert receive(process)["result"]["isError"] is True
        send(process, call_of(9, "delete", {"key": "tea"}))
        assert "Unknown tool 'delete'" in receive(process)["error"]["message"]
        send(process, call_of(10, "query", {"operation": "delete", "document": "{filter: {}, expect: 2}"}))
        assert "start the server with --write" in receive(process)["result"]["content"][0]["text"]
        send(process, call_of(11, "tree", {}))
        assert receive(process)["id"] == 11
        out, err = process.communicate(timeout=20)  # closes standard input
        assert process.returncode == 0 and out == b"" and b"Traceback" not in err
    assert sorted(path.name for path in notes.iterdir()) == ["index.md", "tea.md"]


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_when_told(notes: Path, own_home: Path, stop: signal.Signals) -> None:
    with running(command(notes, "--write"), own_home) as process:
        send(process, INITIALIZE, READY)
        receive(process)
        process.send_signal(stop)
        assert process.wait(timeout=10) == 0
        _, err = process.communicate()
        assert err == b""
    with KnowledgeStore.open(notes, writable=True) as store:  # nobody holds the lock any more
        assert store.snapshot.pages == 2


@pytest.mark.slow
def test_a_client_that_leaves_in_the_middle_is_no_bug(notes: Path, own_home: Path) -> None:
    with running(command(notes), own_home) as process:
        send(process, INITIALIZE, READY)
        receive(process)
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        process.stdout.close()
        send(process, call_of(2, "tree", {}))
        time.sleep(1)
        process.stdin.close()
        assert process.wait(timeout=10) == 0
        assert process.stderr.read() == b""


# -- over HTTP -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path, subprocess.Popen[bytes]]]:
    home = tmp_path_factory.mktemp("web")
    root = home / "notes"
    root.mkdir()
    (root / "tea.md").write_text("# Tea\n\nGreen tea is brewed at 75 °C.\n")
    with running(command(root, "--transport", "http", "--port", "0"), home) as process:
        assert process.stderr is not None
        line = process.stderr.readline().decode()
        found = re.search(r"http://127\.0\.0\.1:\d+/mcp", line)
        assert found, line
        for _ in range(100):
            try:
                httpx2.get(found[0].removesuffix("/mcp"), trust_env=False)
                break
            except httpx2.ConnectError:
                time.sleep(0.05)
        yield found[0], root, process


HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@pytest.mark.parametrize("mode", MODES)
def test_two_clients_over_http(web: tuple[str, Path, Any], mode: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)

    async def ask(words: str, expected: str) -> None:
        async with Client(web[0], mode=mode) as client:
            for _ in range(3):
                assert texts(await client.call_tool("find", {"lexical": words, "project": ["key"]})) == [expected]

    async def use() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, "brewed", '[{"key":"tea"}]')
            tasks.start_soon(ask, "nothing", "[]")

    anyio.run(use)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": "http://localhost:6274"}, 200),
        ({"host": "notes.example"}, 421),
        ({"host": "127.0.0.1.notes.example:80"}, 421),
        ({"origin": "https://notes.example"}, 403),
        ({"origin": "null"}, 403),
        ({"content-type": "text/plain"}, 400),
    ],
)
def test_only_this_machine_is_answered(web: tuple[str, Path, Any], headers: dict[str, str], status: int) -> None:
    answer = httpx2.post(web[0], json=INITIALIZE, headers={**HEADERS, **headers}, trust_env=False)
    assert answer.status_code == status


def test_http_refuses_what_is_too_large_or_no_call(web: tuple[str, Path, Any]) -> None:
    def post(body: bytes) -> int:
        return httpx2.post(web[0], content=body, headers=HEADERS, trust_env=False).status_code

    assert post(b"x" * 5_000_000) == 413
    assert post(b"{") == 400
    assert httpx2.get(web[0].replace("/mcp", "/"), trust_env=False).status_code == 404


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.0.2.7", "2001:db8::1%2"])
def test_only_the_loopback_address_is_served_unless_told(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    found = [(family, socket.SOCK_STREAM, 6, "", (address, 0))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **more: found)
    with pytest.raises(UsageError, match="say --allow-remote"):
        server.listen("notes.example", 0)


def test_a_port_that_is_taken_is_said() -> None:
    with (
        server.listen("127.0.0.1", 0) as listener,
        pytest.raises(EnvironmentProblem, match="choose another --port"),
    ):
        server.listen("127.0.0.1", listener.getsockname()[1])


@pytest.mark.slow
def test_a_remote_server_answers_no_web_page(notes: Path, own_home: Path) -> None:
    remote = command(notes, "--transport", "http", "--port", "0", "--host", "0.0.0.0", "--allow-remote")
    with running(remote, own_home) as process:
        assert process.stderr is not None
        found = re.search(rb":(\d+)/mcp", process.stderr.readline())
        assert found
        address = f"http://127.0.0.1:{int(found[1])}/mcp"

        def post(**headers: str) -> int:
            return httpx2.post(address, json=INITIALIZE, headers={**HEADERS, **headers}, trust_env=False).status_code

        assert post() == 200
        assert post(host="notes.lan") == 200
        assert post(origin="https://notes.example") == 403
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 0
        assert process.stderr.read() == b""


def test_http_ends_when_told_even_with_a_stream_open(web: tuple[str, Path, subprocess.Popen[bytes]]) -> None:
    address, _, process = web
    with httpx2.stream("GET", address, headers=HEADERS, trust_env=False) as stream:
        assert stream.status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 0
