"""Agents that misbehave: each moves the metric that it should, and nothing that does not follow from it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from lifecycle_misbehaviour import (
    AnswersStale,
    BurnsTheBudget,
    CapturesTwice,
    Guesses,
    Hedges,
    KeepsItsAnswer,
    NeverAnswersAverages,
    NeverCaptures,
    NeverSearches,
    RejectsTheOld,
    UpdatesInPlace,
    WrongTable,
)
from lifecycle_play import Rules, judged, play

from memassay.suites.lifecycle.metrics import miss_cause
from memassay.suites.lifecycle.protocol import Protocol
from memassay.suites.lifecycle.records import Attempt
from memassay.suites.lifecycle.warehouse import Warehouse

# One protocol of each sink, corrected and passed on.
SOME = 4

# What follows from a lesson that was not kept: nothing was reached that waits for it.
UNREACHED: dict[str, float | None] = {
    "pass": 0, "strict:pass": 0, "capture_rate": 0, "strict:filed_intended": 0, "strict:filed_acceptably": 0,
    "unprompted_surface": None, "promoted": None, "transfer_rate": None, "transfer_surfaced": None,
    "update_capture_rate": None, "update_correctness": None, "duplicate_rate": None, "strict:transfer": 0,
    "strict:transfer_surfaced": 0, "strict:transfer_sink": 0, "strict:isolation_leak": None,
    "strict:rollback_gone": None, "strict:forgotten": None, "strict:correct_recall": 0,
    "strict:correct_transfer_stale": 0, "strict:update": 0, "strict:update_missing": 1, "strict:live_duplicate": None,
    "strict:interference_recall": 0,
    **{f"strict:retired:{route}": None for route in ("supersede", "update", "reject", "consolidate", "forget")},
}  # fmt: skip
UNKNOWN: dict[str, float | None] = {
    "personal_recall": 0, "strict:captured_anywhere": 0, "strict:recall": 0, "strict:recall_surfaced": 0,
    "strict:recall_reciprocal_rank": 0, "strict:twin": 0, "strict:over_abstention": 1,
}  # fmt: skip
# Half of the protocols are corrected; the others go by as ever.
HALF = {"pass": 0.5, "strict:pass": 0.5}

MOVES: list[tuple[type[Rules], dict[str, float | None]]] = [
    (NeverCaptures, UNREACHED | UNKNOWN),
    (BurnsTheBudget, UNREACHED | UNKNOWN),
    # The fact is found by its owner, and is on the wrong dataset.
    (WrongTable, UNREACHED | {"strict:twin": 0.5}),
    (
        CapturesTwice,
        HALF | {
            "duplicate_rate": 1, "strict:live_duplicate": 1, "strict:stale_surfaced": 1, "strict:retired:supersede": 0,
        },
    ),
    # The published rule has no capture then, and no verdict on duplicates. What is changed in place is changed for all.
    (
        UpdatesInPlace,
        {
            "pass": 0.5, "update_capture_rate": 0, "duplicate_rate": None, "strict:retired:supersede": 0,
            "strict:retired:update": 1, "strict:correct_transfer": 1, "strict:correct_transfer_stale": 0,
        },
    ),
    # Published, whatever is not superseded is a duplicate; nothing is live.
    (
        RejectsTheOld,
        {"pass": 0.5, "duplicate_rate": 1, "strict:retired:supersede": 0, "strict:retired:reject": 1},
    ),
    # The note takes the place of the taught record, which can then not be promoted.
    (
        KeepsItsAnswer,
        HALF | {
            "strict:wrong_supersede": 1, "promoted": 0, "transfer_rate": None, "transfer_surfaced": None,
            "strict:transfer": 0, "strict:transfer_surfaced": 0, "strict:transfer_sink": 0, "strict:twin": 0,
            "strict:over_abstention": 1, "strict:rollback_gone": None, "strict:correct_recall": 0,
            "strict:interference_recall": 0, "strict:forgotten": None,
            "strict:correct_transfer_stale": 0,
        },
    ),
    (
        AnswersStale,
        HALF | {
            "update_correctness": 0, "strict:update": 0, "strict:update_stale": 1, "strict:correct_recall": 0,
            "strict:interference_recall": 0,
        },
    ),
    # The published grader reads the first number, and lets a name be vetoed.
    (
        Hedges,
        {
            "pass": 0.75, "strict:pass": 0.5, "update_correctness": 0.5, "strict:update": 0, "strict:update_hedged": 1,
            "strict:correct_recall": 0, "strict:interference_recall": 0,
        },
    ),
    (Guesses, {"pass": 0, "strict:pass": 0, "abstention_rate": 0, "strict:abstention": 0}),
    (NeverAnswersAverages, {"strict:over_abstention": 1, "strict:twin": 0}),
    (
        NeverSearches,
        {
            "pass": 0, "strict:pass": 0, "personal_recall": 0, "unprompted_surface": 0, "strict:recall": 0,
            "strict:recall_surfaced": 0, "strict:recall_reciprocal_rank": 0, "update_correctness": 0,
            "strict:update": 0, "strict:update_missing": 1, "strict:correct_recall": 0, "strict:interference_recall": 0,
        },
    ),
]  # fmt: skip


def means(agent: type[Rules], protocols: tuple[Protocol, ...], warehouse: Warehouse) -> dict[str, float | None]:
    """Each metric's mean over a few protocols, or None where it applies to none."""
    values: defaultdict[str, list[float]] = defaultdict(list)
    names: dict[str, None] = {}
    for protocol in protocols[:SOME]:
        for name, score in judged(protocol, play(protocol, warehouse, agent=agent())).scores.items():
            names[name] = None
            if score is not None:
                values[name].append(score)
    return {name: sum(values[name]) / len(values[name]) if values[name] else None for name in names}


@pytest.fixture(scope="module")
def usual(generated: tuple[Protocol, ...], warehouse: Warehouse) -> dict[str, float | None]:
    return means(Rules, generated, warehouse)


def test_the_rules_alone(usual: dict[str, float | None]) -> None:
    zero = {
        "duplicate_rate", "strict:transfer_sink_only", "strict:never_taught", "strict:isolation_leak",
        "strict:isolation_surfaced", "strict:update_stale", "strict:update_hedged", "strict:update_missing",
        "strict:stale_surfaced", "strict:live_duplicate", "strict:wrong_supersede", "strict:over_abstention",
        "strict:retired:update", "strict:retired:reject", "strict:retired:consolidate", "strict:retired:forget",
        # A correction reaches nobody else before it is promoted in its turn.
        "strict:correct_transfer",
    }  # fmt: skip
    assert {name for name, value in usual.items() if value == 0} == zero
    assert all(value == 1 for name, value in usual.items() if name not in zero)


@pytest.mark.parametrize(("agent", "moves"), MOVES, ids=lambda value: getattr(value, "__name__", ""))
def test_each_moves_what_it_should(
    agent: type[Rules],
    moves: dict[str, float | None],
    usual: dict[str, float | None],
    generated: tuple[Protocol, ...],
    warehouse: Warehouse,
) -> None:
    found = means(agent, generated, warehouse)
    assert {name: value for name, value in found.items() if value != usual[name]} == moves


@pytest.mark.parametrize(
    ("agent", "cause"),
    [(NeverCaptures, "never_attempted"), (BurnsTheBudget, "budget_starved"), (WrongTable, "attempted_failed")],
)
def test_why_nothing_was_captured(
    agent: Any, cause: str, generated: tuple[Protocol, ...], warehouse: Warehouse
) -> None:
    verdict = judged(generated[0], play(generated[0], warehouse, agent=agent()))
    assert miss_cause(Attempt.model_validate(verdict.labels["attempt"])) == cause
