"""Texts as the numbers of their terms, and what becomes of the numbers."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memassay.knowledge import numbering
from memassay.knowledge.numbering import Lexicon, Nodes, Terms
from memassay.retrieval.text import Analyzer

WORDS = st.sampled_from(
    ["the ", "boats ", "Boat", "don't ", "'tis' ", "É ", "東京 ", "- ", "12,5 ", "\ud800", "\x00", "ÿ ", "\n", "x_y "]
)
TEXTS = st.lists(st.lists(WORDS, max_size=8).map("".join), max_size=6)


@pytest.fixture
def db() -> sqlite3.Connection:
    return made()


def made() -> sqlite3.Connection:
    made = sqlite3.connect(":memory:", isolation_level=None)
    made.execute("CREATE TABLE terms (first INTEGER PRIMARY KEY, texts BLOB NOT NULL)")
    made.execute("CREATE TABLE nodes (id INTEGER PRIMARY KEY, text BLOB NOT NULL UNIQUE)")
    return made


@pytest.mark.parametrize("most", [0, 1000])
@given(st.lists(TEXTS, max_size=4))
def test_texts_are_the_numbers_of_their_terms(most: int, batches: list[list[str]]) -> None:
    db, analyzer = made(), Analyzer()
    lexicon = Lexicon(db)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numbering, "_MOST", most)
        said = [lexicon.read(texts, analyzer.terms_of) for texts in batches]
    reader = Terms(db)
    reader.catch_up()
    assert sorted(reader.known.values()) == list(range(len(lexicon)))
    term_of = {number: term for term, number in reader.known.items()}
    for texts, found in zip(batches, said, strict=True):
        terms = [analyzer.terms(text) for text in texts]
        assert [term_of[number] for number in found.terms.tolist()] == [term for some in terms for term in some]
        assert found.lengths.tolist() == [len(some) for some in terms]


def test_numbers_stay_and_what_is_rolled_back_has_none(db: sqlite3.Connection) -> None:
    lexicon, terms_of = Lexicon(db), Analyzer().terms_of
    first = lexicon.read(["boat harbour"], terms_of).terms.tolist()
    db.execute("BEGIN")
    assert lexicon.read(["lantern boat"], terms_of).terms.tolist() == [2, first[0]]
    db.execute("ROLLBACK")
    lexicon.forget()
    assert len(lexicon) == 2
    assert lexicon.read(["valve boat harbour"], terms_of).terms.tolist() == [2, *first]
    assert Lexicon(db).read(["harbour valve boat"], terms_of).terms.tolist() == [first[1], 2, first[0]]


def test_a_reader_learns_what_was_added(db: sqlite3.Connection) -> None:
    lexicon, reader, terms_of = Lexicon(db), Terms(db), Analyzer().terms_of
    for text in ("boat", "harbour boat", "lantern"):
        lexicon.read([text], terms_of)
        reader.catch_up()
        assert len(reader.known) == len(lexicon)
    assert reader.known == {"boat": 0, "harbour": 1, "lantern": 2}


def test_keys_have_numbers_too(db: sqlite3.Connection) -> None:
    nodes = Nodes(db)
    nodes.learn(["b", "a", "b", "\ud800"])
    again = Nodes(db)
    again.learn(["a", "c"])
    assert nodes.known == {"b": 0, "a": 1, "\ud800": 2} and again.known == {"a": 1, "c": 3} and len(again) == 4
    assert numbering.found(db, ["c", "nowhere", "\ud800"]) == {"c": 3, "\ud800": 2}
