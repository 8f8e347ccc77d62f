"""Random pages, indexes of them, and what must be equal between two snapshots."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np

from memassay.knowledge.entries import Settings
from memassay.knowledge.index import Incoming, Index
from memassay.knowledge.snapshot import Snapshot

_WORDS = [
    "ada", "engine", "london", "poem", "number", "machine", "note", "bridge",
    "river", "garden", "winter", "letter", "paper", "music", "stone",
]  # fmt: skip
_NAMES = ("ada", "bridge", "london", "note", "index")
_FOLDERS = ("", "people/", "places/", "people/old/")
SETTINGS = Settings(tokens="chars4", max_chars=120)


def keys() -> list[str]:
    return sorted(folder + name for folder in _FOLDERS for name in _NAMES)


def page_text(draw: random.Random) -> str:
    """A page with words, links of every kind, sections and sometimes front matter."""
    parts = []
    if draw.random() < 0.2:
        parts.append(f"---\ntitle: {draw.choice(_WORDS)} {draw.choice(_WORDS)}\ntags: [a, b]\n---\n")
    if draw.random() < 0.8:
        parts.append(f"# {draw.choice(_WORDS).title()} {draw.choice(_WORDS)} (note)\n\n")
    for _ in range(draw.randint(0, 5)):
        kind = draw.random()
        if kind < 0.15:
            parts.append(f"## {draw.choice(_WORDS)}\n\n")
        elif kind < 0.3:
            parts.append(f"[[{draw.choice(_NAMES)}]]\n\n")
        elif kind < 0.4:
            parts.append(f"[{draw.choice(_WORDS)}](/{draw.choice(keys())}.md)\n\n")
        else:
            words = " ".join(draw.choices(_WORDS, k=draw.randint(1, 40)))
            link = draw.choice(("", f" [[{draw.choice(_NAMES)}|so]]", f" [x](../{draw.choice(_NAMES)}.md)"))
            parts.append(f"{words}{link}.\n\n")
    return "".join(parts)


def put(
    index: Index, pages: dict[str, str], changed: list[str] | None = None, removed: list[str] | None = None
) -> None:
    def read(key: str) -> Incoming | None:
        return Incoming(pages[key]) if key in pages else None

    index.update(sorted(pages) if changed is None else changed, read, removed or [])


def built(pages: dict[str, str], given: Settings = SETTINGS) -> Index:
    index = Index.private(given)
    put(index, pages)
    return index


def assert_equal(one: Snapshot, other: Snapshot) -> None:
    """Two snapshots say the same, number for number and bit for bit."""
    assert one.keys() == other.keys()
    for name in ("starts", "page_of", "lengths"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    for passage in range(one.passages):
        for heads in (False, True):
            assert one.marks(passage, passage + 1, heads=heads) == other.marks(passage, passage + 1, heads=heads)
    everything = np.arange(one.pages)
    for page in range(one.pages):
        mine, theirs = one.stored(page), other.stored(page)
        assert mine[:5] == theirs[:5] and mine.heads == theirs.heads
        assert one.find(mine.key) == page == other.find(mine.key)
        assert one.targets(page) == other.targets(page)
        assert one.sources(mine.key) == other.sources(mine.key)
        assert one.text(int(one.starts[page])) == other.text(int(one.starts[page]))
    for ask in (Snapshot.out_edges, Snapshot.in_edges):
        for found, wanted in zip(ask(one, everything), ask(other, everything), strict=True):
            assert np.array_equal(found, wanted)
    for found, wanted in zip(
        one.neighbours(np.arange(one.passages)), other.neighbours(np.arange(one.passages)), strict=True
    ):
        assert np.array_equal(found, wanted)
    terms = [*_WORDS, "nowhere"]
    assert np.array_equal(one.df(terms), other.df(terms))
    assert np.array_equal(one.weights(terms, np.arange(one.passages)), other.weights(terms, np.arange(one.passages)))
    for first, second in pairwise(terms):
        assert np.array_equal(one.scores([first, second, first]), other.scores([first, second, first]))
        assert np.array_equal(one.holding([first, second]), other.holding([first, second]))
        assert np.array_equal(one.named(f"{first} {second}"), other.named(f"{first} {second}"))
