"""The programs ``iwe`` and ``iwec``: where they are, which version, and one call for each thing that is asked of them.

A child sees the folder of its store and next to nothing of our environment.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memassay.core.errors import CannotMeasure, MemoryFailure
from memassay.core.peers import PEERS, peer

# iwe reads the whole store anew for every question: 0.2 s for a conversation. Past this, something is wrong.
_PATIENCE_SECONDS = 120.0
_HANDED_ON = ("PATH", "TMPDIR")
# What one argument of a command may hold on Linux is 128 KiB.
_MOST_BYTES = 100_000


@dataclass(frozen=True, slots=True)
class Page:
    """A page as ``iwe retrieve`` gives it: its key, and its Markdown as iwe writes it anew."""

    key: str
    content: str


def program(name: str) -> Path:
    """Where ``iwe`` or ``iwec`` is.

    Raises:
        CannotMeasure: it is not installed.
    """
    found = peer(name)
    if found is None:
        raise CannotMeasure(
            f"{name} is not installed; run: make peers (it needs cargo), or set {PEERS[name].variable}."
        )
    return found


def version(name: str) -> str:
    """The version that ``iwe`` or ``iwec`` says it has.

    Raises:
        CannotMeasure: it is not installed.
    """
    return _version(program(name))


def initialise(folder: Path) -> None:
    """Make a folder of pages a store, with the settings that iwe starts with, whatever the pages look like."""
    _run(["init", "--defaults"], folder)


def count(folder: Path) -> int:
    """How many pages iwe sees in a store."""
    said = _run(["count"], folder).split()
    if not said or not said[-1].isdigit():
        raise MemoryFailure(f"iwe count said {' '.join(said)[:80]!r} and no number")
    return int(said[-1])


def retrieve(folder: Path, words: str, *, limit: int, max_tokens: int, inbound: bool) -> list[Page]:
    """Pages that match, each followed by what it leads to: links it makes, pages that include it.

    Args:
        folder: the store.
        words: what to search for.
        limit: pages to start from.
        max_tokens: budget in iwe's own counting, which includes lists of links that are not handed out.
        inbound: also follow links that lead to a page.

    Raises:
        MemoryFailure: iwe failed, or its reply cannot be read.
        TimeoutError: it gave no answer.
    """
    # With "=", a question that begins with a dash stays a question.
    options = [f"--lexical={_argument(words)}", f"--limit={limit}", "--expand-references=1", "--expand-included-by=1"]
    more = ["--expand-referenced-by=1"] if inbound else []
    said = _run(["retrieve", *options, *more, f"--max-tokens={max_tokens}", "--format=json"], folder)
    try:
        return [Page(str(row["key"]), str(row["content"])) for row in json.loads(said)]
    except (ValueError, KeyError, TypeError) as error:
        raise MemoryFailure(f"the reply of iwe retrieve cannot be read ({type(error).__name__})") from error


def _argument(words: str) -> str:
    """Words as a command can be given them."""
    plain = words.replace("\0", " ").encode("utf-8", "replace")[:_MOST_BYTES]
    return plain.decode("utf-8", "ignore")


@functools.cache
def _version(path: Path) -> str:
    return _out([str(path), "--version"], path.parent).strip().rpartition(" ")[2]


def _run(arguments: Sequence[str], folder: Path) -> str:
    return _out([str(program("iwe")), *arguments], folder)


def _out(command: Sequence[str], folder: Path) -> str:
    env = {name: os.environ[name] for name in _HANDED_ON if name in os.environ}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**env, "LANG": "C.UTF-8", "HOME": "/nonexistent"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TimeoutError(f"{Path(command[0]).name} gave no answer in {_PATIENCE_SECONDS:g} s") from error
    if done.returncode != 0:
        said = " ".join(done.stderr.decode("utf-8", "replace").split()) or "nothing"
        raise MemoryFailure(f"{Path(command[0]).name} ended with {done.returncode} and said: {said}")
    return done.stdout.decode("utf-8", "replace")
