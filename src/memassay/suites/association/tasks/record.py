"""A task as it is drawn, and as the rest of the house knows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from memassay.core.types import Gold, Task
from memassay.suites.association.grading import NEAR
from memassay.suites.association.tasks import wording

SUITE = "association"

Kind = Literal["why", "multihop", "retraction", "timetravel", "visibility"]
KINDS: tuple[Kind, ...] = ("why", "multihop", "retraction", "timetravel", "visibility")


@dataclass(frozen=True, slots=True)
class Draft:
    """A question with its answer.

    Attributes:
        kind: which of the five.
        question: without the opening and the closing.
        asks: what the question is about, by name; the payload of the task, so nothing of the answer is in it.
        as_of: the date that the question is about.
        answer: the right values, sorted.
        near: the five near-misses, sorted.
        more: what else is known of the answer, only for the file of tasks.
    """

    kind: Kind
    question: str
    asks: Mapping[str, JsonValue]
    as_of: str
    answer: tuple[str, ...]
    near: tuple[str, ...]
    more: Mapping[str, JsonValue]


def name_of(kind: Kind, place: int) -> str:
    """The id of the task at that place (from 1) in its kind; it does not depend on how many are drawn."""
    return f"assoc-{kind}-{place}"


def placed(drafts: Iterable[Draft]) -> Iterator[tuple[int, int, Draft]]:
    """Every draft with its number in the whole set (1 to 20 in the published one) and its place in its kind, from 1."""
    places: Counter[Kind] = Counter()
    for number, draft in enumerate(drafts, start=1):
        places[draft.kind] += 1
        yield number, places[draft.kind], draft


def task_of(draft: Draft, number: int, place: int, scope: str) -> Task:
    """The core task.

    Args:
        draft: what was drawn.
        number: in the whole set, from 1.
        place: in its kind, from 1.
        scope: id of the corpus.
    """
    name = name_of(draft.kind, place)
    return Task(
        id=name,
        suite=SUITE,
        scope=scope,
        cluster=name,
        category=draft.kind,
        prompt=wording.prompt(draft.question),
        payload={"number": number, **draft.asks},
        gold={
            "original": Gold(answer="\n".join(draft.answer)),
            NEAR: Gold(answer="\n".join(draft.near), excluded="near-misses, forbidden"),
        },
    )


def targets_of(task: Task) -> tuple[str, ...]:
    """What the task is built around, as an avoid list names it: the keys, or the bar of a multi-hop question."""
    if task.category == "multihop":
        return (bar_name(int(str(task.payload["years"])), int(str(task.payload["talents"]))),)
    target = task.payload["target"]
    return tuple(map(str, target)) if isinstance(target, list) else (str(target),)


def bar_name(years: int, talents: int) -> str:
    """How an avoid list names a multi-hop question, which has no key of its own: ``years-10-talents-14``."""
    return f"years-{years}-talents-{talents}"
