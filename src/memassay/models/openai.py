"""Models of OpenAI, by the official package ``openai``, there or at any address that speaks its chat completions.

That is most of what serves models: gateways, vLLM, Ollama, LM Studio, the server of llama.cpp.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from memassay.core.types import Usage
from memassay.models.chat import Call, Chat, Message, Reply, Stop
from memassay.models.provider import ProviderModel

_STOPS: dict[str, Stop] = {"stop": "end", "tool_calls": "tools", "length": "length", "content_filter": "refusal"}


class OpenAIModel(ProviderModel):
    """A model behind the chat completions API; the arguments as of :class:`memassay.models.provider.ProviderModel`.

    An address ends with the version (``http://127.0.0.1:11434/v1``).
    """

    package = "openai"
    client = "AsyncOpenAI"
    path = "/chat/completions"
    official = "https://api.openai.com/v1"
    address_env = "OPENAI_BASE_URL"
    key_env = "OPENAI_API_KEY"

    def _body(self, chat: Chat) -> dict[str, Any]:
        system, schema = self._system(chat), self._native_schema(chat)
        opening = [{"role": "system", "content": system}] if system else []
        # The provider's newer models refuse the old name of the limit; other servers often know no other.
        limit = "max_completion_tokens" if self.access.is_official else "max_tokens"
        body: dict[str, Any] = {
            "model": self.name,
            "messages": [*opening, *(_turn(message) for message in chat.messages)],
            limit: chat.max_tokens,
        }
        if chat.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {"name": t.name, "description": t.description, "parameters": dict(t.schema)},
                }
                for t in chat.tools
            ]
        if schema is not None:
            strict = {"name": "reply", "schema": schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": strict}
        if self._effort is not None:
            body["reasoning_effort"] = self._effort
        if chat.temperature is not None:
            body["temperature"] = chat.temperature
        return body

    def _reply(self, chat: Chat, response: Any, request: JsonValue) -> Reply:
        choice = response["choices"][0]
        said = choice["message"]
        text = said.get("content") or ""
        calls = said.get("tool_calls") or []
        refused = said.get("refusal")
        stop = "refusal" if refused else _STOPS.get(choice["finish_reason"], "end")
        if calls and stop == "end":  # some servers say "stop" whatever the model does
            stop = "tools"
        counts = response.get("usage")
        usage = _usage(counts or {})
        return Reply(
            text=refused or self._text(chat, text),
            calls=tuple(_call(call) for call in calls),
            usage=usage.model_copy(update={"cost_usd": self.price(usage) if counts else None}),
            stop=stop,
            model=response.get("model") or "",
            request=request,
            response=response,
            native={"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})},
        )


def _usage(counts: Mapping[str, Any]) -> Usage:
    """The four kinds apart; at the wire, cached tokens are part of the prompt's."""
    details = counts.get("prompt_tokens_details") or {}
    read, written = details.get("cached_tokens") or 0, details.get("cache_write_tokens") or 0
    return Usage(
        input=max(0, (counts.get("prompt_tokens") or 0) - read - written),
        output=counts.get("completion_tokens") or 0,
        cache_read=read,
        cache_write=written,
        turns=1,
    )


def _call(call: Mapping[str, Any]) -> Call:
    function = call["function"]
    try:
        arguments = json.loads(function.get("arguments") or "{}")
    except ValueError as error:
        return Call(call["id"], function["name"], {}, problem=f"the arguments are not JSON: {error}")
    if not isinstance(arguments, dict):
        return Call(call["id"], function["name"], {}, problem="the arguments are not an object")
    return Call(call["id"], function["name"], arguments)


def _turn(message: Message) -> Any:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
    if message.native is not None:
        return message.native
    return {"role": message.role, "content": message.text}
