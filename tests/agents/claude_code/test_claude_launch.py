"""The command line and the files of one cell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from claude_kit import MODEL, tool_server

from memassay.agents.claude_code.launch import Launch, Offer, last_words, launch, tool_name
from memassay.agents.claude_code.profiles import profile_of
from memassay.core.asking import INSTRUCTIONS
from memassay.core.errors import UsageError
from memassay.core.types import Request, Server, Toolset


@pytest.fixture
def started(tmp_path: Path, asked: Callable[..., Request]) -> Callable[..., Launch]:
    def start(profile: str = "bare", budget: float | None = None, **more: Any) -> Launch:
        place = tmp_path / "place"
        place.mkdir()
        return launch(asked(**more), model=MODEL, profile=profile_of(profile), place=place, budget=budget)

    return start


def after(flag: str, start: Launch) -> str:
    return start.arguments[start.arguments.index(flag) + 1]


Started = Callable[..., Launch]


def test_the_command_of_a_dossier(started: Started, tmp_path: Path) -> None:
    start = started(dossier="It is Oslo.")
    place = tmp_path / "place"
    assert start.arguments == (
        "--bare", "-p", "--output-format", "stream-json", "--verbose", "--no-session-persistence",
        "--strict-mcp-config", "--model", MODEL, "--system-prompt-file", f"{place}/system.txt",
        "--mcp-config", f"{place}/servers.json", "--tools", "",
    )  # fmt: skip
    assert (place / "system.txt").read_text() == INSTRUCTIONS
    assert json.loads((place / "servers.json").read_text()) == {"mcpServers": {}}
    assert start.folder == (place / "work").resolve()
    assert list(start.folder.iterdir()) == []


def test_the_scoped_profile_reads_no_settings(started: Started) -> None:
    assert started("scoped").arguments[:3] == ("--setting-sources", "", "-p")


def test_limits(started: Started) -> None:
    start = started(limit_turns=7, limit_usd=0.5, budget=0.5)
    assert after("--max-turns", start) == "7"
    assert after("--max-budget-usd", start) == "0.5"


def test_the_model_is_told_of_no_budget_unless_that_is_wanted(started: Started) -> None:
    assert "--max-budget-usd" not in started(limit_usd=0.5).arguments


def test_a_folder_is_the_working_folder_and_all_that_may_be_read(started: Started, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    start = started("scoped", toolset=Toolset(folder=str(folder)), workdir=str(tmp_path))
    assert start.folder == folder.resolve()
    assert after("--tools", start) == "Read,Grep,Glob"
    assert start.arguments[start.arguments.index("--allowedTools") + 1 :] == (f"Read(/{folder.resolve()}/**)",)


def test_the_cells_folder_is_the_working_folder_of_an_arm_without_files(started: Started, tmp_path: Path) -> None:
    folder = tmp_path / "cell"
    folder.mkdir()
    assert started(workdir=str(folder)).folder == folder.resolve()


def test_the_tools_of_servers_are_allowed_by_name(started: Started) -> None:
    servers = (tool_server(tools=("search", "look up")), Server(name="the graph", url="http://127.0.0.1:1/mcp"))
    start = started(toolset=Toolset(servers=servers))
    allowed = start.arguments[start.arguments.index("--allowedTools") + 1 :]
    assert allowed == ("mcp__memory__search", "mcp__memory__look_up", "mcp__the_graph")
    assert tool_name("the graph", "find.it") == "mcp__the_graph__find_it"


def test_a_server_gets_its_own_environment_and_nothing_of_ours(
    started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-ours")
    cwd = tmp_path / "store"
    start = started(toolset=Toolset(servers=(tool_server(env={"X": "1"}, cwd=str(cwd)),)))
    entry = json.loads((tmp_path / "place" / "servers.json").read_text())["mcpServers"]["memory"]
    assert entry["command"] == sys.executable
    spec = json.loads(Path(entry["args"][-1]).read_text())
    home = str(tmp_path / "place" / "home-memory")
    assert spec["environment"] == {
        "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": home, "TMPDIR": home, "X": "1",
    }  # fmt: skip
    assert spec["cwd"] == str(cwd)
    assert spec["tools"] == ["search"]
    assert "env" not in start.record["servers"][0]


def test_a_server_at_an_address(started: Started, tmp_path: Path) -> None:
    started(toolset=Toolset(servers=(Server(url="http://127.0.0.1:1/mcp"),)))
    entries = json.loads((tmp_path / "place" / "servers.json").read_text())["mcpServers"]
    assert entries == {"memory": {"type": "http", "url": "http://127.0.0.1:1/mcp"}}


def test_the_files_start_the_server(started: Started, tmp_path: Path) -> None:
    started(toolset=Toolset(servers=(tool_server("loud"),)))
    entry = json.loads((tmp_path / "place" / "servers.json").read_text())["mcpServers"]["memory"]
    done = subprocess.run([entry["command"], *entry["args"]], input=b"", capture_output=True, timeout=30)
    assert done.returncode != 0
    assert last_words(tmp_path / "place", "memory") == "Give me a database, please."
    assert last_words(tmp_path / "place", "other") == ""


def test_any_question_can_be_written_down(started: Started, tmp_path: Path) -> None:
    start = started(prompt="half a pair: \ud800", system="-s \ud800 {x}")
    assert (tmp_path / "place" / "system.txt").read_text() == "-s ? {x}"
    assert start.text == "Question: half a pair: \ud800"


def test_what_an_arm_must_have(asked: Callable[..., Request]) -> None:
    request = asked(toolset=Toolset(servers=(tool_server(),), folder="/x"))
    assert Offer.of(request) == Offer(("Read", "Grep", "Glob"), {"memory": ("mcp__memory__search",)})
    assert Offer.of(asked()) == Offer((), {})
    wide = ("Read", "Grep", "Glob", "Bash", "Edit", "Write")
    assert Offer.of(request, shell=True).builtin == wide
    assert Offer.of(asked(), shell=True).builtin == ()  # only where there are files


def test_profiles() -> None:
    with pytest.raises(UsageError, match="Did you mean 'scoped'"):
        profile_of("scope")
    with pytest.raises(UsageError, match=r"agent\.profile=scoped"):
        profile_of("bare").check(frozenset({"folder", "tools"}))
    profile_of("bare").check(frozenset({"dossier", "tools"}))
    profile_of("scoped").check(frozenset({"dossier", "tools", "folder"}))
