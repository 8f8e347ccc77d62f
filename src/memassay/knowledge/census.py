"""Counts of a set of pages, what is wrong with its links, and the figures of one page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from memassay.knowledge.fields import Item, inward, outward, title_of
from memassay.knowledge.library import Library, page_of
from memassay.knowledge.pages import Page

Similar = Callable[[str], Sequence[tuple[str, float]]]
Broken = Callable[[Page], bool]

_NOT_UTF8 = "not UTF-8, never edited"

_TOP = 10
_MOST_SIMILAR = 3


def stats(
    library: Library,
    keys: Iterable[str] | None = None,
    *,
    similar: Similar | None = None,
    threshold: float = 0.85,
    broken: Broken | None = None,
) -> Item:
    """Counters and lists over all pages, or over some of them.

    Args:
        library: the pages.
        keys: the pages that are counted and listed, each once; all of them if None.
        similar: gives for a key the pages like it with a score from 0 to 1, itself left out.
        threshold: from which score on two pages are told to be alike.
        broken: whether the file of a page is not UTF-8.

    Returns:
        ``pages words sections blocks inclusions references`` (counts); ``orphans`` (pages that no other page links to;
        ``index`` and ``…/index`` are none); ``brokenLinks`` ``{key, sources}`` by key; ``problems`` ``{key, problem}``
        of encoding and front matter; ``mostReferenced``, ``mostIncluding`` and ``longest``, at most ten each, by count
        and key; with ``similar`` also ``similarPages`` ``{keys, score}``, of which at least one is among the pages.

    Raises:
        UsageError: a key has no page.
    """
    chosen = list(library.keys() if keys is None else keys)
    counts = dict.fromkeys(("pages", "words", "sections", "blocks", "inclusions", "references"), 0)
    orphans: list[str] = []
    problems: list[Item] = []
    targets: dict[str, list[str]] = {}
    sizes: dict[str, int] = {}
    including: dict[str, int] = {}
    referenced: dict[str, int] = {}
    for key in chosen:
        page = page_of(library, key)
        sizes[key] = words(page)
        including[key] = len(library.graph.out(key, "inclusion"))
        sources = [source for source in library.graph.into(key) if source != key]
        referenced[key] = len(sources)
        counts["pages"] += 1
        counts["words"] += sizes[key]
        counts["sections"] += len(page.sections) - 1
        counts["blocks"] += len(page.blocks)
        counts["inclusions"] += including[key]
        counts["references"] += len(library.graph.out(key, "reference"))
        for target in library.graph.out(key):
            if target not in library:
                targets.setdefault(target, []).append(key)
        if not sources and key.rpartition("/")[2] != "index":
            orphans.append(key)
        problems += [{"key": key, "problem": problem} for problem in _problems(page, broken)]
    item: Item = {
        **counts,
        "orphans": orphans,
        "brokenLinks": [{"key": target, "sources": targets[target]} for target in sorted(targets)],
        "problems": problems,
        "mostReferenced": _top(library, referenced),
        "mostIncluding": _top(library, including),
        "longest": _top(library, sizes),
    }
    if similar is not None:
        item["similarPages"] = _pairs(chosen, similar, threshold)
    return item


def table(library: Library, keys: Iterable[str]) -> list[Item]:
    """One row of figures per page, every row with the same names in the same order.

    Raises:
        UsageError: a key has no page.
    """
    return [_row(library, page_of(library, key)) for key in keys]


def _row(library: Library, page: Page) -> Item:
    graph, key = library.graph, page.key
    return {
        "key": key,
        "title": page.name,
        **_sizes(page),
        "includes": len(graph.out(key, "inclusion")),
        "references": len(graph.out(key, "reference")),
        "includedBy": len(graph.into(key, "inclusion")),
        "referencedBy": len(graph.into(key, "reference")),
        "brokenLinks": sum(target not in library for target in graph.out(key)),
    }


def _sizes(page: Page) -> Item:
    return {
        "words": words(page),
        "characters": len(page.text),
        "sections": len(page.sections) - 1,
        "blocks": len(page.blocks),
    }


def page_stats(
    library: Library,
    key: str,
    *,
    similar: Similar | None = None,
    threshold: float = 0.85,
    broken: Broken | None = None,
) -> Item:
    """The figures of one page: counts, links in both directions, links that lead nowhere, pages like it.

    Raises:
        UsageError: there is no such page.
    """
    page = page_of(library, key)
    item: Item = {
        "key": key,
        "title": page.name,
        **_sizes(page),
        "includes": outward(library, key, "inclusion"),
        "references": outward(library, key, "reference"),
        "includedBy": inward(library, key, "inclusion"),
        "referencedBy": inward(library, key, "reference"),
        "brokenLinks": [target for target in library.graph.out(key) if target not in library],
        "problem": "; ".join(_problems(page, broken)) or None,
    }
    if similar is not None:
        near = [
            {"key": other, "title": title_of(library, other), "score": round(score, 4)}
            for other, score in similar(key)
            if score >= threshold
        ]
        item["similarPages"] = near[:_MOST_SIMILAR]
    return item


def _problems(page: Page, broken: Broken | None) -> list[str]:
    encoding = [_NOT_UTF8] if broken is not None and broken(page) else []
    return encoding + ([page.problem] if page.problem else [])


def words(page: Page) -> int:
    """Words that the blocks of a page show."""
    return sum(len(block.text.split()) for block in page.blocks)


def _top(library: Library, counts: dict[str, int]) -> list[Item]:
    ordered = sorted(counts, key=lambda key: (-counts[key], key))
    return [
        {"key": key, "title": title_of(library, key), "count": counts[key]} for key in ordered[:_TOP] if counts[key]
    ]


def _pairs(keys: Iterable[str], similar: Similar, threshold: float) -> list[Item]:
    scores: dict[tuple[str, str], float] = {}
    for key in keys:
        for other, score in similar(key):
            if score >= threshold:
                pair = (min(key, other), max(key, other))
                scores[pair] = max(score, scores.get(pair, 0.0))
    return [{"keys": list(pair), "score": round(score, 4)} for pair, score in sorted(scores.items())]
