"""What views and queries need of a set of pages, and the simplest thing that has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from memassay.core.errors import UsageError, suggestion
from memassay.knowledge.graph import Edge, Edges, Graph
from memassay.knowledge.links import Resolver, tail
from memassay.knowledge.pages import Page, parse

_COMPARED = 5_000


class Library(Protocol):
    """A set of pages as it stands at one moment.

    Attributes:
        graph: the links between the pages, dangling ones included.
        resolver: what the links mean.
    """

    @property
    def graph(self) -> Edges: ...

    @property
    def resolver(self) -> Resolver: ...

    def keys(self) -> Sequence[str]:
        """Every key, sorted."""
        ...

    def __contains__(self, key: object) -> bool: ...

    def page(self, key: str) -> Page | None:
        """The page, or None if there is none. Asking twice for the same page should cost little."""
        ...

    def title(self, key: str) -> str | None:
        """The title of a page; None for a page without one, and for no page."""
        ...


class Shelf:
    """Pages in memory, from their texts."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._pages = {key: parse(key, text) for key, text in sorted(texts.items())}
        self.resolver = Resolver(self._pages)
        self.graph = Graph({key: edges(page, self.resolver) for key, page in self._pages.items()})

    def keys(self) -> Sequence[str]:
        return list(self._pages)

    def __contains__(self, key: object) -> bool:
        return key in self._pages

    def page(self, key: str) -> Page | None:
        return self._pages.get(key)

    def title(self, key: str) -> str | None:
        page = self._pages.get(key)
        return None if page is None else page.title


def edges(page: Page, resolver: Resolver) -> list[Edge]:
    """The edges that the links of a page make, in the order of its text."""
    found = ((resolver.resolve(page.key, link), link.kind) for link in page.links)
    return [(target, kind) for target, kind in found if target is not None]


def page_of(library: Library, key: str) -> Page:
    """The page of a key.

    Raises:
        UsageError: there is none, with the keys that come near.
    """
    page = library.page(key)
    if page is None:
        raise no_page(library, key)
    return page


def no_page(library: Library, key: str) -> UsageError:
    """The error for a key without a page."""
    keys = library.keys()
    if len(keys) > _COMPARED:
        wanted = tail(key).casefold()
        keys = [other for other in keys if tail(other).casefold() == wanted]
    return UsageError(f"There is no page {key!r}.{suggestion(key, keys[:_COMPARED]) if keys else ''}")
