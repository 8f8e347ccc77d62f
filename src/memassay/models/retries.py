"""Asking again after a failure that may pass, with every attempt on record.

The packages of the providers do not retry here (their own count is set to 0), so that what is recorded is what
happened on the wire.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pydantic import JsonValue

from memassay.models.chat import Chat, ChatFailure, ChatModel, Reply

TRIES = 3
FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0


@dataclass(frozen=True, slots=True)
class Attempt:
    """A request that failed; ``wait`` is how many seconds were waited before the next, None where none followed."""

    number: int
    failure: ChatFailure
    wait: float | None

    def record(self) -> dict[str, JsonValue]:
        """What is kept of it as evidence."""
        return {
            "attempt": self.number,
            "status": str(self.failure.status),
            "code": self.failure.code,
            "detail": self.failure.detail,
            "permanent": self.failure.permanent,
            "retry_after": self.failure.retry_after,
            "wait": self.wait,
            "response": self.failure.response,
        }


@dataclass(frozen=True, slots=True)
class Outcome:
    """How asking ended: with a reply, or with the last failure.

    Attributes:
        failed: the attempts that failed, in order, the last one included where there is no reply.
    """

    reply: Reply | None
    failed: tuple[Attempt, ...]

    @property
    def failure(self) -> ChatFailure | None:
        """The failure that ended it, or None where there is a reply."""
        return None if self.reply is not None else self.failed[-1].failure


async def attempts(
    model: ChatModel,
    chat: Chat,
    *,
    tries: int = TRIES,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> Outcome:
    """Ask until there is a reply, the failure is permanent, or the tries are used up.

    Waits 1, 2, 4 … seconds, or what the provider asks for; never longer than 60 s. Where the provider asks for more,
    it is not asked again here: a request that is sure to fail would only add to its load.

    Args:
        model: who is asked.
        chat: what is asked.
        tries: requests in all, at least 1.
        sleep: what waits.

    Raises:
        UsageError, EnvironmentProblem: see :meth:`ChatModel.complete`.
    """
    failed: list[Attempt] = []
    for number in range(1, tries + 1):
        try:
            return Outcome(await model.complete(chat), tuple(failed))
        except ChatFailure as failure:
            wait = max(FIRST_WAIT * 2 ** (number - 1), failure.retry_after or 0.0)
            last = number == tries or failure.permanent or (failure.retry_after or 0.0) > LONGEST_WAIT
            failed.append(Attempt(number, failure, None if last else min(wait, LONGEST_WAIT)))
        if last:
            break
        await sleep(failed[-1].wait or 0.0)
    return Outcome(None, tuple(failed))
