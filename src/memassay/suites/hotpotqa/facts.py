"""What is in a HotPotQA file, counted: its size, its types, and its defects by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memassay.core.types import Frozen
from memassay.suites.hotpotqa.draw import draw
from memassay.suites.hotpotqa.linking import link
from memassay.suites.hotpotqa.load import TYPES, Loaded, Question
from memassay.suites.hotpotqa.pool import pool
from memassay.suites.hotpotqa.tasks import gold_pages, held_elsewhere, joined, lost_titles, sentences

_NAMED = 20


class Fact(Frozen):
    """A count, what it counts, and the ids of what was counted where they are worth naming (at most 20)."""

    label: str
    count: int
    names: tuple[str, ...] = ()


def facts(loaded: Loaded) -> Mapping[str, Fact]:
    """Every fact of a file by a stable key, in the order in which ``memassay data verify hotpotqa`` prints them."""
    questions = loaded.questions
    pages = pool(questions)
    by_title = {page.title: page for page in pages}
    golds = {q.id: gold_pages(q, by_title) for q in questions}
    elsewhere = held_elsewhere({page.key for gold in golds.values() for page in gold}, pages)
    clusters = joined([(q.id, [page.key for page in golds[q.id]]) for q in questions])
    drawn = draw([q.id for q in questions])
    linked = link(pages)
    found = {
        "questions": Fact(label="questions", count=len(questions)),
        **{kind: Fact(label=kind, count=sum(q.type == kind for q in questions)) for kind in TYPES},
        "dev": Fact(label="drawn as dev", count=len(drawn.dev)),
        "test": Fact(label="drawn as test", count=len(drawn.test)),
        "clusters": Fact(label="clusters of questions that share no gold page", count=len(set(clusters.values()))),
        "pages": Fact(label="pages, all contexts pooled", count=len(pages)),
        "title_links": Fact(label="links with --links titles", count=sum(len(page.targets) for page in linked)),
        "linked_pages": Fact(label="pages with a link", count=sum(bool(page.targets) for page in linked)),
        "two_gold_pages": Fact(label="questions with two gold pages", count=sum(len(g) == 2 for g in golds.values())),
    }
    return found | {
        "repeated": _named("ids that come again (only the first question is kept)", loaded.repeated),
        "without_gold": _named("questions without a gold page", [q.id for q in questions if not golds[q.id]]),
        "lost_titles": _named(
            "questions with a supporting title that is not in the context, or has no words",
            [q.id for q in questions if lost_titles(q, by_title)],
        ),
        "lost_sentences": _named(
            "questions with a supporting sentence that is not there", [q.id for q in questions if sentences(q)[1]]
        ),
        "elsewhere": _named("gold pages whose words stand in another page too", list(elsewhere)),
        "other_words": _named("titles that come again with other words", _other_words(questions)),
        "empty": _named("pages without words", [page.key for page in pages if not page.body]),
    }


def _named(label: str, names: Sequence[str]) -> Fact:
    return Fact(label=label, count=len(names), names=tuple(names[:_NAMED]))


def _other_words(questions: Sequence[Question]) -> list[str]:
    first: dict[str, str] = {}
    other: dict[str, None] = {}
    for question in questions:
        for page in question.context:
            if first.setdefault(page.title, page.body) != page.body:
                other[page.title] = None
    return list(other)
