"""Models of OpenAI, by the official package ``openai``, there or at any address that speaks its chat completions.

That is most of what serves models: gateways, vLLM, Ollama, LM Studio, the server of llama.cpp.
"""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from memassay.core.types import ModelKind, Usage
from memassay.models import failures
from memassay.models.access import Access, version_of
from memassay.models.chat import Call, Chat, Message, Reply, Stop
from memassay.models.clients import Clients
from memassay.models.prices import TABLE_DATE, price
from memassay.models.structure import asked_for, check_way, explained, unfenced

_STOPS: dict[str, Stop] = {"stop": "end", "tool_calls": "tools", "length": "length", "content_filter": "refusal"}


class OpenAIModel:
    """A model behind the chat completions API.

    Args:
        model: the provider's name for it.
        base_url: another address (``http://127.0.0.1:11434/v1``); default is the variable ``OPENAI_BASE_URL``, else
            the provider's own.
        key_env: the variable that holds the key; an address on this machine needs none.
        structured: how a schema is kept to: ``native`` (``response_format``) or ``prompt`` (words only).
        effort: how hard to think, as the provider calls it (``low`` …), or None: as the provider has it.
        scripted: whether a script answers at that address, not a model.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        key_env: str = "OPENAI_API_KEY",
        structured: str = "native",
        effort: str | None = None,
        scripted: bool = False,
    ) -> None:
        self.name = model
        self.kind: ModelKind = "scripted" if scripted else "real"
        self.access = Access(base_url, "OPENAI_BASE_URL", "https://api.openai.com/v1", key_env)
        self._structured, self._effort = check_way(structured), effort
        self._clients: Clients | None = None

    def identity(self) -> Mapping[str, JsonValue]:
        """See :class:`memassay.models.chat.ChatModel`."""
        return {
            "provider": "openai",
            "model": self.name,
            "address": self.access.shown,
            "package": f"openai {version_of('openai', 'openai')}",
            "structured": self._structured,
            "effort": self._effort,
            "prices": TABLE_DATE,
        }

    async def prepare(self) -> None:
        """See :class:`memassay.models.chat.ChatModel`."""
        version_of("openai", "openai")
        self.access.key()
        # Seconds of processor time: not in the event loop, where every other answer would wait for it.
        if self._clients is None:
            await asyncio.to_thread(importlib.import_module, "openai")

    async def complete(self, chat: Chat) -> Reply:
        """See :class:`memassay.models.chat.ChatModel`."""
        await self.prepare()
        import openai

        if self._clients is None:
            self._clients = Clients(self.access, openai.AsyncOpenAI, openai.DefaultAsyncHttpxClient)
        client = self._clients.get()
        body = self._body(chat)
        clean = self.access.without_key
        shown: JsonValue = clean(body)
        try:
            async with asyncio.timeout(chat.seconds):
                completion = await client.post(
                    "/chat/completions", body=body, cast_to=object, options={"timeout": chat.seconds + 5}
                )
        except (TimeoutError, openai.APITimeoutError) as error:
            raise failures.silent(self.access.shown, chat.seconds, shown) from error
        except openai.APIStatusError as error:
            said, response = clean(error.message), clean(error.body)
            failure = failures.from_status(error.status_code, said, error.response.headers, shown, response)
            raise explained(failure, chat, self._structured) from error
        except openai.APIConnectionError as error:
            raise failures.from_network(error, self.access.shown, shown) from error
        except (openai.APIError, ValueError) as error:  # what came is not JSON
            raise failures.unreadable(error, shown, None) from error
        completion = clean(completion)
        try:
            return self._reply(chat, completion, shown)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise failures.unreadable(error, shown, completion) from error

    def price(self, usage: Usage) -> float | None:
        """See :class:`memassay.models.chat.ChatModel`."""
        return price(self.name, usage)

    async def close(self) -> None:
        """See :class:`memassay.models.chat.ChatModel`."""
        if self._clients is not None:
            await self._clients.close()

    def _body(self, chat: Chat) -> dict[str, Any]:
        system = chat.system
        if chat.schema is not None and self._structured == "prompt":
            system = asked_for(system, chat.schema)
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
        if chat.schema is not None and self._structured == "native":
            schema = {"name": "reply", "schema": dict(chat.schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        if self._effort is not None:
            body["reasoning_effort"] = self._effort
        if chat.temperature is not None:
            body["temperature"] = chat.temperature
        return body

    def _reply(self, chat: Chat, completion: Any, request: JsonValue) -> Reply:
        choice = completion["choices"][0]
        said = choice["message"]
        text = said.get("content") or ""
        calls = said.get("tool_calls") or []
        refused = said.get("refusal")
        stop = "refusal" if refused else _STOPS.get(choice["finish_reason"], "end")
        if calls and stop == "end":  # some servers say "stop" whatever the model does
            stop = "tools"
        counts = completion.get("usage")
        usage = _usage(counts or {})
        return Reply(
            text=refused or (unfenced(text) if chat.schema is not None and self._structured == "prompt" else text),
            calls=tuple(_call(call) for call in calls),
            usage=usage.model_copy(update={"cost_usd": self.price(usage) if counts else None}),
            stop=stop,
            model=completion.get("model") or "",
            request=request,
            response=completion,
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
