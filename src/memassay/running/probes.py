"""Controls of judges of pairs: two texts of which it is known how they differ.

Made from the run folder alone, so that a judge can be added to a finished run. ``a`` is the text as it should be, ``b``
what was done to it:

==============  =============================================  =====================================
``same``        a memory's own dossier                         the same
``shuffled``    the same                                       its passages in the opposite order
``random``      the gold facts                                 those of another question
``truncated``   the gold facts                                 the first half of them
``padded``      the gold facts                                 with facts of other questions behind
==============  =============================================  =====================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from memassay.core.dossier import Rendering, block
from memassay.core.tokens import Tokenizer
from memassay.core.types import Dossier, Task
from memassay.core.views import original

PROBES = ("same", "shuffled", "random", "truncated", "padded")
QUESTIONS = 16
"""Questions that each probe takes, spread over the run's."""
_PADDING = 10


@dataclass(frozen=True, slots=True)
class Probe:
    """One control of a judge: ``name`` is one of ``PROBES``."""

    name: str
    task: Task
    a: str
    b: str


def probes(
    tasks: Sequence[Task], found: Callable[[Task], Dossier | None], tokens: Tokenizer, budget: int
) -> Iterator[Probe]:
    """The controls, question by question.

    Args:
        tasks: in frozen order; those with gold facts are used.
        found: a dossier of a question, of whatever memory, or None.
        tokens: what counts.
        budget: where dossiers are cut.
    """
    facts = {task.id: _facts(task) for task in tasks}
    asked = [task for task in tasks if facts[task.id]]
    for number, task in spread(asked, QUESTIONS):
        mine = facts[task.id]
        dossier = found(task)
        if dossier is not None and dossier.passages:
            shown = Rendering(dossier.passages, tokens, budget)
            whole = dossier.passages[: max(1, shown.head(budget)[0])]
            texts = [passage.text for passage in whole]
            yield Probe("same", task, _text(texts), _text(texts))
            if len(texts) > 1:
                yield Probe("shuffled", task, _text(texts), _text(texts[::-1]))
        others = [facts[other.id] for other in (*asked[number + 1 :], *asked[:number]) if other.cluster != task.cluster]
        strange = [fact for theirs in others for fact in theirs if fact not in mine]
        if strange:
            yield Probe("random", task, _text(mine), _text(strange[: len(mine)]))
            yield Probe("padded", task, _text(mine), _text([*mine, *strange[:_PADDING]]))
        yield Probe("truncated", task, _text(mine), _text(_half(mine)))


def spread(tasks: Sequence[Task], number: int) -> list[tuple[int, Task]]:
    """At most so many tasks at equal distances, with their places."""
    wanted = min(number, len(tasks))
    places = [len(tasks) * step // wanted for step in range(wanted)]
    return [(place, tasks[place]) for place in places]


def _facts(task: Task) -> list[str]:
    return list(dict.fromkeys(fact.text.strip() for fact in original(task).evidence if fact.text.strip()))


def _half(facts: Sequence[str]) -> list[str]:
    """The first half of the facts; of a single one the first half of its words."""
    if len(facts) > 1:
        return list(facts[: len(facts) // 2])
    words = facts[0].split()
    return [" ".join(words[: len(words) // 2])] if len(words) > 1 else []


def _text(texts: Sequence[str]) -> str:
    return "".join(block(rank, text) for rank, text in enumerate(texts, start=1))
