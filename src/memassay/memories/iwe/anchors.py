"""What a question names: the phrases that the anchored variant of the published study looks up first.

Quoted spans come first, then runs of words that begin with a capital or a digit, without the small words around them:
``Were Scott Derrickson and Ed Wood of the same nationality?`` gives ``Scott Derrickson`` and ``Ed Wood``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

MOST = 4

_QUOTED = re.compile(r'"([^"]*)"|“([^”]*)”')
_SHORTEST_QUOTED, _SHORTEST = 3, 2
_MOST_WORDS = 6
# Articles, question words, forms of be, do and have, prepositions, pronouns, and what questions join names with.
_SMALL = frozenset(
    re.findall(
        r"\w+",
        "a an the what which who whom whose when where why how is are was were be been do does did has have had in on "
        "at of for from to by with about and or it its he she they his her their that this name named made into both "
        "no not between",
    )
)


def anchors(question: str) -> list[str]:
    """At most four phrases, without repetition."""
    found = [*_quoted(question), *_named(question)]
    return list(dict.fromkeys(found))[:MOST]


def _quoted(question: str) -> Iterator[str]:
    for match in _QUOTED.finditer(question):
        text = (match[1] or match[2] or "").strip()
        if len(text.encode()) >= _SHORTEST_QUOTED:
            yield text


def _named(question: str) -> Iterator[str]:
    for marked, group in groupby(question.split(), key=_marked):
        words = list(group)
        while words and _core(words[0]) in _SMALL:
            del words[0]
        while words and _core(words[-1]) in _SMALL:
            del words[-1]
        if marked and (2 <= len(words) <= _MOST_WORDS or (len(words) == 1 and _telling(words[0]))):
            phrase = _trimmed(" ".join(words))
            if len(phrase.encode()) >= _SHORTEST:
                yield phrase


def _marked(word: str) -> bool:
    """Whether the first letter or digit of a word is a capital or a digit."""
    first = next((letter for letter in word if letter.isalnum()), "")
    return first.isupper() or first.isdigit()


def _telling(word: str) -> bool:
    """Whether a single word says enough: it has a slash, a digit, or a capital inside."""
    core = "".join(letter for letter in word if letter.isalnum() or letter == "/")
    return "/" in core or any(letter.isdigit() for letter in core) or any(letter.isupper() for letter in core[1:])


def _core(word: str) -> str:
    return "".join(letter for letter in word if letter.isalnum()).lower()


def _trimmed(phrase: str) -> str:
    kept = [at for at, letter in enumerate(phrase) if letter.isalnum() or letter == "/"]
    return phrase[kept[0] : kept[-1] + 1] if kept else ""
