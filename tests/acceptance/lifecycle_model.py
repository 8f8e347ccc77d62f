"""A scripted model that plays a lifecycle as the agent ``rules`` would, from nothing but the requests that it is sent.

Whoever speaks for it (Claude Code, or the agent ``api``) makes the calls. For every request the rules are played again
from the beginning, with the results that the conversation holds; where these end, the next call is what the model says.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from memassay.agents.reference.calls import Calls
from memassay.agents.rules.answering import answer
from memassay.agents.rules.keeping import keep
from memassay.agents.rules.prompts import Told, read
from memassay.agents.rules.scripts import SCRIPTS
from memassay.agents.rules.tools import Tools
from memassay.agents.toolbox import ToolResult
from memassay.core.types import CellKey, Request
from servers.anthropic import Turn

PREFIX = "mcp__memory__"
USAGE = {"input_tokens": 100, "output_tokens": 10}
_MOST = 25
_ERROR = "Error: "
"""Before what a tool complains of, where the harness's own loop tells it to a model."""


class _Next(Exception):
    """The call that has no result yet."""

    def __init__(self, name: str, arguments: Mapping[str, Any]) -> None:
        self.name, self.arguments = name, dict(arguments)


class _Held:
    """A toolbox that knows the results of a conversation."""

    def __init__(self, names: Sequence[str], made: Sequence[tuple[str, Any, ToolResult]]) -> None:
        self.tools = [SimpleNamespace(name=name) for name in names]
        self._made = list(made)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        if not self._made:
            raise _Next(name, arguments)
        asked, given, result = self._made.pop(0)
        assert (asked, given) == (name, json.loads(json.dumps(arguments))), "the conversation is another one"
        return result


def speaks(script: str = "perfect") -> Callable[[Mapping[str, Any]], Turn]:
    """The model, by a script of the rules; for a ``MessagesServer``."""

    def turn(body: Mapping[str, Any]) -> Turn:
        names = [tool["name"].removeprefix(PREFIX) for tool in body["tools"]]
        prefix = PREFIX if body["tools"][0]["name"].startswith(PREFIX) else ""
        prompt = question(body)
        request = Request(cell=CellKey(task="t", arm="a"), prompt=prompt)
        tools: Any = Tools(_Held(names, made(body)), Calls(request), prompt, _MOST)  # type: ignore[arg-type]
        wanted, behaviour = read(prompt), SCRIPTS[script].behaviour
        try:
            if isinstance(wanted, Told):
                return Turn(asyncio.run(keep(wanted, tools, behaviour)), usage=USAGE)
            return Turn(asyncio.run(answer(wanted, tools, behaviour)), usage=USAGE)
        except _Next as call:
            return Turn(calls=((f"{prefix}{call.name}", call.arguments),), usage=USAGE)

    return turn


def question(body: Mapping[str, Any]) -> str:
    """What the harness asked."""
    content = body["messages"][0]["content"]
    texts = [content] if isinstance(content, str) else [block["text"] for block in content if block["type"] == "text"]
    (asked,) = (text for text in texts if "Question: " in text)
    return str(asked.partition("Question: ")[2])


def made(body: Mapping[str, Any]) -> list[tuple[str, Any, ToolResult]]:
    """The calls of a conversation with their results, in order."""
    blocks = [block for message in body["messages"] for block in _blocks(message)]
    results = {block["tool_use_id"]: block for block in blocks if block["type"] == "tool_result"}
    calls = [block for block in blocks if block["type"] == "tool_use"]
    return [(call["name"].removeprefix(PREFIX), call["input"], _result(results[call["id"]])) for call in calls]


def _blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    return message["content"] if isinstance(message["content"], list) else []


def _result(block: Mapping[str, Any]) -> ToolResult:
    content = block["content"]
    text = content if isinstance(content, str) else "\n".join(part["text"] for part in content)
    failed = text.startswith(_ERROR)
    return ToolResult(text.removeprefix(_ERROR), failed or bool(block.get("is_error")))
