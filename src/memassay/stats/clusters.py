"""Which questions were sampled together: labels turned into integer codes once, then reused for every number."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Clusters:
    """The clusters of ``n`` questions, factorised.

    Every function of the package takes either raw labels or one of these. A table of hundreds of numbers over the
    same questions makes it once: factorising 1,500 labels costs about as much as three estimates.

    Attributes:
        codes: shape (n,), the cluster of each question as an integer in [0, G).
        labels: the G distinct labels, sorted; ``labels[codes[i]]`` is the label of question i.
    """

    codes: IntArray
    labels: tuple[Hashable, ...]

    @classmethod
    def of(cls, labels: ClusterLabels) -> Clusters:
        """Factorises labels; a ``Clusters`` is given back as it is.

        Args:
            labels: one label per question, all of them integers or strings.

        Raises:
            ValueError: a label is missing (None or NaN), or the labels are not one-dimensional.
        """
        if isinstance(labels, Clusters):
            return labels
        if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu":
            if labels.ndim != 1:
                raise ValueError(f"Cluster labels must be one-dimensional, not of shape {labels.shape}.")
            distinct, codes = np.unique(labels, return_inverse=True)
            return cls(codes.astype(np.int64), tuple(distinct.tolist()))
        listed: list[Any] = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
        if any(isinstance(label, list) for label in listed):
            raise ValueError("Cluster labels must be one-dimensional.")
        if any(label is None or label != label for label in listed):
            raise ValueError("A question has no cluster label; every question needs one.")
        ordered = sorted(set(listed), key=lambda label: (str(type(label)), label))
        code = {label: position for position, label in enumerate(ordered)}
        return cls(np.fromiter((code[label] for label in listed), np.int64, len(listed)), tuple(ordered))

    @property
    def n(self) -> int:
        """The number of questions."""
        return len(self.codes)

    @property
    def count(self) -> int:
        """The number of clusters, G."""
        return len(self.labels)

    @cached_property
    def sizes(self) -> FloatArray:
        """Shape (G,): the number of questions of each cluster, as floats; every one is at least 1."""
        return np.bincount(self.codes, minlength=self.count).astype(np.float64)

    @property
    def effective(self) -> float:
        """n^2 / sum n_g^2: how many independent questions these are worth if those of one cluster are all alike.

        n divided by the design effect at an intra-cluster correlation of 1 (Kish, Survey Sampling, 1965); at most G.
        0 without questions.
        """
        return self.n**2 / float(self.sizes @ self.sizes) if self.n else 0.0

    @property
    def mostly_joined(self) -> bool:
        """Whether joining could cost more than half of the questions: then clusters were sampled, not questions."""
        return 2 * self.effective < self.n

    def sums(self, values: FloatArray) -> FloatArray:
        """Shape (G,): the sum of ``values`` (shape (n,)) within each cluster."""
        return cast(FloatArray, np.bincount(self.codes, weights=values, minlength=self.count))

    def select(self, keep: npt.NDArray[np.bool_] | IntArray) -> Clusters:
        """The clusters of a part of the questions; clusters that lose all their questions are gone.

        Args:
            keep: a mask of shape (n,) or an array of positions.
        """
        codes = self.codes[keep]
        present = np.bincount(codes, minlength=self.count) > 0
        if present.all():
            return Clusters(codes, self.labels)
        renumbered = np.cumsum(present) - 1
        left = tuple(label for label, here in zip(self.labels, present, strict=True) if here)
        return Clusters(cast(IntArray, renumbered[codes].astype(np.int64)), left)


ClusterLabels = Clusters | npt.NDArray[Any] | Iterable[Hashable]


def scores(values: npt.ArrayLike, clusters: Clusters, name: str = "values", *, unit: bool = True) -> FloatArray:
    """Checks one score per question.

    Args:
        values: shape (n,); numbers without NaN.
        clusters: the clusters of the same n questions.
        name: what to call the array in an error.
        unit: whether the scores must lie in [0, 1]; an excess below 1e-9 is rounding and is cut off.

    Raises:
        ValueError: wrong shape or length, a NaN or infinity, or a score outside the range.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or len(array) != clusters.n:
        raise ValueError(
            f"{name}: {array.shape} scores for {clusters.n} cluster labels; one score per question is needed."
        )
    if not len(array):
        return array
    low, high = float(array.min()), float(array.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError(f"{name}: a score is NaN or infinite; leave such questions out and say so, in every arm.")
    if unit and (low < 0 or high > 1):
        if low < -1e-9 or high > 1 + 1e-9:
            raise ValueError(f"{name}: scores span [{low:g}, {high:g}]; they must lie in [0, 1].")
        array = np.clip(array, 0.0, 1.0)
    return array


def binary(values: FloatArray) -> bool:
    """Whether every score is 0 or 1."""
    return bool(((values == 0) | (values == 1)).all())
