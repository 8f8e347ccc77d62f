"""The official ``openai`` package against a scripted server on this machine."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import pytest

pytest.importorskip("openai", reason="the extra openai is not installed")

from memassay.core.errors import EnvironmentProblem
from memassay.core.types import Status
from memassay.models.chat import Call, Chat, ChatFailure, Message, Reply, Tool
from memassay.models.openai import OpenAIModel
from servers.openai import CompletionsServer, Say

SCHEMA = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}
SEARCH = Tool("search", "To search.", {"type": "object", "properties": {"q": {"type": "string"}}})
USER = Message("user", "Where?")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def ask(server: CompletionsServer, *messages: Message, model: Any = None, **chat: Any) -> Reply:
    async def run() -> Reply:
        asked = model or OpenAIModel("gpt-4.1", base_url=server.url)
        try:
            reply: Reply = await asked.complete(Chat(messages or (USER,), **chat))
            return reply
        finally:
            await asked.close()

    return asyncio.run(run())


def failure(say: Say, **chat: Any) -> ChatFailure:
    with CompletionsServer([say]) as server, pytest.raises(ChatFailure) as failed:
        ask(server, **chat)
    return failed.value


def test_a_request_says_no_more_than_it_should() -> None:
    with CompletionsServer([Say("Oslo.")]) as server:
        reply = ask(server, system="Be short.", max_tokens=7)
    system, user = {"role": "system", "content": "Be short."}, {"role": "user", "content": "Where?"}
    assert server.bodies == [{"model": "gpt-4.1", "messages": [system, user], "max_tokens": 7}]
    assert server.paths == ["/v1/chat/completions"] and server.headers[0]["authorization"] == "Bearer no-key"
    assert (reply.text, reply.stop, reply.calls, reply.model) == ("Oslo.", "end", (), "gpt-4.1")
    assert reply.request == server.bodies[0]
    assert isinstance(reply.response, dict) and reply.response["id"] == "chatcmpl-1"


def test_every_setting_reaches_the_wire() -> None:
    with CompletionsServer([Say("{}")]) as server:
        model = OpenAIModel("gpt-4.1", base_url=server.url, effort="low")
        ask(server, model=model, tools=(SEARCH,), schema=SCHEMA, temperature=0.0)
    body = server.bodies[0]
    function = {"name": "search", "description": "To search.", "parameters": dict(SEARCH.schema)}
    assert body["tools"] == [{"type": "function", "function": function}]
    strict = {"name": "reply", "schema": SCHEMA, "strict": True}
    assert body["response_format"] == {"type": "json_schema", "json_schema": strict}
    assert body["temperature"] == 0.0 and body["reasoning_effort"] == "low"


def test_a_conversation_with_tools_is_given_back_as_it_came() -> None:
    turns = [Say(None, calls=(("search", {"q": "tea"}), ("search", '{"q": "te'))), Say("Oslo.")]
    with CompletionsServer(turns) as server:
        first = ask(server, tools=(SEARCH,))
        results = [Message("tool", f"result {n}", call_id=call.id) for n, call in enumerate(first.calls)]
        ask(server, USER, first.message, *results, tools=(SEARCH,))
    assert first.stop == "tools"
    assert first.calls[0] == Call("call_1_0", "search", {"q": "tea"})
    assert first.calls[1].arguments == {} and first.calls[1].problem.startswith("the arguments are not JSON")
    _, said, *answers = server.bodies[1]["messages"]
    assert said["role"] == "assistant" and said["tool_calls"][1]["function"]["arguments"] == '{"q": "te'
    assert answers == [
        {"role": "tool", "tool_call_id": "call_1_0", "content": "result 0"},
        {"role": "tool", "tool_call_id": "call_1_1", "content": "result 1"},
    ]


def test_cached_tokens_are_counted_once() -> None:
    details = {"cached_tokens": 600, "cache_write_tokens": 100}
    counts = {"prompt_tokens": 1000, "completion_tokens": 50, "prompt_tokens_details": details}
    with CompletionsServer([Say("x", usage=counts)]) as server:
        usage = ask(server, model=OpenAIModel("gpt-6-luna", base_url=server.url)).usage
    assert (usage.input, usage.output, usage.cache_read, usage.cache_write) == (300, 50, 600, 100)
    assert usage.cost_usd == pytest.approx((300 * 0.1 + 50 * 0.5 + 600 * 0.01 + 100 * 0.125) / 1e6)


def test_a_server_that_counts_nothing_has_no_cost() -> None:
    with CompletionsServer([Say("x", usage=None)]) as server:
        usage = ask(server).usage
    assert usage.cost_usd is None and usage.input == 0


@pytest.mark.parametrize(
    ("say", "stop", "text"),
    [
        (Say("x", finish="length"), "length", "x"),
        (Say("", finish="content_filter"), "refusal", ""),
        (Say(None, refusal="I will not."), "refusal", "I will not."),
        (Say(None, calls=(("search", {}),), finish="stop"), "tools", ""),
    ],
)
def test_why_it_ended(say: Say, stop: str, text: str) -> None:
    with CompletionsServer([say]) as server:
        reply = ask(server)
    assert (reply.stop, reply.text) == (stop, text)


@pytest.mark.parametrize(
    ("code", "status", "permanent"),
    [
        (400, Status.API_ERROR, True),
        (401, Status.API_ERROR, True),
        (403, Status.API_ERROR, True),
        (404, Status.API_ERROR, True),
        (409, Status.API_ERROR, False),
        (429, Status.RATE_LIMIT, False),
        (500, Status.API_ERROR, False),
        (529, Status.API_ERROR, False),
    ],
)
def test_an_error_of_the_provider_is_asked_once_and_named(code: int, status: Status, permanent: bool) -> None:
    with CompletionsServer([Say(status=code, message="no\nway")]) as server, pytest.raises(ChatFailure) as failed:
        ask(server)
    error = failed.value
    assert len(server.bodies) == 1, "the package must not ask again by itself"
    assert (error.status, error.code, error.permanent, error.retry_after) == (status, code, permanent, None)
    assert f"HTTP {code}" in error.detail and "no way" in error.detail and "\n" not in error.detail
    assert error.request == server.bodies[0] and error.response is not None


def test_a_rate_limit_says_how_long_and_an_empty_account_is_permanent() -> None:
    assert failure(Say(status=429, headers={"retry-after": "7"})).retry_after == 7.0
    assert failure(Say(status=429, headers={"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"})).retry_after is None
    assert failure(Say(status=429, message="insufficient_quota: pay first")).permanent


def test_a_refused_schema_says_what_to_set_and_no_other_way_is_taken() -> None:
    with CompletionsServer([Say(status=400, message="unknown field")]) as server, pytest.raises(ChatFailure) as failed:
        ask(server, schema=SCHEMA)
    assert "set structured=prompt" in failed.value.detail and len(server.bodies) == 1
    assert "structured" not in failure(Say(status=400)).detail


def test_structured_by_words_asks_in_the_system_text() -> None:
    fenced = '```json\n{"label": "CORRECT"}\n```'
    with CompletionsServer([Say(fenced)]) as server:
        model = OpenAIModel("gpt-4.1", base_url=server.url, structured="prompt")
        reply = ask(server, model=model, schema=SCHEMA, system="Judge.")
    assert "response_format" not in server.bodies[0]
    assert server.bodies[0]["messages"][0]["content"].startswith("Judge.\n\nReply with one JSON object")
    assert json.loads(reply.text) == {"label": "CORRECT"}


@pytest.mark.parametrize("raw", [b"<html>gateway</html>", b"{}", b'{"choices": []}', b"[]", b"null"])
def test_a_reply_that_cannot_be_read_is_the_interfaces_error(raw: bytes) -> None:
    error = failure(Say(raw=raw))
    assert error.status is Status.API_ERROR and not error.permanent


def test_no_reply_and_no_connection_are_the_network() -> None:
    slow = failure(Say(silent=True), seconds=0.3)
    assert slow.status is Status.NETWORK and "gave no reply within 0.3 s" in slow.detail
    gone = failure(Say(drop=True))
    assert gone.status is Status.NETWORK and "cannot be reached" in gone.detail
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        model = OpenAIModel("m", base_url=f"http://127.0.0.1:{unused.getsockname()[1]}/v1")
        with pytest.raises(ChatFailure) as refused:
            asyncio.run(model.complete(Chat((USER,))))
    assert refused.value.status is Status.NETWORK


def test_the_key_is_sent_and_never_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "dummy-local-12345")
    monkeypatch.setenv("OPENAI_API_KEY", "dummy-other-12345")
    with CompletionsServer([Say(status=401, message="wrong key dummy-local-12345")]) as server:
        model = OpenAIModel("m", base_url=server.url, key_env="MY_KEY")
        with pytest.raises(ChatFailure) as failed:
            ask(server, model=model)
    assert server.headers[0]["authorization"] == "Bearer dummy-local-12345"
    kept = f"{failed.value.detail} {failed.value.response} {failed.value.request} {model.identity()}"
    assert "dummy" not in kept and "[MY_KEY]" in kept


def test_without_a_key_nothing_is_sent_elsewhere() -> None:
    with pytest.raises(EnvironmentProblem, match="OPENAI_API_KEY"):
        asyncio.run(OpenAIModel("gpt-4.1").complete(Chat((USER,))))


def test_the_providers_own_address_gets_the_newer_name_of_the_limit() -> None:
    assert "max_completion_tokens" in OpenAIModel("gpt-4.1")._body(Chat((USER,)))


def test_a_proxy_of_the_environment_is_no_way_to_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with CompletionsServer([Say("Oslo.")]) as server:
        assert ask(server).text == "Oslo."


def test_one_model_serves_several_event_loops() -> None:
    with CompletionsServer([Say("Oslo.")]) as server:
        model = OpenAIModel("m", base_url=server.url)
        assert [asyncio.run(model.complete(Chat((USER,)))).text for _ in range(2)] == ["Oslo.", "Oslo."]


def test_what_can_change_a_reply_is_its_identity() -> None:
    identity = OpenAIModel("gpt-4.1", base_url="http://me:pw@127.0.0.1:1/v1?x=1", effort="low").identity()
    assert identity["address"] == "http://127.0.0.1:1/v1" and identity["model"] == "gpt-4.1"
    assert str(identity["package"]).startswith("openai ") and identity["effort"] == "low"
