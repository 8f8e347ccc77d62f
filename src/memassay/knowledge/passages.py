"""A page cut into passages: the unit that is searched, scored and packed.

``cut(page, max_chars=1000) -> list[Cut]`` cuts; ``searched(page, cuts) -> list[str]`` gives the words that find each
one, ``head(page, cut) -> str`` the line that says where it stands.

A page of at most ``max_chars`` is one passage. A longer one is cut at its sections, a section at its blocks, and a
block of more than ``max_chars`` after a sentence, a line or a word. A heading is never alone if something follows below
it: it begins that passage. Together the passages of a page hold all of it but its front matter and white space.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from memassay.core.paragraphs import PARAGRAPH_CHARS, Span, paragraphs
from memassay.knowledge.pages import Page

_WORD = re.compile(r"\S")


# A title or heading of more characters finds nothing on its own: a page of one huge heading would be indexed again and
# again with every passage.
_LONGEST = 200


class Cut(NamedTuple):
    """A passage of a page.

    Attributes:
        span: its place in ``Page.text`` in characters, without white space at either end.
        section: the section of its first block that is no heading, an index into ``Page.sections``.
        blocks: the blocks that it holds, or of which it holds a part, as a range of ``Page.blocks``.
    """

    span: Span
    section: int
    blocks: range


def cut(page: Page, max_chars: int = PARAGRAPH_CHARS) -> list[Cut]:
    """The passages of a page in order, at least one; a page without words has one that is empty.

    Args:
        page: any page.
        max_chars: the most characters of a passage, at least 1; the headings above its text come on top.
    """
    start, end = _stripped(page.text, page.body, len(page.text))
    if end - start <= max_chars:
        every = range(len(page.blocks))
        return [Cut((start, end), _section(page, every), every)]
    found: list[Cut] = []
    for piece in _pieces(page, start, end, max_chars):
        if found and _joins(page, found[-1], piece, max_chars):
            last = found[-1]
            blocks = range(last.blocks.start, piece.blocks.stop)
            found[-1] = Cut((last.span[0], piece.span[1]), _section(page, blocks), blocks)
        else:
            found.append(piece)
    return found


def searched(page: Page, cuts: list[Cut]) -> list[str]:
    """The words that find each passage: its own and those of the headings above it, without the title of the page.

    The title is left out because an index weighs it on its own. A link counts with what it shows, not with its target.
    """
    title = _title_block(page)
    links = [link.span[0] for link in page.links]
    return ["\n".join([*_above(page, found), *_own(page, found, title, links)]) for found in cuts]


def short_title(page: Page) -> str:
    """The title as an index weighs it, or "" where there is none or one that is too long to be a title."""
    return page.title if page.title and len(page.title) <= _LONGEST else ""


def head(page: Page, found: Cut) -> str:
    """The title and the headings that a passage stands under and does not show, joined by `` > ``; "" if none."""
    title = _title_block(page)
    shown = title >= 0 and title in found.blocks
    return " > ".join(part for part in ["" if shown else short_title(page), *_above(page, found)] if part)


def _pieces(page: Page, start: int, end: int, max_chars: int) -> Iterator[Cut]:
    """The text from one block to the next, in pieces of at most ``max_chars``."""
    text, blocks = page.text, page.blocks
    # What stands before the first block (a definition, say) goes with it, what stands after a block with that block.
    bounds = [start, *(block.span[0] for block in blocks[1:]), end]
    for number in range(max(len(blocks), 1)):
        first, last = _stripped(text, bounds[number], bounds[number + 1])
        here = range(number, min(number + 1, len(blocks)))
        section = blocks[number].section if blocks else 0
        if last - first <= max_chars:
            yield Cut((first, last), section, here)
        else:
            for begin, stop in paragraphs(text[first:last], max_chars=max_chars, join=True):
                yield Cut((first + begin, first + stop), section, here)


def _joins(page: Page, last: Cut, piece: Cut, max_chars: int) -> bool:
    length = piece.span[1] - last.span[0]
    if length <= 2 * max_chars and all(page.blocks[at].kind == "header" for at in last.blocks):
        return piece.section == last.section or page.sections[piece.section].level > page.sections[last.section].level
    return piece.section == last.section and length <= max_chars


def _section(page: Page, blocks: range) -> int:
    text = (page.blocks[at].section for at in blocks if page.blocks[at].kind != "header")
    return next(text, page.blocks[blocks[0]].section if blocks else 0)


def _title_block(page: Page) -> int:
    """The number of the heading that shows the title of the page, or -1."""
    blocks, title = page.blocks, short_title(page)
    return 0 if title and blocks and blocks[0].kind == "header" and blocks[0].text == title else -1


def _above(page: Page, found: Cut) -> list[str]:
    """The headings of a passage's section that stand before it, without one that shows the title of the page."""
    titles = []
    at = found.section
    while at > 0:
        section = page.sections[at]
        if section.span[0] < found.span[0] and not (at == 1 and section.title == page.title):
            titles.append(section.title[:_LONGEST])
        at = section.parent
    return titles[::-1]


def _own(page: Page, found: Cut, title: int, links: list[int]) -> Iterator[str]:
    if not found.blocks:
        yield _as_shown(page, found.span, links)
    for at in found.blocks:
        start, end = page.blocks[at].span
        if start < found.span[0] or end > found.span[1]:
            yield _as_shown(page, (max(start, found.span[0]), min(end, found.span[1])), links)
        elif at != title:
            yield page.blocks[at].text


def _as_shown(page: Page, span: Span, links: list[int]) -> str:
    """A part of a block as written, but for what links show in place of the links, which begin at ``links``."""
    out, at = [], span[0]
    for number in range(max(bisect_left(links, at) - 1, 0), len(links)):
        link = page.links[number]
        if link.span[0] >= span[1]:
            break
        if link.span[1] > at:
            out += [page.text[at : max(at, link.span[0])], link.text]
            at = link.span[1]
    return "".join([*out, page.text[at : span[1]]])


def _stripped(text: str, start: int, end: int) -> Span:
    found = _WORD.search(text, start, end)
    if found is None:
        return start, start
    while text[end - 1].isspace():
        end -= 1
    return found.start(), end
