"""What a judge that is made by the name of its model sends, and what of it can be set."""

from __future__ import annotations

from typing import Any

import pytest

from memassay.core.errors import UsageError
from memassay.judging.binary import BinaryJudge
from memassay.judging.model import binary, lenient
from memassay.models.chat import Message
from memassay.models.prices import _table


def sent(judge: BinaryJudge) -> tuple[float | None, int]:
    chat = judge.chat(Message("user", "?"))
    return chat.temperature, chat.max_tokens


@pytest.mark.parametrize(
    "model",
    ["claude-haiku-4-5", "claude-haiku-4-5-20251001", "anthropic/claude-opus-4-6", "claude-opus-4-20250514", "gpt-4.1",
     "openai/gpt-4o-mini-2024-07-18", "qwen3", "gpt-oss-120b", "meta-llama/llama-4", "olmo-2"],
)  # fmt: skip
def test_a_model_that_takes_a_temperature_gets_0(model: str) -> None:
    assert sent(binary(model=model)) == sent(lenient(model=model)) == (0.0, 1024)


@pytest.mark.parametrize(
    "model",
    ["claude-opus-4-7", "claude-opus-4-8", "anthropic/claude-sonnet-5-20260301", "claude-haiku-5-5", "gpt-5.4-mini",
     "openai/gpt-6-sol", "o4-mini", "claude-opus-4-8[1m]"],
)  # fmt: skip
def test_a_model_that_refuses_it_gets_none_and_room_to_think(model: str) -> None:
    assert sent(binary(model=model)) == sent(lenient(model=model)) == (None, 4096)


def test_of_the_models_with_a_price_only_the_older_get_one() -> None:
    older = {"claude-opus-4-6", "claude-opus-4-5", "claude-sonnet-4-6", "claude-sonnet-4-5", "claude-haiku-4-5",
             "gpt-4.1", "gpt-4.1-mini", "gpt-4o", "gpt-4o-mini"}  # fmt: skip
    assert {name for name in _table() if sent(binary(model=name))[0] is not None} == older


def test_both_can_be_set_and_are_in_the_manifest() -> None:
    judge = binary(model="claude-opus-4-8", temperature=1, max_tokens=300)
    assert sent(judge) == (1.0, 300)
    assert (judge.config["temperature"], judge.config["max_tokens"]) == (1.0, 300)
    assert sent(binary(model="qwen3", temperature="provider")) == (None, 1024)


@pytest.mark.parametrize(
    ("setting", "value"),
    [("temperature", "hot"), ("temperature", 3), ("temperature", float("nan")), ("temperature", True),
     ("max_tokens", 0), ("max_tokens", "many")],
)  # fmt: skip
def test_what_cannot_be_is_refused(setting: str, value: Any) -> None:
    with pytest.raises(UsageError, match=f"judge.{setting} must be a number"):
        binary(model="gpt-4.1", **{setting: value})
