"""What models behind a provider's official package have in common: the address, the key, one request, its failures.

The packages ``anthropic`` and ``openai`` have one shape and the same names for their errors. Requests go out as they
are written here and replies are read as they came: the packages bring connections and errors, and try nothing again.
"""

from __future__ import annotations

import asyncio
import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import JsonValue

from memassay.core.types import ModelKind, Usage
from memassay.models import failures
from memassay.models.access import Access, version_of
from memassay.models.chat import Chat, Reply
from memassay.models.clients import Clients
from memassay.models.prices import TABLE_DATE, price
from memassay.models.structure import asked_for, check_way, explained, unfenced


class ProviderModel(ABC):
    """A model behind an official package (:class:`memassay.models.chat.ChatModel`).

    Args:
        model: the provider's name for it.
        base_url: another address; default is the variable that the provider's package reads, else its own address.
        key_env: the variable that holds the key; default is the provider's. An address on this machine needs none.
        structured: how a schema is kept to: ``native`` (the provider's own output format) or ``prompt`` (words only).
        effort: how hard to think, as the provider calls it (``low`` …), or None: as the provider has it.
        scripted: whether a script answers at that address, not a model.

    Attributes:
        package: the official package, which is the name of the provider and of the extra too.
        client: its class of asynchronous clients.
        path: where requests go, below the address.
        official, address_env, key_env: the provider's own address, and the variables for another one and for the key.
    """

    package: ClassVar[str]
    client: ClassVar[str]
    path: ClassVar[str]
    official: ClassVar[str]
    address_env: ClassVar[str]
    key_env: ClassVar[str]

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        key_env: str | None = None,
        structured: str = "native",
        effort: str | None = None,
        scripted: bool = False,
    ) -> None:
        self.name = model
        self.kind: ModelKind = "scripted" if scripted else "real"
        self.access = Access(base_url, self.address_env, self.official, key_env or self.key_env)
        self._structured, self._effort = check_way(structured), effort
        self._clients: Clients | None = None

    @abstractmethod
    def _body(self, chat: Chat) -> dict[str, Any]:
        """The request as it is sent."""

    @abstractmethod
    def _reply(self, chat: Chat, response: Any, request: JsonValue) -> Reply:
        """The reply in what came back; any error means that it is not what the interface promises."""

    def identity(self) -> Mapping[str, JsonValue]:
        """See :class:`memassay.models.chat.ChatModel`."""
        return {
            "provider": self.package,
            "model": self.name,
            "address": self.access.shown,
            "package": f"{self.package} {version_of(self.package, self.package)}",
            "structured": self._structured,
            "effort": self._effort,
            "prices": TABLE_DATE,
        }

    async def prepare(self) -> None:
        """See :class:`memassay.models.chat.ChatModel`."""
        version_of(self.package, self.package)
        self.access.key()
        if self._clients is None:
            # Seconds of processor time: not in the event loop, where every other answer would wait for it.
            official = await asyncio.to_thread(importlib.import_module, self.package)
            self._clients = Clients(self.access, getattr(official, self.client), official.DefaultAsyncHttpxClient)

    async def complete(self, chat: Chat) -> Reply:
        """See :class:`memassay.models.chat.ChatModel`."""
        await self.prepare()
        assert self._clients is not None
        official: Any = importlib.import_module(self.package)
        client = self._clients.get()
        body = self._body(chat)
        clean = self.access.without_key
        shown: JsonValue = clean(body)
        try:
            async with asyncio.timeout(chat.seconds):
                response = await client.post(
                    self.path, body=body, cast_to=object, options={"timeout": chat.seconds + 5}
                )
        except (TimeoutError, official.APITimeoutError) as error:
            raise failures.silent(self.access.shown, chat.seconds, shown) from error
        except official.APIStatusError as error:
            said, response = clean(error.message), clean(error.body)
            failure = failures.from_status(error.status_code, said, error.response.headers, shown, response)
            raise explained(failure, chat, self._structured) from error
        except official.APIConnectionError as error:
            raise failures.from_network(error, self.access.shown, shown) from error
        except (official.APIError, ValueError) as error:  # what came is not JSON
            raise failures.unreadable(error, shown, None) from error
        response = clean(response)
        try:
            return self._reply(chat, response, shown)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise failures.unreadable(error, shown, response) from error

    def price(self, usage: Usage) -> float | None:
        """See :class:`memassay.models.chat.ChatModel`."""
        return price(self.name, usage)

    async def close(self) -> None:
        """See :class:`memassay.models.chat.ChatModel`."""
        if self._clients is not None:
            await self._clients.close()

    def _native_schema(self, chat: Chat) -> dict[str, Any] | None:
        """The schema, where the provider's own means are to keep the reply to it."""
        return dict(chat.schema) if chat.schema is not None and self._structured == "native" else None

    def _system(self, chat: Chat) -> str:
        """The system text, which asks for the schema where words are to."""
        return asked_for(chat.system, chat.schema) if chat.schema is not None and self._by_words else chat.system

    def _text(self, chat: Chat, text: str) -> str:
        """The words of a reply, without the code fence where words asked for the schema."""
        return unfenced(text) if chat.schema is not None and self._by_words else text

    @property
    def _by_words(self) -> bool:
        return self._structured == "prompt"
