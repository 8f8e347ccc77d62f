"""The tools that an agent used, from what it saw: one line each, in the order of use. All of it is strangers' text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memassay.reporting.text import one_line, shorten
from memassay.reporting.values import mapping, sequence

WIDTH = 100
"""Cells that the arguments of a call may take."""


@dataclass(frozen=True, slots=True)
class Use:
    """A call of a tool, its arguments as ``name=value`` and cut to :data:`WIDTH`."""

    tool: str
    arguments: str


def uses(transcript: str) -> tuple[Use, ...]:
    """The calls in a transcript.

    Args:
        transcript: JSON lines as Claude Code streams them (``assistant`` messages with ``tool_use`` blocks) or as our
            own agents keep them (``{"event": "tool", ...}``). Any other line says nothing.
    """
    seen: set[str] = set()
    found = []
    for line in transcript.split("\n"):
        try:
            event = mapping(json.loads(line))
        except (ValueError, RecursionError):
            continue
        for name, arguments, key in _calls(event):
            # A message of a stream may come several times, each time with the blocks so far.
            if key not in seen:
                seen |= {key} if key else set()
                found.append(Use(one_line(name), _short(arguments)))
    return tuple(found)


def _calls(event: Mapping[str, Any]) -> Iterator[tuple[str, Any, str]]:
    """Name, arguments and id of each call of an event."""
    if event.get("event") == "tool":
        # Providers that name calls by turn may repeat an id; each of these lines is one call.
        yield str(event.get("name")), event.get("arguments"), ""
    elif event.get("type") == "assistant":
        for block in map(mapping, sequence(mapping(event.get("message")).get("content"))):
            if block.get("type") == "tool_use":
                yield str(block.get("name")), block.get("input"), str(block.get("id") or "")


def _short(arguments: Any) -> str:
    if not isinstance(arguments, Mapping):
        return "" if arguments is None else shorten(str(arguments), WIDTH)
    said = (f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())
    return shorten(", ".join(said), WIDTH)
