"""Mechanical title links: where one page names another, the words become a link. No model, no list of aliases.

A page is named by its full title, and by the part of the title before `` (`` if that is rare: if it stands in at most
eight other pages. Names are looked for as they are written, between characters that are no letters or digits. Each name
is linked once on a page, at its first place; where names overlap, the one that starts first wins, then the longer. A
page's own name takes its place without a link. Nothing is tried again: a name whose first place is taken stays plain.

The rules are those of the published memory study on HotPotQA; what follows from them is in docs/suites/hotpotqa.md.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ahocorasick_rs import AhoCorasick

from memassay.core.errors import DataError
from memassay.suites.hotpotqa.letters import alphanumeric

RARE = 8
"""Most other pages that may hold the part of a title before its parenthesis."""

_LINK = re.compile(r"\]\(([^()\s]+)\.md\)")


@dataclass(frozen=True, slots=True)
class Plain:
    """A page before linking."""

    key: str
    title: str
    body: str


@dataclass(frozen=True, slots=True)
class Linked:
    """A body with its links, written ``[words](key.md)``, and the keys they lead to, in order, one per link."""

    body: str
    targets: tuple[str, ...]


Found = tuple[int, int, int]
"""Number of a name, where it starts, where it ends."""


def link(pages: Sequence[Plain]) -> list[Linked]:
    """Link pages to one another, in their order.

    Args:
        pages: titles and keys each once; bodies without links to one of the keys.

    Raises:
        DataError: a body has such a link already. Linking what is linked would link second places.
    """
    pages = list(pages)
    keys = {page.key for page in pages}
    for page in pages:
        if "](" in page.body and any(found in keys for found in _LINK.findall(page.body)):
            raise DataError(f"The page {page.title!r} has title links already; link the plain pages.")
    by_title = sorted(pages, key=lambda page: page.title)
    full = {page.title: page.key for page in by_title}
    shorter = [(short, page) for page in by_title if (short := stripped(page.title)) and short not in full]
    names = list(dict.fromkeys([*full, *(short for short, _ in shorter)]))
    if not names:
        return []
    finder = AhoCorasick(names)
    found = [_first_places(finder, page.body) for page in pages]

    on_pages = Counter(name for places in found for name, _, _ in places)
    on_own = {page.key: {name for name, _, _ in places} for page, places in zip(pages, found, strict=True)}
    number = {name: i for i, name in enumerate(names)}
    targets: list[str | None] = [full.get(name) for name in names]
    for short, page in shorter:
        at = number[short]
        if targets[at] is None and on_pages[at] - (at in on_own[page.key]) <= RARE:
            targets[at] = page.key
    return [_written(page, places, targets) for page, places in zip(pages, found, strict=True)]


def stripped(title: str) -> str:
    """The part of a title before its first `` (``, or "" where that is no name (nothing, or a single byte)."""
    short, found, _ = title.partition(" (")
    return short if found and len(short.encode()) >= 2 else ""


def _first_places(finder: AhoCorasick, body: str) -> list[Found]:
    """The first place of each name as words of its own, in the order of their ends."""
    places: list[Found] = []
    seen: set[int] = set()
    size = len(body)
    for found in finder.find_matches_as_indexes(body, overlapping=True):
        name, start, end = found
        if name in seen:
            continue
        if (start and alphanumeric(body[start - 1])) or (end < size and alphanumeric(body[end])):
            continue
        seen.add(name)
        places.append(found)
    return places


def _written(page: Plain, places: Sequence[Found], targets: Sequence[str | None]) -> Linked:
    pieces: list[str] = []
    made: list[str] = []
    free = 0
    copied = 0
    for name, start, end in sorted(places, key=lambda found: (found[1], -found[2])):
        key = targets[name]
        if key is None or start < free:
            continue
        free = end
        if key != page.key:
            pieces += [page.body[copied:start], f"[{page.body[start:end]}]({key}.md)"]
            copied = end
            made.append(key)
    return Linked("".join([*pieces, page.body[copied:]]), tuple(made))
