"""From a text to the terms that an index holds: words, stop words, stems."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Literal, get_args

import Stemmer

Stemming = Literal["english", "suffix", "none"]
StopWords = Literal["questions", "lucene", "anchor", "none"]

STEMMINGS: tuple[str, ...] = get_args(Stemming)
STOP_WORD_LISTS: tuple[str, ...] = get_args(StopWords)

_LUCENE = """
a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was
will with
"""
_ASKING = "what when where who whom whose which why how do does did have has had"
_ANCHOR = """
a an the is are was were be been of to in on at for and or with by from as it its this that what when where who which
how did do does has have had i you he she they we his her their my your
"""

# The 33 words that Lucene's English analyzer leaves out; who, what, when, did and nearly all pronouns stay in.
LUCENE = frozenset(_LUCENE.split())

# A question says "what did ... have" whatever it asks for, and in a conversation these words stand in every other turn.
QUESTIONS = LUCENE | frozenset(_ASKING.split())

# The list of the script behind the published LOCOMO anchors; it leaves out most pronouns too.
ANCHOR = frozenset(_ANCHOR.split())

_STOP: dict[str, frozenset[str]] = {"questions": QUESTIONS, "lucene": LUCENE, "anchor": ANCHOR, "none": frozenset()}

_SUFFIXES = ("ing", "ed", "es", "s")

# Scripts written without spaces: Han, kana, and their compatibility and extension blocks.
_UNSPACED = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])[^\W_])+(?:'(?:(?![{_UNSPACED}])[^\W_])+)*")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
# The same words, five times as fast, where no character is unspaced.
_SPACED_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
# ASCII alone needs no expression at all: whatever is no letter, no digit and no apostrophe is a blank.
_ASCII = "".join(c.lower() if c.isalnum() or c == "'" else " " for c in map(chr, range(128)))
_ASCII_TABLE = _ASCII.encode("ascii") + bytes(range(128, 256))
_OUTER_APOSTROPHE = re.compile(r"(?<![a-z0-9])'|'(?![a-z0-9])")

# Stands between texts that are cut together; no text holds this byte when it is UTF-8.
END = b"\xff"

# Pieces whose terms an analyzer remembers: some 20 MB, all words of most collections.
_REMEMBERED = 100_000


def words(text: str) -> list[str]:
    """The words of a text in order: NFKC, case folded, letters and digits with inner apostrophes.

    A run of Chinese or Japanese characters has no spaces to split at and becomes its overlapping pairs of characters
    (a single character stays one word), which is what search engines do without a dictionary.
    """
    if text.isascii():
        plain = text.encode("ascii").translate(_ASCII_TABLE).decode("ascii")
        return (_OUTER_APOSTROPHE.sub(" ", plain) if "'" in plain else plain).split()
    # Most words of a text that is not ASCII are: they need no expression either, and no ASCII blank changes under NFKC.
    plain = text.encode("utf-8", "surrogatepass").translate(_ASCII_TABLE).decode("utf-8", "surrogatepass")
    found: list[str] = []
    for word in plain.split():
        if word.isascii() and "'" not in word:
            found.append(word)
        else:
            found.extend(_folded(word))
    return found


def pieces(texts: Iterable[str]) -> list[bytes]:
    """Texts cut at whatever of ASCII is in no word, in lower case and UTF-8, with ``END`` after each text.

    A piece is a word mostly; one that is not ASCII, or holds an apostrophe, can be several words, or none. Cut at once,
    texts take half the time that they take one by one.
    """
    joined = b"".join([text.encode("utf-8", "surrogatepass") + b" \xff " for text in texts])
    return joined.translate(_ASCII_TABLE).split()


def _words_in(piece: bytes) -> list[str]:
    return _folded(piece.decode("utf-8", "surrogatepass")) if piece != END else []


def _folded(text: str) -> list[str]:
    folded = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")
    if not _IS_UNSPACED.search(folded):
        return _SPACED_WORD.findall(folded)
    found: list[str] = []
    for word in _WORD.findall(folded):
        if len(word) > 1 and _IS_UNSPACED.match(word):
            found.extend(word[i : i + 2] for i in range(len(word) - 1))
        else:
            found.append(word)
    return found


def strip_suffix(word: str) -> str:
    """The stem of the LOCOMO anchor script: the first of -ing, -ed, -es, -s that leaves at least three letters."""
    for suffix in _SUFFIXES:
        if len(word) > len(suffix) + 2 and word.endswith(suffix):
            return word[: -len(suffix)]
    return word


class Analyzer:
    """Turns a text into terms; equal settings give equal terms in every process. Safe for concurrent threads.

    Args:
        stemmer: ``english`` (Snowball English through PyStemmer), ``suffix`` (:func:`strip_suffix`) or ``none``.
        stop_words: ``questions`` (48 words), ``lucene`` (33), ``anchor`` (48) or ``none``.
    """

    def __init__(self, stemmer: Stemming = "english", stop_words: StopWords = "questions") -> None:
        self._known = _Known(stemmer, _STOP[stop_words])

    def terms(self, text: str) -> list[str]:
        """The terms of ``text`` in order, with repetitions."""
        return list(chain.from_iterable(map(self._known.__getitem__, pieces([text]))))

    def terms_of(self, pieces: Iterable[bytes]) -> list[tuple[str, ...]]:
        """The terms of each of the :func:`pieces` of a text; those of the text are these one after the other."""
        return self._known.worked_out(pieces)


class _Snowball(threading.local):
    """PyStemmer's documentation: a stemmer must not be shared between threads. Its own cache would be a second one."""

    def __init__(self) -> None:
        self.stem: Callable[[str], str] = Stemmer.Stemmer("english", 0).stemWord


class _Known(dict[bytes, tuple[str, ...]]):
    """From a piece to its terms; worked out when it is first met."""

    def __init__(self, stemmer: Stemming, stop: frozenset[str]) -> None:
        super().__init__()
        self._stop = stop
        self._snowball = _Snowball() if stemmer == "english" else None
        self._stem: Callable[[str], str] = strip_suffix if stemmer == "suffix" else str

    def __missing__(self, piece: bytes) -> tuple[str, ...]:
        if len(self) >= _REMEMBERED:
            self.clear()
        (terms,) = self.worked_out([piece])
        self[piece] = terms
        return terms

    def worked_out(self, pieces: Iterable[bytes]) -> list[tuple[str, ...]]:
        stem, stop = self._snowball.stem if self._snowball else self._stem, self._stop
        return [
            (() if (word := piece.decode("ascii")) in stop else (stem(word),))
            if piece.isalnum()  # letters and digits of ASCII, as nearly always
            else tuple([stem(word) for word in _words_in(piece) if word not in stop])
            for piece in pieces
        ]
