"""Blocks and sections of a page, and how they are read where no parser is needed: headings and lines without markup."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from memassay.knowledge.links import Link, names_page

# Title, level and first character of a header.
Header = tuple[str, int, int]

BlockKind = Literal["header", "paragraph", "item", "code", "table", "quote", "html", "rule", "ref"]

BLANKS = " \t\r\n"
# A body of headings and of lines without a character that means anything to Markdown, but for links of the plainest
# form: its blocks are plain to see. A line begins with a letter, a quotation mark, a parenthesis, a number that is none
# of a list, or a link; an ampersand begins no entity. Nine in ten pages of HotPotQA are so, and read in a third of
# the time.
_WORDS = r"[^\x00-\x1f\x7f#&*<>\[\\\]_`|~\ud800-\udfff]*+"
_LINK = rf"""(?<!!)\[((?:[^\W_]|["(]){_WORDS})(?<!\s)\]\(([A-Za-z0-9_./%-]++)\)"""
# Without its groups, which nothing reads there. Groups are not repeated possessively: before Python 3.11.5 that may
# match nothing.
_ANY_LINK = rf"""(?<!!)\[(?:[^\W_]|["(]){_WORDS}(?<!\s)\]\([A-Za-z0-9_./%-]++\)"""
_BEGINNING = rf"""(?:[^\W\d_]|["(]|[0-9]++(?![.)])|{_ANY_LINK})"""
_PLAIN_LINE = rf"(?:#{{1,6}} )?{_BEGINNING}{_WORDS}(?:(?:&(?![A-Za-z#])|{_ANY_LINK}){_WORDS})*"
_PLAIN = re.compile(rf"\n*+(?:{_PLAIN_LINE}(?:\n++|\Z))*")
_PLAIN_LINK = re.compile(_LINK)
_PLAIN_BLOCK = re.compile(r"(#+) (.+)|[^#\n].*(?:\n[^#\n].*)*")


class Block(NamedTuple):
    """A piece of a page that stands for itself.

    Attributes:
        kind: ``ref`` is a paragraph that is exactly one link to a page.
        text: its plain words; lines of code and rows of tables are parted by line ends.
        span: start and end in ``Page.text``, without the white space around it.
        section: number of the innermost section.
        depth: how many list items it is in, itself counted.
        lang: the first word after the fence of a code block.
        level: of a header, 1 to 6, else 0.
    """

    kind: BlockKind
    text: str
    span: tuple[int, int]
    section: int
    depth: int = 0
    lang: str = ""
    level: int = 0


class Section(NamedTuple):
    """A header with all below it, deeper sections included; section 0 is the whole body, at level 0, without a parent.

    Attributes:
        span: from the header's first character to the next header that is not deeper, in ``Page.text``.
        parent: number of the section around it; -1 for section 0.
    """

    title: str
    level: int
    span: tuple[int, int]
    parent: int


def plain(text: str, body: int) -> bool:
    """Whether the text from ``body`` on holds nothing but headings, and lines without markup other than plain links."""
    return _PLAIN.fullmatch(text, body) is not None


def read(text: str, body: int) -> tuple[tuple[Section, ...], tuple[Block, ...], tuple[Link, ...]]:
    """What the parser finds in a body that is :func:`plain`."""
    headers: list[Header] = []
    blocks: list[Block] = []
    links: list[Link] = []
    for found in _PLAIN_BLOCK.finditer(text, body):
        start, end = found.span()
        span = (start, stripped(text, start, end, BLANKS))
        mark, words = found[1], found[2] or found[0]
        words, here = _linked(text, found.start(2) if mark else start, end) if "[" in words else (words, [])
        words = joined(words)
        if mark:
            headers.append((words, len(mark), start))
            blocks.append(Block("header", words, span, len(headers), 0, "", len(mark)))
        elif here and here[0].span == span:
            here = [here[0]._replace(kind="inclusion")]
            blocks.append(Block("ref", words, span, len(headers)))
        else:
            blocks.append(Block("paragraph", words, span, len(headers)))
        links += here
    return sections(text, body, headers), tuple(blocks), tuple(links)


def _linked(text: str, start: int, end: int) -> tuple[str, list[Link]]:
    """What is shown of a text with links, and the links to pages."""
    shown, links, at = [], [], start
    for found in _PLAIN_LINK.finditer(text, start, end):
        words, target = found.groups()
        shown += [text[at : found.start()], words]
        at = found.end()
        if names_page(target, wiki=False):
            links.append(Link(target, joined(words), "reference", False, found.span(), found.span(2), found.span(1)))
    return "".join([*shown, text[at:end]]), links


def sections(text: str, body: int, headers: Sequence[Header]) -> tuple[Section, ...]:
    """The sections that headers make."""
    ends = [len(text)] * len(headers)
    parents = [0] * len(headers)
    around: list[int] = []
    for number, (_, level, start) in enumerate(headers):
        while around and headers[around[-1]][1] >= level:
            ends[around.pop()] = start
        parents[number] = around[-1] + 1 if around else 0
        around.append(number)
    made = [Section("", 0, (body, len(text)), -1)]
    for (title, level, start), end, parent in zip(headers, ends, parents, strict=True):
        made.append(Section(title, level, (start, end), parent))
    return tuple(made)


def joined(text: str) -> str:
    """The words of a text with single blanks between them."""
    # A text that prints has no other white space than blanks; to look costs less than to split and join.
    return text.strip(" ") if text.isprintable() and "  " not in text else " ".join(text.split())


def stripped(text: str, start: int, end: int, blanks: str) -> int:
    """Where ``text[start:end]`` ends without the ``blanks`` at its end."""
    while end > start and text[end - 1] in blanks:
        end -= 1
    return end
