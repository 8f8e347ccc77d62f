"""Which page links to which, in both directions, and what lies within some steps of a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from memassay.knowledge.links import LinkKind

Edge = tuple[str, LinkKind]


class Graph:
    """Edges between keys. A target need not be a page: it is *dangling* then.

    Args:
        edges: for every page its targets and the kinds of link, in any order, repetitions allowed.
    """

    def __init__(self, edges: Mapping[str, Iterable[Edge]] | None = None) -> None:
        self._out: dict[LinkKind, dict[str, list[str]]] = {"inclusion": {}, "reference": {}}
        self._into: dict[LinkKind, dict[str, dict[str, None]]] = {"inclusion": {}, "reference": {}}
        self._pages: set[str] = set()
        for key, targets in (edges or {}).items():
            self.put(key, targets)

    def put(self, key: str, targets: Iterable[Edge]) -> None:
        """A page came to be or changed: these are its edges now."""
        self.drop(key)
        self._pages.add(key)
        for target, kind in sorted(set(targets)):
            self._out[kind].setdefault(key, []).append(target)
            self._into[kind].setdefault(target, {})[key] = None

    def drop(self, key: str) -> None:
        """A page is gone; edges to it stay, dangling."""
        self._pages.discard(key)
        for kind, out in self._out.items():
            for target in out.pop(key, ()):
                sources = self._into[kind][target]
                del sources[key]
                if not sources:
                    del self._into[kind][target]

    def out(self, key: str, kind: LinkKind | None = None) -> list[str]:
        """The keys that a page links to, sorted, each once."""
        if kind is not None:
            return list(self._out[kind].get(key, ()))
        return sorted({*self._out["inclusion"].get(key, ()), *self._out["reference"].get(key, ())})

    def into(self, key: str, kind: LinkKind | None = None) -> list[str]:
        """The pages that link to a key, sorted, each once."""
        if kind is not None:
            return sorted(self._into[kind].get(key, ()))
        return sorted({*self._into["inclusion"].get(key, ()), *self._into["reference"].get(key, ())})

    def dangling(self) -> list[str]:
        """Targets that are no page, sorted."""
        targets = {target for into in self._into.values() for target in into}
        return sorted(targets - self._pages)

    def expand(
        self,
        key: str,
        *,
        includes: int | None = None,
        included_by: int | None = None,
        references: int | None = None,
        referenced_by: int | None = None,
    ) -> list[tuple[str, int]]:
        """What lies around a page; see :func:`expand`."""
        return expand(
            self,
            key,
            includes=includes,
            included_by=included_by,
            references=references,
            referenced_by=referenced_by,
        )


class Edges(Protocol):
    """What can be asked of links, whoever keeps them."""

    def out(self, key: str, kind: LinkKind | None = None) -> Sequence[str]: ...

    def into(self, key: str, kind: LinkKind | None = None) -> Sequence[str]: ...


def expand(
    edges: Edges,
    key: str,
    *,
    includes: int | None = None,
    included_by: int | None = None,
    references: int | None = None,
    referenced_by: int | None = None,
) -> list[tuple[str, int]]:
    """The keys around a page, without itself, with their distances, sorted by distance and key.

    Each relation is walked on its own to its depth: None is off, 0 has no limit. A key found by more than one has the
    least of its distances. Cycles end by themselves, and dangling targets are found too.
    """
    found: dict[str, int] = {}
    walks: tuple[tuple[int | None, LinkKind, bool], ...] = (
        (includes, "inclusion", True),
        (included_by, "inclusion", False),
        (references, "reference", True),
        (referenced_by, "reference", False),
    )
    for depth, kind, forward in walks:
        if depth is None:
            continue
        for other, distance in _walk(edges, key, kind, forward, depth).items():
            found[other] = min(distance, found.get(other, distance))
    return sorted(found.items(), key=lambda pair: (pair[1], pair[0]))


def _walk(edges: Edges, key: str, kind: LinkKind, forward: bool, depth: int) -> dict[str, int]:
    seen = {key: 0}
    border = [key]
    distance = 0
    while border and (depth == 0 or distance < depth):
        distance += 1
        reached: list[str] = []
        for at in border:
            for other in edges.out(at, kind) if forward else edges.into(at, kind):
                if other not in seen:
                    seen[other] = distance
                    reached.append(other)
        border = reached
    del seen[key]
    return seen
