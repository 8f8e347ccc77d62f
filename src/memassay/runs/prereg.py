"""What was registered before a run, and what was changed since: lines that each hold the hash of the one before.

``prereg.jsonl`` in the run folder is appended to. A line is the canonical JSON of its entry, so that a byte more, less
or other is found, as is a line that is missing or out of order. Two things no file can show of itself: that whole lines
are missing at its end, and that all of it was written anew. For these its hashes are published.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memassay.core.digest import canonical_json, digest_of
from memassay.core.errors import DataError
from memassay.runs.lines import LineWriter

FILE = "prereg.jsonl"


@dataclass(frozen=True)
class Entry:
    """One line of the chain.

    Attributes:
        sequence: its number, from 0.
        previous: the hash of the entry before it, or "".
        at: when it was written, UTC.
        kind: what it is.
        content: what it says.
    """

    sequence: int
    previous: str
    at: str
    kind: str
    content: Mapping[str, Any] = field(default_factory=dict)

    @property
    def hash(self) -> str:
        """SHA-256 of all the rest, 64 hexadecimal digits."""
        return digest_of(self._plain)

    @property
    def line(self) -> str:
        """The entry as it is written, without the line end."""
        return canonical_json({**self._plain, "hash": self.hash})

    @property
    def _plain(self) -> dict[str, Any]:
        head = {"sequence": self.sequence, "previous": self.previous, "at": self.at, "kind": self.kind}
        return {**head, "content": self.content}


def chain(run: Path) -> list[Entry]:
    """The entries of a run, verified; none where nothing was registered. A torn last line is left out.

    Raises:
        DataError: a line was changed, is missing or stands in the wrong place, with the entry's number.
    """
    path = run / FILE
    try:
        *lines, torn = path.read_bytes().split(b"\n")
    except (FileNotFoundError, NotADirectoryError):
        return []
    entries: list[Entry] = []
    for line in lines:
        entry = _entry(line)
        if entry is None:
            raise _broken(path, len(entries), "was changed")
        if (entry.sequence, entry.previous) != (len(entries), entries[-1].hash if entries else ""):
            raise _broken(path, len(entries), f"is not there: number {entry.sequence} stands in its place")
        entries.append(entry)
    if not _is_torn(torn):
        raise _broken(path, len(entries), "was changed")
    return entries


def extend(run: Path, following: Callable[[Sequence[Entry]], tuple[str, Mapping[str, Any]] | None]) -> list[Entry]:
    """Append what follows from the entries so far; writers take turns, so that they see each other's.

    Args:
        run: the run's folder, which is there.
        following: from the entries so far to the kind and the content of the next one, or None for no more; it is
            asked before the file is opened, and again once nobody else can write.

    Returns:
        All entries.

    Raises:
        DataError: the chain is broken.
        EnvironmentProblem: it cannot be written.
    """
    entries = chain(run)  # before the writer cuts off what it takes for a torn line
    if following(entries) is None:
        return entries
    with LineWriter(run / FILE, wait=True) as lines:
        entries = chain(run)
        found = following(entries)
        if found is not None:
            kind, content = found
            at = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
            entry = Entry(len(entries), entries[-1].hash if entries else "", at, kind, _writable(content))
            lines.append(entry.line)
            entries.append(entry)
    return entries


def _writable(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content as it will be read: plain, and without what UTF-8 cannot say."""
    plain: dict[str, Any] = json.loads(canonical_json(content).encode("utf-8", "replace"))
    return plain


def _entry(line: bytes) -> Entry | None:
    """The entry of a line, or None where the line is not what was written."""
    try:
        record = json.loads(line)
        entry = Entry(*(record[name] for name in ("sequence", "previous", "at", "kind", "content")))
        same = entry.line.encode() == line
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return entry if same and isinstance(entry.content, dict) and isinstance(entry.at, str) else None


def _is_torn(rest: bytes) -> bool:
    """Whether what stands after the last line end can be what a kill leaves of an entry: its beginning, or nothing."""
    text = rest.decode("utf-8", "replace")
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return True
    return end == len(text)


def _broken(path: Path, number: int, how: str) -> DataError:
    return DataError(
        f"{path}: entry {number} of the pre-registration {how}; restore the file from a copy, or start a new run "
        "folder."
    )
