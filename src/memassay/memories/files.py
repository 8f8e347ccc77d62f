"""``files``: a folder of plain text files and a naive grep, the honest baseline."""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import JsonValue

from memassay.core.contracts import BuildContext
from memassay.core.types import Corpus, Document, Passage, Query, StoreRef
from memassay.knowledge.folder import EXTENSION
from memassay.memories.folder import damaged, seal, unseal
from memassay.memories.names import file_name
from memassay.memories.sessions import session_pages
from memassay.memories.settings import check_choice, check_whole
from memassay.memories.sources import Filling
from memassay.retrieval.passages import day, has_words, unit_line
from memassay.retrieval.text import QUESTIONS, words

_FOLDER = "files"
_INDEX = "index.json"
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")

Layout = Literal["files", "pages"]


class Files:
    """Writes one text file per document and greps the files for the words of the question, as a person would.

    Args:
        layout: ``files``, named by document, or Markdown ``pages``: of a conversation ``sessions/session-01.md``, … and
            an ``index.md``, as the published study of iwe gave them to an agent.
        context: lines shown before and after a line that matches, like ``grep -C``.
        line_chars: a longer line is cut to this many characters around its first match.
    """

    def __init__(self, *, layout: Layout = "files", context: int = 1, line_chars: int = 2000) -> None:
        check_choice("layout", layout, get_args(Layout))
        check_whole("context", context, 0)
        check_whole("line_chars", line_chars, 1)
        self._layout, self._context, self._line_chars = layout, context, line_chars
        # What the files depend on; stores that were built before there was a layout are still those of ``files``.
        self._built_with: dict[str, JsonValue] = {} if layout == "files" else {"layout": layout}

    def build(self, corpus: Corpus, place: Path, context: BuildContext) -> Mapping[str, int]:
        """Write the files and ``index.json``, which says which file and lines a document and its units became."""
        folder = place / _FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        entries: list[JsonValue] = []
        written: list[Path] = []
        for name, document, text, units in _laid_out(corpus, self._layout):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8", "surrogatepass"))
            written.append(path)
            if document is not None:
                entries.append({"file": name, "id": document.id, "date": document.date, "units": units})
                context.progress(len(entries), len(corpus.documents))
        index = place / _INDEX
        index.write_text(json.dumps(entries, separators=(",", ":")) + "\n", encoding="ascii", newline="\n")
        seal(place, "files", self._built_with, [index, *written])
        return {"passages": len(entries)}

    def open(self, ref: StoreRef) -> FilesStore:
        """Read the index; the files themselves are read anew for every question."""
        place = unseal(ref, "files", self._built_with)
        try:
            rows = json.loads((place / _INDEX).read_text(encoding="ascii"))
            entries = [_Entry.read(row) for row in rows]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise damaged(place, f"{_INDEX} cannot be read ({type(error).__name__})") from error
        return FilesStore(place, entries, self._context, self._line_chars)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file: its document and, per unit, the numbers of its first and last line (from 0)."""

    file: str
    id: str
    date: str | None
    units: tuple[tuple[str, int, int], ...]

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> _Entry:
        units = tuple((str(unit), int(first), int(last)) for unit, first, last in row["units"])
        return cls(row["file"], row["id"], row["date"], units)


@dataclass(frozen=True, slots=True, order=True)
class _Hit:
    """A line that matches; hits sort by distinct words (most first), then by document and line."""

    missing: int
    entry: int
    line: int


class FilesStore:
    """An open store; any number of threads may ask it. It only ever reads."""

    def __init__(self, place: Path, entries: Sequence[_Entry], context: int, line_chars: int) -> None:
        self._place, self._entries, self._context, self._line_chars = place, entries, context, line_chars

    def folder(self) -> Path:
        """The text files."""
        return self._place / _FOLDER

    def retrieve(self, query: Query) -> list[Passage]:
        """Lines with the words of the question and the lines around them; each line is shown once."""
        wanted = search_words(query.text)
        texts: dict[int, list[str]] = {}
        hits: list[_Hit] = []
        for number, entry in enumerate(self._entries):
            text = self._read(entry)
            found = [_Hit(len(wanted) - count, number, line) for line, count in _matches(text, wanted)]
            if found:
                texts[number] = text.split("\n")
                hits.extend(found)
        filling = Filling(query)
        shown: dict[int, set[int]] = {}
        for hit in sorted(hits):
            if filling.full:
                break
            item = self._show(hit, texts[hit.entry], shown.setdefault(hit.entry, set()), wanted, len(filling.passages))
            if item is not None:
                filling.add(item)
        return filling.passages

    def _read(self, entry: _Entry) -> str:
        try:
            return (self._place / _FOLDER / entry.file).read_bytes().decode("utf-8", "surrogatepass")
        except (OSError, UnicodeDecodeError) as error:
            reason = f"{_FOLDER}/{entry.file} cannot be read ({type(error).__name__})"
            raise damaged(self._place, reason) from error

    def _show(self, hit: _Hit, text: list[str], seen: set[int], wanted: Sequence[str], before: int) -> Passage | None:
        around = range(max(0, hit.line - self._context), min(len(text), hit.line + self._context + 1))
        fresh = [line for line in around if line not in seen and text[line].strip()]
        if not fresh:
            return None
        seen.update(fresh)
        entry = self._entries[hit.entry]
        whole = {line for line in fresh if len(text[line]) <= self._line_chars}
        return Passage(
            text="\n".join([entry.file, *(_cut(text[line], wanted, self._line_chars) for line in fresh)]),
            doc_ids=(entry.id,),
            unit_ids=tuple(unit for unit, first, last in entry.units if whole.issuperset(range(first, last + 1))),
            valid_from=entry.date,
            score=float(len(wanted) - hit.missing),
            rank=before + 1,
            native_id=f"{entry.file}:{hit.line + 1}",
        )


def search_words(question: str) -> list[str]:
    """What a person would grep for: the words of a question without stop words, in order, each once.

    Single letters are left out. A question that is made of nothing else is searched with all of its words.
    """
    every = [piece for word in words(question) for piece in word.split("'")]
    kept = [word for word in every if word not in QUESTIONS and (len(word) > 1 or not word.isascii() or word.isdigit())]
    return list(dict.fromkeys(kept or every))


def _matches(text: str, wanted: Sequence[str]) -> Iterator[tuple[int, int]]:
    folded = _fold(text)
    present = [word for word in wanted if word in folded]
    if not present:
        return
    for number, line in enumerate(folded.split("\n")):
        count = sum(word in line for word in present)
        if count:
            yield number, count


def _fold(text: str) -> str:
    # Neither step makes or removes a line break, so line numbers stay those of the file.
    return unicodedata.normalize("NFKC", text).casefold()


def _cut(line: str, wanted: Sequence[str], size: int) -> str:
    if len(line) <= size:
        return line
    folded = _fold(line)
    first = min((at for at in (folded.find(word) for word in wanted) if at >= 0), default=0)
    start = max(0, min(first - size // 2, len(line) - size))
    return line[start : start + size]


def _laid_out(corpus: Corpus, layout: Layout) -> Iterator[tuple[str, Document | None, str, list[JsonValue]]]:
    """Every file: its name, its document, its text, and of each unit the id and the numbers of its lines."""
    if layout == "files":
        taken: set[str] = set()
        for document in corpus.documents:
            text, units = _render(document)
            yield file_name(document.id, _day_prefix(document), taken), document, text, units
        return
    documents = {document.id: document for document in corpus.documents}
    for made, text in session_pages(corpus):
        ends = [at for at, letter in enumerate(text) if letter == "\n"]
        units = [[unit, bisect_left(ends, start), bisect_left(ends, end - 1)] for unit, start, end in made.units]
        yield f"{made.key}{EXTENSION}", documents.get(made.id), text, units


def _render(document: Document) -> tuple[str, list[JsonValue]]:
    head = [f"{name}: {' '.join(value.split())}" for name, value in _about(document) if value]
    rows = [*head, ""] if head else []
    if not document.units:
        return "\n".join([*rows, document.text, ""]), []
    units: list[JsonValue] = []
    for unit in filter(has_words, document.units):
        first = len(rows)
        rows.extend(unit_line(unit).split("\n"))
        units.append([unit.id, first, len(rows) - 1])
    return "\n".join([*rows, ""]), units


def _about(document: Document) -> Iterator[tuple[str, str]]:
    yield "Title", document.title
    yield "Date", document.date or ""


def _day_prefix(document: Document) -> str:
    date = day(document.date) if document.date else ""
    return f"{date}_" if _DAY.fullmatch(date) else ""
