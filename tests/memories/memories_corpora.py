"""Corpora for the tests of the embedded memories, and one way to build and open any of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memassay.core.contracts import BuildContext
from memassay.core.types import Corpus, Document, Query, StoreRef, Unit
from memassay.memories.files import Files
from memassay.memories.full_context import FullContext
from memassay.memories.lexical import Lexical
from memassay.memories.markdown import Markdown

MEMORIES: dict[str, Callable[..., Any]] = {
    "files": Files,
    "full-context": FullContext,
    "lexical": Lexical,
    "markdown": Markdown,
}

_NOUNS = "harbour violin glacier lantern orchard compass kettle meadow anchor pepper marble canyon falcon quilt"
_VERBS = "painted repaired borrowed visited measured forgot planted cooked photographed sold"
NOUNS, VERBS = _NOUNS.split(), _VERBS.split()


def corpus_of(*documents: Document) -> Corpus:
    return Corpus(id="test", documents=documents, digest="0" * 64)


def conversation(sessions: int = 6, turns: int = 23, seed: int = 0) -> Corpus:
    """Sessions of made-up turns; every turn holds a word of its own (``tok3x7``) besides common ones."""
    draw = random.Random(seed)
    documents = []
    for s in range(sessions):
        units = tuple(
            Unit(
                id=f"D{s + 1}:{t + 1}",
                speaker=("Ann", "Bob")[t % 2],
                text=f"I {draw.choice(VERBS)} the {draw.choice(NOUNS)} and the {draw.choice(NOUNS)} tok{s}x{t}.",
                note=f"a photo of a {draw.choice(NOUNS)}" if t % 7 == 3 else "",
            )
            for t in range(turns)
        )
        text = "\n".join(f"{u.speaker}: {u.text}" for u in units)
        date = f"2023-{s + 1:02d}-08T13:56"
        documents.append(Document(id=f"c/session_{s + 1}", title=f"Session {s + 1}", text=text, date=date, units=units))
    return corpus_of(*documents)


def ask(text: str, budget: int = 4000, limit: int | None = None) -> Query:
    return Query(text=text, budget_tokens=budget, limit=limit)


def ref(place: Path) -> StoreRef:
    return StoreRef(key="k", location=str(place))


def build_and_open(memory: Any, corpus: Corpus, place: Path) -> Any:
    place.mkdir(parents=True, exist_ok=True)
    memory.build(corpus, place, BuildContext())
    return memory.open(ref(place))
