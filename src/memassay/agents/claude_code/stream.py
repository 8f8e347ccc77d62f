"""The events of a session, and what they say: who was there, who spoke, what it cost, how it ended."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memassay.core.types import Check, Usage
from memassay.models.prices import price

# Who "speaks" where Claude Code itself puts words into the model's mouth, an error message above all.
SYNTHETIC = "<synthetic>"


@dataclass(frozen=True)
class Session:
    """The events of a session in their order, without what is no event (the last line of a killed child)."""

    events: tuple[Mapping[str, Any], ...]

    @classmethod
    def parse(cls, lines: bytes) -> Session:
        """Read what Claude Code wrote with ``--output-format stream-json``."""
        events = []
        for line in lines.split(b"\n"):
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict):
                events.append(event)
        return cls(tuple(events))

    @property
    def init(self) -> Mapping[str, Any] | None:
        """What the session began with: tools, servers, model, version."""
        return next((e for e in self.events if e.get("type") == "system" and e.get("subtype") == "init"), None)

    @property
    def result(self) -> Mapping[str, Any] | None:
        """How it ended; None where the child was ended before it could say."""
        return next((e for e in reversed(self.events) if e.get("type") == "result"), None)

    @property
    def speakers(self) -> tuple[str, ...]:
        """The models that replied, each once, in order, :data:`SYNTHETIC` among them."""
        return tuple(dict.fromkeys(str(message.get("model", "")) for message in self._messages()))

    @property
    def retried(self) -> tuple[Any, ...]:
        """The HTTP status of every request that Claude Code sent again; None for a connection."""
        return tuple(e.get("error_status") for e in self.events if e.get("subtype") == "api_retry")

    @property
    def unanswered(self) -> tuple[Any, ...]:
        """Of :attr:`retried` those after which the model said nothing more."""
        failed: list[Any] = []
        for event in self.events:
            if event.get("subtype") == "api_retry":
                failed.append(event.get("error_status"))
            elif event.get("type") == "assistant" and _mapping(event, "message").get("model") != SYNTHETIC:
                failed.clear()
        return tuple(failed)

    @property
    def denied(self) -> tuple[str, ...]:
        """The tools whose use was denied, in order."""
        return tuple(str(d.get("tool_name", "")) for d in _list(self.result or {}, "permission_denials"))

    @property
    def tools(self) -> Mapping[str, int]:
        """How often the model used each tool, in the order of their first use."""
        blocks = (b for m in self._messages() for b in _list(m, "content") if b.get("type") == "tool_use")
        return Counter({str(b.get("id")): str(b.get("name", "")) for b in blocks}.values())

    @property
    def turns(self) -> int:
        """How many replies the model gave."""
        # A message comes as one event per block, each with the id of the message. The result's own ``num_turns`` is not
        # this number: two tools in one reply make it one more, and so does the turn that a limit did not allow.
        return len({m.get("id") for m in self._messages() if m.get("model") != SYNTHETIC})

    def usage(self, seconds: float) -> Usage:
        """What it cost: of every model of the session, from the result.

        The events of the model's messages must not be summed: one message is several events, and the output tokens in
        them are those of its beginning.
        """
        per_model = {name: _tokens(used) for name, used in _mapping(self.result or {}, "modelUsage").items()}
        costs = [price(name, used) for name, used in per_model.items()]
        reported = (self.result or {}).get("total_cost_usd")
        kinds = ("input", "output", "cache_read", "cache_write")
        return Usage(
            **{kind: sum(getattr(used, kind) for used in per_model.values()) for kind in kinds},
            cost_usd=None if self.result is None or None in costs else sum((c for c in costs if c is not None), 0.0),
            reported_usd=float(reported) if isinstance(reported, (int, float)) else None,
            turns=self.turns,
            tool_calls=sum(self.tools.values()),
            wall_ms=round(seconds * 1000, 3),
        )

    def _messages(self) -> list[Mapping[str, Any]]:
        return [_mapping(e, "message") for e in self.events if e.get("type") == "assistant"]


def cost_check(usage: Usage) -> Check:
    """Our own cost beside the one that Claude Code reports; ``passed`` is None where one of them is not known."""
    ours, theirs = usage.cost_usd, usage.reported_usd
    if ours is None or theirs is None:
        return Check(name="cost", passed=None, expected=ours, observed=theirs)
    same = math.isclose(ours, theirs, rel_tol=0.01, abs_tol=1e-6)
    return Check(name="cost", passed=same, expected=ours, observed=theirs)


def _tokens(used: Any) -> Usage:
    names = {
        "input": "inputTokens",
        "output": "outputTokens",
        "cache_read": "cacheReadInputTokens",
        "cache_write": "cacheCreationInputTokens",
    }
    counts = used if isinstance(used, dict) else {}
    return Usage(**{kind: int(counts.get(name) or 0) for kind, name in names.items()})


def _mapping(event: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = event.get(name)
    return value if isinstance(value, dict) else {}


def _list(event: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    value = event.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
