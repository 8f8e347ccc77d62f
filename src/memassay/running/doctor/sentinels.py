"""Words planted where a client might pick them up: whatever of them stands in a request has leaked into it.

A file is planted only where none is, and removed whatever happens; see :func:`planted`.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

NAME = "memassay-sentinel"
_MARKER = re.compile(rf"{NAME}-[0-9a-f]{{16}}")
_SAYS = (
    "`memassay doctor` planted this file to see that nothing reads it, and removes it at once. The word is {marker}."
)
_TEXT = f"{_SAYS}\n"
_SKILL = f"---\nname: {{marker}}\ndescription: {_SAYS}\n---\n\n{_SAYS}\n"
_SERVERS = '{{"mcpServers": {{"{marker}": {{"command": "/nonexistent/{marker}"}}}}}}\n'

# What Claude Code and its like look for in the working folder and in every folder above it.
_IN_A_FOLDER = {
    "CLAUDE.md": _TEXT,
    "CLAUDE.local.md": _TEXT,
    "AGENTS.md": _TEXT,
    ".mcp.json": _SERVERS,
    f".claude/skills/{NAME}/SKILL.md": _SKILL,
}
# What it looks for in a folder of settings.
_IN_SETTINGS = {"CLAUDE.md": _TEXT, "AGENTS.md": _TEXT, f"skills/{NAME}/SKILL.md": _SKILL}
_MEMORY = "projects/{project}/memory/MEMORY.md"
_NOT_IN_A_PROJECT = re.compile(r"[^a-zA-Z0-9]")

# A file of ours that is older was left by a doctor that was killed.
_STALE_SECONDS = 3600.0


@dataclass(frozen=True)
class Planted:
    """What stands where.

    Attributes:
        markers: by marker, the file that holds it.
        skipped: files that were not planted, with the reason.
    """

    markers: dict[str, Path] = field(default_factory=dict)
    skipped: dict[Path, str] = field(default_factory=dict)

    def found_in(self, text: str) -> list[Path]:
        """The files whose marker stands in a text, in the order in which they were planted."""
        return [path for marker, path in self.markers.items() if marker in text]


@contextlib.contextmanager
def planted(folder: Path) -> Iterator[Planted]:
    """Plant a word of its own in each file that a client started in ``folder`` might read, and remove all again.

    They are removed when the block is left, by an exception, Ctrl-C and a polite end (SIGTERM, SIGHUP) too. A file that
    is there already is left as it is, and so is one that somebody has changed meanwhile.

    Args:
        folder: the working folder of a cell; sentinels stand in it, in every folder above it, and in the folders of
            settings of the person who runs this.
    """
    garden = _Garden()
    with _polite():
        try:
            for path, text in places(folder):
                garden.plant(path, text)
            yield garden.planted
        finally:
            garden.clear()


def places(folder: Path) -> list[tuple[Path, str]]:
    """The files to plant and what is to stand in them, from the folder upwards, then the folders of settings."""
    memory = _MEMORY.format(project=_NOT_IN_A_PROJECT.sub("-", str(folder)))
    return [
        *((above / name, text) for above in ancestors(folder) for name, text in _IN_A_FOLDER.items()),
        *((home / name, text) for home in settings_folders() for name, text in {**_IN_SETTINGS, memory: _TEXT}.items()),
    ]


def ancestors(folder: Path) -> list[Path]:
    """A folder and all above it."""
    return [folder, *folder.parents]


def settings_folders() -> list[Path]:
    """The folders of settings that Claude Code would use if it ran as the person who runs this."""
    named = os.environ.get("CLAUDE_CONFIG_DIR")
    folders = [Path.home() / ".claude", *([Path(named).absolute()] if named else [])]
    return list(dict.fromkeys(folders))


class _Garden:
    """Files and folders that are ours, in the order in which they were made."""

    def __init__(self) -> None:
        self.planted = Planted()
        self._files: list[tuple[Path, str]] = []
        self._folders: list[Path] = []

    def plant(self, path: Path, text: str) -> None:
        marker = f"{NAME}-{secrets.token_hex(8)}"
        content = text.format(marker=marker)
        try:
            _remove_stale(path, text)
            if os.path.lexists(path):
                self.planted.skipped[path] = "there is one"
                return
            self._make(path.parent)
            with path.open("x", encoding="utf-8") as file:
                self._files.append((path, content))
                file.write(content)
        except OSError as error:
            self.planted.skipped[path] = f"it cannot be written ({error.strerror or error})"
        else:
            self.planted.markers[marker] = path

    def clear(self) -> None:
        for path, content in reversed(self._files):
            with contextlib.suppress(OSError):
                if content.startswith(path.read_text(encoding="utf-8")):
                    path.unlink()
        for folder in reversed(self._folders):
            with contextlib.suppress(OSError):  # somebody else has put something there
                folder.rmdir()

    def _make(self, folder: Path) -> None:
        if not folder.is_dir():
            self._make(folder.parent)
            folder.mkdir()
            self._folders.append(folder)


def _remove_stale(path: Path, text: str) -> None:
    """Remove a sentinel of a doctor that was killed; anything else stays."""
    if not path.is_file() or path.is_symlink() or time.time() - path.stat().st_mtime < _STALE_SECONDS:
        return
    content = path.read_text(encoding="utf-8", errors="replace")
    marker = _MARKER.search(content)
    if marker is not None and content == text.format(marker=marker.group()):
        path.unlink()


@contextlib.contextmanager
def _polite() -> Iterator[None]:
    """Whoever asks the process to end gets what Ctrl-C gets: everything is cleared away first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT)) for number in asked}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
