"""Which ``claude`` runs: where it is, its version, and the digest of its bytes.

The pinned one, by ``make peers`` or by the extra ``claude-pinned``, must have the digest that ``core/peers.py`` holds
and is never started with another. Of any other the digest is only recorded.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from memassay.core.digest import digest_file
from memassay.core.errors import EnvironmentProblem
from memassay.core.peers import CLAUDE_SDK, PEERS, peer

_START_SECONDS = 60.0
_SDK = "claude-agent-sdk"
PINNED = "pinned"
"""In place of a program's name: the pinned one alone."""


class NotAsPinned(EnvironmentProblem):
    """The pinned program is not the one that was pinned."""


@dataclass(frozen=True)
class Binary:
    """A program that was looked at.

    Attributes:
        version: what it says of itself, the number alone (``2.1.332``).
        sha256: of the file that is run, links followed.
    """

    path: Path
    version: str
    sha256: str


def find(named: str | None = None) -> Path:
    """Where ``claude`` is.

    Args:
        named: a path, a command, or ``pinned``: what ``make peers`` installed, else the copy inside the package
            ``claude-agent-sdk`` (extra ``claude-pinned``), and nothing else. None looks at ``CLAUDE_BIN``, at what
            ``make peers`` installed, at ``PATH``, and at the copy inside that package.

    Raises:
        EnvironmentProblem: there is none.
        UsageError: ``CLAUDE_BIN`` names no program.
    """
    if named == PINNED:
        return _pinned_copy()
    found = shutil.which(named) if named else peer("claude") or _bundled()
    if found is None:
        if named:
            raise EnvironmentProblem(f"There is no program {named!r}; correct agent.binary.")
        raise EnvironmentProblem(
            "There is no claude here: install Claude Code, run `make peers`, or name the program in CLAUDE_BIN."
        )
    return Path(found).absolute()


def inspect(path: Path) -> Binary:
    """Version and digest; asked once per process as long as the file stays the same.

    Raises:
        NotAsPinned: it is the pinned one by its place, and its digest is another; it is not started.
        EnvironmentProblem: it does not run.
    """
    real = path.resolve()
    about = real.stat()
    sha256 = _digest(real, about.st_mtime_ns, about.st_size)
    get_again = _pinned(real)
    if get_again and sha256 != PEERS["claude"].sha256:
        raise NotAsPinned(
            f"{path} is not the pinned Claude Code {PEERS['claude'].version} (its sha256 is {sha256[:12]}…, not "
            f"{PEERS['claude'].sha256[:12]}…); get it again: {get_again}."
        )
    return Binary(path, _version(path, sha256), sha256)


@functools.cache
def _digest(real: Path, changed: int, size: int) -> str:
    return digest_file(real)


def _pinned_copy() -> Path:
    """The program that must have the pinned digest; a package of another version carries another."""
    place, bundled = PEERS["claude"].place, _bundled()
    if place.is_file():
        return place.absolute()
    if bundled is not None and _pinned(bundled.resolve()):
        return bundled.absolute()
    raise EnvironmentProblem(
        "There is no pinned claude here: run `make peers`, or pip install 'memassay[claude-pinned]'."
    )


def _pinned(real: Path) -> str:
    """How to get the program again where it is the pinned one, else ""."""
    if real == PEERS["claude"].place.resolve():
        return "make peers"
    bundled = _bundled()
    if bundled is None or real != bundled.resolve() or importlib.metadata.version(_SDK) != CLAUDE_SDK:
        return ""
    return f"pip install --force-reinstall --no-deps {_SDK}=={CLAUDE_SDK}"


@functools.cache
def _version(path: Path, sha256: str) -> str:
    """What the program with that digest says of itself."""
    with tempfile.TemporaryDirectory(prefix="memassay-claude-") as home:
        environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": home, "CLAUDE_CONFIG_DIR": home}
        try:
            done = subprocess.run(
                [path, "--version"], env=environment, cwd=home, capture_output=True, timeout=_START_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise EnvironmentProblem(f"{path} does not run: {error}.") from error
    words = done.stdout.decode("utf-8", "replace").split()
    if done.returncode != 0 or not words:
        raise EnvironmentProblem(f"{path} --version ends with code {done.returncode}: is it Claude Code?")
    return words[0]


def _bundled() -> Path | None:
    """The copy that the package ``claude-agent-sdk`` carries; the package is never imported."""
    spec = importlib.util.find_spec("claude_agent_sdk")
    for place in spec.submodule_search_locations or () if spec is not None else ():
        program = Path(place) / "_bundled" / "claude"
        if program.is_file():
            return program
    return None
