from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra platform is not installed")

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from platform_kit import FACT, ORDERS
from serving_kit import KEYS, SETTINGS, Live

from kit import Cli, child_environment
from memassay.core.errors import EnvironmentProblem
from memassay.core.taught import BUDGET_EXHAUSTED, ToolCall
from memassay.platform import tools
from memassay.platform.bridge import PURPOSE, Bridge, open_bridge, text_of
from memassay.platform.database import wall_clock
from memassay.platform.settings import Faults


@pytest.fixture
def lives(tmp_path: Path) -> Iterator[Callable[..., Live]]:
    """``lives(purpose=False)``: a server with these knobs; all are closed after the test."""
    made: list[Live] = []

    def make(**knobs: Any) -> Live:
        made.append(Live(tmp_path / "memory", SETTINGS.model_copy(update=knobs)))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def live(lives: Callable[..., Live]) -> Live:
    return lives()


def lines(log: Path) -> list[ToolCall]:
    return [ToolCall.model_validate_json(line) for line in log.read_text("utf-8").splitlines()]


def audited(live: Live) -> list[tuple[str, str]]:
    """Tools and sessions of what the platform itself has noted, in order."""
    rows = live.speaker("admin").get("/admin/audit/events", sort_order="asc")["data"]
    return [(row["tool_name"], row["session_id"]) for row in rows]


def play(live: Live, log: Path, scene: Callable[[Bridge], Awaitable[None]], budget: int | None = None) -> None:
    async def run() -> None:
        async with open_bridge(live.url, KEYS["ada"], log, budget=budget) as bridge:
            await scene(bridge)

    anyio.run(run)


def test_what_an_agent_sees(live: Live, tmp_path: Path) -> None:
    async def scene(bridge: Bridge) -> None:
        assert [tool.name for tool in bridge.tools] == [name for name in tools.TOOLS if name != "platform_info"]
        for tool in bridge.tools:
            assert not {"session_id", "purpose"} & set(tool.input_schema["properties"])
            assert not {"session_id", "purpose"} & set(tool.input_schema.get("required", ()))
        fetch = next(tool for tool in bridge.tools if tool.name == "fetch")
        assert fetch.input_schema["required"] == ["reference"]

    play(live, tmp_path / "calls.jsonl", scene)
    assert not (tmp_path / "calls.jsonl").exists(), "what the bridge itself asks is no call of the agent's"


def test_calls_pass_through_and_are_noted(live: Live, tmp_path: Path) -> None:
    log, seen = tmp_path / "calls.jsonl", []

    async def scene(bridge: Bridge) -> None:
        arguments = {"type": "business_knowledge", "content": FACT + " Grüße 记忆", "entity_urns": [ORDERS]}
        for tool, given in (
            ("memory_capture", arguments),
            ("search", {"intent": "zorblat"}),
            ("trino_query", {"sql": "SELECT 1"}),
            ("search", {"intnt": "x"}),
            ("platform_info", {}),
            ("no_such_tool", {"a": 1}),
        ):
            result = await bridge.call(tool, given)
            seen.append(result)
            assert len(lines(log)) == len(seen), "noted before the agent has its result"

    play(live, log, scene)
    capture, search, query, wrong, info, unknown = lines(log)
    assert [call.tool for call in lines(log)] == [
        "memory_capture", "search", "trino_query", "search", "platform_info", "no_such_tool"
    ]  # fmt: skip
    assert len({call.session for call in lines(log)}) == 1 and capture.session.startswith("dps_")
    assert {call.identity for call in lines(log)} == {"ada@example.org"}
    assert capture.arguments == {"type": "business_knowledge", "content": FACT + " Grüße 记忆", "entity_urns": [ORDERS]}
    assert json.loads(capture.result) == seen[0].structured_content and capture.wall_ms > 0
    assert json.loads(search.result)["count"] == 1
    assert (query.error, query.code, query.sent) == (True, "not_found", True), "the gate is open, the warehouse missing"
    assert (wrong.error, wrong.code) == (True, "invalid")
    assert (info.error, info.code, info.sent) == (True, "not_found", False), "it is hidden"
    assert (unknown.error, unknown.sent) == (True, False)
    [event] = [it for it in live.speaker("admin").get("/admin/audit/events")["data"] if it["tool_name"] == "search"]
    assert event["session_id"] == capture.session
    assert PURPOSE.endswith(".")


def test_a_purpose_is_given_only_where_it_is_asked_for(lives: Callable[..., Live], tmp_path: Path) -> None:
    live = lives(purpose=False)

    async def scene(bridge: Bridge) -> None:
        assert not (await bridge.call("search", {"intent": "x"})).is_error

    play(live, tmp_path / "calls.jsonl", scene)


def test_a_lost_reply_is_a_result(lives: Callable[..., Live], tmp_path: Path) -> None:
    live = lives(faults=Faults(drop_connection="memory_capture"))

    async def scene(bridge: Bridge) -> None:
        given = {"type": "business_knowledge", "content": FACT}
        result = await bridge.call("memory_capture", given)
        assert result.is_error
        assert not (await bridge.call("search", {"intent": "zorblat"})).is_error, "the session goes on"

    play(live, tmp_path / "calls.jsonl", scene)
    lost, search = lines(tmp_path / "calls.jsonl")
    assert (lost.error, lost.sent) == (True, True) and lost.code in ("transport", "protocol")
    assert json.loads(search.result)["count"] == 1, "the work was done"


# -- a budget ------------------------------------------------------------------------------------------------------


def test_calls_past_the_budget_reach_nothing(live: Live, tmp_path: Path) -> None:
    log = tmp_path / "calls.jsonl"

    async def scene(bridge: Bridge) -> None:
        assert not (await bridge.call("search", {"intent": "zorblat"})).is_error
        assert (await bridge.call("no_such_tool", {})).is_error, "this one is spent too"
        for _ in range(2):
            result = await bridge.call("memory_capture", {"type": "business_knowledge", "content": FACT})
            assert result.is_error and result.structured_content["error"]["code"] == BUDGET_EXHAUSTED
            assert text_of(result) == (
                "The budget of 2 tool calls is spent; this call was not made. (code: budget_exhausted) "
                "Hint: Call no more tools. Give your final answer now."
            )

    play(live, log, scene, budget=2)
    assert [(call.tool, call.sent, call.error, call.code) for call in lines(log)] == [
        ("search", True, False, ""), ("no_such_tool", False, True, "not_found"),
        *[("memory_capture", False, True, BUDGET_EXHAUSTED)] * 2,
    ]  # fmt: skip
    assert lines(log)[-1].arguments == {"type": "business_knowledge", "content": FACT}
    assert live.speaker("admin").get("/memassay/records")["total"] == 0
    assert [tool for tool, _ in audited(live)] == ["platform_info", "search"]


def test_calls_at_once_share_the_budget(live: Live, tmp_path: Path) -> None:
    log = tmp_path / "calls.jsonl"

    async def scene(bridge: Bridge) -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(9):
                tasks.start_soon(bridge.call, "search", {"intent": f"number {number}"})

    play(live, log, scene, budget=4)
    assert sorted(call.code for call in lines(log)) == [""] * 4 + [BUDGET_EXHAUSTED] * 5


# -- sessions that end ---------------------------------------------------------------------------------------------


def hours_later(live: Live, hours: float) -> None:
    live.spaces.main._database.wall = lambda: wall_clock() + round(hours * 3_600_000_000)


def sessions(live: Live) -> list[str]:
    """Handles that were given out, in order."""
    with contextlib.closing(sqlite3.connect(live.spaces.main._database.path)) as con:
        return [row[0] for row in con.execute("SELECT handle FROM sessions ORDER BY expires")]


def test_a_session_that_has_ended_is_followed_by_another(live: Live, tmp_path: Path) -> None:
    log = tmp_path / "calls.jsonl"

    async def scene(bridge: Bridge) -> None:
        assert not (await bridge.call("search", {"intent": "zorblat"})).is_error
        hours_later(live, 9)
        made = await bridge.call("memory_capture", {"type": "business_knowledge", "content": FACT})
        assert not made.is_error
        assert not (await bridge.call("search", {"intent": "zorblat"})).is_error
        hours_later(live, 10)
        assert not (await bridge.call("search", {"intent": "zorblat"})).is_error, "eight hours are not over again"

    play(live, log, scene, budget=4)
    assert [(call.tool, call.error, call.sent) for call in lines(log)] == [
        ("search", False, True), ("memory_capture", False, True), ("search", False, True), ("search", False, True)
    ]  # fmt: skip
    first, second = sessions(live)
    assert [call.session for call in lines(log)] == [first, second, second, second]
    assert live.speaker("admin").get("/memassay/records")["total"] == 1
    assert [one for one in audited(live) if one[0] != "platform_info"] == [
        ("search", first), ("memory_capture", second), ("search", second), ("search", second)
    ]  # fmt: skip


def test_calls_at_once_open_one_session(live: Live, tmp_path: Path) -> None:
    log = tmp_path / "calls.jsonl"

    async def scene(bridge: Bridge) -> None:
        hours_later(live, 9)
        async with anyio.create_task_group() as tasks:
            for number in range(6):
                tasks.start_soon(bridge.call, "search", {"intent": f"number {number}"})

    play(live, log, scene)
    assert not any(call.error for call in lines(log))
    _, second = sessions(live)
    assert {call.session for call in lines(log)} == {second}


def test_a_call_is_made_again_once_alone(lives: Callable[..., Live], tmp_path: Path) -> None:
    log, live = tmp_path / "calls.jsonl", lives(session_hours=1e-9)

    async def scene(bridge: Bridge) -> None:
        assert (await bridge.call("search", {"intent": "zorblat"})).is_error

    play(live, log, scene)
    (call,) = lines(log)
    assert (call.error, call.code, call.sent, call.session) == (True, "session_expired", True, sessions(live)[1])
    assert len(sessions(live)) == 2


def test_without_a_new_session_the_refusal_stands(lives: Callable[..., Live], tmp_path: Path) -> None:
    log, live = tmp_path / "calls.jsonl", lives(rate_limit=2, session_hours=1e-9)

    async def scene(bridge: Bridge) -> None:
        assert (await bridge.call("search", {"intent": "zorblat"})).is_error

    play(live, log, scene)
    (call,) = lines(log)
    assert (call.code, call.session) == ("session_expired", sessions(live)[0])


@pytest.mark.parametrize(
    ("url", "why"), [("http://127.0.0.1:9", ""), ("LIVE", "it does not know the key"), ("LIVE/w/nobody", "")]
)
def test_a_platform_that_cannot_be_used_is_one_sentence(live: Live, url: str, why: str) -> None:
    async def run() -> None:
        async with open_bridge(url.replace("LIVE", live.url), "no-such-key"):
            raise AssertionError

    with pytest.raises(EnvironmentProblem, match=rf"The platform at http://127.* cannot be used: .*{why}.*\.$"):
        anyio.run(run)


def test_a_failure_inside_is_no_failure_of_the_platform(live: Live) -> None:
    async def run() -> None:
        async with open_bridge(live.url, KEYS["ada"]):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        anyio.run(run)


def test_the_command_without_a_key(cli: Cli) -> None:
    said = cli("platform", "bridge", "--url", "http://127.0.0.1:9", "--key-env", "NO_SUCH_KEY")
    assert (said.code, "NO_SUCH_KEY is not set" in said.complaint) == (2, True)


@pytest.mark.parametrize("mode", ("auto", "legacy"))
def test_the_command_as_agents_start_it(live: Live, tmp_path: Path, own_home: Path, mode: Any) -> None:
    log = tmp_path / "calls.jsonl"
    command = ["-m", "memassay", "platform", "bridge", "--url", live.url, "--key-env", "ADA", "--log", str(log)]
    environment = child_environment(own_home, ADA=KEYS["ada"])

    async def use() -> None:
        start = StdioServerParameters(
            command=sys.executable,
            args=[*command, "--identity", "teacher-1", "--budget", "2"],
            env=environment,
            cwd=str(tmp_path),
        )
        with (tmp_path / "errors.txt").open("w+") as errors:
            async with Client(stdio_client(start, errlog=errors), mode=mode) as client:
                assert len((await client.list_tools()).tools) == len(tools.TOOLS) - 1
                made = await client.call_tool("memory_capture", {"type": "business_knowledge", "content": FACT})
                assert not made.is_error and made.structured_content["status"] == "active"
                gate = await client.call_tool("trino_query", {"sql": "SELECT 1"})
                assert gate.is_error and gate.structured_content["error"]["code"] == "search_required"
                spent = await client.call_tool("search", {"intent": "zorblat"})
                assert spent.is_error and "final answer" in spent.content[0].text
            errors.seek(0)
            assert errors.read() == ""

    anyio.run(use)
    assert [(call.tool, call.identity, call.code) for call in lines(log)] == [
        ("memory_capture", "teacher-1", ""), ("trino_query", "teacher-1", "search_required"),
        ("search", "teacher-1", "budget_exhausted"),
    ]  # fmt: skip
    assert KEYS["ada"] not in log.read_text("utf-8")


def test_the_command_where_nobody_answers(own_home: Path) -> None:
    command = [sys.executable, "-m", "memassay", "platform", "bridge", "--url", "http://127.0.0.1:9"]
    done = subprocess.run(
        command, env=child_environment(own_home, MEMASSAY_PLATFORM_KEY="x"), capture_output=True, text=True,
        timeout=60, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 3 and done.stderr.startswith(
        "memassay: The platform at http://127.0.0.1:9 cannot be used"
    )
    assert done.stderr.count("\n") == 1 and os.sep not in done.stdout
