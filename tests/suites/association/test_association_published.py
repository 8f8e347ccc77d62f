"""The published intervals and verdicts of all four runs, from their published cells."""

from __future__ import annotations

import itertools
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kit import ROOT
from memassay.core.contracts import Outcome
from memassay.core.types import Status, Task, Usage
from memassay.suites.association import cells as measures
from memassay.suites.association.cells import Cells
from memassay.suites.association.gate import WORDINGS, published_gate
from memassay.suites.association.material import our_gate
from memassay.suites.association.published import bootstrapped, published_interval
from memassay.suites.association.results import conclude

NAME = "association_published_cells.json"
RUNS = ("20260911T005749Z", "20260911T065400Z", "20260925T200950Z", "20260928T195302Z")
TURNS_OUT = 31
"""What a session counts that was ended by the limit of 30 turns; the file does not say how a cell ended."""


@cache
def _runs() -> dict[str, Any]:
    named = [Path(os.environ["MEMASSAY_DATA"])] if "MEMASSAY_DATA" in os.environ else []
    for folder in [*named, ROOT.parent / "shared" / "data"]:
        if (folder / NAME).is_file():
            return dict(json.loads((folder / NAME).read_text(encoding="utf-8"))["runs"])
    pytest.skip(f"{NAME} is in neither $MEMASSAY_DATA nor ../shared/data")


def published(run: str) -> Cells:
    """A published run as our rows; exact scores where a cell is below 1."""
    content = _runs()[run]
    exact = {(c["task"], c["arm"], c["rep"]): c["score_exact"] for c in content["sub_one"]}
    rows = []
    for cell in content["cells"]:
        score = exact.get((cell["task"], cell["arm"], cell["rep"]), 1.0)
        out = score == 0 and cell["turns"] == TURNS_OUT
        rows.append(
            Outcome(
                task=Task(
                    id=f"task-{cell['task']}", suite="association", scope="world", cluster="", category="",
                    prompt="", payload={"number": cell["task"]},
                ),
                arm=cell["arm"],
                role="baseline" if cell["arm"] == "Q" else "contender",
                build=0,
                number=cell["rep"] - 1,
                status=Status.LIMIT_TURNS if out else Status.OK,
                detail="",
                scores={"score": score},
                labels={},
                usage=Usage(input=cell["total_tokens"], turns=cell["turns"], reported_usd=cell["cost_usd"]),
                text="",
                tools={},
            )
        )  # fmt: skip
    return Cells(rows, "Q", ["R"])


MEASURES = {
    "score": (measures.score, 4, 0.0),
    "cost_usd": (measures.cost, 5, 0.00002),
    "total_tokens": (measures.total_tokens, 1, 0.0),
    "turns": (measures.turns, 3, 0.0),
}


@pytest.mark.data
@pytest.mark.parametrize(("run", "arm", "name"), list(itertools.product(RUNS, "PR", MEASURES)))
def test_every_published_interval_is_reproduced(run: str, arm: str, name: str) -> None:
    measure, digits, tolerance = MEASURES[name]
    found = published_interval(published(run).pairs(arm, measure))
    assert found is not None and found.n == 20
    ours = [round(value, digits) for value in (found.value, found.low, found.high)]
    theirs = _runs()[run]["published"][f"{arm}-Q {name}"]
    assert ours == (pytest.approx(theirs, abs=tolerance, rel=0) if tolerance else theirs)


def test_the_order_of_tasks_counts_and_nothing_gives_nothing() -> None:
    differences = (0.0, -0.3, 0.1, 0.05, 0.2, 0.7)
    there, back = bootstrapped(differences), bootstrapped(differences[::-1])
    assert there is not None and back is not None
    assert there.value == back.value and there.low != back.low
    assert bootstrapped(()) is None
    same = bootstrapped((0.25,) * 4)
    assert same is not None and (same.low, same.value, same.high) == (0.25, 0.25, 0.25)


# -- the gate on published runs ------------------------------------------------------------------------------------

FAILED = {
    "20260911T005749Z": ["correctness", "other arms", "cost", "cost interval", "turns"],
    "20260911T065400Z": ["correctness", "other arms", "cost interval"],
    "20260925T200950Z": ["correctness", "other arms"],
    "20260928T195302Z": [],
}


@pytest.mark.data
@pytest.mark.parametrize("run", RUNS)
def test_the_published_verdicts(run: str) -> None:
    gate = published_gate(published(run), "release")
    assert gate.verdict == ("failed" if FAILED[run] else "passed")
    assert gate.best_arm == "R"
    (arm,) = gate.arms
    assert [leg.leg for leg in arm.legs if leg.outcome == "failed"] == FAILED[run]


@pytest.mark.data
def test_the_published_reasons() -> None:
    first, second, third, last = (published_gate(published(run), "release") for run in RUNS)
    reasons = {leg.leg: leg.reason for leg in first.arms[0].legs}
    assert reasons["correctness"] == "R − Q is −0.191 over 20 tasks"
    assert reasons["other arms"] == "−0.191 is below P (+0.013)"
    assert reasons["cost"] == "0.5089 US dollars per cell, Q 0.1257"
    assert reasons["turns"] == "out of turns on task-5, task-8, task-14, task-15, task-16, where Q answered"
    assert second.reasons[0] == "R, correctness: R − Q is −0.007 over 20 tasks"
    assert second.reasons[1] == "R, other arms: −0.007 is below P (+0.026)"
    assert third.reasons[0] == "R, correctness: R − Q is −0.006 over 20 tasks"
    assert last.reasons == ()


@pytest.mark.data
def test_the_wording_of_september_11_has_its_hole() -> None:
    """The first summary does not name the interval of costs among its reasons, though it is far above 0."""
    gate = published_gate(published(RUNS[0]), "2026-09-11")
    (arm,) = gate.arms
    assert [leg.leg for leg in arm.legs if leg.outcome == "failed"] == ["correctness", "other arms", "cost", "turns"]
    (interval,) = [leg for leg in arm.legs if leg.leg == "cost interval"]
    assert interval.outcome == "passed" and "[+0.2522, +0.5253]" in interval.reason
    assert len(gate.notes) == 1 and "above 0" in gate.notes[0]
    assert not any(published_gate(published(run), "2026-09-11").notes for run in RUNS[1:])


@pytest.mark.data
def test_the_wordings_agree_on_the_four_verdicts() -> None:
    verdicts = {run: {w: published_gate(published(run), w).verdict for w in WORDINGS} for run in RUNS}
    assert set(WORDINGS) == {"draft", "2026-09-11", "release"}
    for wording in WORDINGS:
        assert [verdicts[run][wording] for run in RUNS] == ["failed", "failed", "failed", "passed"]


# -- ours on published runs, and the published means ---------------------------------------------------------------


@pytest.mark.data
def test_our_gate_says_what_twenty_tasks_can_tell() -> None:
    gates = [our_gate(published(run)) for run in RUNS]
    assert [gate.verdict for gate in gates] == ["failed", "no decision", "no decision", "no decision"]
    legs = [{leg.leg: (leg.outcome, leg.reason) for leg in gate.arms[0].legs} for gate in gates]
    assert [leg["cost"][0] for leg in legs] == ["failed", "passed", "passed", "passed"]
    assert legs[3]["correctness"][1].startswith("0 of 20 tasks lost by more than 0.1: the rate may be up to 0.139")
    assert "29 tasks with no such loss would" in legs[3]["correctness"][1]
    assert "61 tasks with 2 such losses would" in legs[1]["correctness"][1]


ANCHORS: dict[str, tuple[tuple[float, ...], ...]] = {  # scores, total tokens, turns; each of P, Q, R
    "20260911T005749Z": ((1.0, 0.987, 0.795), (202216, 226711, 935776), (6.88, 7.52, 25.55)),
    "20260911T065400Z": ((1.0, 0.974, 0.967), (200034, 221063, 186215), (6.9, 7.38, 5.07)),
    "20260925T200950Z": ((1.0, 1.0, 0.994), (87469, 100506, 73578), (4.17, 4.75, 3.53)),
    "20260928T195302Z": ((0.983, 0.99, 1.0), (202552, 211487, 155397), (6.8, 7.07, 3.93)),
}


@pytest.mark.data
@pytest.mark.parametrize("run", RUNS)
def test_the_published_means(run: str) -> None:
    aggregate: Any = conclude(published(run).rows)["aggregate"]
    for (name, digits), theirs in zip((("score", 3), ("total_tokens", 0), ("turns", 2)), ANCHORS[run], strict=True):
        means = aggregate["means"][name]
        assert tuple(round(means[arm], digits) for arm in "PQR") == theirs, name
    assert [aggregate["counts"][arm]["out_of_turns"] for arm in "PQR"] == [0, 0, 8 if run == RUNS[0] else 0]
