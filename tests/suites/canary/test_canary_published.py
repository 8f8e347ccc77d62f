"""What the published result leaves open, as a section and on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from memassay.suites.canary.published import LEFT_OPEN, Open, lines, played_back, section

RANGE = (
    "a weighted gap of 8 to 43 points (ties in the denominator), 0 to 51 ties of 64 questions, and fabrications on 1 "
    "to 4 of them"
)


@pytest.fixture(scope="module")
def found() -> Mapping[str, Any]:
    return played_back()


def test_the_report_says_what_the_records_give(found: Mapping[str, Any]) -> None:
    assert Open(**found["left_open"]) == LEFT_OPEN
    assert LEFT_OPEN.gap[1] - LEFT_OPEN.gap[0] > 0.3 and LEFT_OPEN.fabricated == (1, 4)
    text = section().text
    assert RANGE in text
    assert "memassay canary replay" in text


def test_at_least_three_sets_under_every_reading_and_under_all(found: Mapping[str, Any]) -> None:
    assert len(found["readings"]) == 9
    for one in found["readings"]:
        tables = {repr((each["table"], each["fabricated"])) for each in one["sets"]}
        assert len(tables) >= 3
        assert all(anchor["fits"] for each in one["sets"] for anchor in each["anchors"])
        assert {sum(row) for each in one["sets"] for row in each["table"].values()} == {8}
    assert [one["fits"] for one in found["fit_under_every_reading"]] == [True] * 3


def test_the_terminal_has_a_row_per_reading_and_the_range(found: Mapping[str, Any]) -> None:
    shown = list(lines(found))
    assert len(shown) == 13
    assert "+35.5 to +36.5" in shown[2] and shown[2].startswith("strict")
    assert shown[-2].startswith("3 sets fit under every reading at once")
    assert RANGE in shown[-1]
