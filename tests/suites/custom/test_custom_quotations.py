from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memassay.core.dossier import dossier_of
from memassay.core.registry import judges
from memassay.core.types import Document, Passage
from memassay.core.wording import normalise
from memassay.suites.custom.documents import SCOPE, documents_of
from memassay.suites.custom.lines import Row
from memassay.suites.custom.quotations import MAX_PLACES, Found, Quotations


def documents(*texts: str) -> tuple[Document, ...]:
    rows = [Row({"id": f"doc{n}", "text": text}, "f", n) for n, text in enumerate(texts, start=1)]
    return documents_of(rows).scopes[SCOPE]


HOUSE = documents(
    "The start of it.\n\nTea is kept in the\nblue tin. Nobody knows why.\n\nSugar is not kept.",
    "The cellar floods.\n\nTea is for guests.",
)


def found(entry: str) -> Found:
    result = Quotations(HOUSE).find(entry)
    assert result is not None
    return result


def ids(result: Found) -> list[str]:
    return [evidence.id for evidence in result.evidence]


def test_an_id_names_a_unit_and_a_document_all_of_its_units() -> None:
    unit = found("doc1#3")
    assert (ids(unit), unit.evidence[0].text, unit.document) == (["doc1#3"], "Sugar is not kept.", "doc1")
    assert ids(found("doc2")) == ["doc2#1", "doc2#2"]


@pytest.mark.parametrize(
    "entry", ["kept in the blue tin", "Kept in  the\nBLUE tin.", " tin. Nobody", "\uff54ea is kept in"]
)
def test_a_quotation_is_found_as_the_grader_compares(entry: str) -> None:
    result = found(entry)
    assert (ids(result), result.document, result.places) == (["doc1#2"], "doc1", 1)
    assert result.evidence[0].text == entry.strip()


@pytest.mark.parametrize("entry", ["art of it", "ea is kept", "nobody", "coffee", "floods. Coffee", "...", "kept. The"])
def test_words_must_stand_as_words_and_never_run_into_the_next_document(entry: str) -> None:
    result = Quotations(HOUSE).find(entry)
    assert (result is None) == (entry != "nobody")


def test_a_quotation_over_a_border_is_one_piece_of_gold_per_unit() -> None:
    result = found("nobody knows why. Sugar is not kept.")
    assert [(e.id, e.text) for e in result.evidence] == [
        ("doc1#2", "nobody knows why."),
        ("doc1#3", "Sugar is not kept."),
    ]


def test_a_whole_place_is_preferred_to_one_over_a_border() -> None:
    twice = documents("a b.\n\nc d.\n\nx b. c y")
    result = Quotations(twice).find("b. c")
    assert result is not None
    assert (ids(result), result.places) == (["doc1#3"], 2)


def test_places_are_counted_by_unit_and_no_further_than_needed() -> None:
    many = documents(*["the same words, the same words"] * 30)
    few = Quotations(documents(*["the same words, the same words"] * 3)).find("same words")
    assert few is not None and few.places == 3
    lots = Quotations(many).find("same words")
    assert lots is not None and lots.places == MAX_PLACES + 1


def test_the_hint_is_an_id_or_the_closest_passage() -> None:
    quotations = Quotations(HOUSE)
    assert quotations.hint("doc1#33") == "did you mean 'doc1#3'?"
    hint = quotations.hint("Tea is kept in a blue box")
    assert hint == "the closest passage is 'Tea is kept in the blue tin.' (doc1#2)"
    assert "copy the words from a document" in quotations.hint("zzz")
    long = Quotations(documents("word " * 200)).hint("some word " * 100_000)
    assert len(long) < 250


WORDS = st.lists(st.sampled_from(["tea", "Tin", "blue.", "(x)", "n\u00e9", "\ufb01n", "a,b"]), min_size=1, max_size=8)


@given(st.lists(st.lists(WORDS, min_size=1, max_size=4), min_size=1, max_size=3), st.data())
def test_whatever_is_copied_from_a_unit_is_found_and_graded(texts: list[list[list[str]]], data: st.DataObject) -> None:
    """The promise of the suite: what the loader takes as evidence, the grader finds in a passage that holds it."""
    made = documents(*("\n\n".join(" ".join(words) for words in text) for text in texts))
    document = data.draw(st.sampled_from(made))
    unit = data.draw(st.sampled_from(document.units))
    words = unit.text.split()
    first = data.draw(st.integers(0, len(words) - 1))
    entry = " ".join(words[first : data.draw(st.integers(first + 1, len(words)))])
    result = Quotations(made).find(entry)
    assert result is not None
    units = {u.id: u for d in made for u in d.units}
    judge = judges.get("evidence")(key="original", tokens="chars4", budgets=(10_000,), ks=())
    dossier = dossier_of(Passage(text=units[evidence.id].text) for evidence in result.evidence)
    assert judge.scores(dossier, result.evidence)["all@10000"] == 1.0


@given(st.text(max_size=30))
def test_anything_is_found_or_gets_a_hint(entry: str) -> None:
    quotations = Quotations(HOUSE)
    result = quotations.find(entry)
    if result is None:
        assert quotations.hint(entry)
    else:
        assert result.evidence and result.document in ("doc1", "doc2")


@given(st.text(st.sampled_from("ab.\u00e9 "), min_size=1, max_size=6))
def test_what_is_not_there_is_not_found(entry: str) -> None:
    assume(entry.strip())
    want = normalise(entry)
    whole = [normalise(document.text) for document in HOUSE]
    if not any(want in text for text in whole):
        assert Quotations(HOUSE).find(entry) is None
