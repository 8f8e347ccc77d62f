"""What an arm really adds to a request: one sample per arm against a scripted server, for ``memassay doctor``."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memassay.agents.claude_code.agent import ClaudeCode
from memassay.agents.claude_code.loopback import MessagesServer, Turn
from memassay.core.types import Request, Step

_AT_ONCE = 2  # a Claude Code takes 200 to 300 MB

# What two requests of one arm differ in: the machine, the moment, and the version of the program.
_VOLATILE = (
    (re.compile(r"cc_version=[^;]*"), "cc_version=VERSION"),
    (re.compile(r"Today's date is \d{4}-\d{2}-\d{2}"), "Today's date is DATE"),
    (re.compile(r"OS Version: [^\n]*"), "OS Version: SYSTEM"),
    (re.compile(r"Platform: \w+"), "Platform: SYSTEM"),
    (re.compile(r"Shell: [^\n]*"), "Shell: SHELL"),
    (re.compile(r"Primary working directory: [^\n]*"), "Primary working directory: FOLDER"),
)


@dataclass(frozen=True)
class Probe:
    """What one arm's request was.

    Attributes:
        step: the recorded step; its status tells whether the sample passed the gate.
        body: the first request that Claude Code sent, or None where it sent none.
    """

    step: Step
    body: Any


async def request_bodies(requests: Mapping[str, Request], **settings: Any) -> dict[str, Probe]:
    """Send one request per arm to a scripted server on this machine; needs no key and reaches nothing else.

    Args:
        requests: per arm a request as a run would make it.
        settings: of :class:`ClaudeCode`, as the run has them; address and key are replaced.
    """
    turn = asyncio.Semaphore(_AT_ONCE)

    async def probe(request: Request) -> Probe:
        async with turn:
            with MessagesServer([Turn("Yes.")]) as server:
                own = {**settings, "base_url": server.url, "key_env": "MEMASSAY_NO_KEY", "scripted": True}
                step = await ClaudeCode(**own).answer(request)
                return Probe(step, next(iter(server.bodies), None))

    found = await asyncio.gather(*map(probe, requests.values()))
    return dict(zip(requests, found, strict=True))


def settled(body: Any, *folders: str | Path) -> Any:
    """A request's body without what differs from moment to moment and from machine to machine.

    Args:
        body: as it was sent.
        folders: paths that become ``FOLDER`` wherever they stand.
    """
    text = json.dumps({key: value for key, value in body.items() if key != "metadata"})
    for folder in sorted((str(folder) for folder in folders), key=len, reverse=True):
        text = text.replace(json.dumps(folder)[1:-1], "FOLDER")
    return _each(json.loads(text))


def differences(first: Any, second: Any, where: str = "") -> list[str]:
    """Where two bodies differ, as paths (``tools.0.name``), in order."""
    if isinstance(first, dict) and isinstance(second, dict):
        keys = sorted({*first, *second})
        return [path for key in keys for path in differences(first.get(key), second.get(key), f"{where}.{key}")]
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        return [p for i, pair in enumerate(zip(first, second, strict=True)) for p in differences(*pair, f"{where}.{i}")]
    return [] if first == second else [where.lstrip(".")]


def _each(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _each(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_each(item) for item in value]
    if isinstance(value, str):
        for pattern, word in _VOLATILE:
            value = pattern.sub(word, value)
    return value
