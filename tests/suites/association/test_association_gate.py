"""The gate in its three wordings, and ours: every leg, and what cannot be decided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from association_rows import BASELINE, FILES, GRAPH, outcome, run

from memassay.core.contracts import Outcome
from memassay.core.errors import UnknownName
from memassay.core.types import Status
from memassay.suites.association.cells import Cells, cache_hit_ratio, cost, score, total_tokens, turns
from memassay.suites.association.gate import WORDINGS, published_gate
from memassay.suites.association.legs import Gate, signed
from memassay.suites.association.material import cost_ratio, our_gate


def cells(rows: Sequence[Outcome]) -> Cells:
    return Cells(rows, BASELINE, [GRAPH])


def failed(gate: Gate) -> list[str]:
    return [leg.leg for arm in gate.arms for leg in arm.legs if leg.outcome == "failed"]


def cheap(task: int, number: int) -> dict[str, Any]:
    return {"cost": 0.04 + task / 1000, "tokens": 500 + 10 * task, "turns": 2}


def dear(task: int, number: int) -> dict[str, Any]:
    return {"cost": 0.30 + task / 1000}


# -- as published --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("wording", "verdict"), [("release", "passed"), ("2026-09-11", "passed"), ("draft", "failed")])
def test_a_tie_at_half_the_cost_passes_all_but_the_draft(wording: str, verdict: str) -> None:
    gate = published_gate(cells(run(sqlite={}, graph=cheap, files={})), wording)
    assert (gate.verdict, gate.best_arm) == (verdict, GRAPH)
    assert failed(gate) == ([] if verdict == "passed" else ["correctness", "other arms", "score interval"])


def test_the_draft_is_passed_by_an_arm_that_is_better_on_every_task() -> None:
    rows = run(sqlite={"score": 0.8}, graph=lambda t, n: {**cheap(t, n), "score": 0.9}, files={"score": 0.8})
    gate = published_gate(cells(rows), "draft")
    assert gate.verdict == "passed"
    assert [leg.leg for leg in gate.arms[0].legs] == ["correctness", "other arms", "cost", "score interval", "turns"]


def test_each_leg_fails_alone() -> None:
    def legs(**arms: Any) -> list[str]:
        return failed(published_gate(cells(run(**arms)), "release"))

    assert legs(sqlite={"score": 0.9}, graph=cheap, files={"score": 0.95}) == []
    assert legs(sqlite={"score": 0.5}, graph=lambda t, n: {**cheap(t, n), "score": 0.6}, files={"score": 0.7}) == [
        "other arms"
    ]
    uncertain = legs(sqlite={}, graph=lambda t, n: {"cost": 0.01 if t % 2 else 0.18})
    assert uncertain == ["cost interval"]
    spent = {"status": Status.LIMIT_TURNS}
    assert legs(sqlite={}, graph=lambda t, n: {**cheap(t, n), **(spent if t == 7 else {})}) == ["turns"]


def test_running_out_of_turns_counts_only_where_the_baseline_answered() -> None:
    out = {"status": Status.LIMIT_TURNS}
    rows = run(sqlite=lambda t, n: out if t == 7 else {}, graph=lambda t, n: {**cheap(t, n), **(out if t == 7 else {})})
    assert published_gate(cells(rows), "release").verdict == "passed"


def test_the_hole_is_reproduced_and_said() -> None:
    rows = cells(run(sqlite={}, graph=dear))
    hole, closed = published_gate(rows, "2026-09-11"), published_gate(rows, "release")
    assert failed(hole) == ["cost"] and failed(closed) == ["cost", "cost interval"]
    assert "hole" in hole.notes[0] and "`release` closes it" in hole.notes[0]
    assert closed.notes == ()


def test_without_a_cost_nothing_is_decided_unless_a_leg_fails() -> None:
    free = {"cost": None}
    gate = published_gate(cells(run(sqlite=free, graph=free, files=free)), "release")
    assert (gate.verdict, gate.best_arm) == ("no decision: no cost", GRAPH)
    assert [leg.outcome for leg in gate.arms[0].legs] == ["passed", "passed", "not measured", "not measured", "passed"]
    assert gate.reasons[0] == "graph, cost: no cell of graph has a cost"
    worse = published_gate(cells(run(sqlite=free, graph={**free, "score": 0.5})), "release")
    assert worse.verdict == "failed" and failed(worse) == ["correctness"]
    assert published_gate(cells(run(sqlite={}, graph=free)), "draft").verdict == "failed"  # a tie


def test_a_price_of_nothing_is_no_price() -> None:
    gate = published_gate(cells(run(sqlite={"cost": 0.0}, graph={"cost": 0.0})), "release")
    assert gate.verdict == "no decision: no cost"


def test_without_scores_nothing_is_decided() -> None:
    away = {"score": None, "status": Status.API_ERROR}
    gate = published_gate(cells(run(sqlite={}, graph=lambda t, n: {**cheap(t, n), **away})), "release")
    assert gate.verdict == "no decision: no score"


def test_no_baseline_fails_at_once_and_so_does_nothing_to_judge() -> None:
    gate = published_gate(cells(run(graph={})), "release")
    assert (gate.verdict, gate.best_arm, gate.reasons) == ("failed", None, ("there is no cell of the baseline sqlite",))
    alone = published_gate(cells(run(sqlite={}, files={})), "release")
    assert (alone.verdict, alone.reasons) == ("failed", ("no arm is under the gate",))
    assert our_gate(cells([])).verdict == "failed"


def test_the_best_arm_is_the_most_correct_then_the_cheapest_of_those_that_pass() -> None:
    def best(**arms: Any) -> tuple[str | None, str]:
        gate = published_gate(Cells(run(**arms), BASELINE, [GRAPH, FILES]), "release")
        return gate.best_arm, gate.verdict

    assert best(sqlite={}, graph=dear, files={**dear(1, 0), "score": 0.9}) == (GRAPH, "failed")
    assert best(sqlite={}, graph=dear, files={"cost": 0.2}) == (FILES, "failed")
    assert best(sqlite={"score": 0.8}, graph=lambda t, n: {"score": 0.9, "cost": 0.2}, files={**cheap(1, 0)}) == (
        FILES, "passed",
    )  # fmt: skip


def test_repetitions_are_averaged_before_tasks_are_compared() -> None:
    rows = run(tasks=2, sqlite={}, graph=lambda t, n: {"score": 0.0 if t == 1 and n == 0 else 1.0})
    leg = published_gate(cells(rows), "release").arms[0].legs[0]
    assert leg.reason == f"graph \N{MINUS SIGN} sqlite is {signed(-1 / 6)} over 2 tasks"


def test_an_unknown_wording_is_refused_with_those_there_are() -> None:
    with pytest.raises(UnknownName, match="release"):
        published_gate(cells([]), "relase")
    assert list(WORDINGS) == ["draft", "2026-09-11", "release"]


# -- ours ----------------------------------------------------------------------------------------------------------


def test_twenty_tasks_cannot_certify_and_sixty_five_can() -> None:
    few = our_gate(cells(run(sqlite={}, graph=cheap)))
    assert few.verdict == "no decision"
    assert "20 tasks cannot certify 0.1; 29 tasks with no such loss would" in few.reasons[0]
    enough = our_gate(cells(run(tasks=65, repetitions=1, sqlite={}, graph=cheap)))
    assert (enough.verdict, enough.best_arm, enough.reasons) == ("passed", GRAPH, ())
    lost = our_gate(cells(run(tasks=65, repetitions=1, sqlite={}, graph=lambda t, n: {"score": 1.0 * (t > 3)})))
    assert lost.verdict == "no decision" and "76 tasks with 3 such losses would" in lost.reasons[0]


def test_many_losses_or_a_higher_cost_fail() -> None:
    lost = our_gate(cells(run(sqlite={}, graph=lambda t, n: {**cheap(t, n), "score": 1.0 * (t > 8)})))
    assert lost.verdict == "failed" and failed(lost) == ["correctness"]
    paid = our_gate(cells(run(tasks=30, sqlite={}, graph=dear)))
    assert paid.verdict == "failed" and failed(paid) == ["cost"]


def test_no_cost_decides_nothing() -> None:
    gate = our_gate(cells(run(tasks=30, sqlite={"cost": None}, graph={"cost": None})))
    assert gate.verdict == "no decision: no cost"


def missing(at: int) -> list[Outcome]:
    """A run whose graph arm was cut off without a cost in one cell of some tasks."""
    gone = {"status": Status.LIMIT_TIME, "cost": None}
    return run(tasks=30, sqlite={}, graph=lambda t, n: {**cheap(t, n), **(gone if t <= at and n == 0 else {})})


def test_a_missing_cost_is_put_at_the_limit_and_both_must_agree() -> None:
    assert our_gate(cells(missing(0)), cap_usd=1.0).verdict == "passed"
    both = cost_ratio(cells(missing(15)), GRAPH, cells(missing(15)).complete(), 1.0)
    assert both.missing == 15 and both.at_cap is not None
    assert (both.measured.ratio.high or 9) < 1 < (both.at_cap.ratio.high or 0)
    gate = our_gate(cells(missing(15)), cap_usd=1.0)
    assert gate.verdict == "no decision"
    assert "with $1 for each of 15 missing costs" in gate.reasons[0]
    small = our_gate(cells(missing(1)), cap_usd=1.0)
    assert small.verdict == "passed"


def test_a_missing_cost_without_a_limit_decides_nothing() -> None:
    gate = our_gate(cells(missing(1)))
    assert gate.verdict == "no decision" and "no limit of money" in gate.reasons[0]


def test_what_a_provider_did_not_answer_leaves_the_task_out_for_all_arms() -> None:
    rows = [*run(tasks=4, sqlite={}, graph=cheap, files={})]
    rows[0] = outcome(BASELINE, 1, 0, score=None, status=Status.API_ERROR)
    found = cells(rows)
    assert [task.id for task in found.complete()] == ["assoc-why-2", "assoc-why-3", "assoc-why-4"]
    assert our_gate(found).arms[0].legs[0].reason.startswith("0 of 3 tasks")
    assert "over 4 tasks" in published_gate(found, "release").arms[0].legs[0].reason


# -- what a cell measured ------------------------------------------------------------------------------------------


def test_what_was_not_measured_is_none_and_never_zero() -> None:
    cell = outcome(GRAPH, 1, score=None, cost=None, tokens=0, turns=0)
    assert [measure(cell) for measure in (score, cost, total_tokens, turns, cache_hit_ratio)] == [None] * 5


def test_our_price_goes_before_the_client_s() -> None:
    assert cost(outcome(GRAPH, 1, cost=0.2, reported=0.3)) == 0.2
    assert cost(outcome(GRAPH, 1, cost=None, reported=0.3)) == 0.3


def test_tasks_go_by_number_and_then_by_id() -> None:
    found = cells([outcome(GRAPH, n) for n in (10, 2, 1)])
    assert [task.payload["number"] for task in found.tasks] == [1, 2, 10]
