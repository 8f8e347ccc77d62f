"""Another platform, reached by address and key alone: a stand-in, the embedded one made to act as others do."""

from __future__ import annotations

import json
import re
import secrets
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from mcp_types import CallToolResult, TextContent
from platform_corpus import corpus
from platform_speech import FACT, URN, found, say, teach
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from memassay.core.contracts import BuildContext, Serves, Snapshots
from memassay.core.errors import CannotMeasure, MemoryFailure
from memassay.core.taught import Budgets, Identities, Records, Restarts, Reviews, SharedPage, Watched
from memassay.core.types import StoreRef
from memassay.memories.platform import PlatformMemory
from memassay.platform import entities, listing, server, tools
from memassay.platform.app import make_app
from memassay.platform.errors import PlatformError
from memassay.platform.serve import address_of, listen
from memassay.platform.settings import Settings
from memassay.platform.shapes import ApplyResult, RecordFilter
from memassay.platform.workspaces import Workspaces

AGENTS = 6


class Bare:
    """The embedded platform without what others have not: below ``/memassay`` is a page for people, as anywhere."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if "/memassay/" in scope.get("path", ""):
            await HTMLResponse("<html>The portal.</html>")(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _bare(result: CallToolResult, done: Any) -> CallToolResult:
    """A result of ``apply_knowledge`` as text alone, without the fields that are ours and those that are empty."""
    if not isinstance(done, ApplyResult):
        return result
    held = {name: value for name, value in done.model_dump(mode="json").items() if value and name not in _OURS}
    return CallToolResult(content=[TextContent(text=f"Done.\n{json.dumps(held, indent=1)}")])


_OURS = ("status", "sink")


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """The address of a platform with six agents that acts as others do; ``STAND_IN_KEY`` holds its key.

    A list of records is of all who share the persona, applying answers without a status, the catalogue is found by
    ``search`` alone, and what the catalogue lacks is an error in words.
    """
    key = secrets.token_hex(16)
    where, result, lookup = listing._where, server._result, entities.found

    def everybody(owner: int, asked: RecordFilter) -> tuple[str, list[Any]]:
        condition, values = where(owner, asked)
        return condition.replace("owner = ?", "owner <> ?"), [-1, *values[1:]]

    monkeypatch.setattr(listing, "_where", everybody)
    monkeypatch.setattr(server, "_result", lambda done: _bare(result(done), done))
    monkeypatch.setattr(tools, "TOOLS", {name: tool for name, tool in tools.TOOLS.items() if name != "datahub_search"})

    def found(con: Any, urn: str) -> Any:
        try:
            return lookup(con, urn)
        except PlatformError:
            raise PlatformError("tool_error", f"Entity not found: {urn}.") from None

    monkeypatch.setattr(entities, "found", found)
    settings = Settings(embedder="hash", supersede=0.6, similar=0.4, duplicate_page=0.7, durable=False)
    spaces = Workspaces(tmp_path / "theirs", settings)
    spaces.main.add_pool(key, AGENTS)
    spaces.main.put_entities(corpus().native.entities)
    listener = listen("127.0.0.1", 0)
    config = uvicorn.Config(Bare(make_app(spaces)), log_config=None, ws="none", timeout_graceful_shutdown=1)
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
    thread.start()
    monkeypatch.setenv("STAND_IN_KEY", key)
    yield address_of(listener)
    running.should_exit = True
    thread.join()
    spaces.close()


@pytest.fixture
def open_theirs(elsewhere: str, open_store: Callable[..., Any]) -> Callable[..., Any]:
    return lambda **more: open_store("theirs", PlatformMemory(url=elsewhere, key_env="STAND_IN_KEY", **more))


def test_it_lacks_what_only_the_owner_of_a_process_can_do(open_theirs: Callable[..., Any]) -> None:
    store = open_theirs()
    for contract in (Serves, Records, Identities, Watched, Budgets, Reviews):
        assert isinstance(store, contract), contract
    assert not isinstance(store, Snapshots)
    assert not isinstance(store, Restarts)


def test_a_lifecycle_goes_through_the_same_client(open_theirs: Callable[..., Any]) -> None:
    store = open_theirs()
    teacher, learner = store.identity("teacher", 1), store.identity("learner", 1)
    record = teach(store, teacher, FACT, URN)
    assert [(one.id, one.status, one.owner) for one in store.records()] == [(record, "pending", teacher)]
    assert FACT not in found(store, learner, "zorblat sale")
    store.approve(record)
    change = store.apply(record, entity=URN, description=FACT)
    assert store.applied(change, record)
    assert store.description(URN) == FACT
    assert FACT in found(store, learner, "zorblat sale")
    store.roll_back(change)
    assert not store.applied(change, record)
    page = SharedPage(slug="zorblat", title="Zorblat", summary=FACT, body=FACT)
    store.apply(record, page=page)
    assert store.page("zorblat") == page
    assert [call.tool for call in store.calls()] == ["memory_capture", "search", "search"]


def test_what_was_not_applied_is_a_failure(open_theirs: Callable[..., Any]) -> None:
    store = open_theirs()
    teacher = store.identity("teacher", 1)
    one, two = teach(store, teacher, FACT, URN), teach(store, teacher, "The harbour committee meets on Mondays.", URN)
    store.apply(one, page=SharedPage(slug="zorblat", title="Zorblat", summary=FACT, body=FACT))
    with pytest.raises(MemoryFailure, match="duplicate_blocked"):
        store.apply(two, page=SharedPage(slug="again", title="Zorblat", summary=FACT, body=FACT))
    assert store.page("again") is None
    assert [record.status for record in store.records()] == ["applied", "pending"]


def test_what_the_catalogue_does_not_have_has_no_description(open_theirs: Callable[..., Any]) -> None:
    assert open_theirs().description(URN.replace("sales", "nothing")) is None


def test_notes_are_those_of_whom_one_asks_about(open_theirs: Callable[..., Any]) -> None:
    store, other = open_theirs(), open_theirs()
    note = "I looked at the sales of May again."
    for place in (store, other):
        say(place.toolset(place.identity("learner", 1)), "memory_capture", type="episodic_event", content=note)
    [record] = store.records()
    assert (record.owner, record.status, record.kind, record.live) == (
        store.identity("learner", 1), "active", "episodic_event", True,
    )  # fmt: skip


def test_every_attempt_has_people_that_nobody_was_before(open_theirs: Callable[..., Any]) -> None:
    one, two = open_theirs(), open_theirs()
    names = [store.identity(role, 1) for store in (one, two) for role in ("teacher", "learner")]
    assert names == [f"bench-agent-{number:03d}@apikey.local" for number in (1, 2, 3, 4)]
    teach(one, names[0], FACT, URN)
    teach(two, names[2], FACT, URN)
    assert [record.owner for record in one.records()] == [names[0]]
    assert [record.owner for record in two.records()] == [names[2]]


def test_whoever_has_kept_something_is_passed_over(open_theirs: Callable[..., Any]) -> None:
    from memassay.memories.platform import people

    store = open_theirs()
    teach(store, store.identity("teacher", 1), FACT, URN)
    say(
        store.toolset(store.identity("learner", 1)),
        "memory_capture",
        type="episodic_event",
        content="I looked at sales.",
    )
    people._USED.clear()  # as in another process
    assert open_theirs().identity("teacher", 1) == "bench-agent-003@apikey.local"
    assert open_theirs(first=5).identity("teacher", 1) == "bench-agent-005@apikey.local"
    with pytest.raises(CannotMeasure, match="no agent 7"):
        [open_theirs().identity("teacher", 1) for _ in range(2)]


def test_a_key_that_is_not_there_is_one_sentence(
    elsewhere: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    memory = PlatformMemory(url=elsewhere, key_env="STAND_IN_KEY")
    memory.build(corpus(), tmp_path, BuildContext())
    monkeypatch.delenv("STAND_IN_KEY")
    with pytest.raises(CannotMeasure, match="STAND_IN_KEY"):
        memory.open(StoreRef(key="k", location=str(tmp_path)))


def test_what_can_be_seen_of_another_platform_is_recorded(
    elsewhere: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    memory = PlatformMemory(url=elsewhere, key_env="STAND_IN_KEY")

    def facts_of(name: str) -> Any:
        (tmp_path / name).mkdir()
        return memory.build(corpus(), tmp_path / name, BuildContext())["facts"]

    facts = facts_of("first")
    assert facts["address"] == elsewhere and facts["version"]
    assert re.fullmatch(r"[0-9a-f]{12}", facts["tools"])
    monkeypatch.delitem(tools.TOOLS, "fetch")
    assert facts_of("second")["tools"] != facts["tools"]
    monkeypatch.delenv("STAND_IN_KEY")
    with pytest.raises(CannotMeasure, match="STAND_IN_KEY"):
        facts_of("third")
