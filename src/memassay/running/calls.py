"""Calling what others wrote: sync or async, in a thread of its own, within a time limit."""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import socket
import threading
from collections.abc import Callable
from typing import Any

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASS|PWD|CREDENTIAL|AUTH|DSN", re.IGNORECASE)
_DETAIL = 500
_NETWORK = {"ConnectionError", "ConnectError", "ConnectTimeout"}
_LOGIN = re.compile(r"(?<=://)[^\s/?#]*:[^\s/?#]*(?=@)")


class LimitReached(Exception):
    """The harness's own time limit, as opposed to a time-out that a plug-in raised itself."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds or 0.0
        super().__init__(f"more than {self.seconds:g} s")


def is_network(error: BaseException) -> bool:
    """Whether an error says that something out there could not be reached."""
    names = {cls.__name__ for cls in type(error).__mro__}
    return isinstance(error, ConnectionError | socket.gaierror) or bool(names & _NETWORK)


async def call(function: Callable[..., Any], *args: Any, seconds: float | None) -> Any:
    """Run a plug-in's method and return what it returned.

    A coroutine function runs on the loop; anything else runs in a daemon thread, so that a call that never returns
    can neither stop the other workers nor keep the process alive.

    Raises:
        LimitReached: it took longer than ``seconds``.
        BaseException: whatever the method raised.
    """
    try:
        async with asyncio.timeout(seconds) as limit:
            if inspect.iscoroutinefunction(function):
                try:
                    return await function(*args)
                except SystemExit as error:  # what would end the process is the plug-in's failure, not ours
                    raise RuntimeError(f"SystemExit: {error}") from error
            value = await _in_thread(function, *args)
            return await value if inspect.isawaitable(value) else value
    except TimeoutError as error:
        if limit.expired():
            raise LimitReached(seconds) from error
        raise


async def _in_thread(function: Callable[..., Any], *args: Any) -> Any:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if not future.done():
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(error)

    def run() -> None:
        value, error = None, None
        try:
            value = function(*args)
        except BaseException as raised:
            # What would end a loop or the process is the plug-in's failure, not ours.
            error = raised if isinstance(raised, Exception) else RuntimeError(f"{type(raised).__name__}: {raised}")
            if isinstance(raised, StopIteration):
                error = RuntimeError("StopIteration")
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=run, daemon=True, name="memassay-call").start()
    return await future


def describe(error: BaseException) -> str:
    """An exception as one line for a record: no traceback, no secret, bounded length."""
    return redact(f"{type(error).__name__}: {error}")


def redact(text: str) -> str:
    """A plug-in's message as one line for a record: no secret of the environment, bounded length."""
    text = _LOGIN.sub("[login]", without_secrets(" ".join(text.split())))
    return text if len(text) <= _DETAIL else f"{text[:_DETAIL]}…"


def without_secrets(text: str) -> str:
    """A text of any length without the values of the environment's secrets: each is replaced by its variable's name."""
    for name, value in os.environ.items():
        if len(value) >= 8 and _SECRET_NAME.search(name):
            text = text.replace(value, f"[{name}]")
    return text
