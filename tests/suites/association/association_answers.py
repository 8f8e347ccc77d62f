"""Answers of the graph's tools, read."""

from __future__ import annotations

import json
from typing import Any

from memassay.suites.association.graph.tools import HEAD, Tools


def told(tools: Tools, name: str, **arguments: Any) -> Any:
    """The JSON of an answer."""
    return json.loads(tools.call(name, {**arguments, "json": True}))


def lines(tools: Tools, name: str, **arguments: Any) -> list[str]:
    """The lines of an answer below the first, which says that they are data."""
    head, *rest = tools.call(name, arguments).split("\n")
    assert head == HEAD
    return rest


def rows(tools: Tools, name: str, **arguments: Any) -> list[Any]:
    return [json.loads(line) for line in lines(tools, name, **arguments)]
