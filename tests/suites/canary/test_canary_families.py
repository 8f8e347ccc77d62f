"""Families, their weights, and how many questions each gets."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memassay.core.errors import DataError
from memassay.suites.canary.families import (
    ASKS,
    FAMILIES,
    FLOOR,
    PUBLISHED,
    TITLES,
    UNIFORM,
    WEIGHTS,
    Weights,
    allocate,
    read_weights,
)


def test_the_eight_families_in_the_published_order_with_the_published_weights() -> None:
    assert FAMILIES[0] == "current_canonical" and FAMILIES[3] == "temporal_supersession" and len(FAMILIES) == 8
    assert PUBLISHED.vector == (0.5, 0.2, 0.1, 0.04, 0.04, 0.04, 0.04, 0.04)
    assert math.isclose(sum(PUBLISHED.vector), 1) and math.isclose(sum(UNIFORM.vector), 1)
    assert tuple(TITLES) == tuple(ASKS) == tuple(WEIGHTS) == FAMILIES


def test_only_counted_weights_have_a_posterior() -> None:
    assert UNIFORM.concentration is None
    assert PUBLISHED.concentration is not None
    assert PUBLISHED.concentration[0] == 1200.5 and PUBLISHED.concentration[7] == 96.5


def test_the_published_weights_give_55_22_11_and_five_times_8_of_128() -> None:
    assert list(allocate(PUBLISHED, 128).values()) == [55, 22, 11, 8, 8, 8, 8, 8]
    assert list(allocate(PUBLISHED, 64).values()) == [8] * 8
    assert list(allocate(UNIFORM, 130).values()) == [17, 17, 16, 16, 16, 16, 16, 16]


@given(st.lists(st.integers(0, 1000), min_size=8, max_size=8).filter(any), st.integers(64, 500))
def test_an_allocation_adds_up_and_keeps_the_floor_and_the_order_of_the_weights(counts: list[int], total: int) -> None:
    shares = {family: count / sum(counts) for family, count in zip(FAMILIES, counts, strict=True)}
    given_out = allocate(Weights(name="any", shares=shares), total)
    assert sum(given_out.values()) == total and min(given_out.values()) >= FLOOR
    for one in FAMILIES:
        for other in FAMILIES:
            if shares[one] > shares[other]:
                assert given_out[one] >= given_out[other]


def test_too_few_questions_for_the_floors_are_refused() -> None:
    with pytest.raises(ValueError, match="need 64 questions"):
        allocate(UNIFORM, 63)


def test_weights_come_from_counts_or_shares(tmp_path: Path) -> None:
    path = tmp_path / "may.toml"
    path.write_text("[counts]\ncurrent_canonical = 30\nlink_graph = 10\n")
    counted = read_weights(path)
    assert (counted.name, counted.queries) == ("may", 40)
    assert counted.shares["current_canonical"] == 0.75 and counted.shares["multi_hop"] == 0
    assert counted.concentration == (30.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 10.5)
    path.write_text('name = "guess"\n[shares]\nmulti_hop = 1\n')
    guessed = read_weights(path)
    assert (guessed.name, guessed.queries, guessed.shares["multi_hop"]) == ("guess", None, 1.0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[counts]\nmultihop = 3\n", "unknown family 'multihop'. Did you mean 'multi_hop'?"),
        ("[counts]\nmulti_hop = 3.5\n", "must be a whole number of 0 or more"),
        ("[counts]\nmulti_hop = -1\n", "must be a whole number of 0 or more"),
        ("[counts]\nmulti_hop = true\n", "must be a whole number of 0 or more"),
        ("[counts]\nmulti_hop = 0\n", "every count is 0"),
        ("[shares]\nmulti_hop = 0.5\n", "the shares sum to 0.5"),
        ("[shares]\nmulti_hop = nan\n", "must be a number of 0 or more"),
        ("counts = 3\n", "counts must be a table"),
        ("", "give one table, [counts] or [shares]"),
        ("[count]\n", "unknown key 'count'. Did you mean 'counts'?"),
        ('name = ""\n[counts]\nmulti_hop = 1\n', "name must be text"),
        ("[counts\n", "not TOML"),
    ],
)
def test_wrong_weights_are_one_sentence_with_the_fix(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "w.toml"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        read_weights(path)
    assert says in str(caught.value) and str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


def test_a_missing_weights_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such file"):
        read_weights(tmp_path / "none.toml")
    with pytest.raises(DataError, match="cannot be read as text"):
        read_weights(tmp_path)
