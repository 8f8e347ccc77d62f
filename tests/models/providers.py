"""What the tests of the providers' models share."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from memassay.models.chat import Chat, ChatModel, Message, Reply, Tool

SCHEMA = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}
SEARCH = Tool("search", "To search.", {"type": "object", "properties": {"q": {"type": "string"}}})
USER = Message("user", "Where?")


def asking(request: Coroutine[Any, Any, Reply]) -> Reply:
    """What comes back, in an event loop of its own."""
    return asyncio.run(request)


def ask(model: ChatModel, *messages: Message, **chat: Any) -> Reply:
    """The reply to some messages, or to one question."""

    async def run() -> Reply:
        try:
            return await model.complete(Chat(messages or (USER,), **chat))
        finally:
            await model.close()

    return asking(run())
