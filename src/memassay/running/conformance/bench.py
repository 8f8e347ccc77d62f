"""Where a memory is checked: processes to run it in, folders to build in, and an end to every wait."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import site
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from memassay.core.digest import digest_file
from memassay.core.errors import CannotMeasure, MemoryFailure, UsageError
from memassay.core.types import Passage
from memassay.running.calls import redact

BUDGET = 8000
"""Tokens of a usual question: more than all the notes have."""
_END_SECONDS = 2.0
# Weights of models are no part of a store; a process with another home folder looks for them where they are.
_WEIGHTS = {"HF_HOME": ".cache/huggingface", "TORCH_HOME": ".cache/torch"}
_IN_HOME = {"XDG_CACHE_HOME": ".cache", "XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share",
            "XDG_STATE_HOME": ".local/state"}  # fmt: skip


class Ended(MemoryFailure):
    """The process of the memory gave no answer: it took too long, or it ended."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The memory under check: a registered name or an absolute ``/…/file.py:Class``, and its settings."""

    memory: str
    options: Mapping[str, JsonValue]


class Worker:
    """A process with the memory in it.

    Args:
        bench: whose deadline ends every wait.
        noise: a file for what the process prints.
        seed: the process's ``PYTHONHASHSEED``.
        variables: of its environment, beside those of this process.
    """

    def __init__(self, bench: Bench, noise: Path, seed: int, variables: Mapping[str, str]) -> None:
        self._bench, self._noise = bench, noise
        environment = {
            **os.environ,
            "PYTHONHASHSEED": str(seed),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": str(bench.scratch),
            **variables,
        }
        with noise.open("wb") as stream:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "memassay.running.conformance.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stream,
                env=environment,
                start_new_session=True,
            )

    @property
    def alive(self) -> bool:
        """Whether it can still be asked."""
        return self._process.returncode is None and not self._has_ended()

    def _has_ended(self) -> bool:
        # The process stays in the system's table, so that its number cannot become another's before it is used below.
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def request(self, what: str, **about: Any) -> Any:
        """Ask the process for something and wait for the answer until the deadline.

        Raises:
            CannotMeasure: the memory said so, or the network stood in the way.
            UsageError: the settings or the name of the memory.
            Ended: no answer in time, or the process ended.
            MemoryFailure: the memory raised; the text is the exception in one line.
        """
        self.send(what, **about)
        said = json.loads(self._line())
        if "value" in said:
            return said["value"]
        kinds = {"cannot": CannotMeasure, "usage": UsageError}
        raise kinds.get(said["fault"], MemoryFailure)(said["text"])

    def send(self, what: str, **about: Any) -> None:
        """Ask for something without waiting."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps({"what": what, **about}).encode("ascii") + b"\n")
            self._process.stdin.flush()

    def _line(self) -> bytes:
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        line = bytearray()
        while not line.endswith(b"\n"):
            left = self._bench.deadline - time.monotonic()
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                self.kill()
                raise Ended(f"no answer after {self._bench.seconds:g} s")
            piece = os.read(pipe, 1 << 20)
            if not piece:
                raise Ended(self._how_it_ended())
            line += piece
        return bytes(line)

    def _how_it_ended(self) -> str:
        self._finish(_END_SECONDS)
        code = self._process.returncode
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        said = self._noise.read_text("utf-8", "replace").strip().splitlines()
        return f"its process {how}" + (f" after it printed {redact(said[-1])!r:.200}" if said else "")

    def kill(self) -> None:
        """End the process and its children at once, as ``kill -9`` does."""
        self._finish(0)

    def end(self) -> None:
        """Let the process end by itself, and help it if it does not; nothing of it is left."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._finish(_END_SECONDS)
        self._process.stdout.close()

    def _finish(self, seconds: float) -> None:
        """Give the process some time to end, then end it with all its children."""
        if self._process.returncode is not None:
            return
        until = time.monotonic() + seconds
        while not self._has_ended() and time.monotonic() < until:
            time.sleep(0.002)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@dataclass(frozen=True, slots=True)
class Store:
    """A built store, to be asked in one process; it is opened at the first question.

    Attributes:
        built: its files right after the build, as :func:`contents` gives them.
        steps: signs of life of the build.
        changed: whether the build changed the corpus.
    """

    worker: Worker
    place: Path
    built: Mapping[str, str]
    steps: int
    changed: bool

    def ask(self, text: str, budget: int = BUDGET, limit: int | None = None) -> list[Passage]:
        """The passages for one question."""
        return self.ask_all([text], budget, limit)[0]

    def ask_all(
        self, texts: Sequence[str], budget: int = BUDGET, limit: int | None = None, threads: int = 1
    ) -> list[list[Passage]]:
        """The passages for several questions, asked one after another or by several threads together."""
        queries = [{"text": text, "budget_tokens": budget, "limit": limit} for text in texts]
        answers = self.worker.request("ask", place=str(self.place), queries=queries, threads=threads)
        return [[Passage(**passage) for passage in passages] for passages in answers]

    def close(self) -> None:
        """Close it in its process, if it is open and can be closed."""
        self.worker.request("close", place=str(self.place))

    def elsewhere(self, worker: Worker) -> Store:
        """The same folder in another process."""
        return replace(self, worker=worker)


class Bench:
    """Processes and folders for the checks of one memory; everything is gone when it is closed.

    Args:
        subject: the memory.
        root: an empty folder.

    Attributes:
        seconds: how long the check of now may take; ``deadline``: when it has taken that long.
        started: whether the memory could be made in any process yet.
    """

    def __init__(self, subject: Subject, root: Path) -> None:
        self.subject, self.root = subject, root
        self.scratch = root / "scratch"
        self.scratch.mkdir()
        self.seconds = self.deadline = 0.0
        self._shared: Worker | None = None
        self._notes: Store | None = None
        self._workers: list[Worker] = []
        self._places = 0
        self.started = False

    def begin(self, seconds: float) -> None:
        """Start the clock of a check that may take so long."""
        self.seconds, self.deadline = seconds, time.monotonic() + seconds

    def worker(self) -> Worker:
        """The process that checks share; a new one if the last check ended it."""
        if self._shared is None or not self._shared.alive:
            self._shared = self._start(seed=1)
        return self._shared

    @contextlib.contextmanager
    def another(self, seed: int, home: Path | None = None) -> Iterator[Worker]:
        """A process of its own, with that hash seed (the one that checks share has 1).

        With ``home`` its home folder and its folder for temporary files are in there.
        """
        worker = self._start(seed, None if home is None else _at_home(home))
        try:
            yield worker
        finally:
            worker.end()

    def _start(self, seed: int, variables: Mapping[str, str] | None = None) -> Worker:
        worker = Worker(self, self.root / f"printed-{len(self._workers)}.txt", seed, variables or {})
        self._workers.append(worker)
        worker.request("make", memory=self.subject.memory, options=dict(self.subject.options))
        self.started = True
        return worker

    def place(self, *names: str) -> Path:
        """A new, empty folder, under folders of these names if any are given."""
        self._places += 1
        path = self.root.joinpath(str(self._places), *names, "store")
        path.mkdir(parents=True)
        return path

    def build(self, name: str, place: Path | None = None, worker: Worker | None = None) -> Store:
        """Build the corpus of that name, by default in a new folder and in the process that checks share."""
        place, worker = place or self.place(), worker or self.worker()
        report = worker.request("build", name=name, place=str(place))
        return Store(worker, place, contents(place), report["steps"], report["changed"])

    def notes(self) -> Store:
        """The store of the notes in the process that checks share, built once."""
        if self._notes is None or not self._notes.worker.alive:
            self._notes = self.build("notes")
        return self._notes

    def close(self) -> None:
        """End every process that is left."""
        for worker in self._workers:
            worker.end()


def _at_home(place: Path) -> dict[str, str]:
    """Variables of a process whose home folder and temporary files are in a folder."""
    home, temporary = place / "home", place / "tmp"
    home.mkdir(exist_ok=True)
    temporary.mkdir(exist_ok=True)
    usual = Path.home()
    weights = {
        name: str(usual / where)
        for name, where in _WEIGHTS.items()
        if name not in os.environ and (usual / where).is_dir()
    }
    return {
        **weights,
        **{name: str(home / where) for name, where in _IN_HOME.items()},
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "PYTHONUSERBASE": site.getuserbase(),  # packages that are installed for the user stay so
    }


def empty(place: Path) -> None:
    """Empty a folder, as a run does before it builds anew what was left half built."""
    shutil.rmtree(place)
    place.mkdir()


def contents(place: Path) -> dict[str, str]:
    """The digest of every file below a folder, by relative path."""
    paths = sorted(path for path in place.rglob("*") if path.is_file())
    return {path.relative_to(place).as_posix(): digest_file(path) for path in paths}


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Files that are new, gone or different."""
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
