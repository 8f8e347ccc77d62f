"""Views: named pure functions run by the harness between a memory and whoever reads its dossier.

The control arms are views over no memory at all: they go through the same renderer, cut, tokenizer and grader as every
arm, which is what makes them a test of the harness.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from memassay.core.digest import digest_text
from memassay.core.dossier import dossier_of
from memassay.core.errors import UnknownName
from memassay.core.types import Corpus, Dossier, Gold, Passage, Task, Unit


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a view may see beside the task: its corpus, the tasks of the same scope in frozen order, the run's seed."""

    corpus: Corpus
    neighbours: Sequence[Task]
    seed: int


View = Callable[[Task, Dossier, Surroundings], Dossier]


def unit_passage(unit: Unit, document: str) -> Passage:
    """A unit as the controls show it: speaker and words, nothing else."""
    text = f"{unit.speaker}: {unit.text}" if unit.speaker else unit.text
    return Passage(text=text, unit_ids=(unit.id,), doc_ids=(document,))


def original(task: Task) -> Gold:
    """The task's first key, which is the data's own."""
    return next(iter(task.gold.values()), Gold())


def empty(task: Task, dossier: Dossier, around: Surroundings) -> Dossier:
    """Nothing."""
    return dossier_of(())


def oracle(task: Task, dossier: Dossier, around: Surroundings) -> Dossier:
    """Exactly the gold evidence, in its own order."""
    return dossier_of(_gold_passages(task, around.corpus))


def random(task: Task, dossier: Dossier, around: Surroundings) -> Dossier:
    """Every unit of the corpus in random order, seeded by run and task."""
    units = [(unit, document.id) for document in around.corpus.documents for unit in document.units]
    generator = np.random.Generator(np.random.PCG64(int(digest_text(f"random/{around.seed}/{task.id}")[:15], 16)))
    return dossier_of(unit_passage(*units[i]) for i in generator.permutation(len(units)))


def shuffled_gold(task: Task, dossier: Dossier, around: Surroundings) -> Dossier:
    """The gold of another question of the same scope: the next one that lacks some of this one's."""
    mine = {e.id for e in original(task).evidence}
    ids = [t.id for t in around.neighbours]
    start = ids.index(task.id)
    for step in range(1, len(ids)):
        other = around.neighbours[(start + step) % len(ids)]
        theirs = {e.id for e in original(other).evidence}
        if theirs and not (mine and mine <= theirs):
            return dossier_of(_gold_passages(other, around.corpus))
    return dossier_of(())


def stale(task: Task, dossier: Dossier, around: Surroundings) -> Dossier:
    """What was true before, as the task's payload lists it under ``stale``; nothing for any other task."""
    return dossier_of(Passage(text=text, doc_ids=(document,) if document else ()) for text, document in outdated(task))


def outdated(task: Task) -> list[tuple[str, str]]:
    """Words that were true before the task was asked, each with its document or "", from ``payload["stale"]``."""
    listed: Any = task.payload.get(STALE, ())
    return [(str(text), str(document)) for text, document in listed]


def _gold_passages(task: Task, corpus: Corpus) -> list[Passage]:
    places = {unit.id: (unit, document.id) for document in corpus.documents for unit in document.units}
    # Gold that quotes a part of a unit is shown as quoted: the whole unit may need more room than the quotation.
    return [
        unit_passage(*places[e.id])
        if e.id in places and places[e.id][0].text == e.text
        else Passage(text=e.text, unit_ids=(e.id,))
        for e in original(task).evidence
    ]


STALE = "stale"
"""The control of what was true before, and the key of a task's payload that lists it as pairs of words and document."""
CONTROLS: dict[str, View] = {
    "oracle": oracle,
    "empty": empty,
    "random": random,
    "shuffled-gold": shuffled_gold,
    STALE: stale,
}


def applicable(tasks: Sequence[Task]) -> list[str]:
    """The controls that these tasks allow: all but ``stale`` where none of them says what was true before."""
    return [name for name in CONTROLS if name != STALE or any(outdated(task) for task in tasks)]


def view(name: str) -> View:
    """The view of that name.

    Raises:
        UnknownName: no such view.
    """
    if name not in CONTROLS:
        raise UnknownName("view", name, CONTROLS)
    return CONTROLS[name]
