"""Which pages are looked at: by what includes them, by what they link to, by the words of their key and title."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from memassay.core.errors import UsageError
from memassay.knowledge.graph import expand
from memassay.knowledge.library import Library, no_page
from memassay.knowledge.links import meant

Rank = Callable[[str], Sequence[str]]
Condition = Callable[[Library], Callable[[str], bool]]

_FUSION = 60


@dataclass(frozen=True, slots=True)
class Around:
    """A page and how deep its inclusions are followed; 0 has no limit."""

    key: str
    depth: int = 0

    @classmethod
    def read(cls, given: object) -> Around:
        """``"key"`` or ``{"key": ..., "depth": ...}``.

        Raises:
            UsageError: it is neither.
        """
        if isinstance(given, str):
            return cls(given)
        if isinstance(given, dict) and set(given) <= {"key", "depth"} and isinstance(given.get("key"), str):
            return cls(given["key"], whole(given.get("depth", 0), "depth"))
        raise UsageError(f"A selector holds keys or {{key, depth}}, not {given!r}.")


@dataclass(frozen=True, slots=True)
class Selector:
    """Pages below others: below every page of ``inside``, below one of ``inside_any``, below none of ``outside``.

    ``condition`` is what else they must meet: a filter (:mod:`memassay.knowledge.filters`), or None.
    """

    inside: tuple[Around, ...] = ()
    inside_any: tuple[Around, ...] = ()
    outside: tuple[Around, ...] = ()
    condition: Condition | None = None

    @classmethod
    def read(
        cls,
        inside: Iterable[object] = (),
        any_of: Iterable[object] = (),
        outside: Iterable[object] = (),
        condition: Condition | None = None,
    ) -> Selector:
        """From the lists of a tool call (``in``, ``in_any``, ``not_in``) and a filter."""
        below, any_below, not_below = (
            tuple(Around.read(given) for given in listed) for listed in (inside, any_of, outside)
        )
        return cls(below, any_below, not_below, condition)

    def keys(self, library: Library, within: Iterable[str] | None = None) -> list[str]:
        """The selected keys, sorted.

        Raises:
            UsageError: a key of the selector is no page.
        """
        chosen = set(library.keys() if within is None else within)
        for around in self.inside:
            chosen &= below(library, around)
        if self.inside_any:
            chosen &= {key for around in self.inside_any for key in below(library, around)}
        for around in self.outside:
            chosen -= below(library, around)
        if self.condition is not None:
            chosen = set(filter(self.condition(library), chosen))
        return sorted(chosen)


def below(library: Library, around: Around) -> set[str]:
    """Everything that a page includes, directly or through others, without itself.

    Raises:
        UsageError: there is no such page.
    """
    top = meant(around.key, library)
    if top not in library:
        raise no_page(library, top)
    return {key for key, _ in expand(library.graph, top, includes=around.depth)}


def whole(value: object, name: str) -> int:
    """A count from outside.

    Raises:
        UsageError: it is no whole number from 0 on.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UsageError(f"{name} is a whole number from 0 on, not {value!r}.")
    return value


def fuzzy(library: Library, query: str, keys: Iterable[str]) -> list[str]:
    """Keys whose ``key title`` holds the letters of the query in order, the best first.

    Whole words beat scattered letters: pages are ordered by how short a stretch holds the letters, then by where it
    begins, then by length and key. Case does not count, and neither do blanks in the query.
    """
    wanted = "".join(query.casefold().split())
    if not wanted:
        return []
    found: list[tuple[int, int, int, str]] = []
    for key in keys:
        text = f"{key} {library.title(key) or ''}".casefold()
        stretch = _stretch(wanted, text)
        if stretch is not None:
            found.append((stretch[1] - stretch[0], stretch[0], len(text), key))
    return [key for *_, key in sorted(found)]


def _stretch(wanted: str, text: str) -> tuple[int, int] | None:
    """A short stretch of the text that holds the letters in order: the first possible end, the last start for it."""
    at = -1
    for letter in wanted:
        at = text.find(letter, at + 1)
        if at < 0:
            return None
    plain = text.find(wanted)
    if plain >= 0:
        return plain, plain + len(wanted)
    start = end = at + 1
    for letter in reversed(wanted):
        start = text.rfind(letter, 0, start)
    return start, end


def fused(*rankings: Sequence[str]) -> list[str]:
    """Rankings made one by reciprocal ranks (k = 60); ties by key."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for place, key in enumerate(ranking, 1):
            scores[key] = scores.get(key, 0.0) + 1 / (_FUSION + place)
    return sorted(scores, key=lambda key: (-scores[key], key))


def linked(library: Library, keys: Iterable[str]) -> list[str]:
    """Keys by the number of pages that link to them, most first, then by key: the order where nothing is asked."""
    return sorted(keys, key=lambda key: (-len(library.graph.into(key)), key))
