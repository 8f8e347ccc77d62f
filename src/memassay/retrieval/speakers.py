"""Whose turns a question asks for: the speakers that it names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from memassay.retrieval.text import QUESTIONS, words

_CAPITALISED = re.compile(r"[^\W\d_]*[A-Z][^\W\d_]*")
_SHORT = 3


def named(question: str, speakers: Iterable[str]) -> frozenset[str]:
    """The speakers that a question names by a word of their name, or by a capitalised short form (Mel for Melanie).

    A short form has at least three letters and is no word that questions are made of, so "And" is not Andrew.
    """
    asked = {_bare(word) for word in words(question)}
    short = {_bare(word) for found in _CAPITALISED.findall(question) for word in words(found)}
    short = {word for word in short if len(word) >= _SHORT and word not in QUESTIONS}
    return frozenset(
        speaker
        for speaker in speakers
        if any(part in asked or any(part.startswith(word) for word in short) for part in words(speaker))
    )


def _bare(word: str) -> str:
    return word.removesuffix("'s")
