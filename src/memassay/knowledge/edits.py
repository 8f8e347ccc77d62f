"""Edits of a text by place, and the edits that keep links right when pages move or go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memassay.core.errors import UsageError
from memassay.knowledge import frontmatter
from memassay.knowledge.folder import Change, checked
from memassay.knowledge.library import Library, no_page, page_of
from memassay.knowledge.links import NOWHERE, Link, Resolver, carried
from memassay.knowledge.pages import Page

__all__ = ["Change", "Edit", "applied", "cut", "deleted", "renamed", "retargeted", "unlinked"]


@dataclass(frozen=True, slots=True)
class Edit:
    """``text`` in the place of the characters from ``start`` to ``end``."""

    start: int
    end: int
    text: str

    def meets(self, other: Edit) -> bool:
        """Whether both replace a same character."""
        return self.start < other.end and other.start < self.end


def applied(text: str, edits: Iterable[Edit]) -> str:
    """The text after edits that do not meet; all other characters are the same. Equal edits count once.

    Edits that only take something out may meet: what any of them names goes.

    Raises:
        ValueError: two edits replace a same character.
    """
    pieces: list[str] = []
    at = 0
    last = ""
    for edit in sorted(dict.fromkeys(edits), key=lambda edit: (edit.start, edit.end)):
        if edit.start < at and (edit.text or last):
            raise ValueError(f"two edits of one text meet at character {edit.start}")
        pieces += [text[at : edit.start], edit.text]
        at, last = max(at, edit.end), edit.text
    pieces.append(text[at:])
    return "".join(pieces)


def renamed(library: Library, old: str, new: str) -> list[Change]:
    """Give a page another key and keep every link right, those on the page itself included.

    Returns:
        The changes by key. Only links that would mean something else afterwards are written anew.

    Raises:
        UsageError: there is no such page, or the new key is taken or cannot be one.
    """
    page = page_of(library, old)
    if checked(new) in library and new != old:
        raise UsageError(f"The page {new!r} exists already; choose another key.")
    if new == old:
        return []
    resolver = Resolver(library.keys())
    resolver.discard(old)
    resolver.add(new)
    found = [
        Change(new, None, _kept(library, page, new, {old: new}, resolver), moved=old),
        Change(old, page.text, None),
    ]
    for source in _touched(library, old, new):
        other = page_of(library, source)
        text = _kept(library, other, source, {old: new}, resolver)
        if text != other.text:
            found.append(Change(source, other.text, text))
    return sorted(found, key=lambda change: change.key)


def deleted(library: Library, keys: Sequence[str]) -> list[Change]:
    """Take pages away; what links to them loses the link and keeps its words, and a line that was only the link goes.

    Raises:
        UsageError: one of the keys is no page.
    """
    gone = set(keys)
    found = []
    for key in sorted(gone):
        if key not in library:
            raise no_page(library, key)
        found.append(Change(key, page_of(library, key).text, None))
    sources = {source for key in gone for source in library.graph.into(key)} - gone
    for source in sorted(sources):
        page = page_of(library, source)
        edits = [
            cut(page.text, link.span) if link.kind == "inclusion" else unlinked(page, link)
            for link in page.links
            if library.resolver.resolve(source, link) in gone
        ]
        found.append(Change(source, page.text, _below_its_head(page, applied(page.text, edits))))
    return sorted(found, key=lambda change: change.key)


def _below_its_head(page: Page, text: str) -> str:
    """The new text of a page; a blank line keeps a rule that came to stand first from opening front matter."""
    front, body, _ = frontmatter.read(text)
    return text if (front, body) == (page.front, page.body) else f"\n{text}"


def _touched(library: Library, old: str, new: str) -> list[str]:
    """Pages with a link to the page, or with a wiki link whose ending could now mean another page."""
    near = {old, *library.resolver.sharing(old), *library.resolver.sharing(new)}
    return sorted({source for key in near for source in library.graph.into(key)} - {old})


def _kept(library: Library, page: Page, key: str, moves: dict[str, str], resolver: Resolver) -> str:
    """The text of a page, at its new key, with every link to a page that exists meaning what it meant."""
    edits = []
    for link in page.links:
        meant = library.resolver.resolve(page.key, link)
        if meant is None:
            target = carried(page.key, link, key)
            if target != link.target and link.aim != NOWHERE:
                edits.append(Edit(*link.aim, target))
            continue
        if meant not in library and not _moved_text(page, key, link):
            continue
        wanted = moves.get(meant, meant)
        if resolver.resolve(key, link) != wanted:
            edits.append(retargeted(page, link, key, wanted, resolver))
    return applied(page.text, edits)


def _moved_text(page: Page, key: str, link: Link) -> bool:
    # A relative link to no page yet still names a place; from another folder it would name another one.
    return page.key != key and (not link.wiki or link.target.startswith(("./", "../")))


def retargeted(page: Page, link: Link, key: str, wanted: str, resolver: Resolver, *, alone: bool = False) -> Edit:
    """The edit that makes a link mean ``wanted`` when its text stands on the page ``key``.

    Args:
        page: where the link stands now.
        link: the link.
        key: the page on which the text will stand.
        wanted: the key to mean.
        resolver: what links will mean.
        alone: the link's definition will not be there, so one that has a definition is written out.
    """
    target = resolver.written(key, link, wanted)
    apart = link.aim != NOWHERE and not (link.span[0] <= link.aim[0] < link.span[1])
    fits = resolver.aim(key, target, link.wiki) == wanted and not (link.wiki and any(c in target for c in "[]|\n"))
    if link.aim != NOWHERE and fits and not (alone and apart):
        return Edit(*link.aim, target)
    if link.wiki:
        fragment = "".join(link.target.partition("#")[1:])
        target = resolver.written(key, link._replace(target=f"page{fragment}", wiki=False), wanted)
    return Edit(*link.span, f"[{_words(page, link)}]({target})")


def unlinked(page: Page, link: Link) -> Edit:
    """The edit that leaves the words of a link as they are written."""
    words = _words(page, link)
    if words.endswith("!") and page.text.startswith("[", link.span[1]):
        words = f"{words[:-1]}\\!"  # or the link that follows would become an image
    return Edit(*link.span, words)


def _words(page: Page, link: Link) -> str:
    return page.text[slice(*link.words)] if link.words != NOWHERE else link.text


def cut(text: str, span: tuple[int, int], *, apart: bool = True) -> Edit:
    """The edit that takes a block out with its lines, and with a blank line if there is one on both sides.

    Args:
        text: the text.
        span: the block.
        apart: what stands before and after must not become one, so a blank line stays if there was none.
    """
    start, end = span
    line = text.rfind("\n", 0, start) + 1
    if text[line:start].strip():
        return Edit(start, end, "")  # something else stands before it in the same line
    following = text.find("\n", end)
    following = len(text) if following < 0 else following + 1
    if text[end:following].strip():
        return Edit(start, end, "")
    before, after = _blank_before(text, line), _blank_after(text, following)
    if before and following == len(text):
        return Edit(text.rfind("\n", 0, max(line - 1, 0)) + 1, following, "")
    if before and after:
        return Edit(line, text.find("\n", following) + 1 or len(text), "")
    kept = apart and not before and not after
    return Edit(line, following, text[end:following].lstrip(" \t") if kept else "")


def _blank_before(text: str, at: int) -> bool:
    """Whether nothing or a blank line stands before a line."""
    return not text[text.rfind("\n", 0, max(at - 1, 0)) + 1 : at].strip()


def _blank_after(text: str, at: int) -> bool:
    end = text.find("\n", at)
    return not text[at : len(text) if end < 0 else end].strip()
