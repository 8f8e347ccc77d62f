"""The fast ways through ``words`` and ``Analyzer`` give what the plain definition gives."""

from __future__ import annotations

import re
import unicodedata

import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from memassay.retrieval import text as module
from memassay.retrieval.text import LUCENE, QUESTIONS, Analyzer, strip_suffix, words

UNSPACED = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
WORD = re.compile(rf"[{UNSPACED}]+|(?:(?![{UNSPACED}])[^\W_])+(?:'(?:(?![{UNSPACED}])[^\W_])+)*")


def plain_words(text: str) -> list[str]:
    """Every text by the one expression that covers all scripts."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")
    found: list[str] = []
    for word in WORD.findall(folded):
        if len(word) > 1 and re.match(f"[{UNSPACED}]", word):
            found += [word[at : at + 2] for at in range(len(word) - 1)]
        else:
            found.append(word)
    return found


ASCII = st.text(alphabet=st.characters(max_codepoint=127) | st.sampled_from("ab'_ Z9-"), max_size=40)
MIXED = st.text(alphabet=st.characters() | st.sampled_from("abXZ0'’_ -東京タワーｱ１ßİſé\u3000\u0301"), max_size=30)


@given(ASCII | MIXED)
def test_words_are_those_of_the_plain_definition(text: str) -> None:
    assert words(text) == plain_words(text)


def test_every_character_beside_letters_and_apostrophes() -> None:
    for code in [*range(0x3400), *range(0xD7F0, 0xE010), *range(0xF8F0, 0x10100)]:
        text = f"a{chr(code)}b'{chr(code)}'c {chr(code)}"
        assert words(text) == plain_words(text), hex(code)


def test_every_letter_under_every_mark() -> None:
    for mark in (chr(code) for code in range(0x10000) if unicodedata.combining(chr(code))):
        text = " ".join(f"{letter}{mark}" for letter in map(chr, range(0x21, 0x7F)))
        assert words(text) == plain_words(text), hex(ord(mark))


@given(ASCII | MIXED)
def test_terms_are_stemmed_words_without_stop_words(text: str) -> None:
    kept = [word for word in plain_words(text) if word not in QUESTIONS]
    assert Analyzer().terms(text) == Stemmer.Stemmer("english").stemWords(kept)
    assert Analyzer("suffix").terms(text) == [strip_suffix(word) for word in kept]
    assert Analyzer("none", "lucene").terms(text) == [word for word in plain_words(text) if word not in LUCENE]


def test_an_analyzer_that_forgets_gives_the_same_terms() -> None:
    analyzer = Analyzer()
    text = "running agencies the runner ran"
    expected = analyzer.terms(text)
    for number in range(module._REMEMBERED // 1000 + 1):
        analyzer.terms(" ".join(f"w{number}x{at}" for at in range(1000)))
    assert len(analyzer._known) <= module._REMEMBERED
    assert analyzer.terms(text) == expected == ["run", "agenc", "runner", "ran"]
