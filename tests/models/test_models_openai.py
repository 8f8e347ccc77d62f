"""What goes over the wire between the official ``openai`` package and a scripted server on this machine."""

from __future__ import annotations

import pytest
from providers import SCHEMA, SEARCH, USER, ask

pytest.importorskip("openai", reason="the extra openai is not installed")

from memassay.core.types import Status
from memassay.models.chat import Call, Chat, ChatFailure, Message
from memassay.models.openai import OpenAIModel
from servers.openai import CompletionsServer, Say

pytestmark = pytest.mark.usefixtures("no_keys")


def at(server: CompletionsServer, model: str = "gpt-4.1", **settings: str) -> OpenAIModel:
    return OpenAIModel(model, base_url=server.url, **settings)


def failure(say: Say) -> ChatFailure:
    with CompletionsServer([say]) as server, pytest.raises(ChatFailure) as failed:
        ask(at(server))
    return failed.value


def test_a_request_says_no_more_than_it_should() -> None:
    with CompletionsServer([Say("Oslo.")]) as server:
        reply = ask(at(server), system="Be short.", max_tokens=7)
    system, user = {"role": "system", "content": "Be short."}, {"role": "user", "content": "Where?"}
    assert server.bodies == [{"model": "gpt-4.1", "messages": [system, user], "max_tokens": 7}]
    assert server.paths == ["/v1/chat/completions"] and server.headers[0]["authorization"] == "Bearer no-key"
    assert (reply.text, reply.stop, reply.calls, reply.model) == ("Oslo.", "end", (), "gpt-4.1")
    assert reply.request == server.bodies[0]
    assert isinstance(reply.response, dict) and reply.response["id"] == "chatcmpl-1"


def test_every_setting_reaches_the_wire() -> None:
    with CompletionsServer([Say("{}")]) as server:
        ask(at(server, effort="low"), tools=(SEARCH,), schema=SCHEMA, temperature=0.0)
    body = server.bodies[0]
    function = {"name": "search", "description": "To search.", "parameters": dict(SEARCH.schema)}
    assert body["tools"] == [{"type": "function", "function": function}]
    strict = {"name": "reply", "schema": SCHEMA, "strict": True}
    assert body["response_format"] == {"type": "json_schema", "json_schema": strict}
    assert body["temperature"] == 0.0 and body["reasoning_effort"] == "low"


def test_a_conversation_with_tools_is_given_back_as_it_came() -> None:
    turns = [Say(None, calls=(("search", {"q": "tea"}), ("search", '{"q": "te'))), Say("Oslo.")]
    with CompletionsServer(turns) as server:
        first = ask(at(server), tools=(SEARCH,))
        results = [Message("tool", f"result {n}", call_id=call.id) for n, call in enumerate(first.calls)]
        ask(at(server), USER, first.message, *results, tools=(SEARCH,))
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
        usage = ask(at(server, "gpt-6-luna")).usage
    assert (usage.input, usage.output, usage.cache_read, usage.cache_write) == (300, 50, 600, 100)
    assert usage.cost_usd == pytest.approx((300 * 0.1 + 50 * 0.5 + 600 * 0.01 + 100 * 0.125) / 1e6)


def test_a_server_that_counts_nothing_has_no_cost() -> None:
    with CompletionsServer([Say("x", usage=None)]) as server:
        usage = ask(at(server)).usage
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
        reply = ask(at(server))
    assert (reply.stop, reply.text) == (stop, text)


def test_the_providers_words_are_one_line() -> None:
    assert failure(Say(status=400, message="no\nway")).detail == "HTTP 400: Error code: 400 - no way"


def test_an_empty_account_is_no_limit_that_passes() -> None:
    assert failure(Say(status=429, message="insufficient_quota: pay first")).permanent


@pytest.mark.parametrize("raw", [b"<html>gateway</html>", b"{}", b'{"choices": []}', b"[]", b"null"])
def test_a_reply_that_cannot_be_read_is_the_interfaces_error(raw: bytes) -> None:
    error = failure(Say(raw=raw))
    assert error.status is Status.API_ERROR and not error.permanent


def test_the_providers_own_address_gets_the_newer_name_of_the_limit() -> None:
    assert "max_completion_tokens" in OpenAIModel("gpt-4.1")._body(Chat((USER,)))
