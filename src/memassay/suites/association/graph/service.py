"""The tool server of an open store as a process of its own: started when it is needed, ended with the store."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO

from memassay.core.errors import EnvironmentProblem

_MODULE = "memassay.suites.association.graph.server"
_HANDED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR")
_LAST_WORDS = 300

# The shell leads a process group of its own and ends the group, itself included, once its standard input is closed: by
# close(), or because this process is gone, however it went. The server itself could not tell while a call runs.
_UNTIL_CLOSED = ("/bin/sh", "-c", '"$@" </dev/null & exec >/dev/null; cat; kill -KILL 0', "sh")


class Service:
    """The server over one store; threads may share it.

    Args:
        place: the folder of the store.
    """

    def __init__(self, place: Path) -> None:
        self._place = place.absolute()
        self._starting = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._address = ""

    def address(self) -> str:
        """Where the server is; it is started, and waited for until it has opened the store, the first time.

        Raises:
            EnvironmentProblem: it ended instead.
        """
        with self._starting:
            if self._process is None:
                self._start()
            return self._address

    def close(self) -> None:
        """End the server and all that it started; does nothing where there is none."""
        with self._starting:
            process, self._process = self._process, None
            if process is not None:
                with process:
                    assert process.stdin is not None
                    process.stdin.close()

    def _start(self) -> None:
        errors: IO[str]
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
            process = subprocess.Popen(
                [*_UNTIL_CLOSED, sys.executable, "-m", _MODULE, str(self._place)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=self._place,
                env={name: os.environ[name] for name in _HANDED_ON if name in os.environ},
                text=True,
                start_new_session=True,
            )
            assert process.stdin is not None and process.stdout is not None
            self._address = process.stdout.readline().strip()
            if self._address:
                self._process = process
                return
            with process:
                process.stdin.close()
            errors.seek(0)
            words = [line.strip() for line in errors.read().splitlines() if line.strip()]
        said = words[-1][:_LAST_WORDS].removeprefix("memassay: ") if words else "it said nothing"
        raise EnvironmentProblem(f"The graph's tool server could not be started: {said}")
