"""A server of ours as a process that cannot outlive the one that started it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from memassay.core.errors import EnvironmentProblem

_HANDED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR")
_LAST_WORDS = 300

# The shell leads a process group of its own. Once its standard input is closed (by close(), or because this process is
# gone, however it went) it ends the server, removes the server's folder, and ends the group, itself included.
_UNTIL_CLOSED = (
    "/bin/sh",
    "-c",
    'folder=$1; shift; "$@" </dev/null & exec >/dev/null; cat; kill -KILL $! 2>&-; rm -rf -- "$folder"; kill -KILL 0',
    "sh",
)


class Process:
    """A started server with a scratch folder of its own, which goes with it.

    Args:
        what: it is, in a message.
        module: that is run.
        args: of it; ``{folder}`` is the scratch folder.
        env: beside PATH and the like.

    Attributes:
        said: the first line that it printed, a JSON object.
        folder: the scratch folder.

    Raises:
        EnvironmentProblem: it ended instead of printing one.
    """

    def __init__(self, what: str, module: str, args: Sequence[str] = (), env: Mapping[str, str] | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="memassay-platform-"))
        given = [arg.replace("{folder}", str(self.folder)) for arg in args]
        errors: IO[str]
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
            self._shell = subprocess.Popen(
                [*_UNTIL_CLOSED, str(self.folder), sys.executable, "-m", module, *given],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={name: os.environ[name] for name in _HANDED_ON if name in os.environ} | dict(env or {}),
                text=True,
                start_new_session=True,
            )
            assert self._shell.stdout is not None
            line = self._shell.stdout.readline()
            try:
                self.said: Mapping[str, Any] = dict(json.loads(line))
                return
            except (ValueError, TypeError):
                self.close()
            errors.seek(0)
            words = [one.strip() for one in errors.read().splitlines() if one.strip()]
        said = words[-1][:_LAST_WORDS].removeprefix("memassay: ") if words else "it said nothing"
        raise EnvironmentProblem(f"{what} could not be started: {said}")

    @property
    def pid(self) -> int:
        """Of the leader of its process group."""
        return self._shell.pid

    def close(self) -> None:
        """End the server and all that it started, and remove its folder; may be called twice."""
        if self._shell.stdin is not None and not self._shell.stdin.closed:
            with self._shell as shell:
                assert shell.stdin is not None
                shell.stdin.close()
        shutil.rmtree(self.folder, ignore_errors=True)
