"""A child with a group of its own: its words, its limit, and nobody left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from memassay.agents.claude_code.process import Ended, run

PATH = {"PATH": os.environ["PATH"]}


def shell(script: str, text: str = "", seconds: float = 20, folder: Path = Path("/"), **environment: str) -> Ended:
    command = ["/bin/sh", "-c", script]
    return asyncio.run(run(command, environment={**PATH, **environment}, folder=folder, text=text, seconds=seconds))


def is_alive(pid: int) -> bool:
    """Whether it runs; a zombie that waits for its parent does not."""
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(pid: int) -> bool:
    deadline = time.monotonic() + 5
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_alive(pid)


def test_it_is_fed_and_heard(tmp_path: Path) -> None:
    ended = shell("cat; pwd; echo $X; echo complaint >&2; exit 3", text="Frage Ä\n", folder=tmp_path, X="mine")
    assert ended.out.decode() == f"Frage Ä\n{tmp_path.resolve()}\nmine\n"
    assert ended.err == b"complaint\n"
    assert (ended.code, ended.timed_out) == (3, False)


def test_a_prompt_larger_than_a_pipe_and_a_child_that_talks_first() -> None:
    words = "x" * 3_000_000
    ended = shell("head -c 200000 /dev/zero; cat", text=words)
    assert ended.out[200_000:] == words.encode()


def test_a_child_that_does_not_read_its_prompt() -> None:
    assert shell("exit 0", text="x" * 3_000_000).code == 0


def test_at_its_limit_it_is_interrupted_and_may_still_speak() -> None:
    ended = shell("trap 'echo so far; exit 0' INT; echo began; while :; do sleep 0.05; done", seconds=0.5)
    assert ended.out == b"began\nso far\n"
    assert (ended.code, ended.timed_out) == (0, True)
    assert 0.4 < ended.seconds < 5


def test_a_child_that_heeds_no_interrupt_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memassay.agents.claude_code.process._INTERRUPT_SECONDS", 0.3)
    ended = shell("trap '' INT; echo $$; while :; do sleep 0.05; done", seconds=0.5)
    assert ended.timed_out
    assert ended.code == -signal.SIGKILL
    assert gone(int(ended.out))


def test_what_it_leaves_behind_in_its_group_is_ended() -> None:
    ended = shell("sleep 60 & echo $!")
    assert ended.code == 0
    assert ended.seconds < 5, "it waited for the other one"
    assert gone(int(ended.out))


def test_a_killed_child_takes_its_group_along() -> None:
    ended = shell("sleep 60 & echo $!; kill -KILL $$")
    assert ended.code == -signal.SIGKILL
    assert gone(int(ended.out))


@pytest.mark.parametrize("wait", [False, True], ids=["while it starts", "while it runs"])
def test_cancelled_it_leaves_nobody(tmp_path: Path, wait: bool) -> None:
    note = tmp_path / "pid"
    script = ["/bin/sh", "-c", f"sleep 60 & echo $! > {note}; wait"]

    async def cancelled() -> None:
        task = asyncio.create_task(run(script, environment=PATH, folder=tmp_path, text="", seconds=60))
        await asyncio.sleep(0)
        while wait and not (note.exists() and note.read_text().strip()):
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    began = time.monotonic()
    asyncio.run(cancelled())
    assert time.monotonic() - began < 20
    assert not note.exists() or not note.read_text().strip() or gone(int(note.read_text()))


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(FileNotFoundError):
        asyncio.run(run(["/no/such"], environment=PATH, folder=Path("/"), text="", seconds=1))
