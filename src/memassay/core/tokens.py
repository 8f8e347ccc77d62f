"""Counting and cutting by tokens, offline.

A tokenizer measures in *marks*, the integers it can add up exactly: a BPE token is one mark, and under ``chars4`` a
character is one mark and four marks are a token. Budgets are given in tokens.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from memassay.core.errors import UnknownName

DEFAULT_TOKENS = "o200k_base"
NAMES = ("o200k_base", "cl100k_base", "chars4")


# bpe-openai refuses a million characters, and 200,000 tokens; a character is at most 4 of them.
_LONGEST = 50_000
# Both encodings begin a new piece here whatever follows: a line end before a letter, a blank after a word.
_BORDER = re.compile(r"(?<=\n)(?=[^\W\d_])|(?<=[^\W_])(?= [^\W\d_])")


def seam(text: str, start: int, end: int) -> int:
    """The first place inside ``text[start:end]`` where every tokenizer parts it, so that marks add up; -1 if none.

    Whatever is put before the part in front of it, or behind the part after it, the marks of the whole are the sum of
    the marks of the two.
    """
    found = _BORDER.search(text, start + 1, end)
    return found.start() if found else -1


def _pieces(text: str) -> Iterator[str]:
    """A long text in pieces of at most ``_LONGEST`` characters, split where its tokens are parted anyway."""
    start = 0
    while len(text) - start >= _LONGEST:
        near = start + _LONGEST - 10_000
        found = seam(text, near, start + _LONGEST)
        end = found if found >= 0 else start + _LONGEST - 1
        yield text[start:end]
        start = end
    yield text[start:]


class Tokenizer(Protocol):
    """Attributes: ``name`` as in the manifest; ``marks_per_token``."""

    name: str
    marks_per_token: int

    def marks(self, text: str) -> int:
        """Length of a text in marks."""
        ...

    def cut(self, text: str, marks: int) -> str:
        """The longest prefix that the first ``marks`` marks spell in full."""
        ...


class Characters:
    """Characters divided by four, the rule of many published figures."""

    name = "chars4"
    marks_per_token = 4

    def marks(self, text: str) -> int:
        return len(text)

    def cut(self, text: str, marks: int) -> str:
        return text[: max(marks, 0)]


class BytePairs:
    """A byte-pair encoding that ships inside a package (bpe-openai), so nothing is downloaded at run time."""

    marks_per_token = 1

    def __init__(self, name: str) -> None:
        import bpe_openai

        self.name = name
        self._encoding: Any = bpe_openai.get_encoding(name)
        # The package's compiled part counts without making a list, in three quarters of the time, but the documented
        # class does not pass that on. Where it is not to be found, the list is counted.
        compiled = getattr(self._encoding, "_backend", None)
        self._count: Callable[[str], int] = getattr(compiled, "count", None) or self._listed

    def marks(self, text: str) -> int:
        clean = _clean(text)
        if len(clean) < _LONGEST:
            return self._count(clean)
        return sum(map(self._count, _pieces(clean)))

    def cut(self, text: str, marks: int) -> str:
        if marks <= 0:
            return ""
        tokens = self._encode(text)
        if len(tokens) <= marks:
            return text
        # A token may end inside a character: what is not whole is not there.
        return str(self._encoding.decode_bytes(tokens[:marks]).decode("utf-8", "ignore"))

    def _listed(self, text: str) -> int:
        return len(self._encoding.encode_ordinary(text))

    def _encode(self, text: str) -> list[int]:
        # Ordinary: a document that spells "<|endoftext|>" is text, not a command.
        clean = _clean(text)
        if len(clean) < _LONGEST:
            return list(self._encoding.encode_ordinary(clean))
        return [token for piece in _pieces(clean) for token in self._encoding.encode_ordinary(piece)]


def _clean(text: str) -> str:
    # Lone surrogates become one mark each.
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


@functools.cache
def tokenizer(name: str = DEFAULT_TOKENS) -> Tokenizer:
    """The tokenizer of that name.

    Raises:
        UnknownName: no such tokenizer, with the known names.
    """
    if name == "chars4":
        return Characters()
    if name in NAMES:
        return BytePairs(name)
    raise UnknownName("tokenizer", name, NAMES)


def count(text: str, name: str = DEFAULT_TOKENS) -> int:
    """Tokens in a text, rounded up."""
    counter = tokenizer(name)
    return -(-counter.marks(text) // counter.marks_per_token)
