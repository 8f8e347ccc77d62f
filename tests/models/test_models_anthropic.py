"""What goes over the wire between the official ``anthropic`` package and a scripted server on this machine."""

from __future__ import annotations

import pytest
from providers import SCHEMA, SEARCH, USER, ask

pytest.importorskip("anthropic", reason="the extra anthropic is not installed")

from memassay.models.anthropic import AnthropicModel
from memassay.models.chat import Call, Message
from servers.anthropic import MessagesServer, Turn

MODEL = "claude-opus-4-8"

pytestmark = pytest.mark.usefixtures("no_keys")


def at(server: MessagesServer, **settings: str) -> AnthropicModel:
    return AnthropicModel(MODEL, base_url=server.url, **settings)


def test_a_request_says_no_more_than_it_should() -> None:
    with MessagesServer([Turn("Oslo.")]) as server:
        reply = ask(at(server), system="Be short.", max_tokens=7)
    user = {"role": "user", "content": "Where?"}
    assert server.bodies == [{"model": MODEL, "max_tokens": 7, "messages": [user], "system": "Be short."}]
    assert (reply.text, reply.stop, reply.calls, reply.model) == ("Oslo.", "end", (), MODEL)
    assert reply.request == server.bodies[0]
    assert isinstance(reply.response, dict) and reply.response["id"] == "msg_0"


def test_every_setting_reaches_the_wire() -> None:
    with MessagesServer([Turn("{}")]) as server:
        ask(at(server, effort="low"), tools=(SEARCH,), schema=SCHEMA, temperature=0.0)
    body = server.bodies[0]
    assert body["tools"] == [{"name": "search", "description": "To search.", "input_schema": dict(SEARCH.schema)}]
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}, "effort": "low"}
    assert body["temperature"] == 0.0


def test_all_calls_of_a_reply_are_answered_in_one_message() -> None:
    with MessagesServer(
        [Turn("Let me see.", calls=(("search", {"q": "tea"}), ("search", {}))), Turn("Oslo.")]
    ) as server:
        first = ask(at(server), tools=(SEARCH,))
        results = [Message("tool", f"result {n}", call_id=call.id) for n, call in enumerate(first.calls)]
        second = ask(at(server), USER, first.message, *results, tools=(SEARCH,))
    assert first.stop == "tools" and first.text == "Let me see."
    assert first.calls == (Call("toolu_0_0", "search", {"q": "tea"}), Call("toolu_0_1", "search", {}))
    _, said, answers = server.bodies[1]["messages"]
    assert said["content"] == first.native and [block["type"] for block in said["content"]] == [
        "text",
        "tool_use",
        "tool_use",
    ]
    assert answers["role"] == "user"
    assert [(a["type"], a["tool_use_id"], a["content"]) for a in answers["content"]] == [
        ("tool_result", "toolu_0_0", "result 0"),
        ("tool_result", "toolu_0_1", "result 1"),
    ]
    assert second.text == "Oslo."


def test_the_four_kinds_of_tokens() -> None:
    counts = {"input_tokens": 5, "output_tokens": 6, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 8}
    with MessagesServer([Turn("x", usage=counts)]) as server:
        usage = ask(at(server)).usage
    assert (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.turns) == (5, 6, 7, 8, 1)
    assert usage.cost_usd == pytest.approx((5 * 5 + 6 * 25 + 7 * 0.5 + 8 * 6.25) / 1e6)


@pytest.mark.parametrize(
    ("said", "stop"),
    [
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("stop_sequence", "end"),
    ],
)
def test_why_it_ended(said: str, stop: str) -> None:
    with MessagesServer([Turn("x", stop=said)]) as server:
        assert ask(at(server)).stop == stop
