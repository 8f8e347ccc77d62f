"""A page as a JSON object: the fields of a result, the usual ones or those asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memassay.core.errors import UsageError, suggestion
from memassay.knowledge.blocks import MOST_CHARS, Scene, compiled, pattern
from memassay.knowledge.frontmatter import value_of
from memassay.knowledge.library import Library
from memassay.knowledge.links import LinkKind
from memassay.knowledge.pages import Page

Item = dict[str, Any]
Field = Callable[[Library, Page], Any]

_ABSENT = object()
_MOST_MATCHES = 100
# Names that tools keep for themselves; they are not shown unless asked for.
_HIDDEN = ("_", "$", ".", "#", "@")


def title_of(library: Library, key: str) -> str:
    """The title of a page; the key where it has none."""
    return library.title(key) or key


def outward(library: Library, key: str, kind: LinkKind) -> list[Item]:
    """The pages that a page links to, each once, by key, with the titles of the sections where it does so first."""
    places = _places(library, key, kind)
    return [_edge(library, other, places.get(other, [])) for other in library.graph.out(key, kind)]


def inward(library: Library, key: str, kind: LinkKind) -> list[Item]:
    """The pages that link to a page, each once, by key, with the titles of their sections where they do so first."""
    return [
        _edge(library, other, _places(library, other, kind, key).get(key, []))
        for other in library.graph.into(key, kind)
    ]


def _edge(library: Library, key: str, path: list[str]) -> Item:
    return {"key": key, "title": title_of(library, key), "sectionPath": path}


def _places(library: Library, source: str, kind: LinkKind, wanted: str | None = None) -> dict[str, list[str]]:
    """Section titles around the first link to every target of a page, or to the one that is wanted."""
    page = library.page(source)
    found: dict[str, list[str]] = {}
    for link in page.links if page else ():
        target = library.resolver.resolve(source, link) if link.kind == kind else None
        if page and target is not None and target not in found and wanted in (None, target):
            found[target] = page.path(page.section_at(link.span[0]))
            if wanted is not None:
                break
    return found


_COMPUTED: Mapping[str, Field] = {
    "key": lambda library, page: page.key,
    "title": lambda library, page: page.name,
    "content": lambda library, page: page.content,
    "references": lambda library, page: outward(library, page.key, "reference"),
    "includes": lambda library, page: outward(library, page.key, "inclusion"),
    "referencedBy": lambda library, page: inward(library, page.key, "reference"),
    "includedBy": lambda library, page: inward(library, page.key, "inclusion"),
}
_USUAL = ("key", "title", "references", "includes", "referencedBy", "includedBy")


class Fields:
    """Which fields a result has.

    Args:
        project: the fields instead of the usual ones: a list of names, or a mapping from a name to what it shows.
        add: fields beside the usual ones, in the same form; not together with ``project``.

    A name is one of ``key title content references includes referencedBy includedBy``, else a field of the front
    matter (``author.name`` reaches into a mapping). What a name shows is ``true`` or 1 (itself), ``$key`` and so on,
    the path of a front matter field, ``{$blocks: PREDICATE}`` (the parts of the page that satisfy it) or
    ``{$matches: PATTERN}`` (what the pattern finds in the content).

    Raises:
        UsageError: both are given, or one of them names what there is not.
    """

    def __init__(self, project: object = None, add: object = None) -> None:
        if project is not None and add is not None:
            raise UsageError(
                "project says which fields there are and addFields adds to the usual ones; give one of them."
            )
        self._usual = project is None
        given, where = (project, "project") if add is None else (add, "addFields")
        self._named = [] if given is None else _named(given, where)

    def of(self, library: Library, page: Page) -> Item:
        """The fields of a page; a field that it does not have is left out."""
        item: Item = {name: _COMPUTED[name](library, page) for name in _USUAL} if self._usual else {}
        if self._usual:
            item |= {n: v for n, v in page.front.items() if n not in _COMPUTED and not n.startswith(_HIDDEN)}
        for name, field in self._named:
            value = field(library, page)
            if value is not _ABSENT:
                item[name] = value
        return item


def _named(given: object, where: str) -> list[tuple[str, Field]]:
    if isinstance(given, str):
        given = [name.strip() for name in given.split(",")]
    if isinstance(given, Mapping):
        return [(str(name), _field(str(name), shown, f"{where}.{name}")) for name, shown in given.items()]
    if isinstance(given, list | tuple) and all(isinstance(name, str) and name for name in given):
        return [(name.removeprefix("$"), _source(name, where)) for name in given]
    raise UsageError(f"{where} is a list of names or a mapping from names to what they show, not {given!r}.")


def _field(name: str, shown: object, where: str) -> Field:
    if shown is True or shown == 1:
        return _source(name, where)
    if isinstance(shown, str) and shown:
        return _source(shown, where) if shown.startswith("$") else _front(shown)
    if isinstance(shown, Mapping) and set(shown) == {"$blocks"}:
        return _blocks(shown["$blocks"], f"{where}.$blocks")
    if isinstance(shown, Mapping) and set(shown) == {"$matches"}:
        return _matches(shown["$matches"], f"{where}.$matches")
    raise UsageError(f"{where} shows true, a name, {{$blocks: ...}} or {{$matches: ...}}, not {shown!r}.")


def _source(name: str, where: str) -> Field:
    computed = _COMPUTED.get(name.removeprefix("$"))
    if computed is not None:
        return computed
    if name.startswith("$"):
        raise UsageError(f"{where} knows no {name!r}.{suggestion(name, ['$' + known for known in _COMPUTED])}")
    return _front(name)


def _front(name: str) -> Field:
    return lambda library, page: value_of(page.front, name, _ABSENT)


def _blocks(given: object, where: str) -> Field:
    predicate = compiled(given, where)

    def field(library: Library, page: Page) -> Sequence[Item]:
        found = Scene(page, library.resolver).find(predicate)
        return [
            {
                "type": part.kind,
                "text": part.text,
                "sectionPath": page.path(part.section),
                "content": page.text[slice(*part.extent)],
            }
            for part in found
        ]

    return field


def _matches(given: object, where: str) -> Field:
    wanted = pattern(given, where)

    def field(library: Library, page: Page) -> Sequence[str]:
        found: list[str] = []
        for line in page.content.splitlines():
            found += [match[0] for match in wanted.finditer(line[:MOST_CHARS]) if match[0]]
            if len(found) >= _MOST_MATCHES:
                break
        return found[:_MOST_MATCHES]

    return field
