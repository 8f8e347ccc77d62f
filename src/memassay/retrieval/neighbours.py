"""Similarity of lines in their context: the line itself, the lines around it, the document that it stands in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memassay.retrieval.embedders import Vectors

Cosines = NDArray[np.float64]

# Similarities are rounded, so that the last bits of a matrix product decide nothing.
_DECIMALS = 6


class Neighbours:
    """Vectors of lines, documents one after the other.

    The vector of a window is the sum of its lines' vectors, made length 1: no window is embedded a second time.

    Args:
        vectors: one row of length 1 (or zeros) per line, float32 ``[lines, dimension]``.
        counts: lines per document; their sum is the number of rows.
        reach: lines on either side that belong to a window, within the document.
    """

    def __init__(self, vectors: Vectors, counts: Sequence[int], reach: int) -> None:
        self._lines = vectors
        self._counts = np.array([count for count in counts if count], dtype=np.int64)
        self._starts = np.cumsum(self._counts) - self._counts
        self._windows = np.concatenate(
            [
                vectors[:0],
                *(
                    _summed(vectors[at : at + count], reach)
                    for at, count in zip(self._starts, self._counts, strict=True)
                ),
            ]
        )

    def similarities(self, question: Vectors) -> tuple[Cosines, Cosines, Cosines]:
        """Cosines of a question vector with each line, with its window, and with the best line of its document."""
        lines = _cosines(self._lines, question)
        best = np.maximum.reduceat(lines, self._starts) if len(lines) else lines
        return lines, _cosines(self._windows, question), np.repeat(best, self._counts)


def _cosines(vectors: Vectors, question: Vectors) -> Cosines:
    return np.round(vectors @ question, _DECIMALS).astype(np.float64)


def _summed(vectors: Vectors, reach: int) -> Vectors:
    total = np.cumsum(np.vstack([np.zeros((1, vectors.shape[1])), vectors]), axis=0)
    at = np.arange(len(vectors))
    sums = total[np.minimum(at + reach + 1, len(vectors))] - total[np.maximum(at - reach, 0)]
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    unit: Vectors = np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 1e-9).astype(np.float32)
    return unit
