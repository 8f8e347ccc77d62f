"""The five lines of docs/platform.md, as a person types them: the real Claude Code, with a scripted model behind it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra platform is not installed")

from kit import ROOT, child_environment
from memassay.agents.claude_code.environment import FIXED
from peer_programs import use_peer
from servers.anthropic import MessagesServer, Turn

pytestmark = [pytest.mark.peer, pytest.mark.timeout(240)]

FACT = "We call an order above 300 units a zorblat order."
Line = Callable[..., str]


def lines_of_the_docs() -> list[str]:
    """The commands under "With Claude Code, in five lines", without their comments."""
    text = (ROOT / "docs" / "platform.md").read_text("utf-8").partition("in five lines")[2]
    block = re.search(r"```\n(.*?)```", text, re.DOTALL)
    assert block is not None
    return [line.partition("  #")[0].strip() for line in block.group(1).splitlines()]


def speak(body: Mapping[str, Any]) -> Turn:
    """The model: it opens a session, keeps what it is told or looks up what it is asked, and says what it saw."""
    results = [
        block
        for message in body["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    said = [_text(block) for block in results]
    asked = json.dumps(body["messages"][0])
    if not said:
        return Turn(calls=(("mcp__memory__platform_info", {}),))
    if len(said) > 1:
        return Turn(f"The memory says: {said[-1]}")
    session = json.loads(said[0])["session_id"]
    if "What is" in asked:
        given = {"intent": "zorblat order", "purpose": "The user asks what it is."}
        return Turn(calls=(("mcp__memory__search", {"session_id": session, **given}),))
    given = {"type": "business_knowledge", "content": FACT}
    return Turn(calls=(("mcp__memory__memory_capture", {"session_id": session, **given}),))


def _text(block: Mapping[str, Any]) -> str:
    content = block["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own_home: Path) -> Iterator[Line]:
    """Runs a line in a folder of its own, with a home of its own; returns what it prints."""
    claude = use_peer("claude", monkeypatch)
    place = tmp_path / "place"
    place.mkdir()
    with MessagesServer(speak) as model:
        environment = child_environment(
            own_home,
            **FIXED,
            NO_PROXY="127.0.0.1",
            ANTHROPIC_API_KEY="dummy-local-key-of-ours",
            ANTHROPIC_BASE_URL=model.url,
        )
        environment["PATH"] = os.pathsep.join(
            [str(claude.parent), str(Path(sys.executable).parent), os.environ["PATH"]]
        )

        def run(command: str, *more: str) -> str:
            done = subprocess.run(
                [*shlex.split(command), *more], cwd=place, env=environment, capture_output=True, text=True,
                stdin=subprocess.DEVNULL, timeout=60,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            return done.stdout

        yield run


@pytest.fixture
def address(tmp_path: Path, own_home: Path) -> Iterator[Callable[[str], str]]:
    """Starts the server of the first line, on a free port; it ends with the test."""
    started: list[subprocess.Popen[str]] = []

    def start(command: str) -> str:
        program, *args = shlex.split(command.replace("--port 8600", "--port 0 --set embedder=hash"))
        assert program == "memassay"
        child = subprocess.Popen(
            [sys.executable, "-m", "memassay", *args], cwd=tmp_path / "place", env=child_environment(own_home),
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        started.append(child)
        assert child.stdout is not None
        return child.stdout.readline().strip()

    yield start
    for child in started:
        child.terminate()
        child.communicate(timeout=30)


def test_the_five_lines_of_the_docs(line: Line, address: Callable[[str], str]) -> None:
    serve, keys, add, tell, ask = lines_of_the_docs()
    url = address(serve)
    key = line(keys).strip()
    assert "http://127.0.0.1:8600" in add and "ADAS_KEY" in add
    added = line(add.replace("http://127.0.0.1:8600", url).replace("ADAS_KEY", key))
    assert url in added and key not in added
    assert re.search(rf"memory: {url} \(HTTP\) - .*Connected", line("claude mcp list"))
    # As in the docs, but for the question whether a tool may be used, which has nobody to answer it here.
    told = line(f"{tell.replace('claude', 'claude -p', 1)}", "--allowedTools", "mcp__memory")
    assert '"status":' in told and "waiting for review" in told
    answered = line(f"{ask.replace('claude', 'claude -p', 1)}", "--allowedTools", "mcp__memory")
    assert FACT in answered, "another session, and it knows"
