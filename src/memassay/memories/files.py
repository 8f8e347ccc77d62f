"""``files``: a folder of plain text files and a naive grep, the honest baseline."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from memassay.core.contracts import BuildContext
from memassay.core.types import Corpus, Document, Passage, Query, StoreRef
from memassay.memories.folder import damaged, seal, unseal
from memassay.memories.names import file_name
from memassay.memories.settings import check_whole
from memassay.memories.sources import Filling
from memassay.retrieval.passages import day, has_words, unit_line
from memassay.retrieval.text import QUESTIONS, words

_FOLDER = "files"
_INDEX = "index.json"
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")

_BUILT_WITH: dict[str, JsonValue] = {}


class Files:
    """Writes one text file per document and greps the files for the words of the question, as a person would.

    Args:
        context: lines shown before and after a line that matches, like ``grep -C``.
        line_chars: a longer line is cut to this many characters around its first match.
    """

    def __init__(self, *, context: int = 1, line_chars: int = 2000) -> None:
        check_whole("context", context, 0)
        check_whole("line_chars", line_chars, 1)
        self._context, self._line_chars = context, line_chars

    def build(self, corpus: Corpus, place: Path, context: BuildContext) -> Mapping[str, int]:
        """Write the files and ``index.json``, which says which file and lines a document and its units became."""
        folder = place / _FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        taken: set[str] = set()
        entries: list[JsonValue] = []
        written: list[Path] = []
        for done, document in enumerate(corpus.documents):
            name = file_name(document.id, _day_prefix(document), taken)
            text, units = _render(document)
            path = folder / name
            path.write_bytes(text.encode("utf-8", "surrogatepass"))
            written.append(path)
            entries.append({"file": name, "id": document.id, "date": document.date, "units": units})
            context.progress(done + 1, len(corpus.documents))
        index = place / _INDEX
        index.write_text(json.dumps(entries, separators=(",", ":")) + "\n", encoding="ascii", newline="\n")
        seal(place, "files", _BUILT_WITH, [index, *written])
        return {"passages": len(entries)}

    def open(self, ref: StoreRef) -> FilesStore:
        """Read the index; the files themselves are read anew for every question."""
        place = unseal(ref, "files", _BUILT_WITH)
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
