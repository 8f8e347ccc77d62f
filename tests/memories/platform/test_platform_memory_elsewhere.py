"""Another platform, reached by address and key alone: a stand-in, which is the embedded one, started by hand."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from platform_corpus import corpus
from platform_speech import FACT, URN, found, say, teach

from memassay.core.contracts import BuildContext, Identities, Records, Restarts, Reviews, Serves, Snapshots, Watched
from memassay.core.errors import CannotMeasure
from memassay.core.types import SharedPage, StoreRef
from memassay.memories.platform import PlatformMemory
from memassay.memories.platform.client import http_client
from memassay.memories.platform.process import Process

CONTROL = "MEMASSAY_PLATFORM_CONTROL_KEY"
AGENTS = 6


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a platform with six agents; ``STAND_IN_KEY`` holds its key."""
    control, key = secrets.token_hex(16), secrets.token_hex(16)
    args = ("platform", "serve", "--data", "{folder}/data", "--json", "--set", "embedder=none")
    process = Process("The stand-in", "memassay", args, {CONTROL: control})
    url = str(process.said["url"])
    wanted = {
        "settings": {"embedder": "hash", "supersede": 0.6, "similar": 0.4, "durable": False},
        "pool": {"key": key, "count": AGENTS},
        "entities": [entity.model_dump(mode="json") for entity in corpus().native.entities],
    }
    with http_client(url, control) as http:
        assert http.put("/control/workspaces/theirs", json=wanted).status_code == 201
    monkeypatch.setenv("STAND_IN_KEY", key)
    yield f"{url}/w/theirs"
    process.close()


@pytest.fixture
def open_theirs(elsewhere: str, open_store: Callable[..., Any]) -> Callable[..., Any]:
    return lambda **more: open_store("theirs", PlatformMemory(url=elsewhere, key_env="STAND_IN_KEY", **more))


def test_it_lacks_what_only_the_owner_of_a_process_can_do(open_theirs: Callable[..., Any]) -> None:
    store = open_theirs()
    for contract in (Serves, Records, Identities, Watched, Reviews):
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
