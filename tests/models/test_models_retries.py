"""Asking again: how often, how long apart, and when not."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from memassay.core.types import ModelKind, Status, Usage
from memassay.models.chat import Chat, ChatFailure, Message, Reply
from memassay.models.retries import Outcome, attempts

CHAT = Chat((Message("user", "Where?"),))


class Model:
    """Fails as it is told to, then replies."""

    name, kind = "planted", "scripted"

    def __init__(self, *failures: ChatFailure) -> None:
        self.failures, self.asked = list(failures), 0
        self.kind: ModelKind = "scripted"

    def identity(self) -> Mapping[str, Any]:
        return {}

    async def prepare(self) -> None: ...

    async def complete(self, chat: Chat) -> Reply:
        self.asked += 1
        if self.failures:
            raise self.failures.pop(0)
        return Reply("Oslo.")

    def price(self, usage: Usage) -> float | None:
        return None

    async def close(self) -> None: ...


def limited(retry_after: float | None = None) -> ChatFailure:
    return ChatFailure(Status.RATE_LIMIT, "slow down", code=429, retry_after=retry_after)


def run(model: Model, **more: Any) -> tuple[Outcome, list[float]]:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    return asyncio.run(attempts(model, CHAT, sleep=sleep, **more)), waits


def test_a_reply_at_once_is_no_attempt_that_failed() -> None:
    outcome, waits = run(Model())
    assert outcome.reply == Reply("Oslo.") and outcome.failed == () and outcome.failure is None and waits == []


def test_waits_grow_and_every_failure_is_on_record() -> None:
    outcome, waits = run(Model(limited(), limited(), limited()), tries=5)
    assert outcome.reply is not None and outcome.failure is None
    assert waits == [1.0, 2.0, 4.0]
    assert [a.record()["attempt"] for a in outcome.failed] == [1, 2, 3]
    assert [a.wait for a in outcome.failed] == waits
    assert outcome.failed[0].record()["code"] == 429


def test_the_last_failure_is_the_end_and_is_not_waited_after() -> None:
    model = Model(*(limited() for _ in range(9)))
    outcome, waits = run(model, tries=3)
    assert outcome.reply is None and model.asked == 3 and waits == [1.0, 2.0]
    assert outcome.failed[-1].wait is None and outcome.failure is outcome.failed[-1].failure


def test_what_the_provider_asks_for_is_waited() -> None:
    outcome, waits = run(Model(limited(17.5), limited(0.1)))
    assert outcome.reply is not None and waits == [17.5, 2.0]


def test_a_longer_wait_than_a_minute_is_not_worth_it() -> None:
    model = Model(limited(61.0))
    outcome, waits = run(model)
    assert outcome.reply is None and model.asked == 1 and waits == []


def test_what_is_permanent_is_not_asked_again() -> None:
    model = Model(ChatFailure(Status.API_ERROR, "no such model", code=404, permanent=True))
    outcome, waits = run(model, tries=5)
    assert outcome.failure is not None and outcome.failure.code == 404 and model.asked == 1 and waits == []
