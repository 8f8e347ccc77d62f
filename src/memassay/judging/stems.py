"""Porter's stems as LOCOMO's own scorer cuts them.

M. F. Porter, An algorithm for suffix stripping, Program 14 (1980), with the departures of the implementation that the
scorer calls (NLTK's ``PorterStemmer`` in its default mode): a short list of irregular words, words of one or two
letters as they are, *y* to *i* after a consonant only, *ies* and *ied* of four letters to *ie*, and a few suffixes
more. Both sides of a comparison are stemmed, so what matters is which words fall together: *dies* and *die* do here
and do not in the algorithm as published. Compared with NLTK 3.10.4 on 168,000 words (those of LOCOMO and HotPotQA, and
made-up ones with every suffix): no difference.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence

_IRREGULAR = {
    "skies": "sky",
    "sky": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "innings": "inning",
    "outings": "outing",
    "cannings": "canning",
} | {word: word for word in ("news", "inning", "outing", "canning", "howe", "proceed", "exceed", "succeed")}

Condition = Callable[[str], bool]
Rules = Sequence[tuple[str, str]]

# fmt: off
_STEP_2: Rules = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble"),
    ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"),
    ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"),
    ("iviti", "ive"), ("biliti", "ble"), ("fulli", "ful"),
)
_STEP_3: Rules = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)
_STEP_4: Rules = tuple((suffix, "") for suffix in (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
))
# fmt: on


@functools.lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The stem of a word in lower case."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    for step in (_plural, _past, _final_y, _double_suffix, _suffix, _last_suffix, _final_e, _final_ll):
        word = step(word)
    return word


# -- the shape of a word -------------------------------------------------------------------------------------------


def _shape(word: str) -> str:
    """The word as ``c`` and ``v``; *y* is a vowel after a consonant."""
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    """Porter's m: how often a vowel is followed by a consonant."""
    return _shape(word).count("vc")


def _short(word: str) -> bool:
    """Porter's *o: ends in consonant, vowel, consonant (not w, x, y); the scorer's also takes two letters like "is"."""
    shape = _shape(word)
    return shape == "vc" or (shape.endswith("cvc") and word[-1] not in "wxy")


def _doubled(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _shape(word).endswith("c")


# -- the steps, numbered as in the paper ---------------------------------------------------------------------------


def _plural(word: str) -> str:  # 1a
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:  # 1b
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    ending = re.search("(ed|ing)$", word)
    if ending is None or "v" not in _shape(word[: ending.start()]):
        return word
    left = word[: ending.start()]
    if left.endswith(("at", "bl", "iz")):
        return left + "e"
    if _doubled(left):
        return left if left[-1] in "lsz" else left[:-1]
    return left + "e" if _measure(left) == 1 and _short(left) else left


def _final_y(word: str) -> str:  # 1c
    left = word[:-1]
    return left + "i" if word.endswith("y") and len(left) > 1 and _shape(left).endswith("c") else word


def _double_suffix(word: str) -> str:  # 2
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _double_suffix(word[:-2])
    if word.endswith("logi") and _measure(word[:-3]) > 0:
        return word[:-1]
    return _replaced(word, _STEP_2, lambda left: _measure(left) > 0)


def _suffix(word: str) -> str:  # 3
    return _replaced(word, _STEP_3, lambda left: _measure(left) > 0)


def _last_suffix(word: str) -> str:  # 4
    return _replaced(word, _STEP_4, lambda left: _measure(left) > 1 and (not word.endswith("ion") or left[-1] in "st"))


def _final_e(word: str) -> str:  # 5a
    if not word.endswith("e"):
        return word
    left = word[:-1]
    measure = _measure(left)
    return left if measure > 1 or (measure == 1 and not _short(left)) else word


def _final_ll(word: str) -> str:  # 5b
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _replaced(word: str, rules: Rules, holds: Condition) -> str:
    """The first suffix that the word ends in decides; it is replaced if its condition holds for what is left."""
    for suffix, instead in rules:
        if word.endswith(suffix):
            left = word[: -len(suffix)]
            return left + instead if holds(left) else word
    return word
