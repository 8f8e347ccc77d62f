"""A folder as people have it, of Markdown, text, HTML, PDF and JSONL files, as documents."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from memassay.core.errors import DataError, MissingExtra
from memassay.core.types import Document
from memassay.suites.canary.hypertext import page_of
from memassay.suites.custom.documents import (
    Reader,
    Unreadable,
    documents_of,
    file_document,
    read_documents,
    text_file,
    text_of,
)
from memassay.suites.custom.lines import Row, shown

_CHARSET = re.compile(rb"""<meta[^>]{0,200}charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
_DECLARED = 2048  # a page declares how it is encoded in its first kilobyte
_ROW_KEYS = frozenset({"id", "title", "text", "date", "units", "scope"})
_ASKING = ("query", "question")


@dataclass(frozen=True, slots=True)
class Ingested:
    """What was read.

    Attributes:
        documents: in the order of their names, or of the lines of a JSONL file.
        skipped: files that were left out, by relative path, with the reason.
    """

    documents: tuple[Document, ...]
    skipped: Mapping[str, str]


def ingest(path: Path, *, leave_out: Path | None = None) -> Ingested:
    """The documents of a folder with all its subfolders, or of one JSONL file.

    Args:
        path: the folder or file.
        leave_out: a file that is no document wherever it lies (the questions).

    Raises:
        DataError: there is nothing, nothing readable, or a wrong line, in one sentence with the fix.
    """
    found = read_documents(path, leave_out=leave_out, readers=READERS)
    scopes: dict[str, str] = {}
    for scope, documents in found.scopes.items():
        for document in documents:
            if document.id in scopes:
                raise DataError(
                    f"{path}: the id {shown(document.id)} is in the scopes {scopes[document.id]} and {scope}; the "
                    "questions are about all of them at once, so give each document an id of its own."
                )
            scopes[document.id] = scope
    return Ingested(tuple(document for documents in found.scopes.values() for document in documents), found.skipped)


# -- HTML ----------------------------------------------------------------------------------------------------------


def html_file(raw: bytes, name: str) -> list[Document]:
    """The reader of HTML, in UTF-8 or in the encoding that the page declares."""
    try:
        html = text_of(raw)
    except Unreadable:
        declared = _CHARSET.search(raw[:_DECLARED])
        if declared is None:
            raise
        try:
            html = text_of(raw.decode(declared[1].decode("ascii")).encode())
        except (LookupError, UnicodeError):
            raise Unreadable("not text in the encoding that it declares") from None
    page = page_of(html)
    if not page.text:
        raise Unreadable("a page without text")
    return [file_document(name, page.text, page.title)]


# -- PDF -----------------------------------------------------------------------------------------------------------


def pdf_file(raw: bytes, name: str) -> list[Document]:
    """The reader of PDF: the text of every page, if it holds text and not only pictures of it."""
    try:
        from pypdf import PdfReader
    except ImportError:
        raise Unreadable(str(MissingExtra("pypdf", "pdf")).rstrip(".")) from None
    try:
        with _quiet("pypdf"):
            reader = PdfReader(io.BytesIO(raw))
            if reader.is_encrypted and not reader.decrypt(""):
                raise Unreadable("a PDF with a password")
            pages = [page.extract_text() for page in reader.pages]
            title = str((reader.metadata and reader.metadata.title) or "")
    except Unreadable:
        raise
    except Exception as error:  # a broken PDF raises whatever its reader stumbles over
        raise Unreadable(f"a PDF that cannot be read ({type(error).__name__})") from None
    text = "\n\n".join(page.strip() for page in pages if page.strip())
    if not text:
        raise Unreadable("a PDF without text (scanned pages?)")
    # Half of a surrogate pair, which a broken font can yield, is no text.
    text = text.encode("utf-8", "replace").decode().replace("\0", "")
    return [file_document(name, text, " ".join(title.encode("utf-8", "replace").decode().split()))]


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """Keep a library's remarks about small faults of a file off the terminal."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


# -- JSON Lines ----------------------------------------------------------------------------------------------------


def lines_file(raw: bytes, name: str) -> list[Document]:
    """The reader of JSONL in a folder: one document per line, if every line has the keys of one; else a text.

    Questions are left out, whatever the file is called: they hold the gold.
    """
    rows = _rows(text_of(raw), name)
    if rows and all(any(isinstance(row.value.get(key), str) for key in _ASKING) for row in rows):
        raise Unreadable("not documents but questions")
    if not rows or not all(isinstance(row.value.get("text"), str) and row.value.keys() <= _ROW_KEYS for row in rows):
        return text_file(raw, name)
    return [
        document.model_copy(
            update={
                "id": f"{name}/{document.id}",
                "units": tuple(unit.model_copy(update={"id": f"{name}/{unit.id}"}) for unit in document.units),
            }
        )
        for documents in documents_of(rows).scopes.values()
        for document in documents
    ]


def _rows(text: str, name: str) -> list[Row]:
    """The objects of a text, or none where a line is no object."""
    rows: list[Row] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value: Any = json.loads(line)
        except (ValueError, RecursionError):
            return []
        if not isinstance(value, dict):
            return []
        rows.append(Row(value, name, number))
    return rows


READERS: Mapping[str, Reader] = MappingProxyType(
    {
        ".html": html_file,
        ".htm": html_file,
        ".xhtml": html_file,
        ".pdf": pdf_file,
        ".jsonl": lines_file,
        ".ndjson": lines_file,
    }
)
"""By the ending of a file; every other file is text, whatever its ending, or left out."""
