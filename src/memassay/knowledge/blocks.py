"""Predicates on the parts of a page: its blocks, and the sections, lists and items that hold them.

::

    {$item: "Buy milk"}                         an item that says exactly this (case aside)
    {$paragraph: {$text: milk}}                 a paragraph with these words in it
    {$section: Timeline}                        the section under that header, header included
    {$item: {$matches: "^2024-"}, $within: Timeline}
    {$or: [{$code: true}, {$table: true}], $not: {$references: people/ada}}
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import re2

from memassay.core.errors import UsageError, suggestion
from memassay.knowledge.links import Resolver, meant
from memassay.knowledge.pages import Block, BlockKind, Page

PartKind = BlockKind | Literal["section", "list"]

MOST_CHARS = 20_000
_LONGEST_PATTERN = 1_000
_TYPES: dict[str, PartKind] = {
    "$header": "header",
    "$paragraph": "paragraph",
    "$item": "item",
    "$code": "code",
    "$table": "table",
    "$ref": "ref",
    "$hr": "rule",
    "$html": "html",
    "$quote": "quote",
    "$section": "section",
    "$list": "list",
}
_LOGIC = ("$and", "$or", "$nor", "$not")
_HOLDERS = ("section", "list")
_PATTERNS = re2.Options()
_PATTERNS.log_errors = False  # the error says it all; the engine would print it to standard error too
_MARKER = re.compile(r"[-*+]|[0-9]{1,9}[.)]")


@dataclass(frozen=True, slots=True)
class Part:
    """Something on a page that can be found and changed.

    Attributes:
        kind: of a block, or ``section``, or ``list``.
        text: its own words: of a section its title, of a list none.
        span: the characters that are its own.
        extent: the characters that go with it: of a list item, the blocks inside it.
        section: the innermost section it stands in; of a section, the section itself.
        depth: of list items around it, itself counted.
        lang, level: as of its block.
    """

    kind: PartKind
    text: str
    span: tuple[int, int]
    extent: tuple[int, int]
    section: int
    depth: int = 0
    lang: str = ""
    level: int = 0


class Scene:
    """A page with its parts, in the order of their beginnings, the outer before the inner.

    Attributes:
        parents: for every part the number of the next part around it, or -1.
    """

    def __init__(self, page: Page, resolver: Resolver) -> None:
        self.page, self.resolver = page, resolver
        self.parts: Sequence[Part] = sorted([*_sections(page), *_lists(page), *_blocks(page)], key=_outer_first)
        self.parents: list[int] = []
        around: list[int] = []
        for number, part in enumerate(self.parts):
            while around and self.parts[around[-1]].extent[1] < part.extent[1]:
                around.pop()
            self.parents.append(around[-1] if around else -1)
            around.append(number)
        self._flags: dict[tuple[str, Predicate], list[bool]] = {}
        self._starts = [link.span[0] for link in page.links]
        self._targets = [resolver.resolve(page.key, link) for link in page.links]

    @property
    def line_end(self) -> str:
        """How the lines of the page end: as its first one does."""
        at = self.page.text.find("\n")
        return "\r\n" if at > 0 and self.page.text[at - 1] == "\r" else "\n"

    def inner(self, part: Part) -> list[Part]:
        """The parts directly inside a part."""
        return self._inner.get(part, [])

    def own(self, section: int) -> Part | None:
        """The last block or list of a section that is in none of its deeper sections."""
        return self._own.get(section)

    @cached_property
    def _inner(self) -> dict[Part, list[Part]]:
        found: dict[Part, list[Part]] = {}
        for part, parent in zip(self.parts, self.parents, strict=True):
            if parent >= 0:
                found.setdefault(self.parts[parent], []).append(part)
        return found

    @cached_property
    def _own(self) -> dict[int, Part]:
        loose = (parent < 0 or self.parts[parent].kind == "section" for parent in self.parents)
        return {p.section: p for p, alone in zip(self.parts, loose, strict=True) if alone and p.kind != "section"}

    def find(self, predicate: Predicate) -> list[Part]:
        """The parts that satisfy a predicate."""
        return [part for number, part in enumerate(self.parts) if predicate(self, number)]

    def within(self, predicate: Predicate) -> list[bool]:
        """For every part whether one around it satisfies a predicate."""
        flags = self._flags.get(("within", predicate))
        if flags is None:
            flags = self._flags["within", predicate] = []
            for parent in self.parents:
                flags.append(parent >= 0 and (flags[parent] or predicate(self, parent)))
        return flags

    def containing(self, predicate: Predicate) -> list[bool]:
        """For every part whether one inside it satisfies a predicate."""
        flags = self._flags.get(("containing", predicate))
        if flags is None:
            flags = self._flags["containing", predicate] = [False] * len(self.parts)
            for number in range(len(self.parts) - 1, -1, -1):
                parent = self.parents[number]
                if parent >= 0 and not flags[parent] and (flags[number] or predicate(self, number)):
                    flags[parent] = True
        return flags

    def targets(self, part: Part) -> list[str]:
        """The keys that links among the part's own characters mean."""
        first, last = (bisect_left(self._starts, edge) for edge in part.span)
        return [key for key in self._targets[first:last] if key is not None]


Predicate = Callable[[Scene, int], bool]


def compiled(given: object, where: str, named: bool = False) -> Predicate:
    """A predicate from its mapping.

    Sections and lists are found only by a predicate that names them: ``{$text: milk}`` means the block that says so,
    not the section that holds it.

    Args:
        given: as in the examples above; a bare text means ``{$text: ...}``.
        where: where it stands in the query, for complaints.
        named: sections and lists are meant too.

    Raises:
        UsageError: it has a name, a type or a pattern that means nothing.
    """
    if isinstance(given, str):
        given = {"$text": given}
    if not isinstance(given, Mapping) or not given:
        raise UsageError(f"{where}: a block predicate is a mapping such as {{$item: milk}}, not {given!r}.")
    named = named or "$section" in given or "$list" in given
    tests = [_test(name, value, f"{where}.{name}", named) for name, value in given.items()]
    return lambda scene, number: all(test(scene, number) for test in tests)


def pattern(given: object, where: str) -> Any:
    """A regular expression of a query, with the methods of ``re.Pattern``.

    The engine is RE2, which takes time in proportion to the text whatever the pattern: with Python's, one client of a
    server could hold up all others for good.

    Raises:
        UsageError: it is none, or has more than 1,000 characters.
    """
    if not isinstance(given, str) or len(given) > _LONGEST_PATTERN:
        raise UsageError(f"{where}: a pattern is a text of at most {_LONGEST_PATTERN:,} characters.")
    try:
        return re2.compile(given, _PATTERNS)
    except (re2.error, UnicodeEncodeError) as error:
        raise UsageError(
            f"{where}: {given!r} is not a regular expression that can be used ({_reason(error)}); RE2 knows no "
            "look-around and no back-references."
        ) from None


def _reason(error: Exception) -> str:
    said = error.args[0] if error.args else error
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)


def _test(name: object, value: object, where: str, named: bool) -> Predicate:
    if name in _TYPES:
        return _typed(_TYPES[str(name)], value, where)
    if name in _LOGIC:
        return _logic(str(name), value, where, named)
    make = _OWN.get(str(name))
    if make is None:
        raise UsageError(f"{where}: a block predicate knows no {name!r}.{suggestion(str(name), _NAMES)}")
    own = make(value, where)
    return lambda scene, number: _meant(scene, number, named) and own(scene, number)


def _logic(name: str, value: object, where: str, named: bool) -> Predicate:
    if name == "$not":
        negated = compiled(value, where, named=True)
        return lambda scene, number: _meant(scene, number, named) and not negated(scene, number)
    if not isinstance(value, list) or not value:
        raise UsageError(f"{where} takes a list of block predicates.")
    every = [compiled(one, f"{where}[{place}]", named or name == "$nor") for place, one in enumerate(value)]
    if name == "$and":
        return lambda scene, number: all(one(scene, number) for one in every)
    if name == "$or":
        return lambda scene, number: any(one(scene, number) for one in every)
    return lambda scene, number: _meant(scene, number, named) and not any(one(scene, number) for one in every)


def _meant(scene: Scene, number: int, named: bool) -> bool:
    return named or scene.parts[number].kind not in _HOLDERS


def _typed(kind: PartKind, value: object, where: str) -> Predicate:
    if value is True or value == {} or value is None:
        return lambda scene, number: scene.parts[number].kind == kind
    if isinstance(value, str):
        own = _words(value)
        return lambda scene, number: scene.parts[number].kind == kind and _words(scene.parts[number].text) == own
    inner = compiled(value, where, named=True)
    return lambda scene, number: scene.parts[number].kind == kind and inner(scene, number)


def _text(value: object, where: str) -> Predicate:
    if isinstance(value, str) and value.strip():
        part = _words(value)
        return lambda scene, number: part in _words(scene.parts[number].text)
    if isinstance(value, Mapping) and set(value) == {"$eq"} and isinstance(value["$eq"], str):
        own = _words(value["$eq"])
        return lambda scene, number: _words(scene.parts[number].text) == own
    raise UsageError(f"{where} takes a text, or {{$eq: text}}, not {value!r}.")


def _matches(value: object, where: str) -> Predicate:
    wanted = pattern(value, where)
    return lambda scene, number: wanted.search(scene.parts[number].text[:MOST_CHARS]) is not None


def _within(value: object, where: str) -> Predicate:
    around = _typed("section", value, where) if isinstance(value, str) else compiled(value, where)
    return lambda scene, number: scene.within(around)[number]


def _contains(value: object, where: str) -> Predicate:
    inside = compiled(value, where)
    return lambda scene, number: scene.containing(inside)[number]


def _references(value: object, where: str) -> Predicate:
    if value is True:
        return lambda scene, number: bool(scene.targets(scene.parts[number]))
    if not isinstance(value, str):
        raise UsageError(f"{where} takes the key of a page, or true, not {value!r}.")
    return lambda scene, number: meant(value, scene.resolver) in scene.targets(scene.parts[number])


def _lang(value: object, where: str) -> Predicate:
    return lambda scene, number: scene.parts[number].lang == value


def _level(value: object, where: str) -> Predicate:
    return lambda scene, number: scene.parts[number].level == value


_OWN: Mapping[str, Callable[[object, str], Predicate]] = {
    "$text": _text,
    "$matches": _matches,
    "$lang": _lang,
    "$level": _level,
    "$within": _within,
    "$contains": _contains,
    "$references": _references,
}
_NAMES = (*_TYPES, *_OWN, *_LOGIC)


def _words(text: str) -> str:
    return " ".join(text.split()).casefold()


def _outer_first(part: Part) -> tuple[int, int, int]:
    rank = 0 if part.kind == "section" else 1 if part.kind == "list" else 2
    return part.extent[0], -part.extent[1], rank


def marker(text: str, start: int) -> str:
    """The list marker that stands at an offset, ``-`` if none does."""
    found = _MARKER.match(text, start)
    return found[0] if found else "-"


def _sections(page: Page) -> list[Part]:
    made = []
    for number, section in enumerate(page.sections[1:], 1):
        end = section.span[0] + len(page.text[slice(*section.span)].rstrip(" \t\r\n"))
        span = (section.span[0], end)
        made.append(Part("section", section.title, span, span, number, level=section.level))
    return made


def _blocks(page: Page) -> list[Part]:
    ends = [block.span[1] for block in page.blocks]
    opened: list[int] = []
    last = 0
    for number, block in enumerate(page.blocks):
        while opened and _left(page.blocks[opened[-1]], block):
            ends[opened.pop()] = last
        if block.kind == "item":
            opened.append(number)
        last = block.span[1]
    for number in opened:
        ends[number] = last
    return [
        Part(b.kind, b.text, b.span, (b.span[0], end), b.section, b.depth, b.lang, b.level)
        for b, end in zip(page.blocks, ends, strict=True)
    ]


def _left(item: Block, block: Block) -> bool:
    """Whether a later block is no longer inside an item."""
    return block.depth < item.depth or (block.depth == item.depth and block.kind == "item")


def _lists(page: Page) -> list[Part]:
    made: list[Part] = []
    opened: list[Block] = []  # the first item of the list at every depth
    last = 0

    def close(depth: int) -> None:
        while len(opened) > depth:
            first = opened.pop()
            span = (first.span[0], last)
            made.append(Part("list", "", span, span, first.section, first.depth - 1))

    for block in page.blocks:
        close(block.depth)
        if block.kind == "item":
            # Another bullet, or another sign after the number, begins another list.
            if len(opened) == block.depth and not _same_sign(page.text, opened[-1], block):
                close(block.depth - 1)
            if len(opened) < block.depth:
                opened.append(block)
        last = block.span[1]
    close(0)
    return made


def _same_sign(text: str, first: Block, item: Block) -> bool:
    return marker(text, first.span[0])[-1] == marker(text, item.span[0])[-1]
