"""When do the words of a text stand in another? The one rule that graders, controls and loaders share."""

from __future__ import annotations

import re
import unicodedata

# Invisible characters are no words, and a typesetter's quotation marks are those of a keyboard.
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))
_PLAIN = _INVISIBLE | dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b"), "'")
_PLAIN |= dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f"), '"')
# Scripts that put no blank between words: any place between two characters may be a border.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)


def normalise(text: str) -> str:
    """The form in which words are compared; idempotent.

    NFKC and case folding, runs of white space as one blank, no invisible characters, plain quotation marks.
    """
    if text.isascii():
        return " ".join(text.casefold().split())
    text = text.translate(_PLAIN)
    # Folding can undo a normal form ("ß" and an accent), so the pair is applied until it rests (Unicode, 3.13, D147).
    for _ in range(2):
        text = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(unicodedata.normalize("NFKC", text).translate(_PLAIN).split())


def joined(left: str, right: str) -> bool:
    """Whether two neighbouring characters of a normalised text belong to one word."""
    if left.isascii() and right.isascii():
        return left.isalnum() and right.isalnum()
    if unicodedata.category(right)[0] == "M":
        return True
    if not (left.isalnum() or unicodedata.category(left)[0] == "M") or not right.isalnum():
        return False
    return not (_UNSPACED.match(left) or _UNSPACED.match(right))


def find(want: str, text: str, start: int = 0, end: int | None = None) -> int:
    """Where the words first stand in a text as words: "art" does not stand in "start".

    Args:
        want: normalised words.
        text: normalised text.
        start: where to begin.
        end: the match must end here at the latest; borders are those of the whole text.

    Returns:
        The offset, or -1.
    """
    limit = len(text) if end is None else end
    at = text.find(want, start) if want else -1
    while 0 <= at <= limit - len(want):
        after = at + len(want)
        opens = at == 0 or not joined(text[at - 1], text[at])
        closes = after == len(text) or not joined(text[after - 1], text[after])
        if opens and closes:
            return at
        at = text.find(want, at + 1)
    return -1


def stands(want: str, text: str, end: int | None = None) -> bool:
    """Whether the words stand in the text; see :func:`find`."""
    return find(want, text, end=end) >= 0


def common_start(text: str, shown: str) -> int:
    """How much of a normalised text stands in ``shown``, which is a cut of it, normalised apart."""
    if text.startswith(shown):
        return len(shown)
    # The cut fell between a letter and its accent, which changes the last characters.
    return next((i for i, letter in enumerate(shown) if not text.startswith(letter, i)), len(text))
