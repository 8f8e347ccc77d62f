"""One page: its front matter, title, sections, blocks and links, each with its exact place in the text.

Reading never raises and loses nothing: whatever is no block stands between two blocks, and ``Page.text`` is the text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue

from memassay.knowledge import frontmatter, markdown
from memassay.knowledge.links import Link, LinkKind
from memassay.knowledge.prose import Block, BlockKind, Section

__all__ = ["Block", "BlockKind", "Link", "LinkKind", "Page", "Section", "parse"]


class Page(NamedTuple):
    """A page as read.

    Attributes:
        key: its path from the root, without ``.md``.
        text: the whole text; every span counts its characters.
        front: the values of the front matter, empty where it has none or none that can be read.
        body: where the text after the front matter begins.
        title: ``title`` of the front matter, else the first block if that is a header, else None.
        sections: at least one; number 0 is the whole body.
        blocks: in the order of the text, never overlapping.
        links: links to pages, in the order of the text; addresses, attachments and images are none.
        problem: what is wrong with the front matter, as a sentence, or None.
    """

    key: str
    text: str
    front: Mapping[str, JsonValue]
    body: int
    title: str | None
    sections: tuple[Section, ...]
    blocks: tuple[Block, ...]
    links: tuple[Link, ...]
    problem: str | None

    @property
    def name(self) -> str:
        """The title, or the key of a page without one."""
        return self.title or self.key

    @property
    def content(self) -> str:
        """The text without the front matter, as written."""
        return self.text[self.body :]

    def path(self, section: int) -> list[str]:
        """The titles from the outermost section to this one; empty for section 0."""
        titles: list[str] = []
        while section > 0:
            titles.append(self.sections[section].title)
            section = self.sections[section].parent
        return titles[::-1]

    def section_at(self, offset: int) -> int:
        """The number of the innermost section around a character."""
        starts = [section.span[0] for section in self.sections]
        return max(bisect_right(starts, offset) - 1, 0)


def parse(key: str, text: str) -> Page:
    """Read a page. ``text`` is what :class:`~memassay.knowledge.folder.Source` holds, or any other text."""
    front, body, problem = frontmatter.read(text)
    sections, blocks, links = markdown.read(text, body)
    return Page(key, text, front, body, _title(front, blocks), sections, blocks, links, problem)


def _title(front: Mapping[str, JsonValue], blocks: tuple[Block, ...]) -> str | None:
    given = front.get("title")
    if isinstance(given, str) and given.strip():
        return " ".join(given.split())
    return (blocks[0].text or None) if blocks and blocks[0].kind == "header" else None
