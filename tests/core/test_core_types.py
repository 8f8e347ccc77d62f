from __future__ import annotations

import pytest
from pydantic import ValidationError

from memassay.core.types import Answer, CellKey, Estimate, Passage, Status

KINDS = {
    "answered": {"ok", "empty", "refused"},
    "memory": {"memory-timeout", "memory-crash", "memory-empty-store", "limit-time", "limit-turns", "limit-money"},
    "provider": {"rate-limit", "api-error", "network"},
    "harness": {"harness-error"},
}


def test_every_status_is_of_one_of_the_four_kinds() -> None:
    found: dict[str, set[str]] = {}
    for status in Status:
        found.setdefault(status.kind, set()).add(str(status))
    assert found == KINDS


def test_values_are_frozen_and_know_their_fields() -> None:
    passage = Passage(text="x")
    with pytest.raises(ValidationError):
        passage.text = "y"  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Passage(text="x", colour="red")  # type: ignore[call-arg]


def test_what_a_resume_needs_comes_first_in_a_record() -> None:
    fields = list(Answer.model_fields)
    assert fields.index("cell") < fields.index("steps")
    assert fields.index("status") < fields.index("steps")
    assert Answer(cell=CellKey(task="t", arm="a"), status=Status.OK).schema_version == 1


def test_an_unknown_schema_version_is_refused() -> None:
    record = Answer(cell=CellKey(task="t", arm="a"), status=Status.OK).model_dump(mode="json")
    with pytest.raises(ValidationError):
        Answer.model_validate({**record, "schema_version": 2})


def test_an_undefined_estimate_has_no_interval() -> None:
    nothing = Estimate(value=None, reason="fewer than 2 clusters")
    assert (nothing.value, nothing.low, nothing.high) == (None, None, None)
