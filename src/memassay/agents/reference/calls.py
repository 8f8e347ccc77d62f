"""The record of one answer: every call, what came back, and the limits that the agent keeps itself."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from memassay.core.tokens import tokenizer
from memassay.core.types import Request, Status, Step, Usage

TOKENS = "chars4"
_EXCERPT = 2_000


class Unreadable(Exception):
    """What the arm gives cannot be read: a fault of the harness, and no answer."""


class NotThere(Exception):
    """What the arm gives can be read but does not know what is asked about: a key, a role, a day."""


class TooManyTurns(Exception):
    """Another call would take more turns than the answer may have."""


class Calls:
    """What an answer has used so far. A call is a turn, and so is the answer at the end.

    Args:
        request: its limits count from now, and its words are the first that were read.
    """

    def __init__(self, request: Request) -> None:
        self._seconds, self._turns = request.limit_seconds, request.limit_turns
        self._started = time.perf_counter()
        self._stopped = False
        self._counts: Counter[str] = Counter()
        self._marks = tokenizer(TOKENS).marks(request.system) + tokenizer(TOKENS).marks(request.prompt)
        self._lines: list[str] = []

    @property
    def late(self) -> bool:
        """Whether the time is over, or nobody waits any more."""
        return self._stopped or time.perf_counter() - self._started >= self._seconds

    def stop(self) -> None:
        """Make every later look at the clock say that it is late: a thread cannot be cancelled from outside."""
        self._stopped = True

    def look_at_the_clock(self) -> None:
        """Raises ``TimeoutError`` if it is late; long work calls it now and then."""
        if self.late:
            raise TimeoutError

    def before(self) -> None:
        """To be called before each call.

        Raises:
            TimeoutError: it is late.
            TooManyTurns: there would be no turn left for the answer.
        """
        self.look_at_the_clock()
        if self._turns is not None and self._counts.total() + 1 >= self._turns:
            raise TooManyTurns(f"no answer after {self._counts.total() + 1} turns")

    def note(self, name: str, arguments: Mapping[str, Any], result: str) -> None:
        """Keep a call: all of its result is counted, the beginning of it stays as evidence."""
        self._counts[name] += 1
        self._marks += tokenizer(TOKENS).marks(result)
        self._line("call", name=name, arguments=dict(arguments), result=result[:_EXCERPT], characters=len(result))

    def step(self, status: Status, detail: str, text: str | None) -> Step:
        """The record of the answer."""
        detail = " ".join(detail.split())
        self._line("end", status=str(status), detail=detail, text=text)
        calls = self._counts.total()
        usage = Usage(
            input=_tokens(self._marks),
            output=_tokens(tokenizer(TOKENS).marks(text or "")),
            turns=calls + (text is not None),
            tool_calls=calls,
            wall_ms=round((time.perf_counter() - self._started) * 1000, 3),
        )
        return Step(
            status=status,
            detail=detail,
            text=text,
            tools=dict(sorted(self._counts.items())),
            usage=usage,
            evidence="".join(f"{line}\n" for line in self._lines).encode("utf-8", "replace"),
        )

    def _line(self, event: str, **what: Any) -> None:
        self._lines.append(json.dumps({"event": event, **what}, ensure_ascii=False, sort_keys=True))


def _tokens(marks: int) -> int:
    return -(-marks // tokenizer(TOKENS).marks_per_token)
