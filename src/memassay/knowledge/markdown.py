"""From a Markdown body to its sections, blocks and links, each with its place in the text.

The parser is pulldown-cmark (through pyromark): linear in time and without recursion, so hostile nesting costs nothing.
Plain prose is read without it, to the same result.
Blocks never overlap: a list item ends where the first block inside it begins, a quote is one block with all its words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyromark

from memassay.knowledge import prose, targets
from memassay.knowledge.links import NOWHERE, Link, names_page
from memassay.knowledge.prose import BLANKS, Block, BlockKind, Header, Section, joined, sections, stripped

_OPTIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_WIKILINKS
    | pyromark.Options.ENABLE_TASKLISTS
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_FOOTNOTES
)
_TAG = re.compile(r"<[^<>]*>")
_SURROGATE = re.compile("[\ud800-\udfff]")
_INLINE = frozenset(("Emphasis", "Strong", "Strikethrough", "Link", "Image"))
_LEAVES = {
    "Heading": "header",
    "CodeBlock": "code",
    "Table": "table",
    "HtmlBlock": "html",
    "BlockQuote": "quote",
}


def read(text: str, body: int) -> tuple[tuple[Section, ...], tuple[Block, ...], tuple[Link, ...]]:
    """Sections, blocks and links of ``text`` from the offset ``body`` on, in the order of the text."""
    if prose.plain(text, body):
        return prose.read(text, body)
    return parsed(text, body)


def parsed(text: str, body: int) -> tuple[tuple[Section, ...], tuple[Block, ...], tuple[Link, ...]]:
    """What :func:`read` says, by the parser whatever the text."""
    reader = _Reader(text, body)
    reader.run()
    return sections(text, body, reader.headers), tuple(reader.blocks), tuple(reader.links)


def _places(source: str, body: int) -> Callable[[int], int]:
    """From an offset in the bytes of the body to one in the characters of the page."""
    if source.isascii():
        return body.__add__
    data = np.frombuffer(source.encode(), dtype=np.uint8)
    places = np.empty(len(data) + 1, dtype=np.int32)
    places[0] = body
    np.cumsum((data & 0xC0) != 0x80, dtype=np.int32, out=places[1:])
    places[1:] += body
    item: Callable[[int], int] = places.item
    return item


@dataclass(slots=True)
class _Open:
    """A link that has begun; offsets are in bytes of the body."""

    target: str
    type: Any
    label: str
    start: int
    words: int  # how many pieces of text stood before it
    inner: int  # where the last thing inside it ends


@dataclass(slots=True)
class _Item:
    """A list item that has begun."""

    start: int
    block: int = -1  # number of its block, once it has one


class _Reader:
    """One pass over the parser's events. ``_leaf`` names the block that words belong to now, "" if none is open."""

    def __init__(self, text: str, body: int) -> None:
        self._text, self._body = text, body
        source = text[body:]
        self._source = source if source.isascii() else _SURROGATE.sub("\ufffd", source)
        self._at = _places(self._source, body)
        self.blocks: list[Block] = []
        self.links: list[Link] = []
        self.headers: list[Header] = []
        self._items: list[_Item] = []
        self._quotes = self._notes = self._images = 0
        self._leaf, self._leaf_start, self._leaf_end = "", 0, 0
        self._words: list[str] = []
        self._link: _Open | None = None
        self._lang: str | None = ""  # None for indented code
        self._level = 0
        self._parts: list[str] = []  # texts of the last block, while it is an item that may go on
        self._parts_end = 0
        self._definitions: dict[str, int] | None = None

    def run(self) -> None:
        events: Iterator[tuple[Any, Any]] = pyromark.events_with_range(self._source, options=_OPTIONS)
        for event, place in events:
            start, end = place["start"], place["end"]
            if isinstance(event, str):
                if event == "Rule":
                    self._rule(start, end)
                else:
                    self._word(" ", start, end)
                continue
            [(name, value)] = event.items()
            if name in ("Text", "Code"):
                self._word(value, start, end)
            elif name == "Start":
                tag, detail = (value, None) if isinstance(value, str) else next(iter(value.items()))
                (self._start_inline if tag in _INLINE else self._start_block)(tag, detail, start, end)
            elif name == "End":
                tag = value if isinstance(value, str) else next(iter(value))
                (self._end_inline if tag in _INLINE else self._end_block)(tag, start, end)
            elif name == "Html":
                self._words.append(_TAG.sub(" ", value))
            elif name in ("InlineHtml", "FootnoteReference"):
                self._word(" " if value[:3].lower() == "<br" else "", start, end)
        self._flush()

    # -- words and what marks them ------------------------------------------------------------------------------

    def _word(self, value: str, start: int, end: int) -> None:
        self._open_tight(start)
        self._words.append(value)
        self._reach(end)

    def _reach(self, end: int) -> None:
        self._leaf_end = end
        if self._link is not None:
            self._link.inner = end

    def _start_inline(self, tag: str, detail: Any, start: int, end: int) -> None:
        self._open_tight(start)
        if tag == "Image":
            self._images += 1
        elif tag == "Link":
            wiki = isinstance(detail["link_type"], dict)
            # In a table the bar of [[page\\|words]] is escaped, and the escape stays with the target.
            target = detail["dest_url"].removesuffix("\\") if wiki else detail["dest_url"]
            if not self._images and names_page(target, wiki):
                self._link = _Open(target, detail["link_type"], detail["id"], start, len(self._words), start + 1)

    def _end_inline(self, tag: str, start: int, end: int) -> None:
        if tag == "Image":
            self._images -= 1
        elif tag == "Link" and self._link is not None and self._link.start == start:
            opened, self._link = self._link, None
            self.links.append(self._made(opened, end))
        self._reach(end)

    def _made(self, opened: _Open, end: int) -> Link:
        span = (self._at(opened.start), self._at(end))
        inner = (span[0] + 1, self._at(opened.inner))
        aim = NOWHERE
        if isinstance(opened.type, dict):
            aim, inner = targets.wiki(self._text, span, opened.target, opened.type["WikiLink"]["has_pothole"])
        elif opened.type == "Inline":
            aim = targets.inline(self._text, inner[1], span[1])
        else:
            if opened.type == "Collapsed" and self._text.startswith("[]", span[1]):
                span = (span[0], span[1] + 2)
            aim = self._definition(opened.label)
        words = joined("".join(self._words[opened.words :]))
        return Link(opened.target, words, "reference", isinstance(opened.type, dict), span, aim, inner)

    def _definition(self, label: str) -> tuple[int, int]:
        if self._definitions is None:
            found = pyromark.reference_definitions(self._source, options=_OPTIONS)
            self._definitions = {}
            for name, definition in found.items():
                self._definitions.setdefault(targets.label(name), self._at(definition["span"]["start"]))
        start = self._definitions.get(targets.label(label))
        return NOWHERE if start is None else targets.defined(self._text, start)

    # -- blocks -------------------------------------------------------------------------------------------------

    def _rule(self, start: int, end: int) -> None:
        if not self._quotes:
            self._begin(start)
            self._emit("rule", "", start, end)

    def _start_block(self, tag: str, detail: Any, start: int, end: int) -> None:
        if self._quotes:
            self._quotes += tag == "BlockQuote"
        elif tag == "Paragraph":
            self._close_tight()
            self._open("paragraph", start)
        elif tag == "Item":
            self._items.append(_Item(start))
        elif tag == "List":
            self._begin(start)
        elif tag == "FootnoteDefinition":
            self._begin(start)
            self._notes += 1
        elif tag in _LEAVES:
            self._begin(start)
            self._open(_LEAVES[tag], start)
            if tag == "BlockQuote":
                self._quotes = 1
            elif tag == "Heading":
                self._level = int(detail["level"][1])
            elif tag == "CodeBlock":
                self._lang = (detail["Fenced"].split() or [""])[0] if isinstance(detail, dict) else None

    def _end_block(self, tag: str, start: int, end: int) -> None:
        if tag == "TableCell":
            self._words.append(" ")
        elif tag in ("TableHead", "TableRow"):
            self._words.append("\n")
        elif tag == "BlockQuote":
            self._quotes -= 1
            if not self._quotes:
                self._close(start, end)
        elif self._quotes:
            self._words.append("\n")
        elif tag == "Paragraph":
            self._close_text(start, end)
        elif tag == "Item":
            self._close_tight()
            item = self._items[-1]
            if item.block < 0:
                self._empty_item(item, end)
            self._items.pop()
        elif tag == "FootnoteDefinition":
            self._notes -= 1
        elif tag in _LEAVES:
            self._close(start, end)

    def _begin(self, start: int) -> None:
        """A block other than text begins: what stands before it in the same item is finished."""
        self._close_tight()
        if self._items and self._items[-1].block < 0:
            self._empty_item(self._items[-1], start)

    def _empty_item(self, item: _Item, end: int) -> None:
        item.block = len(self.blocks)
        self._emit("item", "", item.start, end)

    def _open(self, leaf: str, start: int) -> None:
        self._leaf, self._leaf_start, self._words = leaf, start, []

    def _open_tight(self, start: int) -> None:
        if not self._leaf:
            self._open("tight", start)

    def _close_tight(self) -> None:
        if self._leaf == "tight":
            self._close_text(self._leaf_start, self._leaf_end)

    def _close_text(self, start: int, end: int) -> None:
        text = joined("".join(self._words))
        self._leaf = ""
        if not self._items:
            span = (self._at(start), stripped(self._text, self._at(start), self._at(end), BLANKS))
            lone = bool(self.links) and self.links[-1].span == span and not self._notes
            if lone:
                self.links[-1] = self.links[-1]._replace(kind="inclusion")
            self._emit("ref" if lone else "paragraph", text, start, end)
            return
        item = self._items[-1]
        if item.block < 0:
            item.block = len(self.blocks)
            self._emit("item", text, item.start, end)
            self._parts = [text]
        elif item.block == len(self.blocks) - 1 and self._parts:
            self._parts.append(text)
            self._parts_end = end
        else:
            self._emit("paragraph", text, start, end)

    def _close(self, start: int, end: int) -> None:
        kind = cast(BlockKind, self._leaf)
        text = "".join(self._words)
        self._leaf = ""
        if kind == "code":
            self._emit(kind, text.rstrip("\r\n"), start, end, lang=self._lang or "")
        elif kind == "header":
            title = joined(text)
            if not self._items:
                self.headers.append((title, self._level, self._at(start)))
            self._emit(kind, title, start, end, level=self._level)
        else:
            lines = map(joined, text.split("\n"))
            self._emit(kind, "\n".join(line for line in lines if line), start, end)

    def _emit(self, kind: BlockKind, text: str, start: int, end: int, lang: str = "", level: int = 0) -> None:
        self._flush()
        first, last = self._at(start), self._at(end)
        if kind == "code":
            last = stripped(self._text, first, last, "\r\n")
            first = first if self._lang is not None or self._items else self._line_start(first)
        else:
            last = stripped(self._text, first, last, BLANKS)
            while first < last and self._text[first] in BLANKS:
                first += 1
        self.blocks.append(Block(kind, text, (first, last), len(self.headers), len(self._items), lang, level))

    def _line_start(self, start: int) -> int:
        """Indented code begins with its indentation."""
        least = self.blocks[-1].span[1] if self.blocks else self._body
        first = start
        while first > least and self._text[first - 1] in " \t":
            first -= 1
        return first if first == self._body or self._text[first - 1] in "\r\n" else start

    def _flush(self) -> None:
        if len(self._parts) > 1:
            block = self.blocks[-1]
            end = stripped(self._text, block.span[1], self._at(self._parts_end), BLANKS)
            self.blocks[-1] = block._replace(text="\n".join(self._parts), span=(block.span[0], end))
        self._parts = []
