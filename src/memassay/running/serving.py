"""How an agent reaches a store: a tool server over it, or a copy of its files.

``servers(ref, memory) -> tuple[Server, ...]``, ``lay_out(folder, work) -> Path``.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from memassay.core import registry
from memassay.core.types import Server, StoreRef

WORK = "work"
"""The agent's working folder, below the folder of its cell."""


def servers(ref: StoreRef, memory: str = "") -> tuple[Server, ...]:
    """Our tool server over a store that has none of its own: the one tool ``search``, which only reads.

    Args:
        ref: where it is; what stands beside it says how it was made.
        memory: as the arm names it; a file of the user's own must be named to be opened again.
    """
    command = [
        sys.executable,
        "-m",
        "memassay",
        "memory",
        "serve",
        "--store",
        str(Path(ref.location).absolute().parent),
    ]
    if registry.is_file(memory):
        path, _, name = memory.rpartition(":")
        command += ["--memory", f"{Path(path).resolve()}:{name}"]
    return (Server(command=tuple(command), tools=("search",)),)


def lay_out(folder: Path, work: Path) -> Path:
    """Copy what an agent may read into its working folder: plain files that are not hidden, as they are.

    A hidden file (an index, a configuration) and a symbolic link, which could lead to a gold answer, are left out.

    Args:
        folder: what the store gives as files.
        work: the working folder, empty or not there yet.

    Returns:
        The working folder.
    """

    def unread(place: str, names: list[str]) -> set[str]:
        return {name for name in names if name.startswith(".") or not _plain(Path(place, name))}

    shutil.copytree(folder, work, dirs_exist_ok=True, ignore=unread)
    return work


def _plain(path: Path) -> bool:
    return not path.is_symlink() and (path.is_file() or path.is_dir())
