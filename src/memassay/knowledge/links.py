"""From what a link says to the key of the page it means, and back.

A Markdown target is relative to the folder of its page, or to the root where it begins with ``/``; it is
percent-decoded, loses its ``#fragment`` and a final ``.md``. A wiki target is the end of a key: ``[[notes/ada]]`` means
``people/notes/ada`` where no ``notes/ada`` stands closer to the root. Keys are compared exactly, case included.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Container, Iterable
from typing import Literal, NamedTuple
from urllib.parse import unquote_to_bytes

LinkKind = Literal["inclusion", "reference"]

NOWHERE = (-1, -1)

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://|mailto:", re.IGNORECASE)
# What people attach to notes. A page whose name ends so can still be linked with its ``.md``.
_ATTACHMENT = re.compile(
    r"\.(?:pdf|png|jpe?g|gif|svg|webp|bmp|ico|mp[34]|m4a|wav|ogg|flac|mov|avi|mkv|webm|zip|gz|tgz|tar|7z|csv|tsv|xlsx?|docx?"
    r"|pptx?|odt|ods|epub|html?|css|js|json|ya?ml|toml|xml|txt)\Z",
    re.IGNORECASE,
)
_UNWANTED = re.compile("[\x00\ud800-\udfff]")
_QUOTED = re.compile(r"""[\x00-\x20\x7f"#%&():<>?\[\\\]^`{|}]|\s""")


class Link(NamedTuple):
    """A link to a page, as it stands in a text.

    Attributes:
        target: the destination after Markdown's own escapes, not percent-decoded.
        text: the plain words shown.
        kind: ``inclusion`` for a paragraph that is exactly one link, else ``reference``.
        wiki: written as ``[[target]]``.
        span: the whole link in ``Page.text``, in characters.
        aim: where the target is written, which for ``[text][label]`` is in the definition; ``(-1, -1)`` if unknown.
        words: where the shown words are written, markup included.
    """

    target: str
    text: str
    kind: LinkKind
    wiki: bool
    span: tuple[int, int]
    aim: tuple[int, int] = NOWHERE
    words: tuple[int, int] = NOWHERE


def names_page(target: str, wiki: bool) -> bool:
    """Whether a target can mean a page: no ``scheme:``, no other site, no attachment, no mere ``#fragment``."""
    if (_ADDRESS if wiki else _SCHEME).match(target) or target.startswith("//"):
        return False
    path = _path(target, wiki)
    return bool(path.strip("/. ")) and not _ATTACHMENT.search(path) and not _UNWANTED.search(path)


def tail(key: str) -> str:
    """The last segment of a key, under which wiki links look for it."""
    return key.rpartition("/")[2]


def meant(key: str, known: Container[str]) -> str:
    """The key that a caller means, who may give it with one ``.md`` too many, as in a link.

    A page whose key is given in full (``a.md`` for the file ``a.md.md``) comes first.
    """
    return key if key in known else key.removesuffix(".md")


class Resolver:
    """Finds the keys that links mean.

    Args:
        keys: the pages that exist; :meth:`add` and :meth:`discard` follow changes.
    """

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._keys = set(keys)
        self._tails: dict[str, list[tuple[int, str]]] = {}
        for key in self._keys:
            self._tails.setdefault(tail(key), []).append((key.count("/"), key))
        for found in self._tails.values():
            found.sort()

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def add(self, key: str) -> None:
        """A page came to be."""
        if key not in self._keys:
            self._keys.add(key)
            insort(self._tails.setdefault(tail(key), []), (key.count("/"), key))

    def discard(self, key: str) -> None:
        """A page is gone."""
        if key in self._keys:
            self._keys.discard(key)
            found = self._tails[tail(key)]
            del found[bisect_left(found, (key.count("/"), key))]
            if not found:
                del self._tails[tail(key)]

    def sharing(self, key: str) -> list[str]:
        """The pages whose keys end in the same name, among which wiki links choose; the nearest to the root first."""
        return [other for _, other in self._tails.get(tail(key), ())]

    def resolve(self, page_key: str, link: Link) -> str | None:
        """The key that a link on ``page_key`` means, whether or not such a page exists.

        Returns:
            The key, or None where the target is no page or leaves the root.
        """
        return self.aim(page_key, link.target, link.wiki)

    def aim(self, page_key: str, target: str, wiki: bool) -> str | None:
        """:meth:`resolve` of the target alone."""
        if not names_page(target, wiki):
            return None
        path = _path(target, wiki)
        if wiki and not path.startswith(("/", "./", "../")):
            key = _within("", path)
            return None if key is None else self._ending(key)
        folder = "" if path.startswith("/") else page_key.rpartition("/")[0]
        return _within(folder, path)

    def _ending(self, path: str) -> str:
        suffix = "/" + path
        for _, key in self._tails.get(tail(path), ()):
            if key == path or key.endswith(suffix):
                return key
        return path

    def written(self, page_key: str, link: Link, key: str) -> str:
        """How a link on ``page_key`` must be written to mean ``key``, in the manner in which it is written now.

        A target from the root stays one, a final ``.md`` and a ``#fragment`` stay, a wiki link stays short.
        The result is a target as it reads after Markdown's own escapes, without brackets around it.
        """
        path, mark, fragment = link.target.partition("#")
        if link.wiki:
            return self._wiki(key, path, page_key) + _extension(path.strip(), key) + mark + fragment
        ending = _extension(unquote_path(path), key)
        if path.startswith("/"):
            return quote_path("/" + key + ending) + mark + fragment
        relative = _relative(page_key.rpartition("/")[0], key)
        relative = "./" + relative if path.startswith("./") and not relative.startswith("../") else relative
        return quote_path(relative + ending) + mark + fragment

    def _wiki(self, key: str, path: str, page_key: str) -> str:
        if path.startswith("/"):
            return "/" + key
        if path.startswith(("./", "../")):
            relative = _relative(page_key.rpartition("/")[0], key)
            return relative if relative.startswith("../") else "./" + relative
        parts = key.split("/")
        least = min(len(parts), path.strip("/").count("/") + 1)
        for length in range(least, len(parts) + 1):
            short = "/".join(parts[-length:])
            if self._ending(short) == key:
                return short
        return "/" + key


def carried(page_key: str, link: Link, key: str) -> str:
    """How a link on ``page_key`` that leaves the root is written on the page ``key``, to name the same place."""
    path, mark, fragment = link.target.partition("#")
    if path.startswith("/"):
        return link.target
    above, inside = 0, page_key.split("/")[:-1]
    for part in (path if link.wiki else unquote_path(path)).split("/"):
        if part == ".." and inside:
            inside.pop()
        elif part == "..":
            above += 1
        elif part not in ("", "."):
            inside.append(part)
    if not above or key.count("/") == page_key.count("/"):
        return link.target
    relative = "../" * (key.count("/") + above) + "/".join(inside)
    return (relative if link.wiki else quote_path(relative)) + mark + fragment


def quote_path(path: str) -> str:
    """Percent-encoded where Markdown or an address would read a character as something else; letters stay readable."""
    return _QUOTED.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), path)


def unquote_path(path: str) -> str:
    """Percent-decoded; what does not decode to UTF-8 stays as it is written."""
    if "%" not in path:
        return path
    try:
        return unquote_to_bytes(path).decode("utf-8")
    except UnicodeError:
        return path


def _path(target: str, wiki: bool) -> str:
    path = target.partition("#")[0]
    return " ".join(path.split()) if wiki else unquote_path(path)


def _within(folder: str, path: str) -> str | None:
    """The key at ``path`` seen from a folder, or None if that is outside the root or no page."""
    parts = folder.split("/") if folder else []
    for part in path.removesuffix(".md").split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts) or None


def _extension(path: str, key: str) -> str:
    # Without its .md a key that looks like an attachment, or ends in .md itself, would be read as something else.
    return ".md" if path.endswith(".md") or key.endswith(".md") or _ATTACHMENT.search(key) else ""


def _relative(folder: str, key: str) -> str:
    here, there = folder.split("/") if folder else [], key.split("/")
    shared = 0
    while shared < min(len(here), len(there) - 1) and here[shared] == there[shared]:
        shared += 1
    return "../" * (len(here) - shared) + "/".join(there[shared:])
