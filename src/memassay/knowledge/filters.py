"""Filters on pages: by front matter, key, title, content and links.

::

    {status: draft, tags: urgent}               equal, or among the elements of a list
    {due: {$gte: 2024-05-01, $lt: 2024-06-01}}  dates are texts and compare as such
    {$key: {$in: [a, b]}, $content: {$item: {$text: milk}}}
    {$includedBy: {match: index, maxDepth: 0}}  anywhere below a page
    {$or: [{$referencedBy: {$size: 0}}, {archived: {$exists: true}}]}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from memassay.core.errors import UsageError, suggestion
from memassay.knowledge.blocks import Scene, compiled
from memassay.knowledge.fields import title_of
from memassay.knowledge.frontmatter import value_of
from memassay.knowledge.graph import expand
from memassay.knowledge.library import Library
from memassay.knowledge.links import meant
from memassay.knowledge.selection import whole

Test = Callable[[str], bool]
Filter = Callable[[Library], Test]
_ValueTest = Callable[[Any], bool]

_ABSENT = object()
_RELATIONS = {
    "$includes": ("includes", "included_by"),
    "$includedBy": ("included_by", "includes"),
    "$references": ("references", "referenced_by"),
    "$referencedBy": ("referenced_by", "references"),
}
_LOGIC = ("$and", "$or", "$nor", "$not")
_NAMES = ("$key", "$title", "$content", *_RELATIONS, *_LOGIC)
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
_ARGUMENTS = ("match", "maxDepth", "minDepth", "maxDistance", "minDistance", "$size")


def filtered(given: object, where: str = "filter") -> Filter:
    """A filter from its mapping; ``{}`` lets every page through.

    Raises:
        UsageError: it has a name or a value that means nothing, said with its place in the filter.
    """
    if not isinstance(given, Mapping):
        raise UsageError(f"{where} is a mapping such as {{status: draft}}, not {given!r}.")
    parts = [_part(str(name), value, f"{where}.{name}") for name, value in given.items()]
    return lambda library: _all([part(library) for part in parts])


def keys_of(library: Library, chosen: Filter) -> list[str]:
    """The keys of the pages that a filter lets through, sorted."""
    test = chosen(library)
    return [key for key in iter(library.keys()) if test(key)]


def _all(tests: list[Test]) -> Test:
    return lambda key: all(test(key) for test in tests)


def _any(tests: list[Test]) -> Test:
    return lambda key: any(test(key) for test in tests)


def _part(name: str, value: object, where: str) -> Filter:
    if name in _LOGIC:
        return _logic(name, value, where)
    if name in _RELATIONS:
        return _relation(name, value, where)
    if name == "$content":
        return _content(value, where)
    if name in ("$key", "$title"):
        test = _values(value, where)
        if name == "$key":
            return lambda library: _values(_meant(value, library), where)
        return lambda library: lambda key: test(title_of(library, key))
    if name.startswith("$"):
        raise UsageError(f"{where}: a filter knows no {name!r}.{suggestion(name, _NAMES)}")
    return _field(name, _values(value, where))


def _meant(given: Any, library: Library) -> Any:
    """The value of a test of keys, with every key as the page is called that it means."""
    if isinstance(given, str):
        return meant(given, library)
    if isinstance(given, list):
        return [_meant(one, library) for one in given]
    return {name: _meant(value, library) for name, value in given.items()} if isinstance(given, Mapping) else given


def _field(name: str, test: _ValueTest) -> Filter:
    def bound(library: Library) -> Test:
        def passes(key: str) -> bool:
            page = library.page(key)
            return page is not None and test(value_of(page.front, name, _ABSENT))

        return passes

    return bound


def _logic(name: str, value: object, where: str) -> Filter:
    if name == "$not":
        negated = filtered(value, where)
        return lambda library: _none([negated(library)])
    if not isinstance(value, list) or not value:
        raise UsageError(f"{where} takes a list of filters.")
    parts = [filtered(one, f"{where}[{place}]") for place, one in enumerate(value)]
    combine = {"$and": _all, "$or": _any, "$nor": _none}[name]
    return lambda library: combine([part(library) for part in parts])


def _none(tests: list[Test]) -> Test:
    return lambda key: not any(test(key) for test in tests)


def _content(value: object, where: str) -> Filter:
    predicate = compiled(value, where)

    def bound(library: Library) -> Test:
        def passes(key: str) -> bool:
            page = library.page(key)
            return page is not None and bool(Scene(page, library.resolver).find(predicate))

        return passes

    return bound


# -- values --------------------------------------------------------------------------------------------------------


def _values(given: object, where: str) -> _ValueTest:
    """A test of one value: a mapping of operators, or a value to be equal to."""
    if isinstance(given, Mapping) and any(str(name).startswith("$") for name in given):
        tests = [_operator(str(name), value, f"{where}.{name}") for name, value in given.items()]
        return lambda value: all(test(value) for test in tests)
    return _equal(given)


def _equal(wanted: Any) -> _ValueTest:
    def test(value: Any) -> bool:
        if value is _ABSENT:
            return wanted is None
        return _same(value, wanted) or (isinstance(value, list) and any(_same(one, wanted) for one in value))

    return test


def _same(value: Any, wanted: Any) -> bool:
    # True is not 1 in YAML, though it is in Python.
    if isinstance(value, bool) != isinstance(wanted, bool):
        return False
    if isinstance(value, list) and isinstance(wanted, list):
        return len(value) == len(wanted) and all(map(_same, value, wanted))
    if isinstance(value, Mapping) and isinstance(wanted, Mapping):
        return value.keys() == wanted.keys() and all(_same(value[name], wanted[name]) for name in value)
    return bool(value == wanted)


def _listed(given: object, where: str) -> list[Any]:
    if not isinstance(given, list):
        raise UsageError(f"{where} takes a list, not {given!r}.")
    return given


def _operator(name: str, given: Any, where: str) -> _ValueTest:
    make = _OPERATORS.get(name)
    if make is None:
        raise UsageError(f"{where}: no comparison is named {name!r}.{suggestion(name, _OPERATORS)}")
    return make(given, where)


def _not(test: _ValueTest) -> _ValueTest:
    return lambda value: not test(value)


def _in(given: object, where: str) -> _ValueTest:
    tests = [_equal(one) for one in _listed(given, where)]
    return lambda value: any(test(value) for test in tests)


def _every(given: object, where: str) -> _ValueTest:
    tests = [_equal(one) for one in _listed(given, where)]
    return lambda value: value is not _ABSENT and bool(tests) and all(test(value) for test in tests)


def _compared(accepts: Callable[[Any, Any], bool]) -> Callable[[Any, str], _ValueTest]:
    def make(given: Any, where: str) -> _ValueTest:
        kind = _comparable(given)
        if kind is None:
            raise UsageError(f"{where} compares numbers or texts, not {given!r}.")
        return lambda value: any(
            _comparable(one) == kind and accepts(one, given) for one in (value if isinstance(value, list) else [value])
        )

    return make


def _comparable(value: Any) -> str | None:
    if isinstance(value, bool):
        return None
    return "number" if isinstance(value, int | float) else "text" if isinstance(value, str) else None


def _exists(given: object, where: str) -> _ValueTest:
    if not isinstance(given, bool):
        raise UsageError(f"{where} is true or false, not {given!r}.")
    return lambda value: (value is not _ABSENT) == given


def _size(given: object, where: str) -> _ValueTest:
    test = _count(given, where)
    return lambda value: isinstance(value, list) and test(len(value))


def _count(given: object, where: str) -> Callable[[int], bool]:
    """A test of a number of things: a whole number, or comparisons such as ``{$gte: 2}``."""
    return _values(given if isinstance(given, Mapping) else whole(given, where), where)


def _type(given: object, where: str) -> _ValueTest:
    names = [str(name) for name in (given if isinstance(given, list) else [given])]
    for name in names:
        if name not in _TYPES:
            raise UsageError(f"{where}: no type is named {name!r}.{suggestion(name, _TYPES)}")
    kinds = tuple(kind for name in names for kind in _TYPES[name])
    return lambda value: isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


_OPERATORS: Mapping[str, Callable[[Any, str], _ValueTest]] = {
    "$eq": lambda given, where: _equal(given),
    "$ne": lambda given, where: _not(_equal(given)),
    "$gt": _compared(lambda one, other: one > other),
    "$gte": _compared(lambda one, other: one >= other),
    "$lt": _compared(lambda one, other: one < other),
    "$lte": _compared(lambda one, other: one <= other),
    "$in": _in,
    "$nin": lambda given, where: _not(_in(given, where)),
    "$exists": _exists,
    "$all": _every,
    "$size": _size,
    "$type": _type,
    "$not": lambda given, where: _not(_values(given, where)),
}


# -- links ---------------------------------------------------------------------------------------------------------


def _relation(name: str, given: object, where: str) -> Filter:
    """Pages that stand in a relation to others: ``KEY``, a list of keys, or ``{match, minDepth, maxDepth, $size}``."""
    settings = given if isinstance(given, Mapping) else {"match": given}
    for argument in settings:
        if argument not in _ARGUMENTS:
            raise UsageError(f"{where} knows no {argument!r}.{suggestion(str(argument), _ARGUMENTS)}")
    most = whole(_either(settings, "maxDepth", "maxDistance", 1, where), f"{where}.maxDepth")
    least = whole(_either(settings, "minDepth", "minDistance", 1, where), f"{where}.minDepth")
    matched = _match(settings.get("match"), f"{where}.match")
    forward, backward = _RELATIONS[name]
    if "$size" in settings:
        test = _count(settings["$size"], f"{where}.$size")
        return lambda library: _sized(library, matched(library), forward, least, most, test)
    return lambda library: _reaching(library, matched(library), backward, least, most)


def _either(settings: Mapping[Any, Any], name: str, other: str, usual: int, where: str) -> Any:
    if name in settings and other in settings:
        raise UsageError(f"{where}: {name} and {other} are the same; give one of them.")
    return settings.get(name, settings.get(other, usual))


def _match(given: object, where: str) -> Callable[[Library], list[str] | None]:
    """The pages to be related to; None means whichever."""
    if given is None:
        return lambda library: None
    if isinstance(given, str):
        return lambda library: [meant(given, library)]
    if isinstance(given, list) and given and all(isinstance(key, str) for key in given):
        return lambda library: [meant(key, library) for key in given]
    inner = filtered(given, where)
    return lambda library: keys_of(library, inner)


def _reaching(library: Library, matched: list[str] | None, backward: str, least: int, most: int) -> Test:
    """Pages from which some matched page is reached; walked back from the matched ones."""
    if matched is None:
        return lambda key: _related(library, key, _opposite(backward), least, most) != []
    found = {key for target in matched for key in _related(library, target, backward, least, most)}
    return found.__contains__


def _sized(
    library: Library, matched: list[str] | None, forward: str, least: int, most: int, test: Callable[[int], bool]
) -> Test:
    wanted = None if matched is None else frozenset(matched)

    def passes(key: str) -> bool:
        related = _related(library, key, forward, least, most)
        return test(sum(wanted is None or other in wanted for other in related))

    return passes


def _related(library: Library, key: str, relation: str, least: int, most: int) -> list[str]:
    depths: dict[str, int] = {relation: most}
    return [other for other, distance in expand(library.graph, key, **depths) if distance >= least]


def _opposite(relation: str) -> str:
    return next(forward for forward, backward in _RELATIONS.values() if backward == relation)
