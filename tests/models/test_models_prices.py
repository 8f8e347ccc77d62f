"""Prices: sums by hand from the table, and None wherever a sum would be a guess."""

from __future__ import annotations

import json
from importlib import resources

import pytest

from memassay.core.types import Usage
from memassay.models import prices
from memassay.models.prices import base_name, price, same_model

TABLE = json.loads(resources.files("memassay.models").joinpath("prices.json").read_text(encoding="utf-8"))


def test_the_four_kinds_have_prices_of_their_own() -> None:
    usage = Usage(input=1_000_000, output=200_000, cache_read=3_000_000, cache_write=400_000)
    assert price("claude-opus-4-8", usage) == pytest.approx(5 + 5 + 1.5 + 2.5)
    assert price("claude-opus-4-8", Usage()) == 0.0


@pytest.mark.parametrize(
    "name",
    ["claude-haiku-4-5", "anthropic/claude-haiku-4-5", "claude-haiku-4-5-20251001", "claude-haiku-4-5-20251001[1m]"],
)
def test_a_name_may_say_provider_date_and_context(name: str) -> None:
    assert price(name, Usage(output=1_000_000)) == 5.0


@pytest.mark.parametrize(
    "name", ["", "claude", "claude-haiku", "gpt-4", "gpt-4.1-2025", "llama-3", "x/claude-haiku-4-5"]
)
def test_an_unknown_model_has_no_price(name: str) -> None:
    assert price(name, Usage(input=1)) is None


def test_a_kind_without_a_price_makes_the_sum_unknown_only_where_it_was_used() -> None:
    assert price("gpt-4.1", Usage(input=1_000_000, cache_read=1_000_000)) == 2.5
    assert price("gpt-4.1", Usage(input=1, cache_write=1)) is None


def test_beyond_the_prompt_length_that_a_price_holds_for_there_is_none() -> None:
    assert price("claude-haiku-5-5", Usage(input=60_000, cache_read=40_000)) == pytest.approx(0.0064)
    assert price("claude-haiku-5-5", Usage(input=60_000, cache_read=40_001)) is None


def test_the_table_is_whole_and_dated() -> None:
    assert TABLE["date"] == prices.TABLE_DATE
    assert TABLE["comment"]
    for name, row in TABLE["models"].items():
        assert base_name(name) == name
        assert set(row) - {"up_to"} == {"input", "output", "cache_read", "cache_write"}, name
        assert 0 < row["cache_read"] < row["input"] < row["output"], name


@pytest.mark.parametrize(
    ("asked", "said", "same"),
    [
        ("gpt-4.1", "gpt-4.1", True),
        ("gpt-4.1", "gpt-4.1-2025-04-14", True),
        ("openai/gpt-4.1", "gpt-4.1-2025-04-14", True),
        ("gpt-5-chat-latest", "gpt-5-chat", True),
        ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929", True),
        ("gpt-4.1", "gpt-4.1-mini", False),
        ("claude-opus-4-8", "claude-opus-4-7", False),
        ("gpt-4.1", "", False),
    ],
)
def test_a_dated_name_is_the_same_model_and_a_sibling_is_not(asked: str, said: str, same: bool) -> None:
    assert same_model(asked, said) is same
