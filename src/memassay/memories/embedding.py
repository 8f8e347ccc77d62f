"""What memories with an embedding model share: the model if it is here, cached vectors, their index in a store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from pydantic import JsonValue

from memassay.core.contracts import BuildContext
from memassay.core.errors import CannotMeasure, MissingExtra
from memassay.memories.folder import damaged
from memassay.retrieval.dense import DenseIndex, Search
from memassay.retrieval.embedders import Embedder, embedder
from memassay.retrieval.vectors import VectorCache, embed_all

_DENSE = "dense"
_ABOUT = "dense.json"


def available(name: str) -> Embedder:
    """The embedder of this name.

    Raises:
        CannotMeasure: its packages are not installed; the sentence names the extra.
    """
    try:
        return embedder(name)
    except MissingExtra as error:
        raise CannotMeasure(str(error)) from error


def cache_of(context: BuildContext) -> VectorCache | None:
    """The vectors that builds share, where the harness keeps any."""
    return None if context.cache is None else VectorCache(context.cache)


def write_dense(
    place: Path, texts: Sequence[str], model: Embedder, search: Search, context: BuildContext
) -> list[Path]:
    """Embed passages and write their index, and what it was made with, under ``place``; returns the files."""
    vectors = embed_all(model, texts, cache=cache_of(context), progress=context.progress)
    files = DenseIndex.build(vectors, approximate=search == "approximate").save(place / _DENSE)
    about: dict[str, JsonValue] = {
        "embedder": model.name,
        "model": model.digest,
        "passages": len(texts),
        "truncated": model.truncated(texts),
        "search": search,
    }
    (place / _ABOUT).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    return [place / _ABOUT, *files]


def read_dense(place: Path, passages: int, model: Embedder) -> DenseIndex:
    """Read what :func:`write_dense` wrote.

    Raises:
        EnvironmentProblem: it is damaged, or of another number of passages.
    """
    try:
        said = json.loads((place / _ABOUT).read_text(encoding="utf-8"))["passages"]
        dense = DenseIndex.load(place / _DENSE)
    except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
        raise damaged(place, f"a file of it cannot be read ({type(error).__name__})") from error
    if dense.vectors.shape != (said, model.dimension) or said != passages:
        raise damaged(place, "it has not one vector for every passage")
    return dense
