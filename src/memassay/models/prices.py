"""What tokens cost, by a dated table that ships with the package (``prices.json``, with its sources).

It is the provider's list price for the model, whoever serves it; a discount, a surcharge or a gateway's own price is
not in it. A model that the table lacks has no price, never a guess.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

from memassay.core.types import Usage

TABLE_DATE = "2026-11-30"

_PROVIDER = re.compile(r"^(anthropic|openai)/")
# A name may say the day of its version (claude-haiku-4-5-20251001, gpt-4.1-2025-04-14) and, at one client, how long
# its context is (claude-opus-4-8[1m]).
_VERSION = re.compile(r"(-\d{8}|-\d{4}-\d{2}-\d{2})?(\[\w+\])?$")
_MILLION = 1_000_000


def price(model: str, usage: Usage) -> float | None:
    """US dollars for the tokens of a request, or of several.

    Args:
        model: a model's name, with or without provider and date.
        usage: its four kinds of tokens.

    Returns:
        None where the table lacks the model or a kind of token that was used, and where the tokens exceed a prompt
        length up to which alone the price holds (of a sum it cannot be told how long each prompt was).
    """
    row = _table().get(base_name(model))
    if row is None or usage.input + usage.cache_read + usage.cache_write > row.get("up_to", float("inf")):
        return None
    total = 0.0
    for kind in ("input", "output", "cache_read", "cache_write"):
        tokens = getattr(usage, kind)
        if tokens and row[kind] is None:
            return None
        total += tokens * (row[kind] or 0.0)
    return total / _MILLION


def base_name(model: str) -> str:
    """A model's name without provider, date and length of context."""
    return _VERSION.sub("", _PROVIDER.sub("", model))


def same_model(asked: str, said: str) -> bool:
    """Whether a provider's name for the model that replied is the one that was asked for, or a dated form of it."""
    return base_name(asked).removesuffix("-latest") == base_name(said).removesuffix("-latest")


@functools.cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    content = json.loads(resources.files("memassay.models").joinpath("prices.json").read_text(encoding="utf-8"))
    models: dict[str, Mapping[str, Any]] = content["models"]
    return models
