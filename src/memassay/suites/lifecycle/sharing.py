"""Promotion and rollback: done through the memory's own review queue, and believed only when it shows them.

The sink is read back too. A memory that says that it has applied something and whose sink does not hold it has not
promoted it (the published harness counts that as a failure of its own).
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from memassay.core.errors import MemoryFailure
from memassay.core.taught import Reviews, SharedPage
from memassay.core.types import Check
from memassay.suites.lifecycle.attribution import plain
from memassay.suites.lifecycle.protocol import ENTITY_SINK, Protocol

CAPTURE_SECONDS, CAPTURE_EVERY = 15.0, 0.25
"""How long a capture may take to show, and how often it is looked for; as published."""
SINK_SECONDS, SINK_EVERY = 15.0, 0.5
"""The same for what a sink holds."""

_NOTES = "Checked against what was taught."

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Shared:
    """How a promotion or a rollback came out.

    Attributes:
        done: whether the memory and its sink both show it.
        change: the id of the change, or "".
        detail: the refusal, or "".
        checks: what was verified.
    """

    done: bool
    change: str = ""
    detail: str = ""
    checks: tuple[Check, ...] = ()


async def called(function: Callable[..., Any], *args: Any, **more: Any) -> Any:
    """What a method of a memory returns, plain or async; a plain one runs in a thread of its own."""
    if inspect.iscoroutinefunction(function):
        return await function(*args, **more)
    value = await asyncio.to_thread(function, *args, **more)
    return await value if inspect.isawaitable(value) else value


async def until(look: Callable[[], Awaitable[T]], good: Callable[[T], bool], seconds: float, every: float) -> T:
    """Look until what is seen is good or the time is over; returns what was seen last."""
    over = time.monotonic() + seconds
    while not good(seen := await look()) and time.monotonic() < over:
        await asyncio.sleep(every)
    return seen


async def promote(store: Reviews, protocol: Protocol, record: str) -> Shared:
    """Approve a record, apply it to the protocol's sink, and see whether it is there."""
    entity = protocol.sink == ENTITY_SINK
    try:
        await called(store.approve, record, _NOTES)
        if entity:
            change = await called(store.apply, record, entity=protocol.entity_urn, description=protocol.fact)
        else:
            change = await called(store.apply, record, page=page_of(protocol))
        stands = await called(store.applied, change, record)
    except MemoryFailure as refusal:
        return Shared(False, detail=str(refusal))
    checks = [Check(name="the change stands", passed=bool(stands), expected=True, observed=bool(stands))]
    if stands:
        shown = await until(
            lambda: _sink(store, protocol), lambda text: _holds(text, protocol), SINK_SECONDS, SINK_EVERY
        )
        checks.append(_sink_check("the sink holds it", protocol, shown, wanted=True))
    return Shared(all(check.passed for check in checks), str(change or ""), checks=tuple(checks))


async def roll_back(store: Reviews, protocol: Protocol, change: str, record: str) -> Shared:
    """Take a change back, and see whether it is gone."""
    try:
        await called(store.roll_back, change)
        stands = bool(await called(store.stands, change, record))
    except MemoryFailure as refusal:
        return Shared(False, change, detail=str(refusal))
    shown = await until(
        lambda: _sink(store, protocol), lambda text: not _holds(text, protocol), SINK_SECONDS, SINK_EVERY
    )
    checks = (
        Check(name="the change is rolled back", passed=not stands, expected=False, observed=stands),
        _sink_check("the sink holds it no more", protocol, shown, wanted=False),
    )
    return Shared(all(check.passed for check in checks), change, checks=checks)


def page_of(protocol: Protocol) -> SharedPage:
    """The page that a promotion writes; the first published set has none with a summary."""
    page = protocol.page
    assert page is not None
    return SharedPage(slug=page.slug, title=page.title, summary=page.summary or protocol.fact, body=page.body)


async def _sink(store: Reviews, protocol: Protocol) -> str | None:
    if protocol.sink == ENTITY_SINK:
        description: str | None = await called(store.description, protocol.entity_urn)
        return description
    page: SharedPage | None = await called(store.page, page_of(protocol).slug)
    return None if page is None else page.summary


def _holds(text: str | None, protocol: Protocol) -> bool:
    if text is None:
        return False
    if protocol.sink == ENTITY_SINK:
        return plain(protocol.fact) in plain(text)
    return text == page_of(protocol).summary


def _sink_check(name: str, protocol: Protocol, shown: str | None, *, wanted: bool) -> Check:
    expected = protocol.fact if protocol.sink == ENTITY_SINK else page_of(protocol).summary
    return Check(name=name, passed=_holds(shown, protocol) is wanted, expected=expected, observed=shown)
