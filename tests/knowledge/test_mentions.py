"""Names of pages in a text without links."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memassay.knowledge.mentions import LONGEST, Names, names
from memassay.retrieval.text import words


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Rush", ["rush"]),
        ("Athlete (band)", ["athlete band", "athlete"]),
        ("New Durham, New Hampshire", ["new durham new hampshire", "new durham"]),
        ("UEFA Euro 2020", ["uefa euro 2020"]),
        ("Go", []),
        ("Go (1999 film)", ["go 1999 film"]),
        ("", []),
        ("(band)", ["band"]),
        (" ".join(["long"] * (LONGEST + 1)), []),
        ("東京", []),
        ("Ärger im Büro", ["ärger im büro"]),
    ],
)
def test_names_of_a_title(title: str, expected: list[str]) -> None:
    assert names(title) == expected


def found(known: Names, text: str) -> list[str]:
    return list(known.longest(words(text)))


def test_the_longest_name_wins_and_nothing_is_found_inside_it() -> None:
    known = Names([(0, "Oklahoma"), (1, "Oklahoma Sooners football"), (2, "Sooners")])
    assert found(known, "The oklahoma sooners FOOTBALL team of Oklahoma beat the Sooners.") == [
        "oklahoma sooners football",
        "oklahoma",
        "sooners",
    ]


def test_a_name_stands_as_whole_words_only() -> None:
    known = Names([(0, "Rush")])
    assert found(known, "Rushmore and brush.") == []
    assert found(known, "(rush)") == ["rush"]


def test_a_name_that_several_pages_share_means_none_of_them() -> None:
    known = Names([(0, "Elkhan (fencer)"), (1, "Elkhan (judoka)")])
    assert known.pages("elkhan") == (0, 1)
    known.add(2, "Elkhan (official)")
    assert known.pages("elkhan") == ()
    assert known.pages("elkhan official") == (2,)
    assert known.pages("nobody") == ()


titles = st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["Alpha Corp", "Alpha", "Beta (x)", "Beta, Gamma"])))


@given(titles, st.randoms(use_true_random=False))
def test_order_of_adding_and_removing_does_not_matter(pairs: list[tuple[int, str]], random: object) -> None:
    pairs = list(dict.fromkeys(pairs))
    extra = [(7, "Alpha Corp"), (8, "Beta (y)")]
    changed = Names(extra)
    mixed = list(pairs)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    for pair in mixed:
        changed.add(*pair)
    for pair in extra:
        changed.remove(*pair)
    assert vars(changed) == vars(Names(pairs))
