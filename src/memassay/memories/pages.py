"""Documents as pages of a Markdown folder, and which document and units a place on a page belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from memassay.core.errors import UsageError
from memassay.core.types import Document
from memassay.knowledge.folder import EXTENSION, checked
from memassay.knowledge.frontmatter import read
from memassay.memories.names import file_name
from memassay.retrieval.passages import has_words, unit_line


@dataclass(frozen=True, slots=True)
class Written:
    """What a page is made of.

    Attributes:
        key: the page.
        id: the document.
        date: its date as given, or None.
        spoken: at least one unit names its speaker, so it is a conversation.
        units: (id, start, end), ascending: where each unit stands in the text of the page, in characters.
    """

    key: str
    id: str
    date: str | None
    spoken: bool
    units: tuple[tuple[str, int, int], ...]

    def units_in(self, start: int, end: int) -> tuple[str, ...]:
        """The units of which something stands between two places of the page."""
        return tuple(unit for unit, first, last in self.units if first < end and last > start)

    def row(self) -> JsonValue:
        """As JSON."""
        return [self.key, self.id, self.date, self.spoken, [list(unit) for unit in self.units]]

    @classmethod
    def of(cls, row: Sequence[Any]) -> Written:
        """What :meth:`row` made."""
        key, name, date, spoken, units = row
        return cls(key, name, date, spoken, tuple((unit, start, end) for unit, start, end in units))


def pages(documents: Iterable[Document]) -> Iterator[tuple[Written, str]]:
    """Every document as a page: what it is made of, and the text of its file.

    A conversation becomes one paragraph per turn. Any other text stays as it is, so that its own front matter, Markdown
    and links count. Else a date stands in the front matter, and a title is set above unless the text begins with one.
    The key is the document's id, without ``.md``, where that can be a key, so that links between documents lead
    somewhere, and else a safe name.
    """
    taken: set[str] = set()
    for document in documents:
        yield _page(document, _key(document.id, taken))


def _page(document: Document, key: str) -> tuple[Written, str]:
    spoken = any(unit.speaker for unit in document.units)
    head = f"---\ndate: {_plain(document.date)}\n---\n\n" if document.date else ""
    title = _plain(document.title)
    if spoken:
        head += f"# {title}\n\n" if title else ""
        units, at, parts = [], len(head), []
        for unit in document.units:
            if has_words(unit):
                line = _text(unit_line(unit))
                units.append((unit.id, at, at + len(line)))
                parts.append(line)
                at += len(line) + 2
        return Written(key, document.id, document.date, spoken, tuple(units)), head + "\n\n".join(parts) + "\n"
    text = _text(document.text)
    if _has_front_matter(text):
        head = ""
    elif title and not text.lstrip().startswith("#"):
        head += f"# {title}\n\n"
    elif text.startswith("---") and not head:
        # It only looks like front matter, which nobody searches; below a heading it is text.
        head = f"# {_plain(document.id)}\n\n"
    known = ((unit.id, unit.span) for unit in document.units)
    placed = [(name, span[0] + len(head), span[1] + len(head)) for name, span in known if span is not None]
    return Written(key, document.id, document.date, spoken, tuple(placed)), head + text


def _has_front_matter(text: str) -> bool:
    """Whether a text begins with front matter that can be read, and says something after it."""
    if not text.startswith("---"):
        return False
    _, body, problem = read(text)
    return body > 0 and problem is None and bool(text[body:].strip())


def _key(name: str, taken: set[str]) -> str:
    """A key that no other page of the folder has, on any file system."""
    try:
        key = checked(name.removesuffix(EXTENSION))
    except UsageError:
        key = ""
    if not key or key.casefold() in taken:
        return file_name(name, "", taken).removesuffix(".txt")
    taken.add(key.casefold())
    return key


def _text(text: str) -> str:
    """A text as a file gives it back: half of a surrogate pair becomes a question mark, every line end a newline."""
    return text.encode("utf-8", "replace").decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")


def _plain(text: str | None) -> str:
    """One line."""
    return " ".join(_text(text or "").split())
