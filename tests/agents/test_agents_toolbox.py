"""The toolbox against a server of ours on standard input and output; its file tools stand in a file of their own."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from kit import ROOT
from memassay.agents.toolbox import Toolbox, ToolsMissing, open_toolbox, require_mcp
from memassay.core.errors import MissingExtra
from memassay.core.types import Server, Toolset

pytest.importorskip("mcp", reason="the extra mcp is not installed")

NAMES = ("search", "environment", "complain", "die", "sleep", "spawn", "picture")


def server(fault: str = "", **more: Any) -> Server:
    script = str(ROOT / "tests" / "servers" / "tools.py")
    return Server(**{"command": (sys.executable, script, *([fault] if fault else [])), **more})


def use(toolset: Toolset, work: Callable[[Toolbox], Awaitable[Any]], **more: Any) -> Any:
    async def run() -> Any:
        async with open_toolbox(toolset, **more) as box:
            return await work(box)

    return asyncio.run(run())


def one_call(name: str, arguments: Any = None, *, of: Server | None = None) -> Any:
    return use(Toolset(servers=(of or server(),)), lambda box: box.call(name, arguments or {}))


def gone(process: int, seconds: float = 5.0) -> bool:
    """Whether a process ends in time (a zombie has ended)."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.02)
    return False


def test_the_tools_of_a_server_are_offered_and_answer() -> None:
    async def work(box: Toolbox) -> None:
        assert [tool.name for tool in box.tools] == sorted(NAMES)
        search = next(tool for tool in box.tools if tool.name == "search")
        assert search.description == "To search."
        assert search.schema == {"type": "object", "properties": {"query": {"type": "string"}}}
        result = await box.call("search", {"query": "tea"})
        assert json.loads(result.text) == {"name": "search", "arguments": {"query": "tea"}}
        assert not result.is_error

    use(Toolset(servers=(server(),)), work)


def test_an_arm_gets_the_tools_it_names_in_its_order() -> None:
    async def work(box: Toolbox) -> None:
        assert [tool.name for tool in box.tools] == ["search", "complain"]
        refused = await box.call("environment", {})
        assert refused.is_error and refused.text.startswith("There is no tool 'environment'.")

    use(Toolset(servers=(server("two-pages", tools=("search", "complain")),)), work)


def test_tools_on_a_second_page_are_found() -> None:
    assert one_call("picture", of=server("two-pages", tools=("picture",))).text == "[image]\nA tea pot."


def test_a_complaint_is_for_the_model_to_read() -> None:
    result = one_call("complain")
    assert (result.text, result.is_error) == ("I will not.", True)


def test_the_child_has_an_environment_folder_and_group_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "dummy-local")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setenv("LANG", "C.UTF-8")
    seen = json.loads(one_call("environment", of=server(cwd=str(tmp_path), env={"MEMORY": "mine"})).text)
    allowed = {"HOME", "PATH", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR"}
    added = {"MEMORY", "PWD", "OLDPWD", "_", "SHLVL"}  # ours, and what a shell adds
    assert set(seen["env"]) <= allowed | added
    assert seen["env"]["MEMORY"] == "mine" and seen["env"]["LANG"] == "C.UTF-8"
    assert Path(seen["cwd"]) == tmp_path.resolve()
    assert seen["group"] != os.getpgrp()


def test_what_a_server_started_ends_with_it() -> None:
    assert gone(int(one_call("spawn").text))


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's own patience with a server that was told to end, 2 s in each step, is shorter."""
    for name in ("PROCESS_TERMINATION_TIMEOUT", "FORCE_KILL_TIMEOUT"):
        monkeypatch.setattr(f"mcp.client.stdio.{name}", 0.2)


@pytest.mark.usefixtures("impatient")
def test_a_server_that_does_not_want_to_end_is_ended() -> None:
    seen = json.loads(one_call("environment", of=server("stubborn")).text)
    assert gone(seen["group"])


def test_a_server_that_ends_in_a_call_is_a_fault_of_the_harness() -> None:
    with pytest.raises(ToolsMissing, match="The tool server 'memory' ended in a call of 'die'"):
        one_call("die")


@pytest.mark.usefixtures("impatient")
def test_a_call_can_be_cancelled_and_leaves_nothing_behind() -> None:
    process = 0

    async def run() -> None:
        nonlocal process
        async with open_toolbox(Toolset(servers=(server(),))) as box:
            process = int((await box.call("spawn", {})).text)
            async with asyncio.timeout(0.3):
                await box.call("sleep", {})

    with pytest.raises(TimeoutError):
        asyncio.run(run())
    assert gone(process)


def test_an_exception_of_the_caller_comes_out_as_it_is() -> None:
    async def work(box: Toolbox) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        use(Toolset(servers=(server(),)), work)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (server(tools=("serch",)), r"has no tool 'serch'; it has complain, die"),
        (server(command=("/nowhere/server",)), r"could not be started: .*not found"),
        (server("loud"), r"could not be started: Give me a database, please\."),
        (server(cwd="/nowhere"), r"could not be started: .*No such file or directory"),
        (Server(url="http://127.0.0.1:9/mcp"), r"could not be reached: "),
        (Server(), r"has neither a command nor an address"),
    ],
)
def test_what_is_missing_is_one_sentence(given: Server, says: str) -> None:
    async def work(box: Toolbox) -> None:
        raise AssertionError("nothing must be offered")

    with pytest.raises(ToolsMissing, match=says) as caught:
        use(Toolset(servers=(given,)), work)
    assert "\n" not in str(caught.value)


def test_a_server_that_says_nothing_is_not_waited_for_for_ever() -> None:
    with pytest.raises(ToolsMissing, match="could not be started"):
        use(Toolset(servers=(server("silent"),)), lambda box: box.call("search", {}), start_seconds=0.5)


def test_two_servers_must_not_share_a_name() -> None:
    twice = Toolset(servers=(server(tools=("search",)), server(tools=("search",))))
    with pytest.raises(ToolsMissing, match="Two tools of the arm are called 'search'"):
        use(twice, lambda box: box.call("search", {}))


def test_without_the_extra_it_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    require_mcp()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'memassay\[mcp\]'"):
        require_mcp()


def test_nothing_to_open_is_an_empty_box() -> None:
    async def work(box: Toolbox) -> list[Any]:
        return box.tools

    assert use(Toolset(), work) == []
