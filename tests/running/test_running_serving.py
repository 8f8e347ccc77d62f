"""The store of a run as one tool, behind the protocol, and as a copy of its files."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kit import Cli, child_environment
from memassay.agents.toolbox import open_toolbox
from memassay.core.digest import digest_folder
from memassay.core.errors import EnvironmentProblem, MemoryFailure, UnknownName, UsageError
from memassay.core.types import Server, StoreRef, Toolset
from memassay.memories.markdown import TOOLS, Markdown
from memassay.running.desk import built_store, open_desk
from memassay.running.serving import lay_out, servers

Small = Callable[..., tuple[Any, Path]]


def stores_of(run: Path) -> dict[str, Path]:
    """The stores beside a run by memory and scope."""
    found = {}
    for row in map(json.loads, (run / "builds.jsonl").read_text(encoding="utf-8").splitlines()):
        found[f"{row['memory']}:{row['scope']}"] = run.parent / "stores" / row["store"]["key"]
    return found


@pytest.fixture
def stores(small_run: Small, toy: str) -> dict[str, Path]:
    memories = {"lexical": {"use": "lexical"}, "markdown": {"use": "markdown"}, "toy": {"use": toy},
                "async": {"use": toy.replace(":Toy", ":AsyncToy")}}  # fmt: skip
    _, folder = small_run("served", memories, clusters=1, questions=2, controls=False)
    return stores_of(folder)


def call(given: Server, name: str, **arguments: Any) -> str:
    async def run() -> str:
        async with open_toolbox(Toolset(servers=(given,))) as box:
            result = await box.call(name, arguments)
            assert not result.is_error, result.text
            return result.text

    return asyncio.run(run())


# -- the desk ------------------------------------------------------------------------------------------------------


def test_a_store_is_searched_as_a_dossier_shows_it(stores: dict[str, Path]) -> None:
    built = built_store(stores["lexical:conv-900"])
    assert built is not None and built.memory == "lexical"
    assert built_store(stores["lexical:conv-900"] / "store") == built
    desk = open_desk(built, prefix="my_")
    try:
        assert list(desk.tools) == ["my_search"] and not desk.write
        [text] = desk.call("my_search", {"query": "violin", "limit": 2})
        assert re.findall(r"^\[\d+\]", text, re.M) == ["[1]", "[2]"] and "violin" in text
        [shorter] = desk.call("my_search", {"query": "violin", "limit": 2, "max_tokens": 9})
        assert text.startswith(shorter) and 0 < len(shorter) < len(text)
        with pytest.raises(UnknownName):
            desk.call("search", {"query": "violin"})
        for wrong in ({}, {"query": "x", "limit": 0}, {"query": "x", "max_tokens": 20_001}, {"words": "x"}):
            with pytest.raises(UsageError, match=r"^my_search"):
                desk.call("my_search", wrong)
    finally:
        desk.close()


def test_an_asynchronous_memory_is_asked_on_one_loop_from_any_thread(stores: dict[str, Path], toy: str) -> None:
    built = built_store(stores["async:conv-900"])
    assert built is not None and built.memory == "toy.py:AsyncToy"
    desk = open_desk(built, memory=toy.replace(":Toy", ":AsyncToy"))
    before = threading.active_count()
    with ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(lambda word: desk.call("search", {"query": word})[0], ["violin", "kettle"] * 4))
    assert len(set(texts)) == 2 and all(text.startswith("[1] ") for text in texts)
    desk.close()
    assert threading.active_count() <= before


def test_a_memory_of_the_users_own_has_to_be_named(stores: dict[str, Path], toy: str) -> None:
    built = built_store(stores["toy:conv-900"])
    assert built is not None
    with pytest.raises(UsageError, match=r"say where it is: --memory \./toy\.py:Toy\."):
        open_desk(built)
    with pytest.raises(UsageError, match=r"was built by the memory 'toy\.py:Toy', not by 'lexical'"):
        open_desk(built, memory="lexical")


def test_a_memory_that_finds_nothing_says_so_and_one_that_fails_is_a_complaint(
    stores: dict[str, Path], toy: str
) -> None:
    built = built_store(stores["toy:conv-900"])
    assert built is not None
    desk = open_desk(replace(built, options={**built.options, "keep": 0.0}), memory=toy)
    assert desk.call("search", {"query": "violin"}) == ["Nothing was found."]
    desk = open_desk(replace(built, options={**built.options, "fault": "raise"}), memory=toy)
    with pytest.raises(MemoryFailure, match=r"The memory failed: RuntimeError: it broke in two lines\."):
        desk.call("search", {"query": "violin"})


def test_what_is_no_store_and_what_is_damaged(tmp_path: Path) -> None:
    assert built_store(tmp_path) is None
    (tmp_path / "built.json").write_text("{}", encoding="utf-8")
    with pytest.raises(EnvironmentProblem, match=r"built\.json cannot be read \(KeyError\); build it again"):
        built_store(tmp_path)


# -- behind the protocol -------------------------------------------------------------------------------------------


def test_any_memory_is_served_over_standard_input_and_output(stores: dict[str, Path], toy: str) -> None:
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    place = stores["toy:conv-900"]
    before = digest_folder(place)
    [given] = servers(StoreRef(key="k", location=str(place / "store")), toy)
    assert given.tools == ("search",) and not given.writes
    assert call(given, "search", query="violin", limit=1).startswith("[1] ")
    assert digest_folder(place) == before


def test_markdown_is_served_with_its_own_tools(stores: dict[str, Path]) -> None:
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    place = stores["markdown:conv-900"]
    before = digest_folder(place)
    ref = StoreRef(key="k", location=str(place / "store"))
    store = Markdown().open(ref)
    [given] = store.toolset().servers
    store.close()
    assert given.tools == TOOLS
    assert "violin" in call(given, "search", text="violin")
    assert digest_folder(place) == before


@contextlib.contextmanager
def served_over_http(place: Path, home: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "memassay", "memory", "serve", "--store", str(place), "--transport", "http"]
    process = subprocess.Popen(
        [*command, "--port", "0"], env=child_environment(home), stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline().decode()
        found = re.search(r"http://127\.0\.0\.1:\d+/mcp", line)
        assert found is not None, line
        yield found[0]
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)


@pytest.mark.slow
def test_a_store_is_served_over_http(stores: dict[str, Path], own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with served_over_http(stores["lexical:conv-900"], own_home) as url:
        assert call(Server(url=url, tools=("search",)), "search", query="violin").startswith("[1] ")


def test_mistakes_at_the_command_line_are_one_sentence(cli: Cli, stores: dict[str, Path], toy: str) -> None:
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    lexical, own, pages = (str(stores[f"{name}:conv-900"]) for name in ("lexical", "toy", "markdown"))
    for words, says in (
        ([lexical, "--write"], "is the store of a run, which is only searched; leave --write out."),
        ([lexical, "--index", "here"], "leave --index out."),
        ([lexical, "--tools", "search,find"], "Unknown tool 'find'"),
        ([lexical, "--memory", "files"], "was built by the memory 'lexical', not by 'files'"),
        ([own], "say where it is: --memory ./toy.py:Toy."),
        ([pages, "--memory", toy], "is served as pages, which need no --memory; leave it out."),
    ):
        ran = cli("memory", "serve", "--store", *words)
        assert (ran.code, ran.out) == (2, "")
        assert says in ran.complaint


# -- as files ------------------------------------------------------------------------------------------------------


def test_a_copy_holds_plain_files_and_nothing_hidden_or_linked(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    (folder / "sessions").mkdir(parents=True)
    (folder / ".index").mkdir()
    (folder / "index.md").write_text("# Index\n", encoding="utf-8")
    (folder / "sessions" / "one.md").write_text("# One\n", encoding="utf-8")
    (folder / ".index" / "data").write_text("x", encoding="utf-8")
    (folder / ".hidden.md").write_text("x", encoding="utf-8")
    (tmp_path / "gold.md").write_text("gold", encoding="utf-8")
    (folder / "gold.md").symlink_to(tmp_path / "gold.md")
    (folder / "up").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    work = lay_out(folder, tmp_path / "work")
    names = sorted(path.relative_to(work).as_posix() for path in work.rglob("*"))
    assert names == ["index.md", "sessions", "sessions/one.md"]
    (work / "index.md").write_text("changed", encoding="utf-8")
    assert (folder / "index.md").read_text(encoding="utf-8") == "# Index\n"
