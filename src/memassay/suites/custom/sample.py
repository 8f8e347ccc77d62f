"""A generated handbook of a small firm and questions about it, for a run without documents of one's own.

Ten workshops and seven machines have pages from one template each, so that the right words about the wrong place are
everywhere; the rules of the firm are written once, and minutes of meetings amend them. Questions are worded unlike the
text. The text stands in ``sample_text/*.toml``. Numbers made from it carry no verdict.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from memassay.core.draws import Draw
from memassay.suites.custom.lines import Row

VERSION = 1
"""Version of generator and text together; part of the suite's identity."""

DETAILS = {"workshops": 48, "machines": 24}
COMPARISONS = {"workshops": 16, "machines": 6}
DEV_PAGES = 2  # of each of the three kinds of pages that questions are about

_GOLD = re.compile(r"<<(?P<label>\w+)\|(?P<words>.*?)>>")
_HOLE = re.compile(r"\{(\w+)\}")
_DAYS = {"01": 29, "02": 26, "03": 26, "04": 30, "05": 28, "06": 25}

Rows = tuple[list[Row], list[Row]]


@dataclass(slots=True, eq=False)
class Page:
    """A page while it is written: its paragraphs, what fills their holes, and the words that questions name."""

    id: str
    title: str
    slots: Mapping[str, str]
    date: str | None = None
    paragraphs: list[str] = field(default_factory=list)
    gold: dict[str, str] = field(default_factory=dict)

    def add(self, text: str) -> None:
        """Add a paragraph; the words of its marks are kept under their labels."""

        def keep(found: re.Match[str]) -> str:
            self.gold[found["label"]] = filled(found["words"], self.slots)
            return self.gold[found["label"]]

        self.paragraphs.append(filled(_GOLD.sub(keep, text), self.slots))

    def row(self) -> dict[str, Any]:
        made = {"id": self.id, "title": self.title, "text": "\n\n".join([f"# {self.title}", *self.paragraphs, ""])}
        return made | ({"date": self.date} if self.date else {})


def filled(text: str, slots: Mapping[str, str]) -> str:
    """The text with its holes filled, beginning with a capital letter."""
    whole = _fill(text, slots)
    return whole[:1].upper() + whole[1:]


def _fill(text: str, slots: Mapping[str, str]) -> str:
    return _HOLE.sub(lambda found: slots[found[1]], text)


def generate(seed: int) -> Rows:
    """Documents and questions of a seed, as objects like those of the user's files."""
    made = _Handbook(seed)
    documents = [page.row() for page in made.pages]
    return _rows(documents, "sample documents"), _rows(made.questions, "sample questions")


def _rows(values: Sequence[Mapping[str, Any]], file: str) -> list[Row]:
    return [Row(value, file, number) for number, value in enumerate(values, start=1)]


class _Handbook:
    def __init__(self, seed: int) -> None:
        draw = Draw(f"custom sample {seed}")
        workshops, machines, policies, minutes = (
            _text(name) for name in ("sites.toml", "machines.toml", "policies.toml", "minutes.toml")
        )
        self.pages: list[Page] = []
        self.questions: list[dict[str, Any]] = []
        rules = self._rules(policies, draw)
        self._meetings(minutes, rules, draw)
        for kind in (workshops, machines):
            self._kind(kind, draw)
        self.questions = draw.shuffled(self.questions)
        self.questions += [_question(entry["ask"], None, (), "rule", "all") for entry in minutes["unanswerable"]]

    def _ask(self, ask: str, answer: str, gold: Sequence[tuple[Page, str]], category: str, split: str) -> None:
        self.questions.append(_question(ask, answer, [page.gold[label] for page, label in gold], category, split))

    # -- pages of one template -------------------------------------------------------------------------------------

    def _kind(self, kind: Mapping[str, Any], draw: Draw) -> None:
        """The pages of a template, a share of the questions about one of them, and some about two."""
        values = {slot: draw.shuffled(found) for slot, found in kind["slots"].items()}
        pages = []
        for number, place in enumerate(kind["places"]):
            slots = {slot: found[number] for slot, found in values.items()} | {"place": place}
            name = f"{kind['folder']}/{place.lower().replace(' ', '-')}.md"
            page = Page(name, filled(kind["title"], slots), slots)
            first, *rest = kind["section"]
            for section in [first, *draw.shuffled(rest)]:
                page.add(draw.pick(section["texts"]))
            pages.append(page)
        self.pages += pages
        self._details(kind, pages, draw)
        self._comparisons(kind, pages, draw)

    def _details(self, kind: Mapping[str, Any], pages: Sequence[Page], draw: Draw) -> None:
        every = draw.shuffled([(page, entry) for page in pages for entry in kind["question"]])
        for page, entry in every[: DETAILS[kind["folder"]]]:
            ask = filled(draw.pick(entry["asks"]), {"place": _asked(kind, page)})
            gold = [(page, entry["label"])]
            self._ask(ask, filled(entry["answer"], page.slots), gold, "detail", _split(page, pages))

    def _comparisons(self, kind: Mapping[str, Any], pages: Sequence[Page], draw: Draw) -> None:
        """As many questions about each page as about any other, to within one."""
        order = draw.shuffled(pages)
        matters = {page.id: draw.shuffled([e for e in kind["question"] if "compare" in e]) for page in order}
        for number in range(COMPARISONS[kind["folder"]]):
            page = order[number % len(order)]
            entry = matters[page.id].pop()
            other = draw.pick([one for one in pages if one is not page])
            ask = filled(entry["compare"], {"place": _asked(kind, page), "other": _asked(kind, other)})
            answers = [f"{one.slots['place']}: {_fill(entry['answer'], one.slots)}" for one in (page, other)]
            gold = [(page, entry["label"]), (other, entry["label"])]
            self._ask(ask, "; ".join(answers), gold, "compare", _split(page, pages))

    # -- rules and what became of them -----------------------------------------------------------------------------

    def _rules(self, policies: Mapping[str, Any], draw: Draw) -> list[Page]:
        slots = {slot: draw.pick(values) for slot, values in policies["slots"].items()}
        pages = []
        for entry in policies["page"]:
            page = Page(f"{policies['folder']}/{entry['file']}.md", entry["title"], slots)
            for text in entry["texts"]:
                page.add(text)
            pages.append(page)
        for page, entry in zip(pages, policies["page"], strict=True):
            for question in entry["question"]:
                gold = [(page, question["label"])]
                self._ask(question["ask"], filled(question["answer"], slots), gold, "rule", _split(page, pages))
        self.pages += pages
        return pages

    def _meetings(self, minutes: Mapping[str, Any], rules: Sequence[Page], draw: Draw) -> None:
        """Two changes in each meeting, among matters that change nothing."""
        ordinary, changes = draw.shuffled(minutes["ordinary"]), draw.shuffled(minutes["change"])
        by_label = {f"{page.id.partition('/')[2][:-3]}/{label}": page for page in rules for label in page.gold}
        values = {slot: draw.pick(found) for slot, found in minutes["slots"].items()}
        each = len(changes) // len(minutes["months"])
        for number, month in enumerate(minutes["months"]):
            date = f"{month}-{_DAYS[month[-2:]]}"
            slots = {**rules[0].slots, **values, "date": date, "count": str(19 + draw.below(23))}
            page = Page(f"{minutes['folder']}/{date}.md", filled(minutes["title"], slots), slots, date)
            mine = changes[number * each : (number + 1) * each]
            spare = [ordinary.pop() for _ in range(min(len(ordinary), 2 + number % 2))]
            page.add(draw.pick(minutes["opening"]))
            texts = [c["text"].replace("<<new|", f"<<new{place}|") for place, c in enumerate(mine)]
            for text in draw.shuffled([*texts, *spare]):
                page.add(text)
            page.add(draw.pick(minutes["closing"]))
            for place, change in enumerate(mine):
                rule = by_label[change["amends"]]
                gold = [(rule, change["amends"].partition("/")[2]), (page, f"new{place}")]
                self._ask(change["ask"], filled(change["answer"], slots), gold, "changed", _split(rule, rules))
            self.pages.append(page)


def _text(name: str) -> dict[str, Any]:
    folder = resources.files("memassay.suites.custom") / "sample_text"
    return tomllib.loads((folder / name).read_text(encoding="utf-8"))


def _asked(kind: Mapping[str, Any], page: Page) -> str:
    """How a question calls what a page is about."""
    place = page.slots["place"]
    return place.lower() if kind.get("common_noun") else place


def _split(page: Page, pages: Sequence[Page]) -> str:
    return "dev" if page in pages[:DEV_PAGES] else "test"


def _question(ask: str, answer: str | None, evidence: Sequence[str], category: str, split: str) -> dict[str, Any]:
    made: dict[str, Any] = {"question": ask, "category": category, "split": split}
    return made | ({"answer": answer} if answer else {}) | ({"evidence": list(evidence)} if evidence else {})
