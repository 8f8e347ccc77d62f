"""The pages of a snapshot as a :class:`~memassay.knowledge.library.Library`, for views and queries."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from memassay.knowledge.links import LinkKind, Resolver
from memassay.knowledge.pages import Page, parse
from memassay.knowledge.postings import INCLUSION
from memassay.knowledge.snapshot import Snapshot

# Parsed pages that are kept, some 10 MB.
_KEPT = 1_000


class Holdings:
    """A snapshot that hands out parsed pages. Threads may share it.

    Args:
        snapshot: the index at one moment.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._pages: dict[str, Page] = {}

    @property
    def graph(self) -> Holdings:
        """The links between the pages (:class:`~memassay.knowledge.graph.Edges`)."""
        return self

    @cached_property
    def resolver(self) -> Resolver:
        """What links mean."""
        return Resolver(self._keys)

    def keys(self) -> Sequence[str]:
        """Every key, sorted."""
        return self._keys

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.snapshot.find(key) >= 0

    def page(self, key: str) -> Page | None:
        """The page, or None if there is none."""
        found = self._pages.get(key)
        if found is None:
            number = self.snapshot.find(key)
            if number < 0:
                return None
            found = parse(key, self.snapshot.stored(number).text)
            if len(self._pages) >= _KEPT:
                self._pages.clear()
            self._pages[key] = found
        return found

    def title(self, key: str) -> str | None:
        """The title of a page; None for a page without one, and for no page."""
        number = self.snapshot.find(key)
        return None if number < 0 else self.snapshot.stored(number).title

    def out(self, key: str, kind: LinkKind | None = None) -> list[str]:
        """The keys that a page links to, sorted, each once, dangling ones included."""
        number = self.snapshot.find(key)
        found = self.snapshot.targets(number) if number >= 0 else []
        return sorted({target for target, how in found if kind in (None, _named(how))})

    def into(self, key: str, kind: LinkKind | None = None) -> list[str]:
        """The pages that link to a key, sorted, each once."""
        found = self.snapshot.sources(key)
        return sorted({source for source, how in found if kind in (None, _named(how))})

    @cached_property
    def _keys(self) -> list[str]:
        return self.snapshot.keys()


def _named(kind: int) -> LinkKind:
    return "inclusion" if kind == INCLUSION else "reference"
