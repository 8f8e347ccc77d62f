"""The processes of the memory ``platform``: started when they are needed, gone when nobody needs them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from kit import child_environment
from memassay.memories.platform import embedded

pytestmark = pytest.mark.slow

Open = Callable[..., Any]
ALONE = True


def alive(pid: int) -> bool:
    """Whether somebody of a process group is there."""
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    return True


def gone(pids: Iterable[int]) -> bool:
    """Whether nothing of these groups is left, once the system has put away what has ended."""
    until = time.monotonic() + 10
    while any(alive(pid) for pid in pids) and time.monotonic() < until:
        time.sleep(0.02)
    return not any(alive(pid) for pid in pids)


def test_the_processes_end_with_the_last_store(open_store: Open) -> None:
    one, two = open_store("one"), open_store("two")
    assert embedded.processes() == (), "nothing is started unasked"
    one.toolset()
    pids = embedded.processes()
    assert len(pids) == 2 and all(alive(pid) for pid in pids)
    two.close()
    assert all(alive(pid) for pid in pids)
    one.close()
    assert embedded.processes() == ()
    assert gone(pids)


OPENS = """
import sys
from pathlib import Path
from memassay.core.types import StoreRef
from memassay.memories.platform import PlatformMemory, embedded
store = PlatformMemory(embedder="hash").open(StoreRef(key="k", location=sys.argv[1]))
store.toolset()
print(*embedded.processes(), embedded._PLATFORM.folder(), flush=True)
sys.stdin.read()
"""


def test_nothing_is_left_of_a_run_that_was_killed(open_store: Open, tmp_path: Path) -> None:
    open_store("one")
    child = subprocess.Popen(
        [sys.executable, "-c", OPENS, str(tmp_path / "one")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=child_environment(tmp_path, PYTHONPATH=os.pathsep.join(sys.path)),
    )
    assert child.stdin is not None and child.stdout is not None
    *pids, folder = child.stdout.readline().split()
    assert all(alive(int(pid)) for pid in pids) and Path(folder).is_dir()
    child.kill()
    child.wait()
    child.stdin.close()
    child.stdout.close()
    assert gone([int(pid) for pid in pids])
    assert not Path(folder).exists()
