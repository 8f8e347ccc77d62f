"""A process that holds the store, so that a call which takes too long can be ended.

The package does not let go of the interpreter during a call, and a Cypher query may run for hours: in the server's own
process, one such query would silence the server for every later cell.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import resource
import sys
import threading
from collections.abc import Mapping
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from memassay.core.errors import EnvironmentProblem, MemassayError, UsageError
from memassay.suites.association.graph.store import GraphReader
from memassay.suites.association.graph.tools import Tools

SECONDS = 120.0
_HEADROOM = 4 * 2**30  # bytes that calls may need beside the open store
_TOO_LONG = (
    "The call took more than {seconds:g} s and was ended; ask for less at a time, or begin a query at one entity, "
    "as in MATCH (t:Talent {{id: 'talent-000012'}})."
)
_BROKE_OFF = "The call broke off, most likely because its answer needs too much memory; ask for less at a time."


class Worker:
    """The tools over a store, in a process of their own; threads may share it and take turns.

    Args:
        place: the folder of the store.
        seconds: how long a call may take.

    Raises:
        MemassayError: the store cannot be opened.
    """

    def __init__(self, place: Path, seconds: float = SECONDS) -> None:
        self._place, self._seconds = place, seconds
        self._turns = threading.Lock()
        self._process: SpawnProcess | None = None
        self._line: Connection | None = None
        self._start()

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Use a tool; see :meth:`Tools.call`.

        Raises:
            UsageError: the call cannot be served, took too long or broke off.
            EnvironmentProblem: the store cannot be opened again.
        """
        with self._turns:
            if self._line is None:
                self._start()
            assert self._line is not None
            try:
                self._line.send((name, dict(arguments)))
                if not self._line.poll(self._seconds):
                    raise TimeoutError
                answer, refusal = self._line.recv()
            except TimeoutError:
                self.close()
                raise UsageError(_TOO_LONG.format(seconds=self._seconds)) from None
            except (EOFError, OSError):
                self.close()
                raise UsageError(_BROKE_OFF) from None
        if refusal is not None:
            raise UsageError(refusal)
        return str(answer)

    def close(self) -> None:
        """End the process, whatever it is doing."""
        process, line, self._process, self._line = self._process, self._line, None, None
        if process is not None:
            process.kill()
            process.join()
        if line is not None:
            line.close()

    def _start(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._line, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_serve, args=(self._place, theirs), daemon=True)
        self._process.start()
        theirs.close()
        try:
            refusal = self._line.recv()
        except (EOFError, OSError):
            refusal = f"The store in {self._place} broke the process that opens it."
        if refusal is not None:
            self.close()
            raise EnvironmentProblem(refusal)


def _serve(place: Path, line: Connection) -> None:
    """What the process does: open the store, say None or why not, then answer until the line is cut."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(EOFError, OSError, KeyboardInterrupt))
        try:
            tools = Tools(stack.enter_context(GraphReader.opened(place)))
        except MemassayError as error:
            line.send(str(error))
            return
        _limit_memory()
        line.send(None)
        while True:
            name, arguments = line.recv()
            try:
                line.send((tools.call(name, arguments), None))
            except MemassayError as error:
                line.send((None, str(error)))


def _limit_memory() -> None:
    """Let an answer that grows without end fail here, before it takes the machine's memory."""
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        limit = pages * resource.getpagesize() + _HEADROOM
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (limit if most < 0 else min(limit, most), most))
