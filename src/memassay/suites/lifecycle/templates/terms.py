"""Invented terms: words that no language we know has, so that nobody can guess what they mean."""

from __future__ import annotations

from collections.abc import Iterator

from memassay.core.draws import Draw
from memassay.core.tokens import count

# No English word begins so, but for "zloty" and "dlog" and the like, which the middles keep away from.
_BEGINNINGS = ("zl", "zv", "gv", "dl", "zb")
_VOWELS = "aeiou"
_MIDDLES = ("br", "dr", "fr", "kv", "lm", "lv", "mb", "nv", "rk", "rv", "sk", "st")
_ENDINGS = ("bik", "dan", "fen", "gol", "kut", "lem", "mik", "nep", "pol", "rud", "sim", "tov")

FEWEST_TOKENS = 3
"""A tokenizer that knows a word spells it in one piece or two."""


def terms(seed: int) -> Iterator[str]:
    """Every term, each once, in an order that the seed decides."""
    words = [
        beginning + first + middle + second + ending
        for beginning in _BEGINNINGS
        for first in _VOWELS
        for middle in _MIDDLES
        for second in _VOWELS
        for ending in _ENDINGS
    ]
    return (word for word in Draw(f"lifecycle-terms-{seed}").shuffled(words) if invented(word))


def invented(word: str) -> bool:
    """Whether a word is spelt from pieces, as one is that nobody uses."""
    return count(f" {word}", "o200k_base") >= FEWEST_TOKENS
