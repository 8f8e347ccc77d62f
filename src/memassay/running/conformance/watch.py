"""What a process writes, as Python's audit events tell it."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# A cache may be kept where the user's caches are; the values of these variables are folders the user has named.
_CACHE = "XDG_CACHE_HOME"
_OURS = "MEMASSAY_"
_LISTED = 5


class Watch:
    """Notes paths that are opened for writing outside the allowed folders, and counts the steps of a build.

    What is allowed: the folders given to :meth:`allow`, the folder for temporary files, the user's cache folder, and
    folders named in a ``MEMASSAY_…`` variable. Libraries that write without Python are not seen.
    """

    def __init__(self) -> None:
        cache = os.environ.get(_CACHE) or str(Path.home() / ".cache")
        named = [value for name, value in os.environ.items() if name.startswith(_OURS) and value]
        self._allowed = [_real(path) for path in (tempfile.gettempdir(), cache, "/dev", "/proc", *named)]
        self._fatal = 0
        self._counts = False
        self.steps = 0
        self.outside: list[str] = []
        sys.addaudithook(self._hear)

    def allow(self, folder: str) -> None:
        """Allow a folder and everything in it."""
        path = _real(folder)
        if path not in self._allowed:
            self._allowed.append(path)

    @contextlib.contextmanager
    def counting(self, fatal: int) -> Iterator[None]:
        """Count steps from 0; at step ``fatal`` (from 1; 0 for never) the process is killed as by a power cut."""
        self.steps, self._fatal, self._counts = 0, fatal, True
        try:
            yield
        finally:
            self._counts = False

    def step(self, *_: Any) -> None:
        """One sign of life of a build: a file opened for writing, or a call of ``context.progress``."""
        self.steps += 1
        if self.steps == self._fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        path = _written(event, arguments)
        if path is None:
            return
        if self._counts:
            self.step()
        real = _real(path)
        inside = any(real == folder or real.startswith(folder + os.sep) for folder in self._allowed)
        if not inside and real not in self.outside and len(self.outside) < _LISTED:
            self.outside.append(real)


def _written(event: str, arguments: tuple[Any, ...]) -> str | None:
    """The path that an audit event says is written, or None."""
    path: Any = None
    if event == "open":
        path = arguments[0] if (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR) else None
    elif event == "os.mkdir":
        path = arguments[0]
    elif event in ("os.rename", "os.link", "os.symlink"):
        path = arguments[1]
    elif event == "sqlite3.connect":
        path = arguments[0]
        text = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
        if text in ("", ":memory:") or text.startswith("file:"):
            path = None if "mode=ro" in text or "memory" in text or not text else text[5:].partition("?")[0]
    return os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else None


def _real(path: str) -> str:
    return os.path.realpath(path)
