from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memassay.core.tokens import NAMES, tokenizer
from memassay.knowledge.excerpts import Measure, Wanted, between, nested, word_ends

TEXT = "# Boiler\n\nIntro about nothing.\n\nThe cellar is dry.\n\n- F27: no flame\n\nA line between.\n\n- F28: no gas\n"
WANTED = Wanted({"gas": 3.0, "boiler": 1.0, "absent": 9.0}, lambda text: text.casefold().replace(".", "").split())


def parts(text: str, wanted: Wanted) -> list[str]:
    return [text[start:end] for start, end in nested(text, wanted)]


def test_it_begins_where_the_rare_words_are_and_grows_to_what_it_lacks() -> None:
    found = parts(TEXT, WANTED)
    assert found[:2] == ["- F28: no gas", "A line between.\n\n- F28: no gas"]
    assert found[-1] == TEXT.strip() and len(found) == 6
    towards = parts(TEXT, Wanted({"flame": 3.0, "boiler": 1.0}, WANTED.analyze))
    assert towards[0] == "- F27: no flame" and towards[1].startswith("The cellar") and towards[3].startswith("# Boiler")
    assert parts(TEXT, Wanted({"flame": 3.0}, WANTED.analyze))[1] == "- F27: no flame\n\nA line between."


def test_without_a_word_of_the_question_there_is_no_part() -> None:
    assert nested(TEXT, Wanted({"hedgehog": 2.0}, WANTED.analyze)) == nested("", WANTED) == []
    assert nested(TEXT, Wanted({"gas": 0.0}, WANTED.analyze)) == []


def test_between_two_parts_it_grows_by_words() -> None:
    text = "one two  three 東京"
    assert [text[a:b] for a, b in between(text, (4, 7), (4, len(text)))] == ["two  three", "two  three 東", text[4:]]
    assert [text[a:b] for a, b in between(text, (9, 14), (0, 14))] == ["two  three", "one two  three"]


@given(st.text(alphabet="ab. \n東", max_size=600))
def test_every_part_holds_the_one_before(text: str) -> None:
    spans = nested(text, Wanted({"a": 1.0, "b": 2.0, "ab": 1.5}, str.split))
    for inner, outer in pairwise(spans):
        assert outer[0] <= inner[0] < inner[1] <= outer[1] and outer != inner
        words = [inner, *between(text, inner, outer)]
        assert words[-1] == outer
        assert all(b[0] <= a[0] and a[1] <= b[1] for a, b in pairwise(words))
    assert all(text[start:end].strip() == text[start:end] for start, end in spans)


MARKS = [*"aBé \n\t.'/東1Ж-\"_\u0301\xa0\u2028\u3000\x1c🙂\ud800", "'s", " the", " Ада", "  x"]
TEXTS = st.lists(st.sampled_from(MARKS), max_size=50).map("".join)


@pytest.mark.parametrize("tokens", NAMES)
@given(st.data())
def test_parts_are_measured_as_if_each_was_counted_whole(tokens: str, data: st.DataObject) -> None:
    count = tokenizer(tokens)
    text, before = data.draw(TEXTS), data.draw(st.sampled_from(["[1] ", "[1] Head > x.\n", "[1] H/\n"]))
    measure = Measure(count, before, text, "\n")
    for _ in range(4):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, len(text)))
        assert measure((start, end)) == count.marks(f"{before}{text[start:end]}\n")


@given(TEXTS, st.integers(0, 80), st.integers(0, 80))
def test_a_word_ends_before_white_space_at_the_end_and_everywhere_in_cjk(text: str, first: int, last: int) -> None:
    def ends(at: int) -> bool:
        return not text[at - 1].isspace() and (at == len(text) or text[at].isspace() or text[at - 1] >= "\u3000")

    last = min(last, len(text))
    assert list(word_ends(text, first, last)) == [at for at in range(max(first, 1), last + 1) if ends(at)]
