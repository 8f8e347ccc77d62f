"""The query language: find, count, update and delete pages by a document in YAML, or the same as a mapping.

::

    find     {filter, search: {lexical, fuzzy}, project | addFields, sort, limit}
    count    {filter}
    update   {filter, update: {$set, $unset, $append, $replace, $replaceText, ...}, expect}
    delete   {filter, expect}

Filters are described in :mod:`~memassay.knowledge.filters`, block predicates in :mod:`~memassay.knowledge.blocks`,
fields in :mod:`~memassay.knowledge.fields`, operators in :mod:`~memassay.knowledge.updates`. A block operator takes a
predicate and its arguments in one mapping::

    update:
      $append: {$header: Timeline, content: "- 2024-05-21 moved to Oslo", expect: 1}
      $replaceText: {$item: {$text: Lisbon}, from: Lisbon, to: Oslo}

``expect`` is a number or ``{min, max}``: of pages in an operation, over all pages of blocks (of places, for
``$replaceText``) in an operator. Nothing here writes: a query gives the changes that whoever keeps the pages carries
out whole or not at all. Patterns are Python's, searched in the first 20,000 characters of a block; unlike patterns that
run in linear time, one with nested repetitions can take very long.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memassay.core.errors import UsageError, suggestion
from memassay.knowledge import edits
from memassay.knowledge.conditions import mapping_in
from memassay.knowledge.edits import Change
from memassay.knowledge.fields import Fields, Item
from memassay.knowledge.filters import filtered, keys_of
from memassay.knowledge.library import Library, page_of
from memassay.knowledge.listing import Limits
from memassay.knowledge.selection import Rank, whole
from memassay.knowledge.updates import Expect, carried_out, steps
from memassay.knowledge.views import listed, seeds, sorted_by

_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "find": ("filter", "search", "project", "addFields", "sort", "limit"),
    "count": ("filter",),
    "update": ("filter", "update", "expect"),
    "delete": ("filter", "expect"),
}
OPERATIONS = tuple(_ARGUMENTS)
_NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a query gives.

    Attributes:
        result: of ``find`` a list of pages; of ``count`` ``{count}``; of ``update`` and ``delete``
            ``{matched, changed: [{key, content}], removed: [key]}``.
        changes: what is to be written, empty for ``find`` and ``count``.
        note: what a limit left out of a list, or None.
    """

    result: Any
    changes: tuple[Change, ...] = ()
    note: Item | None = None


def run(
    library: Library,
    operation: str,
    document: str | Mapping[str, Any],
    *,
    rank: Rank | None = None,
    strict: bool = False,
    limits: Limits = _NO_LIMITS,
) -> Outcome:
    """Answer a query. The whole document is checked before any page is looked at.

    Args:
        library: the pages.
        operation: ``find``, ``count``, ``update`` or ``delete``.
        document: the query in YAML, or as a mapping.
        rank: see :func:`~memassay.knowledge.views.seeds`.
        strict: an update or a delete needs ``expect``, and so does every block operator.
        limits: of a find.

    Raises:
        UsageError: the query means nothing, or met another number of things than expected.
        DataError: a page cannot be changed in place.
    """
    if operation not in _ARGUMENTS:
        raise UsageError(f"Unknown operation {operation!r}.{suggestion(operation, OPERATIONS)}")
    try:
        given = _document(document)
        for name in given:
            if name not in _ARGUMENTS[operation]:
                raise UsageError(f"{operation} knows no {name!r}.{suggestion(str(name), _ARGUMENTS[operation])}")
        if operation == "find":
            return _find(library, given, rank, limits)
        if operation == "count":
            return Outcome({"count": len(keys_of(library, filtered(given.get("filter", {}))))})
        return _update(library, given, strict) if operation == "update" else _delete(library, given, strict)
    except RecursionError:
        raise UsageError("The query is nested too deeply; write it flatter.") from None


def _document(document: str | Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping_in(document, "The query", "filter: {status: draft}") if isinstance(document, str) else document


def _find(library: Library, given: Mapping[str, Any], rank: Rank | None, limits: Limits) -> Outcome:
    chosen = filtered(given.get("filter", {}))
    fields = Fields(given.get("project"), given.get("addFields"))
    search = given.get("search", {})
    if isinstance(search, str):
        search = {"lexical": search}
    if not isinstance(search, Mapping) or not all(isinstance(value, str) for value in search.values()):
        raise UsageError(f"search is {{lexical: words}}, {{fuzzy: letters}} or both, not {search!r}.")
    for name in search:
        if name not in ("lexical", "fuzzy"):
            raise UsageError(f"search knows no {name!r}.{suggestion(str(name), ('lexical', 'fuzzy'))}")
    limit = None if given.get("limit") is None else whole(given["limit"], "limit")
    sorted_by(library, (), given.get("sort"))
    keys = keys_of(library, chosen)
    ordered = seeds(library, keys, lexical=search.get("lexical"), fuzzy_query=search.get("fuzzy"), rank=rank)
    listing = listed(library, sorted_by(library, ordered, given.get("sort")), fields, limit, limits)
    return Outcome(listing.items, note=listing.note)


def _chosen(library: Library, given: Mapping[str, Any], strict: bool, what: str) -> list[str]:
    if "filter" not in given:
        raise UsageError(f"{what} needs a filter; 'filter: {{}}' means every page.")
    chosen = filtered(given["filter"])
    if strict and "expect" not in given:
        raise UsageError(f"{what} needs expect, the number of pages that it may change.")
    expect = Expect.read(given["expect"], "expect") if "expect" in given else None
    keys = keys_of(library, chosen)
    if expect is not None:
        expect.check(len(keys), f"pages to {what}")
    return keys


def _update(library: Library, given: Mapping[str, Any], strict: bool) -> Outcome:
    every = steps(given.get("update"), strict)
    keys = _chosen(library, given, strict, "update")
    met = [0] * len(every)
    changes = []
    for key in keys:
        page = page_of(library, key)
        text = carried_out(page, every, library.resolver, met)
        if text != page.text:
            changes.append(Change(key, page.text, text))
    for step, count in zip(every, met, strict=True):
        if step.expect is not None:
            step.expect.check(count, step.name)
    return _changed(len(keys), changes)


def _delete(library: Library, given: Mapping[str, Any], strict: bool) -> Outcome:
    keys = _chosen(library, given, strict, "delete")
    return _changed(len(keys), edits.deleted(library, keys))


def _changed(matched: int, changes: list[Change]) -> Outcome:
    changed = [{"key": change.key, "content": change.after} for change in changes if change.after is not None]
    removed = [change.key for change in changes if change.after is None]
    return Outcome({"matched": matched, "changed": changed, "removed": removed}, tuple(changes))
