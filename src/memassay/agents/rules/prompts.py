"""What a prompt wants: to have something kept, corrected or forgotten, or to have a question answered.

By generic signs of the language alone: a question has a question mark; who tells something speaks to the agent about
its memory ("keep it", "update what you saved"), and what is left without these sentences is the fact.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from memassay.agents.rules.words import terms

Kind = Literal["keep", "correct", "forget"]
Function = Literal["avg", "sum", "max", "min"]

_FORGET = re.compile(r"\b(?:forget|remove|delete|erase|discard)\b", re.IGNORECASE)
_CORRECT = re.compile(r"\b(?:wrong|correct\w*|update|up to date|outdated|no longer|replace\w*)\b", re.IGNORECASE)
_KEEP = re.compile(r"\b(?:keep|save|remember|store|record|note|capture|memorise|memorize)\b", re.IGNORECASE)

# Sentences end before a capital, or a quote that opens; SQL ends with its semicolon.
_END = re.compile(r"(?<=[.!?;])\s+(?=[A-Z'\"])")
_TO_THE_AGENT = re.compile(
    r"\b(?:I|you|your|memory)\b|^(?:please|link|bring|keep|save|remember|store|record|note|forget|remove|update)\b",
    re.IGNORECASE,
)

# A name with dots, as datasets have: main.orders, iceberg.bench.orders.
_DATASET = re.compile(r"\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")

_FUNCTIONS: dict[str, Function] = {
    "average": "avg", "mean": "avg", "total": "sum", "sum": "sum", "highest": "max", "largest": "max",
    "lowest": "min", "smallest": "min",
}  # fmt: skip
_OF_A_SUBJECT = re.compile(rf"\bthe ({'|'.join(_FUNCTIONS)}) (.+?) (?:of|for|over|across)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Told:
    """Somebody tells something.

    Attributes:
        fact: without what is said to the agent; the whole prompt where nothing else is left.
        dataset: the first one that is named, or "".
    """

    kind: Kind
    prompt: str
    fact: str
    dataset: str


@dataclass(frozen=True, slots=True)
class Asked:
    """Somebody asks something.

    Attributes:
        dataset: the first one that is named, or "".
        function, subject: where another aggregate than a definition's own is asked for: of ``the average fee in cents
            of the ... orders`` they are ``avg`` and ``fee in cents``; else None and "".
    """

    prompt: str
    dataset: str
    function: Function | None = None
    subject: str = ""


def read(prompt: str) -> Told | Asked:
    """What a prompt wants; what tells nothing is a question, with or without its mark."""
    kind = None if "?" in prompt else _kind(prompt)
    if kind is not None:
        return Told(kind, prompt, _fact(prompt), _dataset(prompt))
    found = _OF_A_SUBJECT.search(prompt)
    if found is None:
        return Asked(prompt, _dataset(prompt))
    return Asked(prompt, _dataset(prompt), _FUNCTIONS[found.group(1).lower()], found.group(2))


def _kind(prompt: str) -> Kind | None:
    said = " ".join(sentence for sentence in _END.split(prompt) if _TO_THE_AGENT.search(sentence))
    signs: tuple[tuple[Kind, re.Pattern[str]], ...] = (("forget", _FORGET), ("correct", _CORRECT), ("keep", _KEEP))
    return next((kind for kind, sign in signs if sign.search(said)), None)


def _fact(prompt: str) -> str:
    """The sentences that are not for the agent; one that defines a term is part of the fact, however it begins."""
    sentences = [sentence.strip() for sentence in _END.split(prompt)]
    return " ".join(each for each in sentences if terms(each) or not _TO_THE_AGENT.search(each)) or prompt.strip()


def _dataset(prompt: str) -> str:
    found = _DATASET.search(prompt)
    return found.group() if found else ""
