"""The server as a client starts it: it reads, and edits when it is told."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from knowledge_kit import tokens, tree, write

from kit import Cli, child_environment


class Client:
    """JSON-RPC, line by line, to the server as a client starts it."""

    def __init__(self, home: Path, *args: str) -> None:
        self.popen = subprocess.Popen(
            [str(Path(sys.executable).with_name("memassay")), "memory", "serve", *args],
            env=child_environment(home), cwd=home,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.number = 0
        hello = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        assert "serverInfo" in self.ask("initialize", hello)["result"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message: Any) -> None:
        assert self.popen.stdin is not None
        self.popen.stdin.write(json.dumps(message).encode() + b"\n")
        self.popen.stdin.flush()

    def ask(self, method: str, params: Any) -> Any:
        assert self.popen.stdout is not None
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            reply = json.loads(self.popen.stdout.readline())
            if reply.get("id") == self.number:
                return reply

    def call(self, tool: str, **arguments: Any) -> tuple[bool, str]:
        """Whether it failed, and the first text."""
        reply = self.ask("tools/call", {"name": tool, "arguments": arguments})
        if "error" in reply:
            return True, reply["error"]["message"]
        result = reply["result"]
        return bool(result.get("isError")), result["content"][0]["text"] if result["content"] else ""

    def tools(self) -> set[str]:
        return {tool["name"] for tool in self.ask("tools/list", {})["result"]["tools"]}

    def end(self) -> int:
        self.popen.communicate(timeout=30)
        return self.popen.returncode


READS = {"find", "retrieve", "search", "tree", "squash", "stats", "query"}
WRITES = {"create", "update", "delete", "rename"}


def test_the_server_reads_and_writes_nothing_unless_told(tmp_path: Path, own_home: Path) -> None:
    pytest.importorskip("mcp")
    pages = {
        "index": "# I\n\n[a](a.md)\n",
        "a": "---\nstatus: open\n---\n# A\n\nThe boiler's valve.\n",
        "b": "# B\n\nsee [a](a.md)\n",
    }
    root = write(tmp_path / "notes", pages)
    before = tree(tmp_path)
    client = Client(own_home, "--store", str(root))
    assert client.tools() == READS
    failed, text = client.call("search", text="boiler valve", max_tokens=300)
    assert not failed
    assert json.loads(text)[0]["key"] == "a"
    assert tokens(text) <= 300
    for tool, arguments in (
        ("find", {"lexical": "boiler"}), ("retrieve", {"keys": ["b"], "expand": {"references": 1}}), ("tree", {}),
        ("squash", {"key": "index"}), ("stats", {}),
        ("query", {"operation": "count", "document": "filter: {status: open}"}),
        ("query", {"operation": "delete", "document": "{filter: {$key: a}, expect: 1}", "dry_run": True}),
    ):  # fmt: skip
        failed, text = client.call(tool, **arguments)
        assert not failed, (tool, text)
        if tool != "squash":
            json.loads(text)
    for tool, arguments in (
        ("query", {"operation": "update", "document": "{filter: {$key: a}, update: {$set: {x: 1}}, expect: 1}"}),
        ("query", {"operation": "delete", "document": "{filter: {$key: a}, expect: 1}"}),
        ("create", {"key": "n", "content": "x"}), ("update", {"key": "a", "content": "x"}), ("delete", {"key": "a"}),
        ("rename", {"old_key": "a", "new_key": "z"}), ("search", {}), ("squash", {"key": "../secret"}),
        ("retrieve", {"keys": ["no such page"]}), ("find", {"limit": -1}), ("nothing", {}),
    ):  # fmt: skip
        failed, text = client.call(tool, **arguments)
        assert failed, tool
        assert text and "Traceback" not in text
    assert tree(tmp_path) == before
    write(root, {"new": "# New\n\nxylophone\n"})
    deadline = time.monotonic() + 5
    while "new" not in client.call("search", text="xylophone")[1] and time.monotonic() < deadline:
        time.sleep(0.05)
    assert json.loads(client.call("search", text="xylophone")[1])[0]["key"] == "new"
    assert client.end() == 0


def test_the_server_edits_when_told(tmp_path: Path, own_home: Path) -> None:
    pytest.importorskip("mcp")
    root = write(tmp_path / "notes", {"a": "# A  \r\n\r\n*  x\r\n", "b": "# B\n\nsee [a](a.md)\n"})
    client = Client(own_home, "--store", str(root), "--write", "--prefix", "iwe_")
    assert client.tools() == {f"iwe_{name}" for name in READS | WRITES}
    assert not client.call("iwe_create", key="dir/n", content="# N  \n\n\n*  quokka  \n")[0]
    assert (root / "dir" / "n.md").read_bytes() == b"# N  \n\n\n*  quokka  \n"
    assert json.loads(client.call("iwe_search", text="quokka")[1])[0]["key"] == "dir/n"
    assert client.call("iwe_create", key="../n", content="x")[0]
    assert client.call("iwe_query", operation="update", document="{filter: {$key: a}, update: {$set: {x: 1}}}")[0], (
        "no expect"
    )
    assert not client.call("iwe_rename", old_key="a", new_key="dir/a")[0]
    assert (root / "dir" / "a.md").read_bytes() == b"# A  \r\n\r\n*  x\r\n"
    assert (root / "b.md").read_text() == "# B\n\nsee [a](dir/a.md)\n"
    assert client.end() == 0
    assert not (tmp_path / "n.md").exists()


def test_a_folder_that_is_not_there_is_one_sentence(cli: Cli, workplace: Path) -> None:
    for command in (["memory", "serve", "--store", "nowhere"], ["store", "search", "x", "--dir", "nowhere"]):
        ran = cli(*command)
        assert ran.code in (2, 3)
        assert "nowhere" in ran.complaint
    write(workplace / "notes", {"a": "# A\n"})
    for command in (["retrieve", "b"], ["squash", "b"], ["stats", "b"], ["update", "b", "--content", "x"],
                    ["delete", "b"],
                    ["rename", "b", "c"], ["create", "a", "--content", "x"], ["query", "find", "filter: {$oops: 1}"],
                    ["query", "find", "{"], ["query", "burn", "{}"], ["create", "../x", "--content", "x"]):  # fmt: skip
        ran = cli("store", *command, "--dir", "notes")
        assert ran.code == 2, command
        assert ran.complaint
    assert tree(workplace / "notes").get("a.md") == b"# A\n"
