"""What drifted: pages whose files are no longer what an index knows of them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from memassay.core.digest import digest_text
from memassay.core.errors import UsageError
from memassay.knowledge.folder import Entry, Folder, checked
from memassay.knowledge.index import Incoming
from memassay.knowledge.transaction import Mark

# A file that was changed this close to when it was read may have been changed again without another time of change.
_RACE_NS = 2_000_000_000

Files = Mapping[str, Entry | None]
"""Pages that were looked for, by key; None where there is no file."""


class Drift(NamedTuple):
    """How files differ from the marks of an index.

    Attributes:
        changed: keys of new and changed pages, ascending.
        removed: keys of pages whose files are gone, ascending.
        touched: new marks of files that look changed and say the same.
    """

    changed: list[str]
    removed: list[str]
    touched: dict[str, Mark]


class Watch:
    """Compares the files of a folder with the marks of an index."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._kept: dict[str, Mark] = {}

    def files(self, keys: Iterable[str] | None, *, sweep: bool) -> Files:
        """The files of these pages, or of the whole folder; ``sweep`` as in :meth:`Folder.walk`."""
        if keys is None:
            return {entry.key: entry for entry in self._folder.walk(sweep=sweep)}
        return {key: self._folder.entry(key) for key in dict.fromkeys(keys)}

    def drift(self, files: Files, marks: Mapping[str, Mark]) -> Drift:
        """How files differ from the marks of the same pages."""
        changed, touched = [], {}
        for key in sorted(files):
            entry, mark = files[key], marks.get(key)
            if entry is None:
                continue
            if mark is None:
                if _possible(key):
                    changed.append(key)
            elif _may_differ(self._last(key, mark), entry):
                incoming = self.read(key)
                if incoming is not None and digest_text(incoming.text) == mark.digest:
                    touched[key] = Mark(incoming.size, incoming.mtime, incoming.seen, mark.digest)
                else:
                    changed.append(key)
        return Drift(changed, sorted(key for key in marks if files.get(key) is None), touched)

    def read(self, key: str) -> Incoming | None:
        """A page as an index takes it; None where there is no file."""
        seen = time.time_ns()
        entry = self._folder.entry(key)
        source = None if entry is None else self._folder.read(key)
        if entry is None or source is None:
            return None
        return Incoming(source.text, entry.size, entry.mtime_ns, seen)

    def keep(self, touched: Mapping[str, Mark]) -> None:
        """Remember marks that the index cannot be told, so that their files are not read again every time."""
        self._kept.update(touched)

    def _last(self, key: str, mark: Mark) -> Mark:
        kept = self._kept.get(key)
        return kept if kept is not None and kept.digest == mark.digest else mark


def _may_differ(mark: Mark, entry: Entry) -> bool:
    """Whether a file may say something else than when it was read.

    A program may set the time of change of a text back, but not the time at which it did so.
    """
    last = max(entry.mtime_ns, entry.ctime_ns)
    return (mark.size, mark.mtime) != (entry.size, entry.mtime_ns) or mark.seen - last < _RACE_NS


def _possible(key: str) -> bool:
    try:
        return checked(key) == key
    except UsageError:
        return False
