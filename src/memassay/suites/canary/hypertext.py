"""HTML as the text that a reader sees: headings, paragraphs, lists, tables and links, in the marks of Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import NamedTuple
from urllib.parse import urlsplit

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")

_HIDDEN = frozenset({"script", "style", "template", "noscript", "svg", "math", "iframe", "object", "canvas"})
_BLOCKS = frozenset(
    {
        *HEADINGS, "address", "article", "aside", "blockquote", "body", "caption", "dd", "details", "div", "dl", "dt",
        "fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "li", "main", "nav", "ol", "p", "pre",
        "section", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul",
    }
)  # fmt: skip
_CELLS = ("td", "th")
_CLOSE = ("li", "tr")  # items and rows follow each other without a blank line
_BLANKS = re.compile(r"\s+")


class Page(NamedTuple):
    """What a page says.

    Attributes:
        title: its title, else its first heading of the first level, else "".
        text: its blocks, parted by blank lines.
    """

    title: str
    text: str


def page_of(html: str) -> Page:
    """The text of a page; scripts, styles and drawings are no text, and whatever is not closed ends with the page.

    Links to other pages of the same folder keep their target, for questions about what links to what; others are read
    as their words.
    """
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.page()


class _Block(NamedTuple):
    tag: str
    text: str


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._blocks: list[_Block] = []
        self._pieces: list[str] = []
        self._tag = ""
        self._preformatted = 0
        self._hidden: list[str] = []
        self._title: list[str] | None = None
        self._named = ""
        self._link: tuple[int, str] | None = None

    def page(self) -> Page:
        self._flush()
        first = next((block.text for block in self._blocks if block.tag == "h1"), "")
        text = ""
        for before, block in zip([_Block("", ""), *self._blocks], self._blocks, strict=False):
            close = before.tag == block.tag and block.tag in _CLOSE
            text += ("\n" if close else "\n\n") + _marked(block)
        return Page(self._named or first, text.strip("\n"))

    # -- what the parser calls -------------------------------------------------------------------------------------

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        if self._hidden:
            if tag == self._hidden[0]:
                self._hidden.append(tag)
            return
        if tag in _HIDDEN:
            self._hidden.append(tag)
        elif tag == "title" and not self._named:
            self._title = []
        elif tag in _BLOCKS:
            self._flush()
            if tag in HEADINGS or tag in _CLOSE:
                self._tag = tag
            elif self._tag in HEADINGS:  # it was not closed
                self._tag = ""
            self._preformatted += tag == "pre"
        elif tag in _CELLS and self._pieces:
            self._pieces.append(" | ")
        elif tag == "br":
            self._pieces.append("\n")
        elif tag == "a":
            target = _inside(dict(attrs).get("href") or "")
            self._link = (len(self._pieces), target) if target else None
        elif tag == "img":
            self.handle_data(dict(attrs).get("alt") or "")

    def handle_startendtag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        if tag not in _HIDDEN:  # <svg/> holds nothing
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if self._hidden:
            if tag == self._hidden[0]:
                self._hidden.pop()
        elif tag == "title" and self._title is not None:
            self._named = " ".join("".join(self._title).split())
            self._title = None
        elif tag in _BLOCKS:
            self._flush()
            if tag == self._tag:
                self._tag = ""
            if tag == "pre":
                self._preformatted = max(0, self._preformatted - 1)
        elif tag == "a" and self._link is not None:
            at, target = self._link
            self._link = None
            words = " ".join("".join(self._pieces[at:]).split())
            if words:
                self._pieces[at:] = [f"[{words}]({target})"]

    def handle_data(self, data: str) -> None:
        if self._hidden:
            return
        if self._title is not None:
            self._title.append(data)
        else:
            self._pieces.append(data if self._preformatted else _BLANKS.sub(" ", data))

    def _flush(self) -> None:
        lines = "".join(self._pieces).split("\n")
        if not self._preformatted:
            lines = [" ".join(line.split()) for line in lines]
            lines = [line for line in lines if line]
        text = "\n".join(lines).strip("\n")
        if text.strip():
            self._blocks.append(_Block("pre" if self._preformatted else self._tag, text))
            if self._tag == "li":  # what follows in the same item is no new one
                self._tag = ""
        self._pieces, self._link = [], None


def _marked(block: _Block) -> str:
    if block.tag in HEADINGS:
        return f"{'#' * int(block.tag[1])} {' '.join(block.text.split())}"
    if block.tag == "pre":  # a comment in a program is no heading
        return f"```\n{block.text}\n```"
    return f"- {block.text}" if block.tag == "li" else block.text


def _inside(target: str) -> str:
    """The target of a link to another page of the same folder, or ""."""
    try:
        parts = urlsplit(target.strip())
    except ValueError:
        return ""
    if parts.scheme or parts.netloc or not parts.path or parts.path.startswith("/"):
        return ""
    return parts.path.replace(" ", "%20").replace("(", "%28").replace(")", "%29")
