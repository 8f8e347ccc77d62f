"""Two rankings of the same passages as one: words and meaning."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from memassay.retrieval.bm25 import Scores, best_first

Fusion = Literal["scores", "ranks"]
FUSIONS: tuple[str, ...] = get_args(Fusion)

# The constant of reciprocal ranks. The usual 60 makes the first ranks nearly equal; over the first few hundred
# passages 10 was better on both development sets (docs/memories/hybrid.md).
RANK_CONSTANT = 10


def fuse(
    lexical: Scores, ids: NDArray[np.int64], similar: NDArray[np.float32], *, weight: float, fusion: Fusion
) -> tuple[list[int], Scores]:
    """The passages that either ranking found, best first, and a score from 0 to 1 for every passage.

    ``scores``: the lexical score as a share of the best one, and the similarity as its place between the least and the
    greatest of those given. ``ranks``: ``(c + 1) / (c + rank)`` in each ranking, 0 where it does not stand. The two are
    added with ``1 - weight`` and ``weight``; equal sums keep the order of the passages.

    Args:
        lexical: one score per passage, 0 where nothing matched.
        ids: the nearest passages, nearest first.
        similar: their similarities.
        weight: of the similarities, 0 to 1.
        fusion: which of the two.
    """
    matched = best_first(lexical)
    share = np.zeros(len(lexical), dtype=np.float64)
    near = np.zeros(len(lexical), dtype=np.float64)
    if fusion == "ranks":
        share[matched] = _reciprocal(len(matched))
        near[ids] = _reciprocal(len(ids))
    else:
        if matched:
            share[:] = lexical / lexical[matched[0]]
        if len(ids):
            least, greatest = float(similar[-1]), float(similar[0])
            near[ids] = (similar - least) / (greatest - least) if greatest > least else 1.0
    fused = ((1 - weight) * share + weight * near).astype(np.float32)
    found = np.zeros(len(lexical), dtype=bool)
    found[matched] = True
    found[ids] = True
    candidates = np.flatnonzero(found)
    order: list[int] = candidates[np.argsort(-fused[candidates], kind="stable")].tolist()
    return order, fused


def _reciprocal(count: int) -> NDArray[np.float64]:
    return (RANK_CONSTANT + 1) / (RANK_CONSTANT + 1 + np.arange(count))
