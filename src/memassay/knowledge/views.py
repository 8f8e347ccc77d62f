"""Pages as they are handed to people and agents: searched for, retrieved with what they link to, within a budget.

Every result is JSON-ready. ``content`` is the text of a page without its front matter exactly as it is written; nothing
is rendered anew. :mod:`~memassay.knowledge.outlines` and :mod:`~memassay.knowledge.census` hold trees, squashed pages
and statistics.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from memassay.core.errors import UsageError, suggestion
from memassay.knowledge.fields import Fields, Item, inward, outward, title_of
from memassay.knowledge.frontmatter import value_of
from memassay.knowledge.graph import expand
from memassay.knowledge.library import Library, no_page
from memassay.knowledge.listing import Limits, Listing
from memassay.knowledge.pages import Page
from memassay.knowledge.selection import Rank, Selector, fused, fuzzy, linked, whole

Order = Literal["interleaved", "seeds-first"]

_EXPANSIONS = ("includes", "includedBy", "references", "referencedBy")
_EVERYTHING = Selector()
_NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Expansion:
    """How far retrieval follows each relation from a seed: None is off, 0 has no limit."""

    includes: int | None = None
    included_by: int | None = None
    references: int | None = None
    referenced_by: int | None = None

    @classmethod
    def read(cls, given: Mapping[str, object] | None) -> Expansion:
        """From ``{"includes": 1, "includedBy": 1, "references": 1, "referencedBy": 1}``, any of them.

        Raises:
            UsageError: another name, or a depth that is no whole number from 0 on.
        """
        for name in given or {}:
            if name not in _EXPANSIONS:
                raise UsageError(f"expand knows no {name!r}.{suggestion(str(name), _EXPANSIONS)}")
        depths = {
            name: None if depth is None else whole(depth, f"expand.{name}") for name, depth in (given or {}).items()
        }
        return cls(*(depths.get(name) for name in _EXPANSIONS))

    def around(self, library: Library, key: str) -> list[str]:
        """What a seed brings in, in the order of the relations, each by distance and key; may repeat keys."""
        graph = library.graph
        found = [other for other, _ in expand(graph, key, includes=self.includes)]
        found += [other for other, _ in expand(graph, key, included_by=self.included_by)]
        if self.includes is not None and self.included_by is not None:
            for child in graph.out(key, "inclusion"):
                found += [parent for parent in graph.into(child, "inclusion") if parent != key]
        found += [other for other, _ in expand(graph, key, references=self.references)]
        found += [other for other, _ in expand(graph, key, referenced_by=self.referenced_by)]
        return found


NO_EXPANSION = Expansion()


def retrieve(
    library: Library,
    seeds: Sequence[str],
    *,
    expansion: Expansion = NO_EXPANSION,
    order: Order = "interleaved",
    backlinks: bool = True,
    children: bool = False,
    exclude: Iterable[str] = (),
    limits: Limits = _NO_LIMITS,
) -> Listing:
    """Whole pages with their links: every seed, and what lies around it.

    Args:
        library: the pages.
        seeds: keys in the order of their worth.
        expansion: what every seed brings in.
        order: ``interleaved`` puts what a seed brings in right after it, ``seeds-first`` after all seeds.
        backlinks: list the pages that refer to a document.
        children: list the pages that a document includes.
        exclude: keys that are not handed out; they are walked through all the same.
        limits: see :class:`~memassay.knowledge.listing.Limits`.

    Returns:
        Documents ``{key, title, content, references, includes, referencedBy, includedBy}``, each key once. A target
        that does not exist is a document without content, titled by its key. ``references`` is filled where they are
        expanded.

    Raises:
        UsageError: a seed is no page and nothing links to it.
    """
    if order not in get_args(Order):
        raise UsageError(f"Unknown order {order!r}.{suggestion(order, get_args(Order))}")
    left_out = set(exclude)
    keys = [key for key in _ordered(library, seeds, expansion, order) if key not in left_out]
    shown = (_document(library, key, expansion, backlinks, children) for key in keys)
    return limits.listing(shown, len(keys))


def _ordered(library: Library, seeds: Sequence[str], expansion: Expansion, order: Order) -> list[str]:
    found: dict[str, None] = dict.fromkeys(seeds) if order == "seeds-first" else {}
    for seed in seeds:
        if seed not in library and not library.graph.into(seed):
            raise no_page(library, seed)
        found[seed] = None
        found |= dict.fromkeys(expansion.around(library, seed))
    return list(found)


def _document(library: Library, key: str, expansion: Expansion, backlinks: bool, children: bool) -> Item:
    page = library.page(key)
    return {
        "key": key,
        "title": title_of(library, key),
        "content": page.content if page else "",
        "references": outward(library, key, "reference") if expansion.references is not None else [],
        "includes": outward(library, key, "inclusion") if children else [],
        "referencedBy": inward(library, key, "reference") if backlinks else [],
        "includedBy": inward(library, key, "inclusion"),
    }


def seeds(
    library: Library,
    keys: Iterable[str],
    *,
    lexical: str | None = None,
    fuzzy_query: str | None = None,
    rank: Rank | None = None,
) -> list[str]:
    """The keys in the order in which they answer: by words, by letters, by both, else by the number of links to them.

    Args:
        library: the pages.
        keys: the pages that count.
        lexical: words to look for in the pages; needs ``rank``.
        fuzzy_query: letters to look for in keys and titles.
        rank: gives the keys of all pages that have words of a text, the best first.

    Raises:
        UsageError: words are asked for and nothing ranks by words.
    """
    allowed = dict.fromkeys(keys)
    if lexical is None and fuzzy_query is None:
        return linked(library, allowed)
    rankings = []
    if lexical is not None:
        if rank is None:
            raise UsageError("These pages have no index of words; search them with fuzzy, or open them as a store.")
        rankings.append([key for key in rank(lexical) if key in allowed])
    if fuzzy_query is not None:
        rankings.append(fuzzy(library, fuzzy_query, allowed))
    return rankings[0] if len(rankings) == 1 else fused(*rankings)


def find(
    library: Library,
    *,
    lexical: str | None = None,
    fuzzy_query: str | None = None,
    rank: Rank | None = None,
    selector: Selector = _EVERYTHING,
    refs_to: str | None = None,
    refs_from: str | None = None,
    sort: object = None,
    limit: int | None = None,
    fields: Fields | None = None,
    limits: Limits = _NO_LIMITS,
) -> Listing:
    """Pages that answer, as their fields.

    Args:
        library: the pages.
        lexical: words to look for in the pages; needs ``rank``.
        fuzzy_query: letters to look for in keys and titles.
        rank: see :func:`seeds`.
        selector: the pages that count.
        refs_to: only pages with a link, of either kind, to this key.
        refs_from: only pages that this page links to.
        sort: see :func:`sorted_by`; without it the order is that of :func:`seeds`.
        limit: the most pages; 0 or None has no limit.
        fields: what is shown of a page; the usual fields if None.
        limits: see :class:`~memassay.knowledge.listing.Limits`.
    """
    keys = selector.keys(library)
    if refs_to is not None:
        sources = set(library.graph.into(refs_to))
        keys = [key for key in keys if key in sources]
    if refs_from is not None:
        if refs_from not in library:
            raise no_page(library, refs_from)
        targets = set(library.graph.out(refs_from))
        keys = [key for key in keys if key in targets]
    ordered = seeds(library, keys, lexical=lexical, fuzzy_query=fuzzy_query, rank=rank)
    return listed(library, sorted_by(library, ordered, sort), fields or Fields(), limit, limits)


def listed(library: Library, keys: Sequence[str], fields: Fields, limit: int | None, limits: Limits) -> Listing:
    """The pages of some keys as their fields, at most ``limit`` of them where that is not 0 or None."""
    kept = keys[:limit] if limit else keys
    return limits.listing((fields.of(library, page) for page in _pages(library, kept)), len(keys))


def sorted_by(library: Library, keys: Sequence[str], sort: object) -> list[str]:
    """The keys by fields of their pages.

    Args:
        library: the pages.
        keys: in the order that ties keep.
        sort: ``{"date": -1, "key": 1}``, ``"date:-1"`` or a list of such; 1 ascends, -1 descends. ``key`` and ``title``
            are the page's own, every other name is a field of the front matter. Pages without the field come last
            either way; numbers come before texts.

    Raises:
        UsageError: it is none of these.
    """
    ordered = list(keys)
    for name, direction in reversed(_directions(sort)):
        ranked = [(key, _sort_value(library, key, name)) for key in ordered]
        having = [(value, key) for key, value in ranked if value is not None]
        having.sort(key=lambda pair: pair[0], reverse=direction < 0)
        ordered = [key for _, key in having] + [key for key, value in ranked if value is None]
    return ordered


def _directions(sort: object) -> list[tuple[str, int]]:
    if sort is None:
        return []
    if isinstance(sort, Mapping):
        pairs = [(str(name), direction) for name, direction in sort.items()]
    elif isinstance(sort, list | tuple):
        return [pair for one in sort for pair in _directions(one)]
    else:
        name, _, direction = str(sort).rpartition(":") if ":" in str(sort) else (str(sort), "", "1")
        pairs = [(name, {"1": 1, "-1": -1}.get(direction))]
    for name, direction in pairs:
        if direction not in (1, -1) or isinstance(direction, bool) or not name:
            raise UsageError(f"sort is a field with 1 (ascending) or -1 (descending), such as 'date:-1', not {sort!r}.")
    return [(name.removeprefix("$"), direction) for name, direction in pairs]


def _sort_value(library: Library, key: str, name: str) -> Any:
    if name == "key":
        return (1, key)
    if name == "title":
        return (1, title_of(library, key))
    page = library.page(key)
    value = None if page is None else value_of(page.front, name)
    if isinstance(value, bool | int | float):
        return (0, value)
    return (1, value) if isinstance(value, str) else None


def _pages(library: Library, keys: Iterable[str]) -> Iterator[Page]:
    for key in keys:
        page = library.page(key)
        if page is not None:
            yield page
