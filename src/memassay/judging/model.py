"""Judges with a model by the name of the model: what ``--judge MODEL`` and ``--judge lenient:MODEL`` make."""

from __future__ import annotations

import re
from typing import Any

from pydantic import JsonValue

from memassay.core.errors import UsageError
from memassay.judging.binary import BinaryJudge
from memassay.judging.pairwise import PairwiseJudge
from memassay.models.names import open_model
from memassay.models.prices import base_name

PROVIDERS_OWN = "provider"
"""In place of a temperature: none is sent."""

# The closed models of today think before they reply and refuse every temperature; those before them take one, and so do
# open models, whoever serves them.
_CLOSED = re.compile(r"claude-|gpt-\d|o\d(-|$)")
_OLDER = re.compile(r"claude-3|claude-[a-z]+-4(-[0-6])?$|gpt-3\.5|gpt-4")
_LONGEST, _LONGEST_THINKING = 1024, 4096


def binary(
    *,
    model: str,
    criteria: str = "",
    temperature: float | str | None = None,
    max_tokens: int | None = None,
    **options: JsonValue,
) -> BinaryJudge:
    """The strict judge: CORRECT where the answer says the same as the gold answer.

    Args:
        model: see :func:`memassay.models.names.open_model`.
        criteria: what a suite asks of an answer; "" takes the judge's own.
        temperature: a number, or ``provider``, which sends none. None is 0, and none for a model that refuses it.
        max_tokens: longest reply, thinking included. None is 1,024, and 4,096 for a model that thinks.
        options: how to reach the model.
    """
    sent = _sent(model, temperature, max_tokens)
    return BinaryJudge(model=open_model(model, **options), variant="binary", criteria=criteria, **sent)


def lenient(
    *,
    model: str,
    criteria: str = "",
    temperature: float | str | None = None,
    max_tokens: int | None = None,
    **options: JsonValue,
) -> BinaryJudge:
    """The lenient judge, by the generous criteria that published scores were made with; arguments as of ``binary``."""
    sent = _sent(model, temperature, max_tokens)
    return BinaryJudge(model=open_model(model, **options), variant="lenient", criteria=criteria, **sent)


def pairwise(
    *,
    model: str,
    criteria: str = "",
    family: str = "",
    temperature: float | str | None = None,
    max_tokens: int | None = None,
    **options: JsonValue,
) -> PairwiseJudge:
    """The judge of pairs: which of two dossiers serves a question better, and one of five labels for each.

    Args:
        model: see :func:`memassay.models.names.open_model`.
        criteria: what a suite asks of a dossier; "" takes the judge's own.
        family: of the model, in one word; "" reads it from the name.
        temperature: a number, or ``provider``, which sends none. None is 0, and none for a model that refuses it.
        max_tokens: longest reply, thinking included. None is 1,024, and 4,096 for a model that thinks.
        options: how to reach the model.
    """
    sent = _sent(model, temperature, max_tokens)
    return PairwiseJudge(model=open_model(model, **options), criteria=criteria, family=family, **sent)


pairwise.pairs = True  # type: ignore[attr-defined]  # what an experiment goes by before it makes a judge


def _sent(model: str, temperature: float | str | None, max_tokens: int | None) -> dict[str, Any]:
    """Temperature and longest reply of a judge, as the classes take them.

    Raises:
        UsageError: one of them cannot be.
    """
    name = base_name(model)
    thinks = _CLOSED.match(name) is not None and _OLDER.match(name) is None
    given: float | None = None
    if temperature is None:
        given = None if thinks else 0.0
    elif isinstance(temperature, (int, float)) and not isinstance(temperature, bool) and 0 <= temperature <= 2:
        given = float(temperature)
    elif temperature != PROVIDERS_OWN:
        raise UsageError(
            f"judge.temperature must be a number from 0 to 2, or {PROVIDERS_OWN} to send none, not {temperature!r}."
        )
    if max_tokens is not None and (isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or max_tokens < 1):
        raise UsageError(f"judge.max_tokens must be a number above 0, not {max_tokens!r}.")
    longest = max_tokens if max_tokens is not None else _LONGEST_THINKING if thinks else _LONGEST
    return {"temperature": given, "max_tokens": longest}
