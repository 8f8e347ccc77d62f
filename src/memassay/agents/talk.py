"""The record of one answer of an agent that asks a model: every request, reply, failure and tool call, and the sums."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from memassay.core.types import Check, Status, Step, Usage
from memassay.models.chat import ChatFailure, Reply
from memassay.models.prices import same_model
from memassay.models.retries import Attempt, Outcome


@dataclass
class Talk:
    """What was said and spent, and how it ended: not at all, until :meth:`end` says otherwise.

    Args:
        asked: the name of the model.
    """

    asked: str
    turns: int = 0
    tools: Counter[str] = field(default_factory=Counter)
    ended: bool = False
    checks: list[Check] = field(default_factory=list)
    _status: Status = Status.HARNESS
    _detail: str = "the answer did not end"
    _text: str | None = None
    _model: str = ""
    _usages: list[Usage] = field(default_factory=list)
    _lines: list[str] = field(default_factory=list)
    _before: list[Any] = field(default_factory=list)

    @property
    def cost(self) -> float | None:
        """Dollars so far; None where the price of a reply is not known."""
        costs = [usage.cost_usd for usage in self._usages]
        return None if None in costs else sum((c for c in costs if c is not None), 0.0)

    def note(self, event: str, **what: Any) -> None:
        """Keep a line of evidence: no time of day and no duration, so that equal talks leave equal evidence."""
        self._lines.append(json.dumps({"event": event, **what}, ensure_ascii=False, sort_keys=True))

    def request(self, body: JsonValue) -> None:
        """Keep a request; the messages that the one before had already are counted, not repeated."""
        if isinstance(body, dict) and isinstance(body.get("messages"), list):
            messages: Any = body["messages"]
            same = len(self._before) if messages[: len(self._before)] == self._before else 0
            self._before = messages
            body = {**body, "messages": messages[same:]}
            self.note("request", body=body, messages_before=same)
        else:
            self.note("request", body=body, messages_before=0)

    def outcome(self, outcome: Outcome) -> None:
        """Keep what came of a request; where there is no reply, that is the end."""
        for attempt in outcome.failed:
            self.note("failed", **attempt.record())
        if outcome.reply is not None:
            self.reply(outcome.reply)
        elif outcome.failure is not None:
            self.request(outcome.failure.request)
            again = " (asking again is of no use)" if outcome.failure.permanent else ""
            self.end(outcome.failure.status, f"{outcome.failure.detail}{again}")

    def reply(self, reply: Reply) -> None:
        """Keep a reply and what it cost."""
        self.request(reply.request)
        self.note("response", body=reply.response)
        self.turns += 1
        self._model = reply.model
        self._usages.append(reply.usage)

    def end(self, status: Status, detail: str, text: str | None = None) -> None:
        """How it ended."""
        self.ended, self._status, self._detail, self._text = True, status, " ".join(detail.split()), text

    def out_of_time(self, limit: float, failed: Sequence[ChatFailure]) -> None:
        """End it at the limit of time, which is the arm's unless the provider was being asked again.

        Args:
            limit: seconds.
            failed: how the requests since the last reply failed; none of them is kept yet.
        """
        words = f"no answer after {limit:g} s"
        if not failed:
            self.end(Status.LIMIT_TIME, words)
            return
        for number, failure in enumerate(failed, 1):
            self.note("failed", **Attempt(number, failure, None).record())
        self.request(failed[-1].request)
        self.end(failed[-1].status, f"{words}; the last request had failed: {failed[-1].detail}")

    def step(self, seconds: float) -> Step:
        """The record."""
        usage = Usage(
            **{k: sum(getattr(u, k) for u in self._usages) for k in ("input", "output", "cache_read", "cache_write")},
            cost_usd=self.cost,
            turns=self.turns,
            tool_calls=self.tools.total(),
            wall_ms=round(seconds * 1000, 3),
        )
        self.note("end", status=str(self._status), detail=self._detail, text=self._text)
        if self._model:
            same = same_model(self.asked, self._model)
            self.checks.insert(0, Check(name="model", passed=same, expected=self.asked, observed=self._model))
        return Step(
            identity=self._model,
            status=self._status,
            detail=self._detail,
            text=self._text,
            checks=tuple(self.checks),
            tools=self.tools,
            usage=usage,
            evidence="".join(f"{line}\n" for line in self._lines).encode("utf-8", "replace"),
        )
