"""Judges with a model by the name of the model: what ``--judge MODEL`` and ``--judge lenient:MODEL`` make."""

from __future__ import annotations

from pydantic import JsonValue

from memassay.judging.binary import BinaryJudge
from memassay.models.names import open_model


def binary(*, model: str, criteria: str = "", **options: JsonValue) -> BinaryJudge:
    """The strict judge: CORRECT where the answer says the same as the gold answer.

    Args:
        model: see :func:`memassay.models.names.open_model`.
        criteria: what a suite asks of an answer; "" takes the judge's own.
        options: how to reach the model.
    """
    return BinaryJudge(model=open_model(model, **options), variant="binary", criteria=criteria)


def lenient(*, model: str, criteria: str = "", **options: JsonValue) -> BinaryJudge:
    """The lenient judge, by the generous criteria that published scores were made with; arguments as of ``binary``."""
    return BinaryJudge(model=open_model(model, **options), variant="lenient", criteria=criteria)
