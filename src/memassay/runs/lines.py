"""Append-only JSON lines: one writer per file, flushed per record; a torn last line is cut, other damage refused."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from pydantic_core import from_json

from memassay.core.errors import DataError, EnvironmentProblem, RunLocked

FSYNC_SECONDS = 1.0
_DISK = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file-size limit",
}


@contextlib.contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn an operating-system error about ``path`` into one sentence with the fix."""
    try:
        yield
    except OSError as error:
        raise problem(path, error) from error


def problem(path: Path, error: OSError) -> EnvironmentProblem:
    """The one sentence for an operating-system error about ``path``."""
    if error.errno in _DISK:
        return EnvironmentProblem(
            f"{path} cannot be written: {_DISK[error.errno]}. What is recorded so far is safe; "
            "make room and run the same command again, it goes on where it stopped."
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return EnvironmentProblem(f"{path} cannot be written: no permission. Choose another folder with --out.")
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return EnvironmentProblem(
            f"{path} cannot be made: a file stands where a folder should be. Choose another --out."
        )
    return EnvironmentProblem(f"{path} cannot be used: {error.strerror or error}. Choose another folder with --out.")


class LineWriter:
    """The one writer of a file of lines. Opening takes the file's lock and cuts off a torn last line.

    ``kill -9`` loses at most the line being written: every record goes out in one ``write``; ``fsync`` runs at most
    once a second, so power loss may cost more.

    Args:
        path: the file; its folder is made.
        wait: wait for another writer to finish, instead of refusing.

    Raises:
        RunLocked: another process holds the file.
        EnvironmentProblem: the disk is full, the folder is read-only.
    """

    def __init__(self, path: Path, *, wait: bool = False) -> None:
        self.path = path
        with disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._handle: BinaryIO = path.open("a+b", buffering=0)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError as error:
            self._handle.close()
            raise RunLocked(
                f"{path.name} is being written by another process. Wait for it to end, "
                "or give each writer its own part with --shard 1/2 and --shard 2/2."
            ) from error
        self._end = self._repair()
        self._synced = time.monotonic()

    def append(self, line: str) -> None:
        """Write one record (a JSON text without line ends) and hand it to the operating system.

        What UTF-8 cannot say (a lone surrogate) is written as a question mark: the line stays readable.
        """
        data = line.encode("utf-8", "replace") + b"\n"
        with disk_errors(self.path):
            try:
                written = self._handle.write(data)
                while written is not None and written < len(data):
                    written += self._handle.write(data[written:]) or 0
            except OSError:
                # Nothing half-written stays behind: back to the end of the last whole record.
                with contextlib.suppress(OSError):
                    os.ftruncate(self._handle.fileno(), self._end)
                raise
            self._end += len(data)
            now = time.monotonic()
            if now - self._synced >= FSYNC_SECONDS:
                os.fsync(self._handle.fileno())
                self._synced = now

    def close(self) -> None:
        """Flush to the disk and give the lock back."""
        if not self._handle.closed:
            with contextlib.suppress(OSError):
                os.fsync(self._handle.fileno())
            self._handle.close()

    def __enter__(self) -> LineWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _repair(self) -> int:
        size = self._handle.seek(0, os.SEEK_END)
        end = size
        chunk = 1 << 16
        while end > 0:
            start = max(0, end - chunk)
            self._handle.seek(start)
            data = self._handle.read(end - start)
            if end == size and data.endswith(b"\n"):
                return size
            cut = data.rfind(b"\n")
            if cut >= 0:
                end = start + cut + 1
                break
            end = start
        if end != size:
            with disk_errors(self.path):
                os.ftruncate(self._handle.fileno(), end)
        return end


def read_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records of a file as (line number, object); a torn last line is left out.

    Raises:
        DataError: a line that is not a JSON object anywhere but at the torn end, with file and line.
    """
    return NewLines().of(path)


class NewLines:
    """What was appended to files since they were last looked at, by whoever writes them; a line counts once whole."""

    def __init__(self) -> None:
        self._read: dict[Path, tuple[int, int]] = {}

    def of(self, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
        """The new records of a file, as :func:`read_lines` gives all of them."""
        number, end = self._read.get(path, (0, 0))
        if not path.exists():
            return
        with path.open("rb") as handle:
            handle.seek(end)
            try:
                for line in handle:
                    if not line.endswith(b"\n"):
                        return
                    number, end = number + 1, end + len(line)
                    yield number, _object(path, number, line)
            finally:
                self._read[path] = number, end


def _object(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        value = from_json(line)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise DataError(
            f"{path.name}, line {number} is damaged (not a JSON object). Only a torn last line can be "
            "repaired; restore the file from a copy or start a new run folder."
        )
    return value


def write_whole(path: Path, text: str) -> None:
    """Write a file that is either the old one or the new one, never half of it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with disk_errors(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("w", encoding="utf-8", errors="replace", newline="\n") as handle:
                handle.write(text)
                handle.flush()
                os.fsync(handle.fileno())
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
