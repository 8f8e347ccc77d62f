"""The official ``anthropic`` package against a scripted server on this machine."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

pytest.importorskip("anthropic", reason="the extra anthropic is not installed")

from memassay.core.errors import EnvironmentProblem
from memassay.core.types import Status
from memassay.models.anthropic import AnthropicModel
from memassay.models.chat import Call, Chat, ChatFailure, Message, Reply, Tool
from servers.anthropic import MessagesServer, Turn

MODEL = "claude-opus-4-8"
SCHEMA = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}
SEARCH = Tool("search", "To search.", {"type": "object", "properties": {"q": {"type": "string"}}})
USER = Message("user", "Where?")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS"):
        monkeypatch.delenv(name, raising=False)


def ask(server: MessagesServer, *messages: Message, model: Any = None, **chat: Any) -> Reply:
    async def run() -> Reply:
        asked = model or AnthropicModel(MODEL, base_url=server.url)
        try:
            reply: Reply = await asked.complete(Chat(messages or (USER,), **chat))
            return reply
        finally:
            await asked.close()

    return asyncio.run(run())


def failure(turn: Turn, **chat: Any) -> tuple[ChatFailure, MessagesServer]:
    with MessagesServer([turn]) as server, pytest.raises(ChatFailure) as failed:
        ask(server, **chat)
    return failed.value, server


def test_a_request_says_no_more_than_it_should() -> None:
    with MessagesServer([Turn("Oslo.")]) as server:
        reply = ask(server, system="Be short.", max_tokens=7)
    user = {"role": "user", "content": "Where?"}
    assert server.bodies == [{"model": MODEL, "max_tokens": 7, "messages": [user], "system": "Be short."}]
    assert (reply.text, reply.stop, reply.calls, reply.model) == ("Oslo.", "end", (), MODEL)
    assert reply.request == server.bodies[0]
    assert isinstance(reply.response, dict) and reply.response["id"] == "msg_0"


def test_every_setting_reaches_the_wire() -> None:
    with MessagesServer([Turn("{}")]) as server:
        model = AnthropicModel(MODEL, base_url=server.url, effort="low")
        ask(server, model=model, tools=(SEARCH,), schema=SCHEMA, temperature=0.0)
    body = server.bodies[0]
    assert body["tools"] == [{"name": "search", "description": "To search.", "input_schema": dict(SEARCH.schema)}]
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}, "effort": "low"}
    assert body["temperature"] == 0.0


def test_all_calls_of_a_reply_are_answered_in_one_message() -> None:
    with MessagesServer(
        [Turn("Let me see.", calls=(("search", {"q": "tea"}), ("search", {}))), Turn("Oslo.")]
    ) as server:
        first = ask(server, tools=(SEARCH,))
        results = [Message("tool", f"result {n}", call_id=call.id) for n, call in enumerate(first.calls)]
        second = ask(server, USER, first.message, *results, tools=(SEARCH,))
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
        usage = ask(server).usage
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
        assert ask(server).stop == stop


@pytest.mark.parametrize(
    ("code", "status", "permanent"),
    [
        (400, Status.API_ERROR, True),
        (401, Status.API_ERROR, True),
        (403, Status.API_ERROR, True),
        (404, Status.API_ERROR, True),
        (429, Status.RATE_LIMIT, False),
        (500, Status.API_ERROR, False),
        (529, Status.API_ERROR, False),
    ],
)
def test_an_error_of_the_provider_is_asked_once_and_named(code: int, status: Status, permanent: bool) -> None:
    error, server = failure(Turn(status=code, message="no way", headers={"retry-after": "3"}))
    assert len(server.bodies) == 1, "the package must not ask again by itself"
    assert (error.status, error.code, error.permanent, error.retry_after) == (status, code, permanent, 3.0)
    assert f"HTTP {code}" in error.detail and "no way" in error.detail
    assert error.request == server.bodies[0] and error.response is not None


def test_a_refused_schema_says_what_to_set() -> None:
    error, server = failure(Turn(status=400, message="output_config: unknown"), schema=SCHEMA)
    assert "set structured=prompt" in error.detail and len(server.bodies) == 1


def test_structured_by_words_asks_in_the_system_text() -> None:
    with MessagesServer([Turn('{"label": "WRONG"}')]) as server:
        model = AnthropicModel(MODEL, base_url=server.url, structured="prompt")
        reply = ask(server, model=model, schema=SCHEMA)
    assert "output_config" not in server.bodies[0]
    assert server.bodies[0]["system"].startswith("Reply with one JSON object")
    assert json.loads(reply.text) == {"label": "WRONG"}


def test_no_reply_and_no_connection_are_the_network() -> None:
    slow, _ = failure(Turn(silent=True), seconds=0.3)
    assert slow.status is Status.NETWORK and "gave no reply within 0.3 s" in slow.detail
    gone, _ = failure(Turn(drop=True))
    assert gone.status is Status.NETWORK and "cannot be reached" in gone.detail


def test_the_key_is_sent_and_never_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "dummy-local-12345")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "dummy-other-12345")
    with MessagesServer([Turn(status=401, message="wrong key dummy-local-12345")]) as server:
        model = AnthropicModel(MODEL, base_url=server.url, key_env="MY_KEY")
        with pytest.raises(ChatFailure) as failed:
            ask(server, model=model)
    sent = str(server.requests[0].headers)
    assert "dummy-local-12345" in sent and "dummy-other" not in sent
    kept = f"{failed.value.detail} {failed.value.response} {failed.value.request} {model.identity()}"
    assert "dummy" not in kept and "[MY_KEY]" in kept


def test_without_a_key_nothing_is_sent_elsewhere() -> None:
    with pytest.raises(EnvironmentProblem, match="ANTHROPIC_API_KEY"):
        asyncio.run(AnthropicModel(MODEL).complete(Chat((USER,))))


def test_a_proxy_of_the_environment_is_no_way_to_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with MessagesServer([Turn("Oslo.")]) as server:
        assert ask(server).text == "Oslo."


def test_the_address_may_come_from_the_packages_own_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    with MessagesServer([Turn("Oslo.")]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        model = AnthropicModel(MODEL)
        assert ask(server, model=model).text == "Oslo."
    assert model.identity()["address"] == server.url
