"""The agent ``rules`` as it runs: its tools are a process, the bridge, which speaks to a platform over HTTP."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from agents_lifecycle import PROTOCOLS, WAREHOUSE, ledger_of, urn_of

from memassay.agents.rules import UNKNOWN, Rules
from memassay.core.taught import ToolCall
from memassay.core.types import CellKey, Request, Server, Step, Toolset
from memassay.platform.settings import Settings
from memassay.platform.shapes import Entity
from memassay.suites.lifecycle.answers import published_correct

pytestmark = pytest.mark.slow


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """A platform with two agents, ``KEY-001`` and ``KEY-002``."""
    import uvicorn

    from memassay.platform.app import make_app
    from memassay.platform.serve import address_of, listen
    from memassay.platform.workspaces import Workspaces

    WAREHOUSE.write(tmp_path / "warehouse.sqlite")
    spaces = Workspaces(tmp_path / "data", Settings(embedder="hash", durable=False), tmp_path / "warehouse.sqlite")
    spaces.main.add_pool("KEY", 2)
    spaces.main.put_entities(Entity(urn=urn_of(table), name=f"main.{table}") for table in WAREHOUSE.ledgers)
    listener = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(make_app(spaces), log_config=None, ws="none", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    yield address_of(listener)
    server.should_exit = True
    thread.join()
    spaces.close()


def say(url: str, key: str, prompt: str, log: Path) -> Step:
    command = (
        sys.executable,
        "-m",
        "memassay",
        "platform",
        "bridge",
        "--url",
        url,
        "--key-env",
        "KEY",
        "--log",
        str(log),
    )
    toolset = Toolset(servers=(Server(name="memory", command=command, env={"KEY": key}),))
    return asyncio.run(Rules().answer(Request(cell=CellKey(task="q", arm="a"), prompt=prompt, toolset=toolset)))


def test_what_one_session_is_told_another_answers_by(url: str, tmp_path: Path) -> None:
    protocol, log = PROTOCOLS[0], tmp_path / "calls.jsonl"
    told = say(url, "KEY-001", protocol.teach.prompt, log)
    assert (told.status, told.text) == ("ok", f"Kept, on {urn_of(ledger_of(protocol))}.")
    known = say(url, "KEY-001", protocol.recall.prompt, log)
    assert published_correct(known.text or "", protocol.recall.grading)
    assert say(url, "KEY-002", protocol.recall.prompt, log).text == UNKNOWN
    calls = [ToolCall.model_validate_json(line) for line in log.read_text().splitlines()]
    assert [call.tool for call in calls][:4] == ["search", "memory_capture", "search", "trino_query"]
    assert not any(call.error for call in calls)
    assert known.usage.tool_calls == 2
