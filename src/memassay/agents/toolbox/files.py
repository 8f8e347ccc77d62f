"""Three tools over a folder: list its files, search them, read them. Nothing outside of the folder, and no writing.

A result has at most ``MOST_CHARS`` characters and says how to get at the rest. Hidden files are not shown, and symbolic
links are not followed.
"""

from __future__ import annotations

import asyncio
import os
import stat
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from memassay.agents.toolbox.box import Call, ToolResult, ToolSpec
from memassay.agents.toolbox.problems import ToolsMissing
from memassay.core.errors import UsageError
from memassay.knowledge.arguments import Arguments
from memassay.knowledge.blocks import pattern

MOST_CHARS = 20_000
MOST_LINE_CHARS = 500
_BEFORE_A_MATCH = 150
_HINT_CHARS = 200

_Line = Annotated[int, Field(ge=1)]


class ListFiles(Arguments):
    """Arguments of ``list_files``."""

    folder: str = Field(default="", description="A folder inside of the files; without it, all of them.")
    name: str = Field(default="*", description="Only files whose path matches, with * and ?, such as *2023*.")


class SearchFiles(Arguments):
    """Arguments of ``search_files``."""

    pattern: str = Field(description="A regular expression (RE2) to look for in every line.")
    folder: str = Field(default="", description="Only files in this folder.")
    name: str = Field(default="*", description="Only files whose path matches, with * and ?.")
    match_case: bool = Field(default=False, description="Whether capitals count.")
    around: Annotated[int, Field(ge=0, le=20)] = Field(default=0, description="Lines to show before and after.")


class ReadFile(Arguments):
    """Arguments of ``read_file``."""

    path: str = Field(description="The file, as list_files and search_files name it.")
    first: _Line = Field(default=1, description="The number of the first line to read.")
    last: _Line | None = Field(default=None, description="The number of the last line; without it, to the end.")


def file_tools(root: Path) -> list[tuple[ToolSpec, Call]]:
    """``list_files``, ``search_files`` and ``read_file`` over a folder.

    Raises:
        ToolsMissing: there is no such folder.
    """
    if not root.is_dir():
        raise ToolsMissing("The folder of the arm is not there.")
    files = _Files(root.resolve())
    return [
        _tool("list_files", "List the files, with their size in bytes.", ListFiles, files.list),
        _tool("search_files", "Show the lines that match a regular expression, as path:line: text.",
              SearchFiles, files.search),
        _tool("read_file", "Read a file, or some lines of it, with their numbers.", ReadFile, files.read),
    ]  # fmt: skip


def _tool(name: str, says: str, takes: type[Arguments], run: Callable[[Any], str]) -> tuple[ToolSpec, Call]:
    def answered(arguments: Mapping[str, Any]) -> ToolResult:
        try:
            return ToolResult(run(takes.read(name, arguments)))
        except UsageError as error:
            return ToolResult(str(error), is_error=True)
        except OSError as error:
            return ToolResult(f"A file cannot be read: {error.strerror or type(error).__name__}.", is_error=True)

    async def call(arguments: Mapping[str, Any]) -> ToolResult:
        return await asyncio.to_thread(answered, arguments)

    return ToolSpec(name, says, takes.schema_of()), call


class _Files:
    def __init__(self, root: Path) -> None:
        self._root = root

    def list(self, asked: ListFiles) -> str:
        rows = [f"{name}  {path.stat().st_size}" for name, path in self._below(asked.folder, asked.name)]
        return _cut(rows, "name a folder, or a pattern for the path") or "No file matches."

    def search(self, asked: SearchFiles) -> str:
        wanted = pattern(asked.pattern if asked.match_case else f"(?i){asked.pattern}", "pattern")
        rows = list(self._found(asked, wanted))
        return _cut(rows, "look for something rarer, or in fewer files") or "No line matches."

    def read(self, asked: ReadFile) -> str:
        path = self._path(asked.path)
        if not path.is_file():
            raise UsageError(f"There is no file {asked.path!r}; list_files names them.")
        lines = _text(path).splitlines()
        last = len(lines) if asked.last is None else min(asked.last, len(lines))
        rows = [f"{number}\t{lines[number - 1]}" for number in range(asked.first, last + 1)]
        text = _cut(rows, "read on from the line after the last one shown")
        return text or f"{asked.path} has {len(lines):,} lines, none of them from {asked.first} to {last}."

    def _found(self, asked: SearchFiles, wanted: Any) -> Iterator[str]:
        for name, path in self._below(asked.folder, asked.name):
            lines = _text(path).splitlines()
            hits = {number: hit.start() for number, line in enumerate(lines) if (hit := wanted.search(line))}
            around = {near for hit in hits for near in range(hit - asked.around, hit + asked.around + 1)}
            for number in sorted(around & set(range(len(lines)))):
                mark = ":" if number in hits else "-"
                yield f"{name}{mark}{number + 1}{mark} {_part(lines[number], hits.get(number, 0))}"

    def _below(self, folder: str, name: str) -> Iterator[tuple[str, Path]]:
        """The files of a folder and all inside it, by relative path, in the order of their paths."""
        start = self._path(folder) if folder not in ("", ".") else self._root
        if not start.is_dir():
            raise UsageError(f"There is no folder {folder!r}.")
        found = []
        for place, folders, names in os.walk(start):
            folders[:] = [inner for inner in folders if not inner.startswith(".")]
            for each in names:
                path = Path(place, each)
                if not each.startswith(".") and stat.S_ISREG(path.lstat().st_mode):
                    found.append((path.relative_to(self._root).as_posix(), path))
        return (pair for pair in sorted(found) if fnmatchcase(pair[0], name))

    def _path(self, given: str) -> Path:
        """A place inside the folder.

        Raises:
            UsageError: it is outside, hidden, or behind a symbolic link.
        """
        parts = Path(given).parts
        path = self._root.joinpath(*parts)
        hidden = any(part.startswith(".") and part != "." for part in parts)
        if "\0" in given or Path(given).is_absolute() or hidden or path.resolve() != path:
            raise UsageError(f"{given!r} is not one of the files; give a path as list_files shows it.")
        return path


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")


def _part(line: str, start: int) -> str:
    """A line, or of a long one the part around its match."""
    if len(line) <= MOST_LINE_CHARS:
        return line
    first = max(0, min(start - _BEFORE_A_MATCH, len(line) - MOST_LINE_CHARS))
    last = first + MOST_LINE_CHARS
    return f"{'…' if first else ''}{line[first:last]}{'…' if last < len(line) else ''}"


def _cut(rows: Sequence[str], hint: str) -> str:
    """As many rows as there is room for, and how many are missing; a first row that is too long is cut itself."""
    ends = list(accumulate(len(row) + 1 for row in rows))
    if not ends or ends[-1] <= MOST_CHARS:
        return "\n".join(rows)
    room = MOST_CHARS - _HINT_CHARS
    shown = bisect_right(ends, room)
    if shown == 0:
        more = f"[The line is longer than can be shown; {len(rows) - 1:,} more follow: {hint}.]"
        return f"{rows[0][:room]}…\n{more}"
    return "\n".join([*rows[:shown], f"[{len(rows) - shown:,} more lines: {hint}.]"])
