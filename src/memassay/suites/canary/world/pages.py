"""A page while it is written: its text, where the words stand that questions ask for, and what it links to."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from memassay.core.types import Document, Unit
from memassay.suites.canary.fixture import Atom

_MARK = re.compile(r"<<(?P<label>\w+)\|(?P<words>.*?)>>")
_HOLE = re.compile(r"\{(\w+)\}")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_SENTENCE_END = re.compile(r"\.(?=\s)|(?=\n)")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")


def slug(name: str) -> str:
    """A name as a part of a path."""
    return _NOT_IN_NAMES.sub("-", name.lower()).strip("-")


def filled(text: str, slots: Mapping[str, str]) -> str:
    """The text with its holes filled."""
    return _HOLE.sub(lambda hole: slots[hole[1]], text)


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def relative(path: str, page: str) -> str:
    """How a page calls another one: by its name alone in the same folder, else from the root."""
    folder = posixpath.dirname(page)
    return posixpath.basename(path) if posixpath.dirname(path) == folder else "../" * page.count("/") + path


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page will be and what links to it say, which is known before it is written."""

    path: str
    label: str

    def link(self, page: str) -> str:
        """A Markdown link from another page, relative to that page's folder."""
        return f"[{self.label}]({relative(self.path, page)})"


class Page:
    """A Markdown page with front matter, a title and sections.

    Args:
        path: where it is, which is also the id of its document.
        front: keys of its front matter, in order; ``date`` is one of them.
        title: its heading.
        sections: heading and text; the first has no heading. In the text ``<<label|words>>`` marks gold.
    """

    def __init__(self, path: str, front: Mapping[str, str], title: str, sections: Sequence[tuple[str, str]]) -> None:
        self.path, self.title, self.date = path, title, front["date"]
        self._gold: dict[str, tuple[int, int]] = {}
        self._units: list[Unit] = []
        self._text = "".join(["---\n", *(f"{key}: {value}\n" for key, value in front.items()), "---\n"])
        for heading, text in sections:
            self._add(heading, text)
        self._text += "\n"

    def _add(self, heading: str, text: str) -> None:
        self._text += "\n" if not self._units else "\n\n"
        start = len(self._text)
        self._text += f"## {heading}\n\n" if heading else f"# {self.title}\n\n"
        at = 0
        for mark in _MARK.finditer(text):
            self._text += text[at : mark.start()]
            self._gold[mark["label"]] = (len(self._text), len(self._text) + len(mark["words"]))
            self._text += mark["words"]
            at = mark.end()
        self._text += text[at:]
        unit = f"{self.path}#{slug(heading or 'summary')}"
        self._units.append(Unit(id=unit, text=self._text[start:], span=(start, len(self._text))))

    @property
    def labels(self) -> Sequence[str]:
        """What is marked."""
        return tuple(self._gold)

    def atom(self, label: str) -> Atom:
        """The words under a label, with their place."""
        return self._atom(*self._gold[label])

    def linking(self, path: str) -> Atom:
        """The first sentence that links to a page, with its place."""
        target = relative(path, self.path)
        link = next(found for found in _LINK.finditer(self._text) if found[1] == target)
        ends = [found.end() for found in _SENTENCE_END.finditer(self._text, 0, link.start())]
        start = ends[-1] if ends else 0
        while self._text[start].isspace():
            start += 1
        end = _SENTENCE_END.search(self._text, link.end())
        return self._atom(start, end.end() if end else len(self._text))

    def _atom(self, start: int, end: int) -> Atom:
        return Atom(text=self._text[start:end], doc=self.path, start=start, end=end)

    @cached_property
    def document(self) -> Document:
        """The page as what a memory gets; ``links`` are ids of documents."""
        folder = posixpath.dirname(self.path)
        found = (posixpath.normpath(posixpath.join(folder, link[1])) for link in _LINK.finditer(self._text))
        return Document(
            id=self.path,
            title=self.title,
            text=self._text,
            date=self.date,
            links=tuple(dict.fromkeys(found)),
            units=tuple(self._units),
        )
