from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memassay.judging.scores import bleu1, exact_match, f1, words


@pytest.mark.parametrize(
    ("answer", "gold", "em", "overlap", "bleu"),
    [
        ("A shell necklace", "The shell necklace", 0.0, 2 / 3, 2 / 3),
        ("7 May, 2023", "7 May 2023", 0.0, 1.0, 1.0),
        ("oslo", " Oslo ", 1.0, 1.0, 1.0),
        ("Oslo!", "Oslo", 0.0, 1.0, 1.0),
        ("", "Oslo", 0.0, 0.0, 0.0),
        ("Oslo", "", 0.0, 0.0, 0.0),
        ("  ", " ", 0.0, 0.0, 0.0),
        ("?!", "Oslo", 0.0, 0.0, 0.0),
        # A word that comes again counts once for F1 and, beyond the gold's own count, against BLEU-1.
        ("no no no", "no", 0.0, 1.0, 1 / 3),
        ("no", "no no no", 0.0, 1.0, math.exp(1 - 3)),
        ("red car", "a red car in town", 0.0, 2 * 1 * 0.4 / 1.4, math.exp(1 - 5 / 2)),
        # Apostrophes and hyphens stay in the word; nothing is stemmed.
        ("cars", "car", 0.0, 0.0, 0.0),
        ("Ada's", "Ada", 0.0, 0.0, 0.0),
    ],
)
def test_scores_of_known_pairs(answer: str, gold: str, em: float, overlap: float, bleu: float) -> None:
    assert exact_match(answer, gold) == em
    assert f1(answer, gold) == pytest.approx(overlap)
    assert bleu1(answer, gold) == pytest.approx(bleu)


def test_only_four_marks_end_a_word() -> None:
    assert words("A.b,c!d?e;f:g-h") == ["a", "b", "c", "d", "e;f:g-h"]


@given(st.text(), st.text())
def test_scores_stay_between_0_and_1_and_f1_takes_no_side(answer: str, gold: str) -> None:
    assert 0.0 <= bleu1(answer, gold) <= 1.0
    assert 0.0 <= f1(answer, gold) <= 1.0 + 1e-12
    assert f1(answer, gold) == pytest.approx(f1(gold, answer))


@given(st.text())
def test_the_gold_itself_scores_1_where_it_has_a_word(gold: str) -> None:
    full = float(bool(words(gold)))
    assert f1(gold, gold) == pytest.approx(full)
    assert bleu1(gold, gold) == pytest.approx(full)
    assert exact_match(gold, gold) == float(bool(gold.strip()))
