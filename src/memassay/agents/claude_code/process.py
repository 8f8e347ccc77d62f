"""A child with a process group of its own: fed, listened to, interrupted at its limit, and gone with its group."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_POLL_SECONDS = 0.02
_INTERRUPT_SECONDS = 5.0  # for the result event, with the usage so far; Claude Code took 0.3 s
_GROUP_SECONDS = 1.0  # for tool servers to see the end of their input and leave
_PIPE_SECONDS = 5.0
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Ended:
    """How a child ended.

    Attributes:
        out, err: everything that it wrote.
        code: its exit code, or minus the signal that ended it.
        timed_out: whether it was at its limit, so that we interrupted it.
        seconds: from its start to its end.
    """

    out: bytes
    err: bytes
    code: int
    timed_out: bool
    seconds: float


async def run(
    command: Sequence[str], *, environment: Mapping[str, str], folder: Path, text: str, seconds: float
) -> Ended:
    """Run a child to its end; when this returns or is cancelled, nothing of its process group is left.

    Args:
        command: program and arguments.
        environment: all that it sees.
        folder: where it runs.
        text: what it reads on standard input.
        seconds: how long it may take. Then it is interrupted, and ended if it does not heed that.

    Raises:
        OSError: it cannot be started.
    """
    started = time.perf_counter()
    child = await _start(command, environment, folder)
    out, err = bytearray(), bytearray()
    pipes = asyncio.gather(
        _feed(child, text.encode(errors="replace")), _drain(child.stdout, out), _drain(child.stderr, err)
    )
    timed_out = False
    try:
        if not await _exited(child, seconds):
            timed_out = True
            child.send_signal(signal.SIGINT)
            await _exited(child, _INTERRUPT_SECONDS)
        ended = time.perf_counter()
        if child.returncode is not None:
            await _leaves(child.pid)
    finally:
        _end_group(child.pid)
        # Somebody may have left the group and hold a pipe: then what was heard by now is all there is.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PIPE_SECONDS):
                await pipes
                await child.wait()
    code = child.returncode if child.returncode is not None else -signal.SIGKILL
    return Ended(bytes(out), bytes(err), code, timed_out, ended - started)


async def _start(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> asyncio.subprocess.Process:
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *command,
            env=dict(environment),
            cwd=folder,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        # Cancelled in the middle of a start, asyncio would end the child and wait for whoever else holds its pipes.
        child = await starting
        _end_group(child.pid)
        await child.communicate()
        raise


async def _exited(child: asyncio.subprocess.Process, seconds: float) -> bool:
    """Wait for the child alone: ``wait`` of asyncio may wait for whoever else holds its pipes."""
    deadline = time.perf_counter() + seconds
    while child.returncode is None:
        if time.perf_counter() >= deadline:
            return False
        await asyncio.sleep(_POLL_SECONDS)
    return True


async def _leaves(group: int) -> None:
    deadline = time.perf_counter() + _GROUP_SECONDS
    while time.perf_counter() < deadline:
        try:
            os.killpg(group, 0)
        except (ProcessLookupError, PermissionError):
            return
        await asyncio.sleep(_POLL_SECONDS)


def _end_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # everyone has left
        os.killpg(group, signal.SIGKILL)


async def _feed(child: asyncio.subprocess.Process, content: bytes) -> None:
    assert child.stdin is not None
    try:
        child.stdin.write(content)
        await child.stdin.drain()
    except (BrokenPipeError, ConnectionResetError):
        pass  # it ended before it had read everything; its exit tells why
    finally:
        child.stdin.close()


async def _drain(pipe: asyncio.StreamReader | None, into: bytearray) -> None:
    assert pipe is not None
    while chunk := await pipe.read(_CHUNK):
        into += chunk
