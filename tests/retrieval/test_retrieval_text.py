from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from bm25s.stopwords import STOPWORDS_EN
from hypothesis import given
from hypothesis import strategies as st

from memassay.retrieval.text import ANCHOR, LUCENE, QUESTIONS, Analyzer, strip_suffix, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, World_2 again", ["hello", "world", "2", "again"]),
        ("Caroline’s dog doesn't", ["caroline's", "dog", "doesn't"]),
        ("'quoted' -- x''y", ["quoted", "x", "y"]),
        ("ＦＵＬＬ ﬁne Straße", ["full", "fine", "strasse"]),
        ("Cafe\u0301", ["café"]),
        ("東京タワーabc", ["東京", "京タ", "タワ", "ワー", "abc"]),
        ("私", ["私"]),
        ("Москва Ёлка", ["москва", "ёлка"]),
        ("", []),
        ("?!… \x00", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(st.text())
def test_words_hold_no_white_space_and_are_never_empty(text: str) -> None:
    assert all(word and not any(c.isspace() for c in word) for word in words(text))


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_words_ignore_case_and_spacing(text: str) -> None:
    found = words(text)
    assert words(text.upper()) == words(text.lower()) == found
    assert words("  ".join(found)) == found


@pytest.mark.parametrize(
    ("word", "stem"),
    [("camping", "camp"), ("ring", "ring"), ("bed", "bed"), ("boxes", "box"), ("cats", "cat"), ("is", "is")],
)
def test_strip_suffix(word: str, stem: str) -> None:
    assert strip_suffix(word) == stem


def test_stop_lists_are_the_documented_ones() -> None:
    assert frozenset(STOPWORDS_EN) == LUCENE
    assert (len(LUCENE), len(QUESTIONS), len(ANCHOR)) == (33, 48, 48)
    assert Analyzer(stop_words="questions").terms("What did the dog have?") == ["dog"]
    assert Analyzer(stop_words="lucene").terms("What did the dog have?") == ["what", "did", "dog", "have"]
    assert Analyzer(stop_words="none").terms("the dog") == ["the", "dog"]


def test_stemmers() -> None:
    text = "Researching agencies"
    assert Analyzer("english").terms(text) == ["research", "agenc"]
    assert Analyzer("suffix").terms(text) == ["research", "agenci"]
    assert Analyzer("none").terms(text) == ["researching", "agencies"]


def test_one_analyzer_serves_many_threads() -> None:
    analyzer = Analyzer()
    texts = [f"running runners ran {'jumping ' * (n % 5)} word{n} agencies" for n in range(400)]
    expected = [Analyzer().terms(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(analyzer.terms, texts)) == expected
