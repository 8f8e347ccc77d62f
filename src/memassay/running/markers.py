"""The marker control: one planted document per cluster that every memory must find.

The planted document stands beside the scope's own first document in a small corpus of its own, so the store under test
holds what its users' documents hold and nothing else, and a memory that pays a model per document pays for two.
"""

from __future__ import annotations

from collections.abc import Sequence

from memassay.core.digest import digest_of, digest_text
from memassay.core.types import Corpus, Document, Evidence, Gold, Task, Unit

MARKER = "control:marker"
_WORDS = (
    "amber",
    "birch",
    "cobalt",
    "dune",
    "ember",
    "fjord",
    "garnet",
    "heron",
    "indigo",
    "juniper",
    "krill",
    "larch",
)


def marker_corpora(corpora: Sequence[Corpus]) -> list[Corpus]:
    """One small corpus per corpus: its first document and the planted one."""
    return [_planted(corpus) for corpus in corpora]


def marker_tasks(suite: str, markers: Sequence[Corpus], tasks: Sequence[Task]) -> list[Task]:
    """One question per marker corpus, whose evidence is the planted unit."""
    clusters = {task.scope: task for task in tasks}
    made = []
    for corpus in markers:
        planted = corpus.documents[-1]
        near = clusters[corpus.id.removesuffix("+marker")]
        made.append(
            Task(
                id=f"marker/{near.scope}",
                suite=suite,
                scope=corpus.id,
                cluster=near.cluster,
                category=MARKER,
                split=near.split,
                prompt="Which phrase did the lighthouse keeper write into the harbour logbook?",
                as_of=near.as_of,
                gold={"original": Gold(evidence=(Evidence(id=planted.units[0].id, text=planted.units[0].text),))},
            )
        )
    return made


def _planted(corpus: Corpus) -> Corpus:
    number = int(digest_text(f"marker/{corpus.id}")[:12], 16)
    phrase = " ".join(_WORDS[(number >> (8 * i)) % len(_WORDS)] for i in range(3))
    first = corpus.documents[:1]
    text = f"The lighthouse keeper wrote this phrase into the harbour logbook: {phrase} {number % 9973}."
    planted = Document(
        id="memassay-marker",
        title="Harbour logbook",
        text=text,
        date=first[0].date if first else None,
        units=(Unit(id="memassay-marker:1", text=text, span=(0, len(text))),),
    )
    documents = (*first, planted)
    return Corpus(
        id=f"{corpus.id}+marker",
        variant="marker",
        documents=documents,
        digest=digest_of([d.model_dump(mode="json") for d in documents]),
    )
