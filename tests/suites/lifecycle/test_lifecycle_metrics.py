"""A run made by hand, whose published table is counted again here without any of the suite's own code."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pytest
from lifecycle_attempts import attempt
from lifecycle_protocols import UPDATE, protocol

from memassay.core.errors import DataError
from memassay.stats import wilson
from memassay.suites.lifecycle.intervals import difference
from memassay.suites.lifecycle.metrics import Rate, miss_cause, published_metrics
from memassay.suites.lifecycle.protocol import Protocol
from memassay.suites.lifecycle.records import Attempt, published_attempts
from memassay.suites.lifecycle.regrading import regrade, regrade_all

SHARED = [protocol(id=f"s-{number}", entity_urn=f"u-s{number}") for number in range(3)]
CORRECTED = [protocol(UPDATE, id=f"u-{number}", entity_urn=f"u-u{number}") for number in range(3)]
PROTOCOLS = [*SHARED, *CORRECTED]


def missed(one: Protocol, number: int, **more: Any) -> Attempt:
    """An attempt that captured nothing."""
    after = ["promote", "transfer", "update", "update_recall"]
    nothing: dict[str, Any] = dict.fromkeys(
        ("promoted", "recall_surfaced", "transfer_surfaced", "update_captured", "duplicated", "retired_by")
    )
    return attempt(
        one, number, leave_out=after, **{"captured": False, "answers": {"recall": "I do not know"}, **nothing, **more}
    )


def made_by_hand() -> list[Attempt]:
    """Six protocols, two attempts each: every published outcome both ways, and one harness failure."""
    return [
        attempt(SHARED[0], 1),
        attempt(SHARED[0], 2),
        attempt(SHARED[1], 1, answers={"transfer": "FINAL ANSWER: 7"}, transfer_surfaced=False),
        attempt(SHARED[1], 2, promoted=False, leave_out=["transfer"], transfer_surfaced=None),
        missed(SHARED[2], 1, capture_attempted=False, teach_budget_exhausted=True),
        attempt(SHARED[2], 2, error="the sink did not answer", leave_out=["transfer", "abstain"]),
        attempt(CORRECTED[0], 1),
        attempt(CORRECTED[0], 2, duplicated=True, retired_by=None),
        attempt(CORRECTED[1], 1, answers={"update_recall": "FINAL ANSWER: Riga"}),
        attempt(CORRECTED[1], 2, update_captured=False, duplicated=None, leave_out=["update_recall"], retired_by=None),
        missed(CORRECTED[2], 1),
        attempt(CORRECTED[2], 2, answers={"abstain": "FINAL ANSWER: 12 sailors"}, recall_surfaced=False),
    ]


@pytest.fixture(scope="module")
def graded() -> tuple[Attempt, ...]:
    return regrade_all(PROTOCOLS, made_by_hand())


# What each attempt of ``made_by_hand`` comes to, written down by a person: captured, recall, surfaced, promoted,
# transfer, transfer surfaced, update captured, update, duplicated, abstain; "." does not apply or was not reached.
TABLE = """
s-0 y y y y y y . . . y
s-0 y y y y y y . . . y
s-1 y y y y n n . . . y
s-1 y y y n . . . . . y
s-2 n n . . . . . . . y
s-2 harness
u-0 y y y . . . y y n y
u-0 y y y . . . y y y y
u-1 y y y . . . y n n y
u-1 y y y . . . n . . y
u-2 n n . . . . . . . y
u-2 y y n . . . y y n n
"""
COLUMNS = (
    "capture_rate", "personal_recall", "unprompted_surface", "promoted", "transfer_rate", "transfer_surfaced",
    "update_capture_rate", "update_correctness", "duplicate_rate", "abstention_rate",
)  # fmt: skip


def counted() -> dict[str, tuple[int, int]]:
    """The published table of ``TABLE``, counted column by column."""
    found: dict[str, list[str]] = {name: [] for name in COLUMNS}
    used: list[str] = []
    rows: dict[str, list[bool]] = defaultdict(list)
    for line in TABLE.split("\n"):
        if not line:
            continue
        protocol_id, *marks = line.split()
        if marks == ["harness"]:
            rows[protocol_id].append(False)
            continue
        for name, mark in zip(COLUMNS, marks, strict=True):
            found[name].append(mark)
        if marks[5] == "y":
            used.append(marks[4])
        right = marks[0] == marks[1] == "y" and "n" not in (marks[3], marks[4], marks[6], marks[7], marks[9])
        rows[protocol_id].append(right and marks[8] != "y")
    table = {name: (marks.count("y"), len(marks) - marks.count(".")) for name, marks in found.items()}
    table["transfer_used_given_surfaced"] = (used.count("y"), len(used))
    table["pass_k"] = (sum(all(passed) and len(passed) == 2 for passed in rows.values()), len(rows))
    del table["promoted"]
    return table


def test_the_published_table_is_the_one_counted_by_hand(graded: tuple[Attempt, ...]) -> None:
    found = published_metrics(graded, 2)
    for name, (num, den) in counted().items():
        rate = getattr(found, name)
        assert (rate.num, rate.den) == (num, den), name
        assert rate.rate == num / den
    assert (found.protocols, found.attempts, found.harness_failures) == (6, 11, 1)
    assert counted()["pass_k"] == (1, 6)


def test_attempts_at_one_protocol_are_alike() -> None:
    made = [Attempt(protocol_id=f"p-{n % 4}", captured=n % 4 > 0, recall_correct=True) for n in range(20)]
    rate = published_metrics(made, 5).capture_rate
    low, high = wilson(15, 20)
    assert (rate.num, rate.den, rate.method) == (15, 20, "korn-graubard")
    assert rate.low is not None and rate.high is not None
    assert rate.low < low - 0.2 and rate.high > high, "four protocols, not twenty attempts"


def test_the_capture_split_and_the_causes_of_misses(graded: tuple[Attempt, ...]) -> None:
    found = published_metrics(graded, 2)
    split = found.capture_split
    assert (split.attempt_rate.num, split.attempt_rate.den) == (10, 11)
    assert (split.given_attempted.num, split.given_attempted.den) == (9, 10)
    assert split.misses.model_dump() == {
        "total": 2, "attempted_failed": 1, "budget_starved": 1, "never_attempted": 0, "budget_unobservable": 0,
        "unattributed": 0,
    }  # fmt: skip
    assert (found.capture_budget_starved.num, found.capture_budget_starved.den) == (1, 2)


@pytest.mark.parametrize(
    ("tried", "spent", "cause"),
    [
        (None, None, "unattributed"), (True, False, "attempted_failed"), (True, None, "attempted_failed"),
        (False, None, "budget_unobservable"), (False, True, "budget_starved"), (False, False, "never_attempted"),
    ],
)  # fmt: skip
def test_every_miss_has_a_cause(tried: bool | None, spent: bool | None, cause: str) -> None:
    missing = Attempt(protocol_id="p", captured=False, capture_attempted=tried, teach_budget_exhausted=spent)
    assert miss_cause(missing) == cause
    assert miss_cause(missing.model_copy(update={"captured": True})) is None
    assert miss_cause(missing.model_copy(update={"captured": None})) is None


def test_tokens_of_failed_attempts_count(graded: tuple[Attempt, ...]) -> None:
    found = published_metrics(graded, 2)
    episodes = sum(len(one.episodes) for one in graded)
    assert found.total_input_tokens == 10 * episodes
    assert found.total_output_tokens == 2 * episodes
    assert found.total_cache_read_tokens == 3 * episodes
    assert found.total_cache_creation_tokens == episodes


def test_nothing_measured_is_null_and_never_zero() -> None:
    found = published_metrics([], 1)
    assert found.capture_rate == Rate() and found.capture_rate.rate is None
    assert found.pass_k.rate is None


@pytest.mark.parametrize(
    ("change", "passed"),
    [
        ({}, True), ({"error": "x"}, False), ({"captured": False}, False), ({"captured": None}, False),
        ({"recall_correct": None}, False), ({"promoted": None}, True), ({"promoted": False}, False),
        ({"transfer_correct": False}, False), ({"abstain_correct": False}, False), ({"abstain_correct": None}, True),
        ({"update_captured": False}, False), ({"update_correct": True, "duplicated": True}, False),
        ({"update_correct": True, "duplicated": False}, True), ({"update_correct": False}, False),
        ({"duplicated": True}, True),
    ],
)  # fmt: skip
def test_the_published_rule_of_passing(change: dict[str, Any], passed: bool) -> None:
    base = Attempt(protocol_id="p", captured=True, recall_correct=True, promoted=True, transfer_correct=True)
    assert base.model_copy(update=change).passed is passed


def test_too_few_or_too_many_attempts_cannot_pass() -> None:
    one = Attempt(protocol_id="p", captured=True, recall_correct=True)
    assert [published_metrics([one] * times, 2).pass_k.num for times in (1, 2, 3)] == [0, 1, 0]


def test_grading_again_from_the_records_changes_nothing(graded: tuple[Attempt, ...]) -> None:
    assert regrade_all(PROTOCOLS, graded) == graded
    bare = [
        one.model_copy(
            update={
                **dict.fromkeys(("recall_correct", "transfer_correct", "update_correct", "abstain_correct")),
                "episodes": tuple(
                    episode.model_copy(update=dict.fromkeys(("correct", "verdict", "strict")))
                    for episode in one.episodes
                ),
            }
        )
        for one in graded
    ]
    assert regrade_all(PROTOCOLS, bare) == graded
    written = [Attempt.model_validate_json(one.model_dump_json()) for one in graded]
    assert tuple(written) == graded


def test_an_episode_that_failed_is_not_graded() -> None:
    one = regrade(SHARED[0], attempt(SHARED[0], episode={"recall": {"error": "gone"}}))
    assert one.recall_correct is None
    assert one.episode("recall").strict is None  # type: ignore[union-attr]


def test_attempts_at_other_protocols_are_refused() -> None:
    with pytest.raises(DataError, match="not in the set"):
        regrade_all(SHARED, [attempt(CORRECTED[0])])
    with pytest.raises(DataError, match="not at 's-1'"):
        regrade(SHARED[1], attempt(SHARED[0]))


# -- published files -------------------------------------------------------------------------------------------------


def test_a_published_file_is_read_and_counted() -> None:
    one = SHARED[0]
    run = {
        "protocol_id": one.id, "title": "t", "sink": "datahub", "attempt": 1, "captured": True, "recall_correct": False,
        "something_new": 1,
        "episodes": [
            {"stage": "recall", "identity": "teacher", "email": "e", "tool_calls": 2, "search_called": True,
             "final_answer": "FINAL ANSWER: 41", "wall_ms": 9, "input_tokens": 5, "newer": {},
             "audit": {"audited_calls": 2, "errors": 0, "p95_ms": 4}},
        ],
    }  # fmt: skip
    (read,) = published_attempts(json.loads(json.dumps({"manifest": {}, "runs": [run]})), "a file")
    assert read.recall_correct is False
    assert read.episodes[0].audit is not None and read.episodes[0].audit.audited_calls == 2
    assert regrade(one, read).recall_correct is True


@pytest.mark.parametrize(
    "results", [None, [], {}, {"runs": 3}, {"runs": [3]}, {"runs": [{"protocol_id": 4}]}, {"runs": [{}]}]
)
def test_a_file_that_is_none_is_refused(results: object) -> None:
    with pytest.raises(DataError, match="a file is no results file"):
        published_attempts(results, "a file")


# -- intervals -------------------------------------------------------------------------------------------------------


def test_a_difference_is_paired_by_protocol() -> None:
    found = difference({"a": 1.0, "b": 1.0, "c": 0.5, "x": 0}, {"a": 0.0, "b": 0.5, "c": 0.5, "y": 1})
    assert found.value == pytest.approx(0.5) and found.clusters == 3
    assert difference({"a": 1.0}, {"b": 1.0}).value is None
