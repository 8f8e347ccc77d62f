"""Sign flips of whole clusters: all of them where there are few clusters, drawn ones otherwise.

If two arms are equally good, a cluster's summed difference is as likely to be positive as negative. Flipping the signs
of whole clusters gives the distribution of a statistic under that hypothesis without an assumption about variances.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from memassay.stats.clusters import FloatArray
from memassay.stats.distributions import fair_coins

ENUMERATED_CLUSTERS = 16  # 65,536 patterns take about 2 ms
DRAWS = 9_999  # p = (1 + b) / (1 + 9,999): a Monte Carlo error of .002 at p = .05
_CHUNK = 1 << 21  # numbers per block: 16 MB


@dataclass(frozen=True)
class Flips:
    """The sign patterns of one test.

    Attributes:
        clusters: G.
        exact: whether all 2^G patterns are enumerated.
        count: patterns enumerated (2^G) or drawn.
    """

    clusters: int
    exact: bool
    count: int
    rng: np.random.Generator | None = None

    @classmethod
    def plan(cls, clusters: int, rng: np.random.Generator | None, draws: int = DRAWS) -> Flips:
        """Chooses between enumeration (G <= 16) and ``draws`` patterns from ``rng``.

        Raises:
            ValueError: more than 16 clusters and no generator.
        """
        if clusters <= ENUMERATED_CLUSTERS:
            return cls(clusters, True, 2**clusters)
        if rng is None:
            raise ValueError(f"{clusters} clusters are too many to enumerate; pass rng, a numpy Generator.")
        return cls(clusters, False, draws, rng)

    @property
    def smallest_p(self) -> float:
        """The smallest two-sided p that the test can give."""
        return min(1.0, 2 / self.count) if self.exact else 1 / (1 + self.count)

    def blocks(self, columns: int = 1) -> Iterator[FloatArray]:
        """Sign patterns as blocks of shape (rows, G) of -1 and +1.

        An exact plan gives only the half of the patterns whose first sign is +: the other half are their negatives.
        """
        rows = max(1, _CHUNK // max(self.clusters, columns, 1))
        if self.exact:
            signs = _half(self.clusters)
            for start in range(0, len(signs), rows):
                yield signs[start : start + rows]
            return
        assert self.rng is not None  # plan() refuses a drawn plan without a generator
        for start in range(0, self.count, rows):
            size = min(rows, self.count - start)
            packed = np.frombuffer(self.rng.bytes((size * self.clusters + 7) // 8), dtype=np.uint8)
            bits = np.unpackbits(packed)[: size * self.clusters].reshape(size, self.clusters)
            yield bits.astype(np.float64) * 2.0 - 1.0

    def share(self, hits: FloatArray) -> FloatArray:
        """Turns counts of patterns at least as extreme, over all blocks, into p-values."""
        if self.exact:
            return hits / (self.count / 2)
        return (1 + hits) / (1 + self.count)


def whole_number_flip(sums: FloatArray) -> float:
    """Two-sided sign-flip p of cluster sums that are whole numbers, over all 2^G patterns for any G.

    The flipped total of k clusters of the same size m is m (2 x heads - k) of k fair coins; different sizes are
    convolved. Where every sum is -1, 0 or 1 this is McNemar's exact test.

    Args:
        sums: shape (G,), whole numbers: differences of right answers between two arms.
    """
    observed = abs(round(float(sums.sum())))
    if not observed:
        return 1.0
    sizes, counts = np.unique(np.abs(sums[sums != 0]).round().astype(np.int64), return_counts=True)
    chances = np.ones(1)
    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        heads = np.zeros(size * count + 1)
        heads[::size] = fair_coins(count)
        chances = np.convolve(chances, heads)
    top = len(chances) - 1
    totals = 2 * np.arange(top + 1) - top
    return min(1.0, float(chances[np.abs(totals) >= observed].sum()))


@lru_cache(maxsize=32)
def _half(clusters: int) -> FloatArray:
    patterns = np.arange(2 ** max(clusters - 1, 0))
    bits = (patterns[:, None] >> np.arange(clusters - 1, -1, -1)) & 1
    signs = 1.0 - 2.0 * bits.astype(np.float64)
    signs.flags.writeable = False
    return signs
