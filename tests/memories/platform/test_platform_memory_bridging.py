"""The bridges of a run: who may open a session, and what an address is worth."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from platform_speech import FACT, URN, ask, say

from memassay.core.errors import EnvironmentProblem, MemoryFailure
from memassay.memories.platform import embedded
from memassay.memories.platform.process import Process


def test_a_session_is_opened_with_the_control_key_alone(open_store: Callable[..., Any]) -> None:
    open_store().toolset()
    base = embedded._BRIDGES.address()
    for headers in ({}, {"Authorization": "Bearer guess"}):
        with httpx2.Client(base_url=base, headers=headers, trust_env=False) as http:
            assert http.post("/sessions", json={}).status_code == 401
            assert http.delete("/sessions/guess").status_code == 401
            assert http.post("/s/guess", json={}).status_code == 404


def test_a_toolset_is_one_session_however_often_it_is_connected_to(open_store: Callable[..., Any]) -> None:
    store = open_store()
    one, two = store.toolset(), store.toolset()
    say(one, "search", intent="a")
    say(two, "search", intent="b")
    say(one, "search", intent="c")
    first, second, third = (call.session for call in store.calls())
    assert first == third != second
    assert store._key not in one.model_dump_json()


def test_a_closed_session_is_gone(open_store: Callable[..., Any]) -> None:
    store = open_store()
    other = open_store("two")
    other.toolset()
    toolset = store.toolset()
    store.close()
    (server,) = toolset.servers
    assert httpx2.post(str(server.url), json={}, trust_env=False).status_code == 404


def test_a_wrong_call_is_a_result_and_a_line_of_the_log(open_store: Callable[..., Any]) -> None:
    store = open_store()
    toolset = store.toolset()
    refused = ask(toolset, "memory_capture", type="nonsense", content=FACT, entity_urns=[URN])
    assert refused.is_error and "personal_preference" in refused.text
    (call,) = store.calls()
    assert (call.error, call.code, call.sent) == (True, "invalid", True)


def test_a_platform_that_cannot_be_reached_is_the_memorys_failure(open_store: Callable[..., Any]) -> None:
    open_store().toolset()
    with pytest.raises(MemoryFailure, match="cannot be used"):
        embedded.open_session("http://127.0.0.1:9", "key", Path("nowhere"), "")


def test_a_process_that_does_not_start_says_why() -> None:
    with pytest.raises(EnvironmentProblem, match=r"The thing could not be started: .*no_such_module"):
        Process("The thing", "memassay.no_such_module")
