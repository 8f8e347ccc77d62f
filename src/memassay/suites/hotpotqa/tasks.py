"""The questions as tasks: their gold pages, their supporting sentences, and which of them hang together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ahocorasick_rs import AhoCorasick
from pydantic import JsonValue

from memassay.core.types import Evidence, Gold, Task
from memassay.core.wording import normalise, stands
from memassay.suites.hotpotqa.draw import Draw
from memassay.suites.hotpotqa.linking import Plain
from memassay.suites.hotpotqa.load import Question, one_line
from memassay.suites.hotpotqa.pool import SCOPE

PAGES = "original"
"""The gold key of the pages: the first, so the primary one."""

FACTS = "facts"
"""The gold key of the supporting sentences."""


def tasks(questions: Sequence[Question], drawn: Draw, pages: Sequence[Plain]) -> list[Task]:
    """One task per question, in the order given.

    Args:
        questions: those of the draw.
        drawn: says which split a question is in.
        pages: the pool of exactly these questions.
    """
    by_title = {page.title: page for page in pages}
    golds = [gold_pages(question, by_title) for question in questions]
    inside = held_elsewhere({page.key for gold in golds for page in gold}, pages)
    clusters = joined([(q.id, [page.key for page in gold]) for q, gold in zip(questions, golds, strict=True)])
    tests = frozenset(drawn.test)
    made = []
    for question, gold in zip(questions, golds, strict=True):
        payload: dict[str, JsonValue] = {"level": question.level} if question.level else {}
        keys = {page.key for page in gold}
        lost = lost_titles(question, by_title)
        if lost and gold:
            payload["partly_unresolved"] = True
        if keys & inside.keys():
            payload["gold_elsewhere"] = [*sorted(keys & inside.keys())]
        made.append(
            Task(
                id=question.id,
                suite="hotpotqa",
                scope=SCOPE,
                cluster=clusters[question.id],
                category=question.type,
                split="test" if question.id in tests else "dev",
                prompt=question.question,
                payload=payload,
                gold={
                    PAGES: Gold(
                        answer=question.answer,
                        evidence=tuple(Evidence(id=page.key, text=page.body) for page in gold),
                        unresolved=lost,
                    ),
                    FACTS: _facts(question, by_title),
                },
            )
        )
    return made


def gold_pages(question: Question, by_title: Mapping[str, Plain]) -> list[Plain]:
    """The pages of the supporting facts that can be looked for: in the question's own context, and with a body."""
    own = {page.title for page in question.context}
    return [by_title[title] for title in question.titles if title in own and by_title[title].body]


def lost_titles(question: Question, by_title: Mapping[str, Plain]) -> tuple[str, ...]:
    """The titles of supporting facts that name no page that can be looked for."""
    found = {page.title for page in gold_pages(question, by_title)}
    return tuple(title for title in question.titles if title not in found)


def sentences(question: Question) -> tuple[list[tuple[str, int, str]], list[tuple[str, int]]]:
    """The supporting sentences as (title, number, words), and those that name no sentence with words."""
    context: dict[str, tuple[str, ...]] = {}
    for page in question.context:
        context.setdefault(page.title, page.sentences)
    found: list[tuple[str, int, str]] = []
    lost: list[tuple[str, int]] = []
    for title, number in dict.fromkeys(question.facts):
        held = context.get(title, ())
        words = one_line(held[number]) if 0 <= number < len(held) else ""
        if words:
            found.append((title, number, words))
        else:
            lost.append((title, number))
    return found, lost


def _facts(question: Question, by_title: Mapping[str, Plain]) -> Gold:
    found, lost = sentences(question)
    # Where another question has the title with other words, the pool shows those: the sentence is not there.
    shown = [(t, n, words) for t, n, words in found if words in by_title[t].body]
    gone = [*lost, *((t, n) for t, n, words in found if words not in by_title[t].body)]
    return Gold(
        answer=question.answer,
        evidence=tuple(Evidence(id=f"{by_title[t].key}#{n}", text=words) for t, n, words in shown),
        unresolved=tuple(f"{title}#{number}" for title, number in gone),
    )


def held_elsewhere(gold: Iterable[str], pages: Sequence[Plain]) -> dict[str, str]:
    """Gold pages whose words stand in another page too, so that showing that one is taken for showing them.

    Returns:
        Key of the gold page to the key of the first other page that holds its words.
    """
    wanted = set(gold)
    texts = [normalise(page.body) for page in pages]
    bodies = [(page.key, text) for page, text in zip(pages, texts, strict=True) if page.key in wanted and text]
    if not bodies:
        return {}
    finder = AhoCorasick([text for _, text in bodies])
    found: dict[str, str] = {}
    for page, text in zip(pages, texts, strict=True):
        for number, _, _ in finder.find_matches_as_indexes(text, overlapping=True):
            key, words = bodies[number]
            if key != page.key and key not in found and stands(words, text):
                found[key] = page.key
    return found


def joined(questions: Sequence[tuple[str, Sequence[str]]]) -> dict[str, str]:
    """Questions that share a gold page, directly or through others, as one cluster.

    Args:
        questions: id and keys of the gold pages.

    Returns:
        Each id to the smallest id of its cluster, by bytes.
    """
    parent = {name: name for name, _ in questions}

    def root(name: str) -> str:
        while parent[name] != name:
            parent[name] = name = parent[parent[name]]
        return name

    first: dict[str, str] = {}
    for name, keys in questions:
        for key in keys:
            one, other = sorted((root(name), root(first.setdefault(key, name))), key=str.encode)
            parent[other] = one
    return {name: root(name) for name in parent}
