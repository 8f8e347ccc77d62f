"""The user's own documents: a folder of text files, or a JSONL file, as documents with citable units."""

from __future__ import annotations

import datetime
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from memassay.core.errors import DataError
from memassay.core.paragraphs import paragraphs
from memassay.core.types import Document, Unit
from memassay.suites.custom.lines import MAX_ID, Row, kind_of, read_rows, shown

SCOPE = "documents"
"""The scope of every document that names none."""
UNITS = 1
"""Version of how a document is cut into units; part of the suite's identity."""
MAX_FILE = 64 * 1024 * 1024

_KEYS = ("id", "title", "text", "date", "units", "scope")
_UNIT_KEYS = ("id", "text")
_DATED = re.compile(r"(\d{4}-\d{2}-\d{2})(?!\d)", re.ASCII)
# What a run leaves in a folder: its tasks hold the gold, so that it must never be read as a document.
_RUN = frozenset({"manifest.json", "tasks.jsonl"})
_STORE = "built.json"
_LEDGER = "test-reads.jsonl"
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Documents:
    """What was read.

    Attributes:
        scopes: documents by scope, in order.
        skipped: files of a folder that were left out, by relative path, with the reason.
    """

    scopes: Mapping[str, tuple[Document, ...]]
    skipped: Mapping[str, str] = field(default_factory=dict)


class Unreadable(Exception):
    """A file of a folder that is left out; the words say why, as in "not text"."""


Reader = Callable[[bytes, str], Sequence[Document]]
"""Documents from the bytes of a file and its relative name; raises ``Unreadable``."""


def read_documents(
    path: Path, *, leave_out: Path | None = None, readers: Mapping[str, Reader] | None = None
) -> Documents:
    """The documents of a folder or of a JSONL file.

    Args:
        path: a folder, read with all its subfolders, or a file with one JSON object per line.
        leave_out: a file that is no document wherever it lies (the questions).
        readers: of files in a folder that are not taken as plain text, by their ending (``".html"``).

    Raises:
        DataError: there is nothing, nothing readable, or a wrong line, in one sentence with the fix.
    """
    if path.is_dir():
        return _read_folder(path, leave_out, readers or {})
    if not path.exists():
        raise DataError(f"{path}: there is no such folder or file; give --docs a folder of text files or a JSONL file.")
    return documents_of(read_rows(path))


# -- a folder ------------------------------------------------------------------------------------------------------


def _read_folder(folder: Path, leave_out: Path | None, readers: Mapping[str, Reader]) -> Documents:
    documents: list[Document] = []
    skipped: dict[str, str] = {}
    aside = None if leave_out is None else leave_out.resolve()
    root = os.path.realpath(folder)
    for name, path in _files(folder):
        if aside is not None and path.name == aside.name and path.resolve() == aside:
            continue
        try:
            documents.extend(readers.get(path.suffix.casefold(), text_file)(_bytes_of(path, name, root), name))
        except Unreadable as reason:
            # A name that is not Unicode is shown with escapes: it goes into messages and manifests.
            skipped[name.encode("utf-8", "backslashreplace").decode()] = str(reason)
    if not documents:
        raise DataError(
            f"{folder}: no text file is in this folder{_why(skipped)}; "
            "put .md or .txt files there, or convert what it holds to text."
        )
    return Documents({SCOPE: tuple(documents)}, skipped)


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Relative name and path of every file that is not hidden, in the order of the names.

    Links to folders are not followed, and run folders and stores of memassay are passed over.
    """
    found: list[tuple[str, Path]] = []
    for place, folders, files in os.walk(folder):
        if set(files) >= _RUN or _STORE in files:
            folders.clear()
            continue
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            path = Path(place) / name
            if not name.startswith(".") and name != _LEDGER:
                found.append((path.relative_to(folder).as_posix(), path))
    yield from sorted(found)


def _bytes_of(path: Path, name: str, root: str) -> bytes:
    try:
        name.encode()
        # What a folder is shown with may go to judges, so that it must not bring in files from elsewhere.
        if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(root):
            raise Unreadable("a link that leads out of the folder")
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise Unreadable("not a regular file")
        if about.st_size > MAX_FILE:
            raise Unreadable(f"larger than {MAX_FILE // 1024**2} MB")
        if len(name) > MAX_ID or not name.isprintable():
            raise Unreadable(f"its name is longer than {MAX_ID} characters or has odd ones")
        return path.read_bytes()
    except UnicodeEncodeError:
        raise Unreadable("its name is not UTF-8") from None
    except OSError as error:
        raise Unreadable(f"cannot be read ({(error.strerror or type(error).__name__).lower()})") from None


def text_file(raw: bytes, name: str) -> list[Document]:
    """The reader of plain text: a file is a document."""
    text = text_of(raw)
    return [file_document(name, text, _heading(text))]


def text_of(raw: bytes) -> str:
    """The text of a file's bytes, with the line ends of Unix.

    Raises:
        Unreadable: they are no UTF-8 text, or nothing but white space.
    """
    if b"\0" in raw:
        raise Unreadable("not text")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable("not UTF-8 text") from None
    if not text.strip():
        raise Unreadable("empty")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def file_document(name: str, text: str, title: str = "") -> Document:
    """The document of one file; what it is called and dated, unless it says so itself, comes from its name."""
    stem, day = _title(PurePosixPath(name).stem), _dated(PurePosixPath(name).name)
    return _document(name, text, title or stem, day)


def _why(skipped: Mapping[str, str]) -> str:
    if not skipped:
        return ""
    named = [
        f"{shown(name)} is {why}" if why[:3] == "not" else f"{shown(name)}: {why}" for name, why in skipped.items()
    ]
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return f" ({len(named)} skipped: {', '.join(named[:_NAMED])}{more})"


def _heading(text: str) -> str:
    """The first line of a text if it is a heading of Markdown or reStructuredText."""
    first, _, rest = text.lstrip().partition("\n")
    if first.startswith("# "):
        return first[2:].strip(" #")
    under = rest.partition("\n")[0].strip()
    underlined = len(under) >= 3 and under == under[0] * len(under) and under[0] in "=-~^*#"
    return first.strip() if underlined and len(first.strip()) <= len(under) else ""


def _title(stem: str) -> str:
    return " ".join(re.split(r"[-_\s]+", stem)).strip()


def _dated(name: str) -> str | None:
    """The day that a file name begins with, as journals and minutes have it."""
    found = _DATED.match(name)
    try:
        return datetime.date.fromisoformat(found[1]).isoformat() if found else None
    except ValueError:
        return None


# -- JSON Lines ----------------------------------------------------------------------------------------------------


def documents_of(rows: Iterable[Row]) -> Documents:
    """Documents from objects with ``text``, and ``id``, ``title``, ``date``, ``units`` and ``scope`` where given.

    Raises:
        DataError: a wrong object, by line and with the fix.
    """
    scopes: dict[str, list[Document]] = {}
    lines: dict[tuple[str, str], int] = {}
    for row in rows:
        row.only(_KEYS)
        scope = row.name("scope") or SCOPE
        if scope.endswith("+marker"):
            row.fail("scope may not end in +marker, which memassay uses itself; rename it")
        name = row.name("id") or f"d{row.line}"
        document = _document(name, row.needed("text"), row.text("title") or "", row.date("date"), _units(row, name))
        for taken in dict.fromkeys([name, *(unit.id for unit in document.units)]):
            if (scope, taken) in lines:
                row.fail(f"the id {shown(taken)} is that of line {lines[scope, taken]}; give each its own")
            lines[scope, taken] = row.line
        scopes.setdefault(scope, []).append(document)
    return Documents({scope: tuple(found) for scope, found in scopes.items()})


def _units(row: Row, document: str) -> tuple[Unit, ...] | None:
    """The units that a line lists, each at its place in the text; None where it lists none."""
    if not row.items("units"):
        return None
    text = row.needed("text")
    units: list[Unit] = []
    taken = {document}
    at = 0
    for number, item in enumerate(row.items("units"), start=1):
        name, words = _unit(row, number, item)
        start = text.find(words, at)
        start = start if start >= 0 else text.find(words)
        if start < 0:
            row.fail(f"unit {number} ({shown(words)}) does not stand in text; copy it from there")
        at = start + len(words)
        name = name or f"{document}#{number}"
        if name in taken:
            row.fail(f"the id {shown(name)} of unit {number} is used twice; give each its own")
        taken.add(name)
        units.append(Unit(id=name, text=words, span=(start, at)))
    return tuple(units)


def _unit(row: Row, number: int, item: Any) -> tuple[str | None, str]:
    what = f"unit {number}"
    if isinstance(item, str):
        return None, Row({what: item}, row.file, row.line).needed(what)
    if not isinstance(item, dict):
        row.fail(f'{what} must be text or {{"id": ..., "text": ...}}, found {kind_of(item)}')
    inner = Row(item, row.file, row.line)
    inner.only(_UNIT_KEYS)
    return inner.name("id"), Row({f"text of {what}": item.get("text")}, row.file, row.line).needed(f"text of {what}")


def _document(name: str, text: str, title: str, date: str | None, units: tuple[Unit, ...] | None = None) -> Document:
    if units is None:
        spans = paragraphs(text)
        units = tuple(
            Unit(id=f"{name}#{number}", text=text[start:end], span=(start, end))
            for number, (start, end) in enumerate(spans, start=1)
        )
    return Document(id=name, title=title, text=text, date=date, units=units)
