from __future__ import annotations

import pytest

from memassay.retrieval.speakers import named

SPEAKERS = ("Andrew", "Joanna", "Melanie", "Maria Lopez", "Will")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did Melanie paint?", {"Melanie"}),
        ("what did melanie paint?", {"Melanie"}),
        ("Where are Mel's kids?", {"Melanie"}),
        ("Where are mel and the kids?", set()),  # a short form only with a capital
        ("Who is Jo?", set()),  # two letters are too few
        ("And what did the others say?", set()),
        ("Did Andrew and Joanna both go?", {"Andrew", "Joanna"}),
        ("Which Lopez is meant?", {"Maria Lopez"}),
        ("Melanie\u2019s pets", {"Melanie"}),
        ("", set()),
    ],
)
def test_who_is_named(question: str, expected: set[str]) -> None:
    assert named(question, SPEAKERS) == expected
