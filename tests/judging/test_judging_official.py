"""The official scorers, from values worked out by hand and by running the official scripts' rules beside ours."""

from __future__ import annotations

import pytest

from memassay.judging.official import hotpot_scores, locomo_f1
from memassay.judging.stems import stem


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        # The algorithm as published.
        ("caresses", "caress"), ("ponies", "poni"), ("cats", "cat"), ("agreed", "agre"), ("feed", "feed"),
        ("plastered", "plaster"), ("sing", "sing"), ("hopping", "hop"), ("falling", "fall"), ("filing", "file"),
        ("failing", "fail"), ("conflated", "conflat"), ("troubled", "troubl"), ("relational", "relat"),
        ("conditional", "condit"), ("vietnamization", "vietnam"), ("formaliti", "formal"), ("hopefulness", "hope"),
        ("triplicate", "triplic"), ("adoption", "adopt"), ("replacement", "replac"), ("controll", "control"),
        ("roll", "roll"), ("rate", "rate"), ("cease", "ceas"),
        # Where the scorer's implementation departs from it.
        ("dies", "die"), ("died", "die"), ("dying", "die"), ("ties", "tie"), ("skies", "sky"), ("spied", "spi"),
        ("happy", "happi"), ("enjoy", "enjoy"), ("employment", "employ"), ("try", "tri"), ("by", "by"), ("is", "is"),
        ("news", "news"), ("archaeologi", "archaeolog"), ("hopefulli", "hope"), ("radicalli", "radic"),
        # What is no English word is left in peace.
        ("", ""), ("2023", "2023"), ("s", "s"), ("ñandúes", "ñandú"), ("yyyy", "yyyi"),
    ],
)  # fmt: skip
def test_stems(word: str, expected: str) -> None:
    assert stem(word) == expected


@pytest.mark.parametrize(
    ("answer", "gold", "category", "expected"),
    [
        ("She loves running", "running, she loved", "single-hop", 1.0),
        ("the beach and the sea", "beach, sea", "single-hop", 1.0),  # articles, "and" and marks go
        ("beach beach", "beach", "temporal", 2 / 3),  # words count as often as they stand there
        ("", "beach", "single-hop", 0.0),
        ("beach", "", "single-hop", 0.0),
        # Multi-hop: every piece of the gold takes the best piece of the answer; more pieces cost nothing.
        ("painting, pottery", "pottery, painting", "multi-hop", 1.0),
        ("pottery", "pottery, painting", "multi-hop", 0.5),
        ("pottery, chess, bowling", "pottery", "multi-hop", 1.0),
        ("pottery and painting", "pottery, painting", "multi-hop", 2 / 3),
        ("pottery", "pottery,", "multi-hop", 0.5),  # an empty piece of the gold is a piece
        # Open-domain: what follows a semicolon is a reason, not the answer.
        ("likely no", "Likely no; though she likes reading", "open-domain", 1.0),
        ("likely no", "Likely no; though she likes reading", "single-hop", 0.5),
        # Adversarial: two phrases abstain, whatever the gold.
        ("That is Not Mentioned anywhere.", None, "adversarial", 1.0),
        ("No information available", "red", "adversarial", 1.0),
        ("I do not know", None, "adversarial", 0.0),
        ("red", None, "single-hop", None),
    ],
)
def test_locomo(answer: str, gold: str | None, category: str, expected: float | None) -> None:
    found = locomo_f1(answer, gold, category)
    assert found is None if expected is None else found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("answer", "gold", "em", "f1"),
    [
        ("The Beatles", "beatles", 1.0, 1.0),
        ("Yes.", "yes", 1.0, 1.0),
        ("yes, they are", "yes", 0.0, 0.0),  # a closed answer is right as a whole or not at all
        ("no", "yes", 0.0, 0.0),
        ("noanswer", "no answer given", 0.0, 0.0),
        ("Paris, France", "Paris", 0.0, 2 / 3),
        ("Paris Paris", "Paris", 0.0, 2 / 3),
        ("running", "ran", 0.0, 0.0),
        ("and", "and", 1.0, 1.0),  # unlike LOCOMO's, this scorer keeps "and"
        ("the", "", 1.0, 0.0),
    ],
)
def test_hotpotqa(answer: str, gold: str, em: float, f1: float) -> None:
    assert hotpot_scores(answer, gold) == pytest.approx((em, f1))
