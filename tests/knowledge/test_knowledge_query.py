"""The query language: filters, searches, deletes, complaints."""

from __future__ import annotations

from typing import Any

import pytest
from knowledge_texts import shelf

from memassay.core.errors import UsageError
from memassay.knowledge.query import run

LIBRARY = shelf(
    index="# Index\n\n[a](a)\n\n[b](b)\n",
    a="---\nstatus: draft\ntags: [red, blue]\nn: 3\ndue: 2024-05-21\nok: true\n---\n# A\n\nmilk\n\n[c](c)\n",
    b="---\nstatus: done\ntags: red\nn: 2.5\nby:\n  name: Z\nnone: null\n---\n# B\n\n- Buy milk\n- see [a](a)\n",
    c="# C\n\n```py\nmilk()\n```\n",
    lone="words [b](b)\n",
)


def matching(document: str | dict[str, Any]) -> list[str]:
    given = document if isinstance(document, dict) else f"filter: {document}\nsort: key\nproject: [key]"
    outcome = run(
        LIBRARY, "find", given if isinstance(given, str) else {"filter": given, "sort": "key", "project": ["key"]}
    )
    assert run(
        LIBRARY, "count", f"filter: {document}" if isinstance(document, str) else {"filter": document}
    ).result == {"count": len(outcome.result)}
    assert not outcome.changes
    return [item["key"] for item in outcome.result]


# -- filters -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "keys"),
    [
        ("{}", "a b c index lone"),
        ("{status: draft}", "a"),
        ("{tags: red}", "a b"),
        ("{tags: [red, blue]}", "a"),
        ("{by.name: Z}", "b"),
        ("{by: {name: Z}}", "b"),
        ("{due: 2024-05-21}", "a"),
        ("{due: {$gte: 2024-05-01, $lt: 2024-06-01}}", "a"),
        ("{n: {$gt: 2.5}}", "a"),
        ("{n: {$gte: 2.5}}", "a b"),
        ("{n: {$lt: 3, $lte: 2.5}}", "b"),
        ("{n: {$gt: x}}", ""),
        ("{ok: true}", "a"),
        ("{ok: 1}", ""),
        ("{status: {$eq: done}}", "b"),
        ("{status: {$ne: done}}", "a c index lone"),
        ("{status: {$in: [done, draft]}}", "a b"),
        ("{tags: {$in: [blue]}}", "a"),
        ("{status: {$nin: [done]}}", "a c index lone"),
        ("{status: {$exists: true}}", "a b"),
        ("{none: {$exists: true}}", "b"),
        ("{none: null}", "a b c index lone"),
        ("{tags: {$all: [red, blue]}}", "a"),
        ("{tags: {$all: [red]}}", "a b"),
        ("{tags: {$size: 2}}", "a"),
        ("{tags: {$size: {$lt: 2}}}", ""),
        ("{tags: {$type: array}}", "a"),
        ("{n: {$type: number}}", "a b"),
        ("{ok: {$type: [number, boolean]}}", "a"),
        ("{ok: {$type: number}}", ""),
        ("{none: {$type: 'null'}}", "b"),
        ("{status: {$not: {$eq: done}}}", "a c index lone"),
        ("{$and: [{tags: red}, {status: done}]}", "b"),
        ("{$or: [{status: draft}, {$key: c}]}", "a c"),
        ("{$nor: [{status: draft}, {$key: c}]}", "b index lone"),
        ("{$not: {tags: red}}", "c index lone"),
        ("{$key: {$gte: c}}", "c index lone"),
        ("{$key: 2024-05-21}", ""),
        ("{$title: Index}", "index"),
        ("{$includes: a}", "index"),
        ("{$includes: {match: c, maxDepth: 0}}", "a index"),
        ("{$includes: {match: c, minDepth: 2, maxDepth: 0}}", "index"),
        ("{$includedBy: index}", "a b"),
        ("{$includedBy: {match: index, maxDepth: 2}}", "a b c"),
        ("{$includedBy: {match: {$title: Index}, maxDistance: 0, minDistance: 2}}", "c"),
        ("{$includedBy: {$size: 0}}", "index lone"),
        ("{$includes: {$size: {$gte: 2}}}", "index"),
        ("{$includes: {match: {tags: red}, $size: 2}}", "index"),
        ("{$references: b}", "lone"),
        ("{$references: [a, b]}", "b lone"),
        ("{$referencedBy: {maxDepth: 1}}", "a b"),
        ("{$referencedBy: {match: lone, maxDepth: 0}}", "a b"),
        ("{$content: milk}", "a b c"),
        ("{$content: {$item: {$text: MILK}}}", "b"),
        ("{$content: {$code: {$lang: py, $matches: '^milk'}}}", "c"),
        ("{$content: {$references: a}}", "b index"),
    ],
)
def test_filters(given: str, keys: str) -> None:
    assert matching(given) == keys.split()


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ("filter: {$kye: a}", r"filter.\$kye: a filter knows no '\$kye'. Did you mean '\$key'"),
        ("filter: {a: {$gtt: 1}}", r"filter.a.\$gtt: no comparison is named '\$gtt'. Did you mean '\$gt"),
        (
            "filter: {$and: [{a: 1}, {b: {$size: -1}}]}",
            r"filter.\$and\[1\].b.\$size is a whole number from 0 on, not -1",
        ),
        ("filter: {$or: {}}", r"filter.\$or takes a list of filters"),
        ("filter: {a: {$in: x}}", r"filter.a.\$in takes a list, not 'x'"),
        ("filter: {a: {$gt: [1]}}", r"filter.a.\$gt compares numbers or texts, not \[1\]"),
        ("filter: {a: {$gt: true}}", "compares numbers or texts, not True"),
        ("filter: {a: {$exists: 1}}", r"\$exists is true or false"),
        ("filter: {a: {$type: text}}", "no type is named 'text'"),
        (
            "filter: {$includes: {match: a, maxDeep: 1}}",
            r"filter.\$includes knows no 'maxDeep'. Did you mean 'maxDepth'",
        ),
        ("filter: {$includes: {maxDepth: 1, maxDistance: 1}}", "maxDepth and maxDistance are the same"),
        (
            "filter: {$content: {$itme: a}}",
            r"filter.\$content.\$itme: a block predicate knows no '\$itme'. Did you mean",
        ),
        ("filter: {$content: {$matches: '('}}", r"'\(' is not a regular expression"),
        ("filter: {$content: {$text: ''}}", "takes a text"),
        ("filter: {$content: {$not: {}}}", "a block predicate is a mapping"),
        ("filter: [a]", "filter is a mapping"),
        ("filtre: {}", "find knows no 'filtre'. Did you mean 'filter'"),
        ("- a", "The query is a mapping"),
        ("filter: {", r"The query is not valid YAML \(line 2\)"),
        ("filter: &a {x: *a}", r"The query uses YAML aliases"),
        ("search: {lexicon: a}", "search knows no 'lexicon'. Did you mean 'lexical'"),
        ("search: 5", "search is"),
        ("limit: -1", "limit is a whole number"),
        ("sort: 'a:3'", "sort is a field"),
        ("project: [key]\naddFields: [key]", "give one of them"),
    ],
)
def test_a_wrong_query_is_refused_with_its_place(document: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        run(LIBRARY, "find", document)


def test_other_refusals() -> None:
    with pytest.raises(UsageError, match=r"Unknown operation 'fnd'\. Did you mean 'find'"):
        run(LIBRARY, "fnd", "")
    deep: Any = {}
    for _ in range(5_000):
        deep = {"$not": deep}
    with pytest.raises(UsageError, match="nested too deeply"):
        run(LIBRARY, "count", {"filter": deep})


def test_find_searches_sorts_and_limits() -> None:
    ranked = run(
        LIBRARY,
        "find",
        "search: milk\nlimit: 1\nproject: [key]",
        rank=lambda text: ["b", "a"] if text == "milk" else [],
    )
    assert ranked.result == [{"key": "b"}]
    assert run(LIBRARY, "find", "search: {fuzzy: lne}\nproject: [key]").result == [{"key": "lone"}]
    assert [item["key"] for item in run(LIBRARY, "find", "").result] == ["a", "b", "c", "index", "lone"]


# -- deletes -------------------------------------------------------------------------------------------------------


def test_a_delete_takes_links_along() -> None:
    outcome = run(LIBRARY, "delete", "filter: {$key: b}")
    assert outcome.result["removed"] == ["b"] and [page["key"] for page in outcome.result["changed"]] == [
        "index",
        "lone",
    ]
    assert {change.key: change.after for change in outcome.changes} == {
        "b": None, "index": "# Index\n\n[a](a)\n", "lone": "words b\n",
    }  # fmt: skip
