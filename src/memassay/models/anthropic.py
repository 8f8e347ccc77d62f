"""Models of Anthropic, by the official package ``anthropic``, there or at any address that speaks the Messages API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from memassay.core.types import Usage
from memassay.models.chat import Call, Chat, Message, Reply, Stop
from memassay.models.provider import ProviderModel

_STOPS: dict[str, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tools",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


class AnthropicModel(ProviderModel):
    """A model behind the Messages API; the arguments as of :class:`memassay.models.provider.ProviderModel`."""

    package = "anthropic"
    client = "AsyncAnthropic"
    path = "/v1/messages"
    official = "https://api.anthropic.com"
    address_env = "ANTHROPIC_BASE_URL"
    key_env = "ANTHROPIC_API_KEY"

    def _body(self, chat: Chat) -> dict[str, Any]:
        system, schema = self._system(chat), self._native_schema(chat)
        output: dict[str, Any] = {}
        if schema is not None:
            output["format"] = {"type": "json_schema", "schema": schema}
        if self._effort is not None:
            output["effort"] = self._effort
        body: dict[str, Any] = {"model": self.name, "max_tokens": chat.max_tokens, "messages": _turns(chat.messages)}
        if system:
            body["system"] = system
        if chat.tools:
            body["tools"] = [
                {"name": t.name, "description": t.description, "input_schema": dict(t.schema)} for t in chat.tools
            ]
        if output:
            body["output_config"] = output
        if chat.temperature is not None:
            body["temperature"] = chat.temperature
        return body

    def _reply(self, chat: Chat, response: Any, request: JsonValue) -> Reply:
        content, counts = response["content"], response["usage"]
        text = "".join(block["text"] for block in content if block["type"] == "text")
        calls = tuple(_call(block) for block in content if block["type"] == "tool_use")
        usage = Usage(
            input=counts["input_tokens"],
            output=counts["output_tokens"],
            cache_read=counts.get("cache_read_input_tokens") or 0,
            cache_write=counts.get("cache_creation_input_tokens") or 0,
            turns=1,
        )
        return Reply(
            text=self._text(chat, text),
            calls=calls,
            usage=usage.model_copy(update={"cost_usd": self.price(usage)}),
            stop=_STOPS.get(response["stop_reason"], "end"),
            model=response["model"],
            request=request,
            response=response,
            native=content,
        )


def _call(block: Mapping[str, Any]) -> Call:
    if isinstance(block["input"], dict):
        return Call(block["id"], block["name"], block["input"])
    return Call(block["id"], block["name"], {}, problem="the arguments are not an object")


def _turns(messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    """Messages as the provider wants them: the answers to all calls of a reply stand in one message."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        if message.role == "assistant":
            said = message.native if message.native is not None else [{"type": "text", "text": message.text}]
            turns.append({"role": "assistant", "content": said})
        elif message.role == "tool":
            result = {"type": "tool_result", "tool_use_id": message.call_id, "content": message.text}
            if turns and turns[-1]["role"] == "user" and isinstance(turns[-1]["content"], list):
                turns[-1]["content"].append(result)
            else:
                turns.append({"role": "user", "content": [result]})
        else:
            turns.append({"role": "user", "content": message.text})
    return turns
