"""Built forms for tests."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from memassay.core.contracts import BuildContext
from memassay.core.types import Corpus, StoreRef
from memassay.suites.association.world import World, make_world

SMALL = 40


@functools.cache
def world_of(scale: int = SMALL, seed: int = 7) -> World:
    return make_world(seed, scale)


def corpus_of(world: Any) -> Corpus:
    return Corpus(id="world", documents=(), native=world, digest=getattr(world, "digest", ""))


def ref_of(place: Path) -> StoreRef:
    return StoreRef(key="k", location=str(place))


def build(memory: Any, place: Path, world: World | None = None) -> Path:
    """Build a form in ``place`` and give the place back."""
    place.mkdir(parents=True, exist_ok=True)
    memory.build(corpus_of(world or world_of()), place, BuildContext())
    return place
