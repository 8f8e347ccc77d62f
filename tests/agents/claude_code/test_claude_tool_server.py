"""The program between Claude Code and a tool server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from claude_kit import TOOLS

from memassay.agents.claude_code import tool_server
from memassay.agents.claude_code.tool_server import only


def listing(*names: str) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": n} for n in names]}}).encode() + b"\n"


def test_only_the_tools_of_the_arm_are_listed() -> None:
    assert json.loads(only(listing("a", "b", "c"), ["c", "a"]))["result"]["tools"] == [{"name": "a"}, {"name": "c"}]
    assert only(listing("a", "b"), []) == listing("a", "b")


@pytest.mark.parametrize(
    "line",
    [b'{"result": {"content": "the \\"tools\\" of a trade"}}\n', b'{"method": "x", "params": {"tools": [1]}}\n',
     b'not json, "tools"\n', b'{"result": {"tools": [1, 2]}}\n'],
)  # fmt: skip
def test_any_other_line_stays_as_it_is(line: bytes) -> None:
    assert only(line, ["a"]) == line


def talk(spec: dict[str, Any], folder: Path, *messages: Any) -> tuple[int, list[Any]]:
    path = folder / "spec.json"
    path.write_text(json.dumps({"errors": str(folder / "errors"), "cwd": str(folder), "tools": [], **spec}))
    program = [sys.executable, "-I", "-S", str(tool_server.__file__), str(path)]
    lines = "".join(f"{json.dumps({'jsonrpc': '2.0', 'id': n, **m})}\n" for n, m in enumerate(messages))
    secrets = {"PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": "sk-secret-of-ours"}
    done = subprocess.run(program, input=lines, env=secrets, capture_output=True, text=True, timeout=30)
    return done.returncode, [json.loads(line)["result"] for line in done.stdout.splitlines()]


def test_a_server_sees_its_own_environment_and_folder(tmp_path: Path) -> None:
    spec = {"command": [sys.executable, str(TOOLS)], "environment": {"X": "1"}, "tools": ["environment"]}
    call = {"method": "tools/call", "params": {"name": "environment", "arguments": {}}}
    code, (listed, called) = talk(spec, tmp_path, {"method": "tools/list"}, call)
    assert code == 0
    assert [tool["name"] for tool in listed["tools"]] == ["environment"]
    seen = json.loads(called["content"][0]["text"])
    assert seen["cwd"] == str(tmp_path.resolve())
    assert {name for name in seen["env"] if name != "LC_CTYPE"} == {"X"}


def test_a_server_that_cannot_start_leaves_its_reason(tmp_path: Path) -> None:
    code, results = talk({"command": ["/no/such"], "environment": {}}, tmp_path)
    assert (code, results) == (1, [])
    assert "/no/such" in (tmp_path / "errors").read_text()


def test_a_server_that_dies_ends_the_program(tmp_path: Path) -> None:
    spec = {"command": [sys.executable, str(TOOLS), "loud"], "environment": {}}
    code, results = talk(spec, tmp_path, {"method": "tools/list"})
    assert code != 0
    assert results == []
    assert (tmp_path / "errors").read_text().strip()


def test_a_server_that_ignores_the_end_is_ended(tmp_path: Path) -> None:
    stubborn = "import sys, time; sys.stdout.close(); time.sleep(60)"
    code, _ = talk({"command": [sys.executable, "-c", stubborn], "environment": {}}, tmp_path)
    assert code != 0
