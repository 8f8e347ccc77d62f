"""What models of both providers do alike, each by its official package against a scripted server on this machine."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from providers import SCHEMA, USER, ask, asking

from memassay.core.errors import EnvironmentProblem
from memassay.core.types import Status
from memassay.models.anthropic import AnthropicModel
from memassay.models.chat import Chat, ChatFailure, Message
from memassay.models.openai import OpenAIModel
from memassay.models.provider import ProviderModel
from servers.anthropic import MessagesServer, Turn
from servers.openai import CompletionsServer, Say


@dataclass(frozen=True)
class Provider:
    """One of the two: its model, the server that stands in for it, what the server says, a model of its own."""

    model: Callable[..., ProviderModel]
    serve: Callable[..., Any]
    say: Callable[..., Any]
    name: str

    def at(self, server: Any, **settings: Any) -> ProviderModel:
        return self.model(self.name, base_url=server.url, **settings)

    def fails(self, say: Any, **chat: Any) -> tuple[ChatFailure, list[Any]]:
        """How a request fails, and what was sent."""
        with self.serve([say]) as server, pytest.raises(ChatFailure) as failed:
            ask(self.at(server), **chat)
        return failed.value, server.bodies


PROVIDERS = {
    "anthropic": Provider(AnthropicModel, MessagesServer, Turn, "claude-opus-4-8"),
    "openai": Provider(OpenAIModel, CompletionsServer, Say, "gpt-4.1"),
}


@pytest.fixture(params=sorted(PROVIDERS))
def provider(request: pytest.FixtureRequest, no_keys: None) -> Provider:
    pytest.importorskip(request.param, reason=f"the extra {request.param} is not installed")
    return PROVIDERS[request.param]


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
def test_an_error_of_the_provider_is_asked_once_and_named(
    provider: Provider, code: int, status: Status, permanent: bool
) -> None:
    error, sent = provider.fails(provider.say(status=code, message="no way"))
    assert len(sent) == 1, "the package must not ask again by itself"
    assert (error.status, error.code, error.permanent, error.retry_after) == (status, code, permanent, None)
    assert f"HTTP {code}" in error.detail and "no way" in error.detail
    assert error.request == sent[0] and error.response is not None


def test_how_long_to_wait_is_the_servers_word_in_seconds(provider: Provider) -> None:
    assert provider.fails(provider.say(status=429, headers={"retry-after": "7"}))[0].retry_after == 7.0
    a_date = {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}
    assert provider.fails(provider.say(status=429, headers=a_date))[0].retry_after is None


def test_a_refused_schema_says_what_to_set_and_no_other_way_is_taken(provider: Provider) -> None:
    error, sent = provider.fails(provider.say(status=400, message="unknown field"), schema=SCHEMA)
    assert "set structured=prompt" in error.detail and len(sent) == 1
    assert "structured" not in provider.fails(provider.say(status=400))[0].detail


def test_structured_by_words_asks_in_the_system_text(provider: Provider) -> None:
    with provider.serve([provider.say('```json\n{"label": "CORRECT"}\n```')]) as server:
        reply = ask(provider.at(server, structured="prompt"), schema=SCHEMA, system="Judge.")
    assert not {"response_format", "output_config"} & set(server.bodies[0])
    body = json.dumps(server.bodies[0])
    assert "Judge.\\n\\nReply with one JSON object that follows this JSON schema" in body
    assert json.loads(reply.text) == {"label": "CORRECT"}


def test_no_reply_and_no_connection_are_the_network(provider: Provider) -> None:
    slow, _ = provider.fails(provider.say(silent=True), seconds=0.3)
    assert slow.status is Status.NETWORK and "gave no reply within 0.3 s" in slow.detail
    gone, _ = provider.fails(provider.say(drop=True))
    assert gone.status is Status.NETWORK and "cannot be reached" in gone.detail
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        model = provider.model("m", base_url=f"http://127.0.0.1:{unused.getsockname()[1]}/v1")
        with pytest.raises(ChatFailure) as refused:
            ask(model)
    assert refused.value.status is Status.NETWORK


def test_the_key_is_sent_and_never_kept(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "dummy-local-12345")
    for other in (provider.model("m").key_env, "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(other, "dummy-other-12345")
    with provider.serve([provider.say(status=401, message="wrong key dummy-local-12345")]) as server:
        model = provider.at(server, key_env="MY_KEY")
        with pytest.raises(ChatFailure) as failed:
            ask(model, Message("user", "Is dummy-local-12345 a key?"))
    sent = str(server.headers[0] if isinstance(server, CompletionsServer) else server.requests[0].headers)
    assert "dummy-local-12345" in sent and "dummy-other" not in sent
    kept = f"{failed.value.detail} {failed.value.response} {failed.value.request} {model.identity()}"
    assert "dummy" not in kept and "[MY_KEY]" in kept


def test_without_a_key_nothing_is_sent_elsewhere(provider: Provider) -> None:
    with pytest.raises(EnvironmentProblem, match=provider.model("m").key_env):
        ask(provider.model(provider.name))


def test_a_proxy_of_the_environment_is_no_way_to_this_machine(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with provider.serve([provider.say("Oslo.")]) as server:
        assert ask(provider.at(server)).text == "Oslo."


def test_the_address_may_come_from_the_packages_own_variable(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    with provider.serve([provider.say("Oslo.")]) as server:
        monkeypatch.setenv(provider.model("m").address_env, server.url)
        model = provider.model(provider.name)
        assert ask(model).text == "Oslo."
    assert model.identity()["address"] == server.url


def test_one_model_serves_several_event_loops(provider: Provider) -> None:
    with provider.serve([provider.say("Oslo.")]) as server:
        model = provider.at(server)
        assert [asking(model.complete(Chat((USER,)))).text for _ in range(2)] == ["Oslo.", "Oslo."]


def test_what_can_change_a_reply_is_its_identity(provider: Provider) -> None:
    identity = provider.model("m", base_url="http://me:pw@127.0.0.1:1/v1?x=1", effort="low").identity()
    assert identity["address"] == "http://127.0.0.1:1/v1" and identity["model"] == "m"
    assert str(identity["package"]).startswith(f"{identity['provider']} ") and identity["effort"] == "low"
    assert {"structured", "prices"} <= set(identity)
