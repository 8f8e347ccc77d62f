"""Pages put together along their inclusions: a tree of titles, or one page with the included ones written out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from memassay.knowledge.edits import Edit, applied, retargeted
from memassay.knowledge.fields import Fields, Item
from memassay.knowledge.library import Library, no_page, page_of
from memassay.knowledge.links import Link
from memassay.knowledge.pages import Block, Page

# Deeper than any person reads, and less than what JSON libraries can nest.
DEEPEST = 200

_HASHES = re.compile(r"#{1,6}")
_BREAK = re.compile(r"[ \t]*\r?\n[ \t]*")
_INNERMOST = 6
_NAMES = Fields(["key", "title"])


def tree(
    library: Library, keys: Iterable[str] | None = None, depth: int = 4, fields: Fields | None = None
) -> list[Item]:
    """Pages and what they include, as ``{key, title, children}``, children in the order of the text.

    Args:
        library: the pages.
        keys: the roots; without them, pages with a title that nothing includes, by key. A cycle has no such page.
        depth: levels below a root; 0 has no limit (but 200).
        fields: what is shown of a page beside ``children``; key and title if None.

    A page that stands in the tree already is listed without its children.

    Raises:
        UsageError: a root is no page.
    """
    every = library.keys()
    if keys is None:
        roots = [key for key in every if library.title(key) and not library.graph.into(key, "inclusion")]
    else:
        roots = list(dict.fromkeys(keys))
    for key in roots:
        if key not in library:
            raise no_page(library, key)
    branches = _Branches(library, _NAMES if fields is None else fields, set())
    return [branches.at(key, min(depth or DEEPEST, DEEPEST)) for key in roots]


@dataclass(slots=True)
class _Branches:
    library: Library
    fields: Fields
    seen: set[str]

    def at(self, key: str, depth: int) -> Item:
        """A page with what it includes, as far as that does not stand in the tree already."""
        children: list[Item] = []
        item = self.fields.of(self.library, page_of(self.library, key)) | {"children": children}
        if key not in self.seen and depth > 0:
            self.seen.add(key)
            children += [self.at(child, depth - 1) for child in _children(self.library, key)]
        return item


def _children(library: Library, key: str) -> list[str]:
    page = library.page(key)
    links = page.links if page else ()
    found = (library.resolver.resolve(key, link) for link in links if link.kind == "inclusion")
    return [child for child in dict.fromkeys(found) if child is not None and child in library]


def squash(library: Library, key: str, depth: int = 2) -> str:
    """A page as one text: links on a line of their own give way to the pages they include, headers moved down.

    Args:
        library: the pages.
        key: the page.
        depth: levels of inclusion that are written out; 0 has no limit (but 200).

    Front matter is left out. Every page is written out once; where it comes again, or does not exist, the link stays.
    Links of included pages are rewritten so that they still lead to the same pages.

    Raises:
        UsageError: there is no such page.
    """
    return _Squash(library, key, {key}).text(page_of(library, key), min(depth or DEEPEST, DEEPEST), 0)


@dataclass(slots=True)
class _Squash:
    library: Library
    root: str
    seen: set[str]

    def text(self, page: Page, depth: int, level: int) -> str:
        """The content of a page, its headers ``level`` levels deeper."""
        written: list[Edit] = []
        refs = {block.span: block for block in page.blocks if block.kind == "ref"}
        for link in page.links:
            block = refs.get(link.span)
            inner = None if block is None or depth < 1 else self._included(page, link, block, depth, level)
            if inner is not None:
                written.append(Edit(*link.span, inner))
            elif page.key != self.root:
                written.extend(self._moved(page, link))
        if level:
            headers = [block for block in page.blocks if block.kind == "header" and not block.depth]
            demoted = [edit for block in headers for edit in _demoted(page, block, level)]
            written = [edit for edit in written if not any(edit.meets(other) for other in demoted)] + demoted
        return applied(page.text, written)[page.body :]

    def _included(self, page: Page, link: Link, block: Block, depth: int, level: int) -> str | None:
        key = self.library.resolver.resolve(page.key, link)
        target = None if key is None or key in self.seen else self.library.page(key)
        if target is None:
            return None
        self.seen.add(target.key)
        return self.text(target, depth - 1, level + page.sections[block.section].level).strip("\r\n")

    def _moved(self, page: Page, link: Link) -> list[Edit]:
        resolver = self.library.resolver
        key = resolver.resolve(page.key, link)
        if key is None or resolver.aim(self.root, link.target, link.wiki) == key:
            return []
        return [retargeted(page, link, self.root, key, resolver, alone=True)]


def _demoted(page: Page, block: Block, level: int) -> list[Edit]:
    start, end = block.span
    deeper = "#" * min(block.level + level, _INNERMOST)
    hashes = _HASHES.match(page.text, start)
    if hashes:
        return [Edit(start, hashes.end(), deeper)]
    # An underlined header may have several lines; a header with signs has one.
    last = page.text.rindex("\n", start, end)
    breaks = _BREAK.finditer(page.text, start, last)
    joined = [Edit(found.start(), found.end(), " ") for found in breaks]
    return [Edit(start, start, deeper + " "), *joined, Edit(last, end, "")]
