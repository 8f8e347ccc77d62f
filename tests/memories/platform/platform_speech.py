"""Somebody at a store, through the tools that an agent gets."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from memassay.agents.toolbox import ToolResult, open_toolbox
from memassay.core.blocks import merged
from memassay.core.types import Toolset

URN = "urn:li:dataset:(urn:li:dataPlatform:trino,shop.main.sales,PROD)"
FACT = "A zorblat sale is a sale above two hundred cents."
CORRECTION = "A zorblat sale is a sale above five hundred cents."


def say(toolset: Toolset, tool: str, **arguments: Any) -> Any:
    """What a tool says in that session; a refusal fails the test."""
    result = ask(toolset, tool, **arguments)
    assert not result.is_error, result.text
    return merged(result.text)


def ask(toolset: Toolset, tool: str, **arguments: Any) -> ToolResult:
    async def once() -> ToolResult:
        async with open_toolbox(toolset) as box:
            return await box.call(tool, arguments)

    return asyncio.run(once())


def teach(store: Any, who: str, text: str, *urns: str, type: str = "business_knowledge") -> str:
    made = say(store.toolset(who), "memory_capture", type=type, content=text, entity_urns=list(urns))
    return str(made["id"])


def found(store: Any, who: str, intent: str) -> str:
    """Everything that a search says."""
    return json.dumps(say(store.toolset(who), "search", intent=intent))
