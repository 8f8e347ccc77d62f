"""A generated encyclopedia in HotPotQA's own format, for a run without a download.

The pages are about regions, rivers, towns and what stands or is made in them; every page of a kind is written from one
template, and many share a part of their names. A bridge question names a page and asks for something that stands on the
page it leads to; a comparison names both. The text stands in ``sample_text/encyclopedia.toml``. Numbers made from it
carry no verdict.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, TypeVar

from memassay.core.draws import Draw

VERSION = 1
"""Version of generator and text together; part of the suite's identity."""

BRIDGE = 72
COMPARISON = 36
DEV = 36
TEST = 72

_PAGES = 10  # in the context of a question
_USES = (2, 3, 4)  # most questions that a page is gold of: as few as will do, so that many questions share no page
_HOLE = re.compile(r"\{(\w+)\}")
T = TypeVar("T")
_ORDER = ("region", "river", "town")  # a page is made after the pages that it names


@dataclass(frozen=True, slots=True, eq=False)
class Article:
    """A page: its kind, its sentences by label, what fills their holes, and the pages it names by kind."""

    kind: str
    title: str
    slots: Mapping[str, str]
    labels: tuple[str, ...]
    sentences: tuple[str, ...]
    names: Mapping[str, Article]

    @property
    def called(self) -> str:
        """The title as a question says it, without what stands in parentheses."""
        return self.title.partition(" (")[0]

    def entry(self) -> list[Any]:
        """The page as the file has it: later sentences begin with the blank that parts them."""
        return [self.title, [self.sentences[0], *(f" {sentence}" for sentence in self.sentences[1:])]]

    def fact(self, label: str) -> list[Any]:
        return [self.title, self.labels.index(label)]


def generate(seed: int) -> list[dict[str, Any]]:
    """The questions of a seed, as HotPotQA's file has them after ``json.load``."""
    text = tomllib.loads(
        (resources.files("memassay.suites.hotpotqa") / "sample_text" / "encyclopedia.toml").read_text("utf-8")
    )
    draw = Draw(f"hotpotqa sample {seed}")
    articles = _articles(text, draw)
    used: Counter[str] = Counter()
    asked = _bridges(text["bridge"], articles, used, draw) + _comparisons(text["comparison"], articles, used, draw)
    return [_question(number, question, articles, draw) for number, question in enumerate(draw.shuffled(asked))]


# -- pages ---------------------------------------------------------------------------------------------------------


def _articles(text: Mapping[str, Any], draw: Draw) -> list[Article]:
    made: list[Article] = []
    kinds = text["kind"]
    for kind in sorted(kinds, key=lambda k: _ORDER.index(k) if k in _ORDER else len(_ORDER)):
        form = kinds[kind]
        values = form.get("slots") or text["building"]["slots"]
        order = {slot: draw.shuffled(found) for slot, found in values.items()}
        for number, name in enumerate(draw.shuffled(form["names"])):
            slots = {slot: found[number % len(found)] for slot, found in order.items()}
            slots |= {"name": name, "year": str(1480 + draw.below(300)), "opened": str(1600 + draw.below(320))}
            slots |= {"title": _fill(form["title"], slots), "noun": form.get("noun", "")}
            others = _others(made, number, draw)
            slots |= {other.kind: other.called for other in others.values()}
            parts = form.get("sentences") or text["building"]["sentences"]
            sentences = tuple(_fill(draw.pick(variants), slots) for _, *variants in parts)
            labels = tuple(label for label, *_ in parts)
            made.append(Article(kind, slots["title"], slots, labels, sentences, others))
    return made


def _others(made: Sequence[Article], number: int, draw: Draw) -> dict[str, Article]:
    """One page of each kind that is there already, so that all of them are named about equally often."""
    found: dict[str, Article] = {}
    for kind in _ORDER:
        pages = [article for article in made if article.kind == kind]
        if pages:
            found[kind] = pages[(number * 5 + draw.below(3)) % len(pages)]
    return found


def _fill(text: str, slots: Mapping[str, str]) -> str:
    return _HOLE.sub(lambda hole: slots[hole[1]], text)


# -- questions -----------------------------------------------------------------------------------------------------

Asked = tuple[str, str, str, tuple[tuple[Article, str], tuple[Article, str]]]
"""Type, question, answer, and the two gold pages with the labels of their supporting sentences."""


def _bridges(
    forms: Sequence[Mapping[str, Any]], articles: Sequence[Article], used: Counter[str], draw: Draw
) -> list[Asked]:
    every = [(form, article) for form in forms for article in articles if article.kind in form["first"]]
    made: list[Asked] = []
    for form, first in _few_uses(draw.shuffled(every), used, lambda pair: (pair[1], pair[1].names[pair[0]["second"]])):
        second = first.names[form["second"]]
        ask = _fill(draw.pick(form["asks"]), {**second.slots, "first": first.called})
        gold = ((first, "intro"), (second, form["fact"]))
        made.append(("bridge", ask, _fill(form["answer"], second.slots), gold))
        if len(made) == BRIDGE:
            break
    return made


def _comparisons(
    forms: Sequence[Mapping[str, Any]], articles: Sequence[Article], used: Counter[str], draw: Draw
) -> list[Asked]:
    triples = [
        (form, one, other)
        for form in forms
        for one in articles
        for other in articles
        if one.title != other.title
        and {one.kind, other.kind} <= set(form["of"])
        and _value(form, one) != _value(form, other)
    ]
    made: list[Asked] = []
    for form, one, other in _few_uses(draw.shuffled(triples), used, lambda triple: triple[1:]):
        first = (_value(form, one) < _value(form, other)) == form["least"]
        ask = _fill(draw.pick(form["asks"]), {"one": one.called, "other": other.called})
        gold = ((one, form["fact"]), (other, form["fact"]))
        made.append(("comparison", ask, (one if first else other).called, gold))
        if len(made) == COMPARISON:
            break
    return made


def _value(form: Mapping[str, Any], page: Article) -> int:
    return int(page.slots[form["slot"]].replace(",", ""))


def _few_uses(items: Sequence[T], used: Counter[str], pages_of: Callable[[T], tuple[Article, ...]]) -> Iterator[T]:
    """The items whose pages have few uses yet, then those that need a use more; counts the uses of what it gives."""
    left = list(items)
    for most in _USES:
        rest: list[T] = []
        for item in left:
            titles = [page.title for page in pages_of(item)]
            if max(used[title] for title in titles) < most:
                used.update(titles)
                yield item
            else:
                rest.append(item)
        left = rest


def _question(number: int, asked: Asked, articles: Sequence[Article], draw: Draw) -> dict[str, Any]:
    kind, ask, answer, gold = asked
    pages = [page for page, _ in gold]
    kinds = {page.kind for page in pages}
    rest = [article for article in articles if article not in pages]
    alike = draw.shuffled([article for article in rest if article.kind in kinds])[: _PAGES // 2]
    others = draw.shuffled([article for article in rest if article not in alike])[: _PAGES - len(pages) - len(alike)]
    return {
        "_id": f"sample-{number:03}",
        "question": ask,
        "answer": answer,
        "type": kind,
        "level": "easy",
        "supporting_facts": [page.fact(label) for page, label in gold],
        "context": [page.entry() for page in draw.shuffled([*pages, *alike, *others])],
    }
