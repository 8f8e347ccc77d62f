"""The mapping that a run comes to, and the sections of a report made from it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from association_rows import BASELINE, FILES, GRAPH, outcome, run

from kit import printed_elsewhere
from memassay.core.errors import UnknownName
from memassay.core.types import Status
from memassay.suites.association.results import UNCLASSIFIED, conclude
from memassay.suites.association.sections import sections

TITLES = [
    "Arms and briefs", "Gate", "Per cell", "Aggregate", "Deltas against sqlite", "Correctness by task",
    "Sub-1.0 cells", "Tool adoption", "Answers, cell by cell",
]  # fmt: skip


def rows() -> list[Any]:
    """Two tasks, three arms; the graph calls its server, lost points once, and was cut off once."""

    def graph(task: int, number: int) -> dict[str, Any]:
        found: dict[str, Any] = {"cost": 0.05, "tools": {"mcp__mushroomdb__query": 2, "Read": 1}, "tokens": 600}
        if (task, number) == (2, 1):
            labels = {"found": 3, "of": 4, "missed": ["job-000009"], "forbidden": ["SIMILAR_SIZE"]}
            found |= {"score": 0.5, "labels": labels, "text": "job-000001\n\njob-000002 <b>"}
        if (task, number) == (1, 2):
            found |= {"status": Status.LIMIT_TIME, "detail": "out of time", "cost": None, "tokens": 0, "turns": 0}
            found |= {"tools": {}, "score": 0.0, "text": ""}
        return found

    return run(tasks=2, sqlite={"tools": {"Bash": 3}}, graph=graph, files={"cost": 0.2})


@pytest.fixture
def results() -> dict[str, Any]:
    return conclude(rows(), server_tools=("query",))


def test_it_is_plain_json_and_the_order_of_rows_does_not_count(results: dict[str, Any]) -> None:
    text = json.dumps(results, allow_nan=False)
    assert json.loads(text) == results
    assert json.dumps(conclude(rows()[::-1], server_tools=["query"])) == text


def test_another_process_says_the_same(tmp_path: Any) -> None:
    program = (
        f"import sys, json; sys.path.insert(0, {str(__file__.rpartition('/')[0])!r})\n"
        "from association_rows import run\n"
        "from memassay.suites.association.results import conclude\n"
        "made = run(tasks=20, sqlite={}, files={}, graph=lambda t, n: {'cost': t / 100, 'tools': {'b': 1, 'a': 1}})\n"
        "print(json.dumps(conclude(made)))"
    )
    assert len(printed_elsewhere(program, tmp_path)) == 1


def test_who_is_held_against_whom(results: dict[str, Any]) -> None:
    assert (results["baseline"], results["gated"], results["arms"]) == (BASELINE, [GRAPH], [GRAPH, FILES, BASELINE])
    renamed = conclude([outcome("db", 1, role="baseline"), outcome("b", 1), outcome("a", 1)])
    assert (renamed["baseline"], renamed["gated"]) == ("db", ["a", "b"])
    nobody = conclude([outcome("a", 1)])
    assert nobody["gate"]["published"]["reasons"] == ["there is no cell of the baseline sqlite"]  # type: ignore[index,call-overload]


def test_the_gate_stands_in_every_wording_and_in_ours(results: dict[str, Any]) -> None:
    gate = results["gate"]
    assert gate["wording"] == "release" and list(gate["wordings"]) == ["draft", "2026-09-11", "release"]
    assert gate["published"]["verdict"] == gate["wordings"]["release"] == "failed"
    assert gate["published"]["best_arm"] == GRAPH
    assert [leg["leg"] for leg in gate["published"]["arms"][0]["legs"]] == [
        "correctness", "other arms", "cost", "cost interval", "turns",
    ]  # fmt: skip
    assert gate["ours"]["verdict"] == "failed"
    assert gate["ours"]["reasons"][0].startswith("graph, correctness: 2 of 2 tasks lost by more than 0.1")
    with pytest.raises(UnknownName, match="wording"):
        conclude(rows(), "releas")


def test_the_reference_agent_s_run_has_no_decision_for_lack_of_cost() -> None:
    free = {"cost": None, "tokens": 0, "turns": 0}
    found = conclude(run(sqlite=free, graph=free, files=free))
    gate: Any = found["gate"]
    assert gate["published"]["verdict"] == gate["ours"]["verdict"] == "no decision: no cost"
    assert any("cannot certify" in reason for reason in gate["ours"]["reasons"])


def test_a_cell_that_measured_nothing_is_null_and_its_score_still_counts(results: dict[str, Any]) -> None:
    (cut,) = [cell for cell in results["cells"] if cell["status"] == "limit-time"]
    assert cut["cell"] == "assoc-why-1/graph/0.2" and cut["timed_out"] and cut["score"] == 0.0
    empty = (
        "cost_usd", "total_tokens", "input_tokens", "cache_read_tokens", "turns", "cache_hit_ratio", "tool_calls",
        "server_calls", "tool_search_calls", "adopted",
    )  # fmt: skip
    assert [cut[name] for name in empty] == [None] * len(empty)
    means, counts = results["aggregate"]["means"], results["aggregate"]["counts"]
    assert means["cost_usd"][GRAPH] == pytest.approx(0.05)  # five cells, not six
    assert means["score"][GRAPH] == pytest.approx((4 + 0.5) / 6)
    assert counts[GRAPH] == {
        "cells": 6, "timeouts": 1, "out_of_turns": 0, "errors": 1, "without_score": 0, "without_cost": 1,
        "without_tokens": 1, "without_turns": 1,
    }  # fmt: skip


def test_a_measured_cell_has_the_published_columns(results: dict[str, Any]) -> None:
    cell = results["cells"][0]
    assert cell["cell"] == "assoc-why-1/graph/0.0"
    assert (cell["input_tokens"], cell["output_tokens"], cell["cache_read_tokens"]) == (60, 60, 480)
    assert cell["cache_hit_ratio"] == pytest.approx(480 / 540, abs=5e-5)
    assert (cell["tool_calls"], cell["server_calls"], cell["tool_search_calls"], cell["adopted"]) == (3, 2, 0, True)
    assert (cell["seconds"], cell["turns"], cell["cost_usd"]) == (1.5, 4, 0.05)


def test_changes_are_per_cent_of_the_baseline(results: dict[str, Any]) -> None:
    change = results["aggregate"]["change_percent"]
    assert change["cost_usd"] == {GRAPH: pytest.approx(-50), FILES: pytest.approx(100)}
    assert change["wrong_extra"] == {GRAPH: None, FILES: None}  # of nothing


def test_deltas_have_the_published_interval_beside_ours(results: dict[str, Any]) -> None:
    deltas = {(one["arm"], one["metric"]): one for one in results["deltas"]}
    assert len(deltas) == 10
    cost = deltas[GRAPH, "cost_usd"]
    assert cost["published"] == {"value": pytest.approx(-0.05), "low": pytest.approx(-0.05),
                                 "high": pytest.approx(-0.05), "n": 2}  # fmt: skip
    assert cost["ours"]["kind"] == "ratio" and cost["ours"]["estimate"]["value"] == pytest.approx(0.5)
    assert (cost["missing"], cost["ours_at_cap"]) == (1, None)
    score = deltas[GRAPH, "score"]
    assert score["ours"]["kind"] == "difference"
    assert score["ours"]["estimate"]["value"] == pytest.approx(score["published"]["value"]) == pytest.approx(-0.25)
    at_cap: Any = conclude(rows(), cap_usd=1.0)["deltas"]
    (capped,) = [one["ours_at_cap"] for one in at_cap if (one["arm"], one["metric"]) == (GRAPH, "cost_usd")]
    assert capped["estimate"]["value"] > cost["ours"]["estimate"]["value"]


def test_nothing_measured_has_no_interval_instead_of_zeros() -> None:
    free = {"cost": None, "tokens": 0, "turns": 0}
    found: Any = conclude(run(tasks=3, sqlite=free, graph=free))["deltas"]
    for one in found[1:]:
        assert one["published"] is None and one["arm_mean"] is None
        assert one["ours"]["estimate"]["value"] is None and one["ours"]["estimate"]["reason"]
    assert found[0]["published"] == {"value": 0.0, "low": 0.0, "high": 0.0, "n": 3}


def test_correctness_names_the_best_arm_or_a_tie() -> None:
    scores = {1: 1.0, 2: 0.5, 3: 1.0}
    found: Any = conclude(
        [
            *run(tasks=3, repetitions=1, sqlite=lambda t, n: {"score": 0.5 if t == 3 else 1.0}),
            *run(tasks=3, repetitions=1, graph=lambda t, n: {"score": scores[t]}, files={}),
        ]
    )["correctness"]
    assert [one["best"] for one in found] == ["tie", "json-files, sqlite", "graph, json-files"]
    assert found[1]["scores"] == {GRAPH: 0.5, FILES: 1.0, BASELINE: 1.0}
    away = {"score": None, "status": Status.API_ERROR}
    nothing: Any = conclude(run(tasks=1, sqlite=away, graph=away))["correctness"]
    assert nothing[0]["best"] is None


def test_cells_below_one_are_ready_to_be_classified(results: dict[str, Any]) -> None:
    worst, other = results["below_one"]
    assert (worst["score"], worst["detail"], worst["classification"]) == (0.0, "out of time", UNCLASSIFIED)
    assert (other["missed"], other["forbidden"], other["found"], other["of"]) == (
        ["job-000009"], ["SIMILAR_SIZE"], 3, 4,
    )  # fmt: skip
    read: Any = conclude([outcome(GRAPH, 1, score=0.5, classified=("model", "did not ask")), outcome(BASELINE, 1)])
    (cell,) = read["below_one"]
    assert (cell["classification"], cell["why"]) == ("model", "did not ask")


def test_adoption_counts_cells_and_calls_of_measured_sessions(results: dict[str, Any]) -> None:
    assert results["adoption"][GRAPH] == {
        "cells": 5, "adopted": 5, "server": {"mcp__mushroomdb__query": 10}, "other": {"Read": 5},
    }  # fmt: skip
    assert results["adoption"][BASELINE]["adopted"] == 0
    bare: Any = conclude([outcome(GRAPH, 1, tools={"query": 1, "sql": 1})], server_tools=["query"])
    assert bare["adoption"][GRAPH]["server"] == {"query": 1} and bare["adoption"][GRAPH]["other"] == {"sql": 1}


def test_answers_are_verbatim(results: dict[str, Any]) -> None:
    said = {one["cell"]: one["text"] for one in results["answers"]}
    assert said["assoc-why-2/graph/0.1"] == "job-000001\n\njob-000002 <b>" and len(said) == 18


# -- sections ------------------------------------------------------------------------------------------------------


def test_the_sections_follow_the_published_order(results: dict[str, Any]) -> None:
    made = sections(json.loads(json.dumps(results)), {"equal_briefs": True})
    assert [section.title for section in made] == TITLES
    assert sections({}) == []


def test_tables_are_narrow_and_whole(results: dict[str, Any]) -> None:
    for section in sections(results):
        for table in section.tables:
            assert 2 <= len(table.columns) <= 7, table.title
            assert all(len(row) == len(table.columns) for row in table.rows), table.title
    scores, tokens, work = sections(results)[2].tables
    assert len(scores.rows) == len(tokens.rows) == len(work.rows) == 18
    cut = [row for row in work.rows if row[0] == "assoc-why-1/graph/0.2"]
    assert cut[0][1:5] == ("–", "–", "–", "–")


@pytest.mark.parametrize(("equal", "said"), [(True, "were equal"), (False, "NOT equal")])
def test_unequal_briefs_are_disclosed(results: dict[str, Any], equal: bool, said: str) -> None:
    assert said in sections(results, {"equal_briefs": equal})[0].text
    assert "briefs were" not in sections(results)[0].text


def test_the_gate_section_says_the_verdicts_and_the_hole() -> None:
    dear = conclude(run(sqlite={}, graph=lambda t, n: {"cost": 0.3 + t / 1000}), "2026-09-11")
    gate = sections(dear)[1]
    assert "hole" in gate.text and "2026-09-11" in gate.text
    assert [row[1] for row in gate.tables[0].rows] == ["FAILED", "FAILED", "failed", "failed"]
    assert gate.tables[0].rows[0][2] == "graph, cost: 0.3105 US dollars per cell, sqlite 0.1000"
    assert len(gate.tables) == 3


@pytest.mark.parametrize(
    ("arms", "says"),
    [
        ({"sqlite": {}, "graph": {}, "files": {}}, "No arm is best: graph, json-files and sqlite tie."),
        ({"sqlite": {"cost": None}, "graph": {"cost": None}}, "No arm is best: graph and sqlite tie."),
        ({"sqlite": {"cost": None}, "graph": {}}, "No arm is best: graph and sqlite tie."),
        ({"sqlite": {}, "graph": {"cost": 0.2}}, "best arm, most correct and then cheapest, is sqlite, the baseline."),
        ({"sqlite": {}, "graph": {"score": 0.9, "cost": 0.01}, "files": {"cost": 0.05}}, "is json-files."),
        ({"graph": {"score": None, "status": Status.API_ERROR}}, "No arm is best."),
    ],
)  # fmt: skip
def test_the_best_arm_is_named_and_arms_that_tie_are_said_to(arms: dict[str, Any], says: str) -> None:
    assert says in sections(conclude(run(tasks=2, **arms)))[1].text


def test_a_long_answer_is_cut_and_says_so() -> None:
    answers = sections(conclude([outcome(BASELINE, 1, text="company-000001\n" * 421)]))[-1]
    text = str(answers.tables[0].rows[0][1])
    assert text.startswith("company-000001 / company-000001") and text.endswith("… (6,315 characters)")
    assert len(text) < 640


def test_every_cell_right_needs_no_table() -> None:
    section = sections(conclude(run(tasks=1, sqlite={}, graph={})))[6]
    assert (section.text, section.tables) == ("Every cell scored 1.", ())


def test_a_report_draws_them(results: dict[str, Any]) -> None:
    from memassay.reporting.grid import draw, from_table

    drawn = [draw(from_table(table)) for section in sections(results) for table in section.tables]
    cells = [cell.main for grid in drawn for row in grid.rows for cell in row.cells]
    assert "job-000001 / job-000002 <b>" in cells and "no decision" in " ".join(cells).lower()
