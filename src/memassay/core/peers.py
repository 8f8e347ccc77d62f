"""Programs of other people that memassay drives where they are: ``claude``, ``iwe``, ``iwec``.

They are never part of memassay. ``make peers`` installs the versions pinned here into a folder outside of the checkout;
every program can be named by a variable of its own instead::

    peer("iwe")    $IWE_BIN, else the pinned one in $MEMASSAY_PEERS (~/.cache/memassay/peers), else the one on PATH
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from memassay.core.errors import UnknownName, UsageError

FOLDER_VARIABLE = "MEMASSAY_PEERS"


@dataclass(frozen=True, slots=True)
class Peer:
    """A program of somebody else.

    Attributes:
        name: the command.
        version: the one that ``make peers`` installs.
        variable: names the program where another one is wanted.
        folder: below :func:`peers_folder`.
        path: the program below ``folder``.
        sha256: of the program, where it comes built; "" where it is built here.
    """

    name: str
    version: str
    variable: str
    folder: str
    path: str
    sha256: str = ""

    @property
    def place(self) -> Path:
        """Where ``make peers`` puts the program."""
        return peers_folder() / self.folder / self.path


def machine_kind() -> str:
    """What kind of machine this is, as the npm packages of Claude Code call it: ``linux-x64``."""
    system = "darwin" if sys.platform == "darwin" else "linux"
    machine = "arm64" if platform.machine().lower() in ("arm64", "aarch64") else "x64"
    return f"{system}-{machine}"


def claude_package() -> str:
    """The npm package that holds the ``claude`` of this kind of machine, without a version."""
    return f"@anthropic-ai/claude-code-{machine_kind()}"


# iwe's contract (seeds and what they pull in are interleaved, the budget counts the edge lists) was read in 0.19.0.
_IWE = "0.19.0"
_CLAUDE = "2.1.332"

CLAUDE_SDK = "0.2.189"
"""The version of the package ``claude-agent-sdk`` (extra ``claude-pinned``) that carries the pinned Claude Code."""

CLAUDE_SHA256 = {
    "darwin-arm64": "5b8214f8f082f3187420b27b4063b9b4f4d9412cd66ea436d6d1966ad582700f",
    "darwin-x64": "3ceb285194091d45b150561ac5d58ab5a58cddcdc6d086f883039a652c037cfa",
    "linux-arm64": "50c305fcb8912851ce774429131d94ed6f84edbe3d8d0ed7a59dade5d893acc0",
    "linux-x64": "a2df1f41bb00250992926420d0063f89b127cb81abdd284dbefb80c50ff1d026",
}
"""Of the pinned program, by kind of machine; its npm packages and the wheels of ``CLAUDE_SDK`` hold the same bytes."""

PEERS = {
    "claude": Peer(
        "claude",
        _CLAUDE,
        "CLAUDE_BIN",
        f"claude-{_CLAUDE}",
        f"node_modules/{claude_package()}/claude",
        CLAUDE_SHA256[machine_kind()],
    ),
    "iwe": Peer("iwe", _IWE, "IWE_BIN", f"iwe-{_IWE}", "bin/iwe"),
    "iwec": Peer("iwec", _IWE, "IWEC_BIN", f"iwe-{_IWE}", "bin/iwec"),
}  # fmt: skip


def peers_folder() -> Path:
    """Where ``make peers`` installs: ``$MEMASSAY_PEERS``, else ``~/.cache/memassay/peers``."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else Path.home() / ".cache" / "memassay" / "peers"


def peer(name: str) -> Path | None:
    """The program, as an absolute path, or None where it is not installed.

    Raises:
        UnknownName: there is no such peer.
        UsageError: its variable names something that cannot be run.
    """
    if name not in PEERS:
        raise UnknownName("peer", name, PEERS)
    about = PEERS[name]
    named = os.environ.get(about.variable)
    if named:
        found = shutil.which(named)
        if found is None:
            raise UsageError(f"{about.variable} is {named!r}, which is no program; correct it or unset it.")
        return Path(found).absolute()
    found = shutil.which(about.place) or shutil.which(about.name)
    return None if found is None else Path(found).absolute()
