"""Models of Anthropic, by the official package ``anthropic``, there or at any address that speaks the Messages API."""

from __future__ import annotations

import asyncio
import importlib
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

_STOPS: dict[str, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tools",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


class AnthropicModel:
    """A model behind the Messages API.

    Args:
        model: the provider's name for it (``claude-sonnet-5-5``).
        base_url: another address; default is the variable ``ANTHROPIC_BASE_URL``, else the provider's own.
        key_env: the variable that holds the key; an address on this machine needs none.
        structured: how a schema is kept to: ``native`` (the provider's own output format) or ``prompt`` (words only).
        effort: how hard to think, as the provider calls it (``low`` … ``max``), or None: as the provider has it.
        scripted: whether a script answers at that address, not a model.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        key_env: str = "ANTHROPIC_API_KEY",
        structured: str = "native",
        effort: str | None = None,
        scripted: bool = False,
    ) -> None:
        self.name = model
        self.kind: ModelKind = "scripted" if scripted else "real"
        self.access = Access(base_url, "ANTHROPIC_BASE_URL", "https://api.anthropic.com", key_env)
        self._structured, self._effort = check_way(structured), effort
        self._clients: Clients | None = None

    def identity(self) -> Mapping[str, JsonValue]:
        """See :class:`memassay.models.chat.ChatModel`."""
        return {
            "provider": "anthropic",
            "model": self.name,
            "address": self.access.shown,
            "package": f"anthropic {version_of('anthropic', 'anthropic')}",
            "structured": self._structured,
            "effort": self._effort,
            "prices": TABLE_DATE,
        }

    async def prepare(self) -> None:
        """See :class:`memassay.models.chat.ChatModel`."""
        version_of("anthropic", "anthropic")
        self.access.key()
        # Seconds of processor time: not in the event loop, where every other answer would wait for it.
        if self._clients is None:
            await asyncio.to_thread(importlib.import_module, "anthropic")

    async def complete(self, chat: Chat) -> Reply:
        """See :class:`memassay.models.chat.ChatModel`."""
        await self.prepare()
        import anthropic

        if self._clients is None:
            self._clients = Clients(self.access, anthropic.AsyncAnthropic, anthropic.DefaultAsyncHttpxClient)
        client = self._clients.get()
        body = self._body(chat)
        clean = self.access.without_key
        shown: JsonValue = clean(body)
        try:
            async with asyncio.timeout(chat.seconds):
                message = await client.post(
                    "/v1/messages", body=body, cast_to=object, options={"timeout": chat.seconds + 5}
                )
        except (TimeoutError, anthropic.APITimeoutError) as error:
            raise failures.silent(self.access.shown, chat.seconds, shown) from error
        except anthropic.APIStatusError as error:
            said, response = clean(error.message), clean(error.body)
            failure = failures.from_status(error.status_code, said, error.response.headers, shown, response)
            raise explained(failure, chat, self._structured) from error
        except anthropic.APIConnectionError as error:
            raise failures.from_network(error, self.access.shown, shown) from error
        except (anthropic.APIError, ValueError) as error:  # what came is not JSON
            raise failures.unreadable(error, shown, None) from error
        message = clean(message)
        try:
            return self._reply(chat, message, shown)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise failures.unreadable(error, shown, message) from error

    def price(self, usage: Usage) -> float | None:
        """See :class:`memassay.models.chat.ChatModel`."""
        return price(self.name, usage)

    async def close(self) -> None:
        """See :class:`memassay.models.chat.ChatModel`."""
        if self._clients is not None:
            await self._clients.close()

    def _body(self, chat: Chat) -> dict[str, Any]:
        system = chat.system
        output: dict[str, Any] = {}
        if chat.schema is not None and self._structured == "native":
            output["format"] = {"type": "json_schema", "schema": dict(chat.schema)}
        elif chat.schema is not None:
            system = asked_for(system, chat.schema)
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

    def _reply(self, chat: Chat, message: Any, request: JsonValue) -> Reply:
        content, counts = message["content"], message["usage"]
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
            text=unfenced(text) if chat.schema is not None and self._structured == "prompt" else text,
            calls=calls,
            usage=usage.model_copy(update={"cost_usd": self.price(usage)}),
            stop=_STOPS.get(message["stop_reason"], "end"),
            model=message["model"],
            request=request,
            response=message,
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
