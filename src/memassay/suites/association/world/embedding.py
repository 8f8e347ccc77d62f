"""The vectors that only the semantic rule reads: a function of what a node was at its birth, without a generator."""

from __future__ import annotations

import hashlib
import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from memassay.suites.association.world.nodes import Node
from memassay.suites.association.world.vocabulary import INDUSTRIES, SPECIALTIES, Label

DIMENSIONS = 1536
EMBEDDED: tuple[Label, ...] = ("Talent", "Company")

_CHAIN = "marketplace-dogfood-t1-v1"  # the published seed text; another one gives other vectors
_KEY_SHARE = 0.05


def embedding(born: Node) -> list[float]:
    """The unit vector of a node, 1,536 floats.

    It is the vector of its industry and primary specialty, plus a little of its key: nodes that were born with the same
    two words are alike, all others are not. A later change of either field does not move it, so ``born`` is the node
    of day 0 or of its insertion. The norm is summed exactly, so the vector does not depend on the Python version.
    """
    base = _base(f"{born.fields['industry']}|{born.fields['specialties'][0]}")
    mixed = base + _KEY_SHARE * _numbers(f"{_CHAIN}|key|{born.key}")
    vector: list[float] = (mixed / math.sqrt(math.fsum(mixed * mixed))).tolist()
    return vector


@lru_cache(maxsize=len(INDUSTRIES) * len(SPECIALTIES))
def _base(words: str) -> NDArray[np.float64]:
    return _numbers(f"{_CHAIN}|ind|{words}")


def _numbers(text: str) -> NDArray[np.float64]:
    """A text as 1,536 numbers in [-1, 1): the SHA-256 digests of the text and a counter, four bytes per number."""
    digests = (
        hashlib.sha256(text.encode() + counter.to_bytes(4, "little")).digest() for counter in range(DIMENSIONS // 8)
    )
    return np.frombuffer(b"".join(digests), dtype="<u4") / 2**32 * 2.0 - 1.0
