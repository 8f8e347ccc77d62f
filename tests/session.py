"""What is made once for a whole test session, also where several processes share it out."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest


def shared(tmp: pytest.TempPathFactory, name: str) -> Path:
    """A folder that all workers of this test session share."""
    base = tmp.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    folder.mkdir(exist_ok=True)
    return folder


@contextlib.contextmanager
def once(folder: Path) -> Iterator[bool]:
    """Whether the caller is the one to fill the folder; every other one waits until it is filled."""
    with (folder / ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder / ".done"
        yield not done.exists()
        done.touch()
