"""The scripted Messages API itself: what it says, streamed or not, and what it keeps."""

from __future__ import annotations

import json
import threading
from typing import Any

import httpx2
import pytest

from servers.anthropic import MessagesServer, Turn

USER = {"role": "user", "content": "Where?"}


def body(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "claude-x-1", "max_tokens": 9, "messages": list(messages or (USER,)), **more}


def post(server: MessagesServer, content: Any, path: str = "/v1/messages?beta=true") -> httpx2.Response:
    return httpx2.post(f"{server.url}{path}", json=content, headers={"x-api-key": "dummy-local"}, trust_env=False)


def events(response: httpx2.Response) -> list[Any]:
    return [json.loads(line[6:]) for line in response.text.splitlines() if line.startswith("data: ")]


def test_the_turn_is_the_number_of_replies_so_far() -> None:
    script = [Turn("first"), Turn("second")]
    replies = [{"role": "assistant", "content": "x"}, USER]
    with MessagesServer(script) as server:
        texts = [post(server, body(USER, *replies * n)).json()["content"][0]["text"] for n in (1, 0, 1, 5)]
    assert texts == ["second", "first", "second", "second"]


def test_a_plain_reply() -> None:
    turn = Turn("Oslo.", calls=(("search", {"query": "x"}),), usage={"input_tokens": 5, "cache_read_input_tokens": 3})
    with MessagesServer([turn]) as server:
        reply = post(server, body()).json()
    assert reply["model"] == "claude-x-1"
    assert reply["stop_reason"] == "tool_use"
    assert [block["type"] for block in reply["content"]] == ["text", "tool_use"]
    assert reply["content"][1] == {"type": "tool_use", "id": "toolu_0_0", "name": "search", "input": {"query": "x"}}
    assert reply["usage"] == {
        "input_tokens": 5, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 3,
    }  # fmt: skip


def test_a_streamed_reply_says_its_usage_at_the_end_only() -> None:
    with MessagesServer([Turn("Oslo.", model="claude-y-2", usage={"output_tokens": 500})]) as server:
        response = post(server, body(stream=True))
    assert response.headers["content-type"] == "text/event-stream"
    found = events(response)
    assert [event["type"] for event in found] == [
        "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
        "message_stop",
    ]  # fmt: skip
    assert found[0]["message"]["model"] == "claude-y-2"
    assert found[0]["message"]["usage"]["output_tokens"] == 1
    assert found[2]["delta"] == {"type": "text_delta", "text": "Oslo."}
    assert found[4]["usage"]["output_tokens"] == 500
    assert found[4]["delta"]["stop_reason"] == "end_turn"


def test_a_streamed_tool_call_carries_its_arguments_as_json() -> None:
    with MessagesServer([Turn(calls=(("search", {"query": "Ä"}),))]) as server:
        found = events(post(server, body(stream=True)))
    assert found[1]["content_block"]["input"] == {}
    assert json.loads(found[2]["delta"]["partial_json"]) == {"query": "Ä"}
    assert found[4]["delta"]["stop_reason"] == "tool_use"


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, "invalid_request_error"), (401, "authentication_error"), (429, "rate_limit_error"),
     (529, "overloaded_error"), (500, "api_error")],
)  # fmt: skip
def test_a_fault_has_the_providers_form(status: int, kind: str) -> None:
    with MessagesServer([Turn(status=status, message="no", headers={"retry-after": "3"})]) as server:
        response = post(server, body())
    assert response.status_code == status
    assert response.headers["retry-after"] == "3"
    assert response.json() == {"type": "error", "error": {"type": kind, "message": "no"}}


def test_faults_come_first_and_once_each() -> None:
    with MessagesServer([Turn("at last")], faults=[Turn(status=529), Turn(status=429)]) as server:
        assert [post(server, body()).status_code for _ in range(4)] == [529, 429, 200, 200]


def test_a_script_may_be_a_function_of_the_request() -> None:
    with MessagesServer(lambda asked: Turn(f"{asked['model']}, {len(asked['messages'])}")) as server:
        assert post(server, body()).json()["content"][0]["text"] == "claude-x-1, 1"


def test_it_hangs_up_or_never_answers() -> None:
    with MessagesServer([Turn(drop=True)]) as server, pytest.raises(httpx2.TransportError):
        post(server, body())
    with MessagesServer([Turn(silent=True)]) as server, pytest.raises(httpx2.ReadTimeout):
        httpx2.post(f"{server.url}/v1/messages", json=body(), timeout=0.3, trust_env=False)


def test_everything_that_was_asked_is_kept() -> None:
    with MessagesServer([Turn("x")]) as server:
        httpx2.head(server.url, trust_env=False)
        post(server, body())
        assert post(server, body(), "/v1/messages/count_tokens").status_code == 404
        kept = server.requests
        assert [(r.method, r.path) for r in kept] == [
            ("HEAD", "/"), ("POST", "/v1/messages?beta=true"), ("POST", "/v1/messages/count_tokens"),
        ]  # fmt: skip
        assert kept[1].headers["x-api-key"] == "dummy-local"
        assert server.bodies == [body()]


def test_many_conversations_at_once() -> None:
    with MessagesServer([Turn("x")]) as server:
        threads = [threading.Thread(target=post, args=(server, body())) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(server.bodies) == 8
