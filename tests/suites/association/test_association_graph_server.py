"""The graph's tool server as a process: shared, ended with the store, and not silenced by one call."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from association_forms import ref_of

from kit import child_environment
from memassay.core.errors import EnvironmentProblem, UsageError

pytest.importorskip("mushroomdb")
pytest.importorskip("mcp")

from memassay.agents.toolbox import ToolResult, open_toolbox
from memassay.suites.association.graph import Graph, server
from memassay.suites.association.graph.offers import TOOLS
from memassay.suites.association.graph.server import Desk
from memassay.suites.association.graph.tools import HEAD, Tools


def ask(store: Any, *calls: tuple[str, dict[str, Any]]) -> list[ToolResult]:
    async def asked() -> list[ToolResult]:
        async with open_toolbox(store.toolset()) as box:
            assert [tool.name for tool in box.tools] == list(TOOLS)
            return [await box.call(name, arguments) for name, arguments in calls]

    return asyncio.run(asked())


def group_of(store: Any) -> int:
    process = store._service._process
    assert process is not None
    return int(process.pid)


def members(group: int) -> list[int]:
    """The processes of a group that still run."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(int(entry.parent.name))
    return found


def wait_until_gone(group: int) -> None:
    until = time.monotonic() + 10
    while members(group) and time.monotonic() < until:
        time.sleep(0.05)
    assert members(group) == []


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_one_server_serves_every_cell_and_ends_with_the_store(
    place: Path, tools: Tools, talent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    store = Graph().open(ref_of(place))
    try:
        calls = [("node_edges", {"key": talent}), ("edges_at", {"key": talent, "at": "2026-07-14", "json": True})]
        for _ in range(2):
            answers = ask(store, *calls, ("query", {"cypher": "MATCH (n) RETURN n", "role": "boss"}))
            assert [answer.text for answer in answers[:2]] == [tools.call(*call) for call in calls]
            assert (answers[2].is_error, answers[2].text) == (True, "Unknown role 'boss'. Known: client, recruiter.")
        [shown] = store.toolset().servers
        assert (shown.name, shown.writes, shown.tools) == ("mushroomdb", False, tuple(TOOLS))
        assert shown.url is not None and shown.url.startswith("http://127.0.0.1:")
        running = members(group_of(store))
        assert len(running) >= 4  # the shell, what it waits with, the server, the process with the store
        environments = [Path(f"/proc/{process}/environ").read_bytes() for process in running]
        assert not any(b"SOME_API_KEY" in environment for environment in environments)
    finally:
        group = group_of(store)
        store.close()
    wait_until_gone(group)
    store.close()  # a second time does nothing


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_server_ends_when_its_parent_is_killed(place: Path, own_home: Path) -> None:
    program = (
        "import sys, time\n"
        "from memassay.core.types import StoreRef\n"
        "from memassay.suites.association.graph import Graph\n"
        "store = Graph().open(StoreRef(key='k', location=sys.argv[1]))\n"
        "store.toolset()\n"
        "print(store._service._process.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program, str(place)],
        stdout=subprocess.PIPE, text=True, env=child_environment(own_home),
    )  # fmt: skip
    with parent:
        assert parent.stdout is not None
        group = int(parent.stdout.readline())
        assert members(group)
        parent.kill()
    wait_until_gone(group)


def test_a_store_that_cannot_be_opened_is_one_line(place: Path, tmp_path: Path) -> None:
    store = Graph().open(ref_of(place))
    store._service._place = tmp_path  # what lies there is no store
    with pytest.raises(EnvironmentProblem) as error:
        store.toolset()
    assert "The graph's tool server could not be started: " in str(error.value)
    assert "days.json is missing" in str(error.value)


@pytest.mark.slow
def test_a_call_that_takes_too_long_is_ended_and_the_next_one_is_answered(place: Path) -> None:
    desk = Desk(place, seconds=1.0)
    try:
        with pytest.raises(UsageError, match=r"took more than 1 s and was ended; ask for less"):
            desk.call("query", {"cypher": "MATCH (a), (b), (c), (d), (e) RETURN count(*) AS n"})
        [answer] = desk.call("query", {"cypher": "MATCH (n:Job) RETURN count(n) AS n"})
        assert answer.startswith(f"{HEAD}\n1 row\n")
    finally:
        desk.close()
    desk.close()


def test_a_process_that_dies_in_a_call_is_said_and_replaced(place: Path) -> None:
    desk = Desk(place)
    try:
        process = desk._worker._process
        assert process is not None and process.pid is not None
        os.kill(process.pid, 9)
        with pytest.raises(UsageError, match="The call broke off"):
            desk.call("stats", {})
        assert desk.call("stats", {})[0].startswith(HEAD)
    finally:
        desk.close()


@pytest.mark.parametrize("arguments", [[], ["a", "b"]])
def test_the_command_says_how_it_is_used(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert server.main(arguments) == 2
    assert capsys.readouterr().err.startswith("usage: python -m memassay.suites.association.graph.server PLACE")


def test_the_command_refuses_a_folder_without_a_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert server.main([str(tmp_path)]) == 3
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("memassay: The store in ")
