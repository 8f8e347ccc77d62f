"""A folder of Markdown files as keys and texts: walked, read, written whole or not at all, never left."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from memassay.core.digest import digest_file
from memassay.core.errors import DataError, EnvironmentProblem, UsageError
from memassay.knowledge import journal
from memassay.knowledge.journal import Step
from memassay.knowledge.source import NEW, Source

EXTENSION = ".md"
_LONGEST_NAME = 255


@dataclass(frozen=True, slots=True)
class Entry:
    """A page file as the walk finds it.

    Attributes:
        key: its key.
        size: in bytes.
        mtime_ns: when its text was changed, in nanoseconds, as any program may set it.
        ctime_ns: when anything of the file was changed, which no program can set.
    """

    key: str
    size: int
    mtime_ns: int
    ctime_ns: int


@dataclass(frozen=True, slots=True)
class Change:
    """What happens to one page.

    Attributes:
        key: the page.
        before: its text now; None if it does not exist.
        after: its text then; None if it goes.
        moved: the key whose file it was, where a page gets another key.
    """

    key: str
    before: str | None
    after: str | None
    moved: str | None = None


class Folder:
    """The pages in a folder. Hidden files and folders, symbolic links and everything but ``.md`` files are left alone.

    Args:
        root: the folder; it must exist.

    Raises:
        UsageError: there is no such folder.
    """

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise UsageError(f"{root} is not a folder; create it or name the folder that holds the pages.")
        self.root = root

    def walk(self, *, sweep: bool = False) -> Iterator[Entry]:
        """Every page, in no particular order. A name that is not UTF-8 has no key and is left out.

        Args:
            sweep: recover, and take away what an edit that was cut short has left. Only for who may edit.
        """
        if sweep:
            self.recover()
        waiting = [("", str(self.root))]
        while waiting:
            prefix, place = waiting.pop()
            try:
                found = os.scandir(place)
            except OSError as error:
                if not prefix:
                    raise EnvironmentProblem(f"{place} cannot be read ({error.strerror}).") from error
                continue
            with found:
                for entry in found:
                    name = entry.name
                    if name.startswith(".") or not _utf8(name):
                        if sweep and journal.is_beside(name):
                            with contextlib.suppress(OSError):
                                Path(entry.path).unlink()
                        continue
                    try:
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append((f"{prefix}{name}/", entry.path))
                        elif name.endswith(EXTENSION) and entry.is_file(follow_symlinks=False):
                            key = prefix + name.removesuffix(EXTENSION)
                            yield _entry(key, entry.stat(follow_symlinks=False))
                    except FileNotFoundError:
                        continue  # gone while we looked

    def path(self, key: str) -> Path:
        """The file of a key.

        Raises:
            UsageError: no page can have this key.
        """
        return self.root / (checked(key) + EXTENSION)

    def entry(self, key: str) -> Entry | None:
        """Size and time of one page, or None if it is not there."""
        about = self._about(self.path(key))
        return None if about is None else _entry(key, about)

    def read(self, key: str) -> Source | None:
        """What a page says, or None if it is not there.

        Raises:
            EnvironmentProblem: the file is there and cannot be read.
        """
        path = self.path(key)
        if self._about(path) is None:
            return None
        try:
            return Source.read(path.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise EnvironmentProblem(f"{path} cannot be read ({error.strerror}).") from error

    def apply(self, changes: Sequence[Change]) -> None:
        """Carry out changes: all are checked, and written beside their places, before the first page is replaced.

        A page keeps its byte-order mark, its line ends and its permissions; one that only gets another key keeps its
        bytes. A process that is killed meanwhile has done nothing, or leaves what :meth:`recover` carries through.

        Raises:
            UsageError: a key cannot be written, or is taken.
            DataError: a page has changed since it was read, or is not UTF-8, or is to hold what UTF-8 cannot.
            EnvironmentProblem: the disk refuses. Whatever was not replaced by then stays as it was.
        """
        self.recover()
        written = {change.key: data for change in changes if (data := self._checked(change)) is not None}
        moves = {change.moved: change.key for change in changes if change.moved is not None}
        gone = [change.key for change in changes if change.after is None and change.key not in moves]
        staged: dict[str, Path] = {}
        try:
            for key, data in written.items():
                staged[key] = self._staged(self.path(key), data)
            steps = [Step(new, None, self._digest(old), moved=old) for old, new in moves.items()]
            moved = {step.key: step.after for step in steps}
            for key, beside in staged.items():
                before = moved[key] if key in moved else self._digest(key)
                steps.append(Step(key, before, digest_file(beside), beside=beside.name))
            steps += [Step(key, self._digest(key)) for key in gone]
            if len(steps) > 1:
                journal.keep(self.root, steps)
            for step in steps:
                self._do(step)
            if len(steps) > 1:
                journal.drop(self.root)
        except OSError as error:
            with contextlib.suppress(OSError):
                journal.drop(self.root)
            for beside in staged.values():
                with contextlib.suppress(OSError):
                    beside.unlink()
            where = error.filename or self.root
            raise EnvironmentProblem(f"{where} cannot be written ({error.strerror}).") from error

    def recover(self) -> None:
        """Carry an edit through that was cut short, as far as nobody has changed its pages since.

        Only for who may edit.

        Raises:
            EnvironmentProblem: the disk refuses; it can be tried again.
        """
        try:
            for step in journal.kept(self.root):
                with contextlib.suppress(UsageError):  # a list that we did not write names what is no page
                    if self._due(step):
                        self._do(step)
            journal.drop(self.root)
        except OSError as error:
            where = error.filename or self.root
            raise EnvironmentProblem(f"{where} cannot be written ({error.strerror}).") from error

    def create(self, key: str, text: str) -> None:
        """Write a new page; see :meth:`apply`."""
        self.apply([Change(key, None, text)])

    def write(self, key: str, text: str) -> None:
        """Write a page whole, new or not; see :meth:`apply`."""
        source = self.read(key)
        self.apply([Change(key, None if source is None else source.text, text)])

    def delete(self, key: str) -> bool:
        """Take a page away; whether it was there."""
        source = self.read(key)
        if source is not None:
            self.apply([Change(key, source.text, None)])
        return source is not None

    def move(self, old: str, new: str) -> None:
        """Give a page another key; its bytes stay."""
        source = self.read(old)
        if source is None:
            raise UsageError(f"There is no page {old!r}.")
        self.apply([Change(new, None, source.text, moved=old)])

    def _checked(self, change: Change) -> bytes | None:
        """The bytes to write for a change, or None if there are none: a page that goes, or moves as it is, or stays."""
        path = self.path(change.key)
        self._safe(path)
        origin = change.key if change.moved is None else change.moved
        source = self.read(origin)
        if change.moved is not None or change.before is None:
            if _taken(path, None if change.moved is None else self.path(change.moved)):
                raise UsageError(f"The page {change.key!r} exists already; update it or choose another key.")
            if change.moved is None:
                return NEW.write(change.after or "")
        if source is None or change.before not in (None, source.text):
            raise DataError(f"The page {origin!r} is not what it was when it was read; nothing was written, try again.")
        if change.after is None or change.after == source.text:
            return None
        check_editable(origin, source)
        return source.write(change.after)

    def _do(self, step: Step) -> None:
        path = self.path(step.key)
        if step.moved is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.path(step.moved).rename(path)
        elif step.beside is not None:
            path.with_name(step.beside).replace(path)
        else:
            path.unlink(missing_ok=True)

    def _due(self, step: Step) -> bool:
        """Whether a step is still to be done, and nothing stands in its way that was not there when it was planned."""
        path = self.path(step.key)
        self._safe(path)
        origin = None if step.moved is None else self.path(step.moved)
        if origin is not None:
            self._safe(origin)
            return _digest(origin) == step.after and not _taken(path, origin)
        if step.beside is not None and _digest(path.with_name(step.beside)) != step.after:
            return False
        return _digest(path) == step.before

    def _digest(self, key: str) -> str | None:
        return _digest(self.path(key))

    def _about(self, path: Path) -> os.stat_result | None:
        """The file's data, or None if there is no page there: nothing, a folder, or something behind a link."""
        try:
            about = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise EnvironmentProblem(f"{path} cannot be read ({error.strerror}).") from error
        return about if stat.S_ISREG(about.st_mode) and not self._linked(path) else None

    def _linked(self, path: Path) -> Path | None:
        """The first folder between the root and the path that is a symbolic link."""
        around = [parent for parent in path.parents if parent != self.root and parent.is_relative_to(self.root)]
        return next((parent for parent in reversed(around) if parent.is_symlink()), None)

    def _safe(self, path: Path) -> None:
        linked = self._linked(path) or (path if path.is_symlink() else None)
        if linked is not None:
            raise UsageError(f"{linked} is a symbolic link, through which pages are never written; choose another key.")

    def _staged(self, path: Path, data: bytes) -> Path:
        """A hidden file beside the page that holds the bytes to come."""
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(journal.name_beside())
        try:
            with beside.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileNotFoundError):
                beside.chmod(stat.S_IMODE(path.stat().st_mode))
        except OSError:
            with contextlib.suppress(OSError):
                beside.unlink()
            raise
        return beside


def checked(key: str) -> str:
    """The key, if a page can have it.

    Raises:
        UsageError: it is empty, leaves the root, is hidden, or cannot be a file name.
    """
    parts = key.split("/")
    if not _utf8(key) or any(ord(letter) < 32 or letter == "\x7f" for letter in key):
        why = "has a character that no file name should have"
    elif any(part in ("", ".", "..") for part in parts):
        why = "is not a path of names parted by single slashes"
    elif any(part.startswith(".") for part in parts):
        why = "has a part that begins with a dot, which hides it"
    elif any(len(part.encode()) > _LONGEST_NAME for part in [*parts[:-1], parts[-1] + EXTENSION]):
        why = f"has a part of more than {_LONGEST_NAME} bytes"
    else:
        return key
    raise UsageError(f"{key!r} cannot be the key of a page: it {why}; use a name such as 'people/ada'.")


def check_editable(key: str, source: Source | None) -> None:
    """Refuse to edit a page whose repaired text would be written over bytes that nobody has read.

    Raises:
        DataError: the page is not UTF-8.
    """
    if source is not None and source.invalid is not None:
        raise DataError(
            f"The page {key!r} is not valid UTF-8 (byte {source.invalid}) and is not edited; save it as UTF-8 first."
        )


def _entry(key: str, about: os.stat_result) -> Entry:
    return Entry(key, about.st_size, about.st_mtime_ns, about.st_ctime_ns)


def _digest(path: Path) -> str | None:
    """Digest of a file's bytes, or None if it is not there."""
    try:
        return digest_file(path)
    except FileNotFoundError:
        return None


def _taken(path: Path, origin: Path | None) -> bool:
    """Whether something is there already; on a file system that ignores case, not the page's own file."""
    return os.path.lexists(path) and not (origin is not None and origin.exists() and origin.samefile(path))


def _utf8(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
