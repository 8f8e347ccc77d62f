"""``run association`` as its users call it: a small world in two or three forms, its gate, its report, mistakes."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from acceptance_tools import answers
from association_kit import (
    FEW,
    FILES,
    FORMS,
    KINDS,
    MISTAKES,
    SCALE,
    SEED,
    THREE,
    answer_of,
    expected_after,
    near_of,
    place_of,
    scores,
    tasks_of,
)

from kit import Cli, Ran


@pytest.fixture
def summary(three: Path) -> Any:
    """What the run on three forms printed."""
    ran = Ran(*json.loads((three / "run.json").read_text("utf-8")))
    assert ran.code == 0, ran.err
    return ran.json


# -- what must be shown --------------------------------------------------------------------------------------------


def test_build_names_the_three_stores_with_their_seconds(three: Path) -> None:
    lines = (three / "build.txt").read_text("utf-8").splitlines()
    for form in FORMS:
        [line] = [line for line in lines if line.split()[0] == form]
        assert re.search(r"\b\d+(\.\d+)? s\b", line), line
    assert len({place_of(three / "stores", form) for form in FORMS}) == 3


def test_the_reference_agent_answers_all_on_three_forms(three: Path, summary: Any) -> None:
    assert list(summary["arms"]) == list(FORMS)
    for name, arm in summary["arms"].items():
        assert (arm["n"], arm["metrics"]["score"]["value"]) == (20, 1.0), name
        assert arm["metrics"]["score_substring"]["value"] == 1.0
        assert {kind: block["n"] for kind, block in arm["categories"].items()} == dict.fromkeys(KINDS, 4)
    assert summary["headline_metric"] == "score"
    assert summary["arms"]["sqlite"]["role"] == "baseline"
    assert summary["conclusion"]["baseline"] == "sqlite"
    assert summary["conclusion"]["gated"] == ["graph"]
    identity = json.loads((three / "r" / "manifest.json").read_text("utf-8"))["identity"]
    stamps = [json.loads((place_of(three / "stores", form) / "stamp.json").read_text("utf-8")) for form in FORMS]
    assert {stamp["facts"] for stamp in stamps} == {identity["suite_settings"]["facts"]}
    assert json.loads((three / "r" / "summary.json").read_text("utf-8")) == summary


def test_each_arm_uses_its_own_tools_and_nothing_else(summary: Any) -> None:
    used = summary["conclusion"]["adoption"]
    assert used["graph"]["adopted"] == used["graph"]["cells"] == 20
    assert set(used["graph"]["server"]) <= {
        "explain_association", "edges_at", "was_linked", "node_history", "edge_history", "node_info", "node_edges",
        "query", "what_if", "stats", "recall",
    }  # fmt: skip
    assert used["graph"]["other"] == {}
    assert used["json-files"] == {"cells": 20, "adopted": 0, "server": {}, "other": used["json-files"]["other"]}
    assert set(used["json-files"]["other"]) == {"read"}
    assert set(used["sqlite"]["other"]) == {"sql"}
    means = summary["conclusion"]["aggregate"]["means"]
    assert all(means[name][form] > 0 for name in ("total_tokens", "tool_calls", "turns") for form in FORMS)
    assert means["total_tokens"]["json-files"] > means["total_tokens"]["sqlite"]


def test_without_a_cost_the_gate_decides_nothing(summary: Any) -> None:
    gate = summary["conclusion"]["gate"]
    assert gate["wording"] == "release"
    assert gate["published"]["verdict"] == "no decision: no cost"
    assert gate["ours"]["verdict"] == "no decision: no cost"
    assert any("20 tasks cannot certify" in reason for reason in gate["ours"]["reasons"])
    assert len(gate["published"]["arms"][0]["legs"]) == 5
    assert set(gate["wordings"]) == {"draft", "2026-09-11", "release"}


def test_controls_are_no_arms(three: Path, summary: Any) -> None:
    assert set(summary["controls"]) == {"reference", "empty"}
    for name, value in (("reference", 1.0), ("empty", 0.0)):
        assert summary["controls"][name]["passed"] is True
        assert [check["value"] for check in summary["controls"][name]["checks"]] == [value]
    for field in ("cells", "answers", "below_one"):
        named = {one["cell"].split("/")[1] for one in summary["conclusion"][field]}
        assert named <= set(FORMS), field
    assert set(summary["conclusion"]["arms"]) == set(FORMS)
    recorded = {json.loads(line)["cell"]["arm"] for line in answers(three / "r")}
    assert recorded == {*FORMS, "reference", "empty"}


def test_a_plan_spends_nothing_and_knows_the_twenty(cli: Cli, workplace: Path) -> None:
    planned = cli("plan", "association", "--json")
    assert planned.code == 0, planned.err
    assert planned.json["tasks"] == 20
    assert planned.json["data"] == "generated"
    assert planned.json["about"].startswith("world of seed 20260910, scale 2,000, 90 days (facts 3107779e2a7d1dd0); ")
    assert "4 questions of each of 5 kinds; gate as published, wording release" in planned.json["about"]
    assert list(workplace.iterdir()) == []


def test_the_file_of_tasks_is_the_set_of_the_run(three: Path, cli: Cli, workplace: Path) -> None:
    written = cli("association", "tasks", "--seed", SEED, "--scale", SCALE, "--out", "tasks.json")
    assert written.code == 0, written.err
    content = json.loads((workplace / "tasks.json").read_text("utf-8"))
    tasks = tasks_of(three / "r")
    assert [task["id"] for task in content["tasks"]] == list(range(1, 21))
    assert [task["key"] for task in content["tasks"]] == [task["id"] for task in tasks]
    for given, task in zip(content["tasks"], tasks, strict=True):
        [check] = given["checks"]
        assert sorted(check["values"]) == sorted(answer_of(task)) == sorted(given["truth"]["answer"])
        assert sorted(check["forbid"]) == sorted(near_of(task)) == sorted(given["truth"]["forbid"])
        assert given["full_prompt"] == task["prompt"]
    assert (
        content["world_digest"] == json.loads((place_of(three / "stores", "graph") / "stamp.json").read_text())["facts"]
    )


def test_every_task_keeps_the_guards(three: Path) -> None:
    tasks = tasks_of(three / "r")
    assert Counter(task["category"] for task in tasks) == dict.fromkeys(KINDS, 4)
    for task in tasks:
        right, near = answer_of(task), near_of(task)
        assert len(set(near)) == 5
        assert 3 <= len(set(right)) == len(right) <= 40
        values = [value.lower() for value in (*right, *near)]
        assert not [(a, b) for a in values for b in values if a is not b and a in b], task["id"]
        assert "mushroom" not in task["prompt"].lower()


def test_without_the_package_the_graph_says_so_and_the_others_run(
    few: Path, cli: Cli, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = metadata.version

    def version(name: str) -> str:
        if name == "mushroomdb":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setitem(sys.modules, "mushroomdb", None)
    flags = ("--memory", f"{FILES},graph", "--stores", few / "stores", "--out", "r", "--json")
    ran = cli("run", *FEW, *flags)
    assert ran.code == 0, ran.err
    assert "memassay[mushroomdb]" in ran.json["arms"]["graph"]["reason"]
    assert {name: arm["n"] for name, arm in ran.json["arms"].items()} == {"json-files": 5, "sqlite": 5, "graph": 0}
    assert {ran.json["arms"][form]["metrics"]["score"]["value"] for form in FILES.split(",")} == {1.0}
    assert not ran.json["conclusion"]["gated"], "the gate of the study is the graph's, and nobody stands in for it"


@pytest.mark.slow
def test_the_engine_disputes_nothing(three: Path, cli: Cli) -> None:
    checked = cli("association", "check", three / "r")
    assert checked.code == 0, checked.err + checked.out
    assert re.findall(r"(\d+) (?:disagreements|disputed)", checked.out) == ["0", "0", "0"]


# -- the report ----------------------------------------------------------------------------------------------------

SECTIONS = (
    "Gate",
    "Per cell",
    "Aggregate",
    "Deltas against sqlite",
    "Correctness by task",
    "Sub-1.0 cells",
    "Tool adoption",
    "Answers, cell by cell",
)


def test_the_sections_stand_in_the_order_of_the_study(three: Path, summary: Any) -> None:
    text = (three / "r" / "summary.md").read_text("utf-8")
    titles = re.findall(r"^## (.*)$", text, re.MULTILINE)
    first = titles.index("Gate")
    assert tuple(titles[first : first + len(SECTIONS)]) == SECTIONS
    assert len(set(titles)) == len(titles)
    assert "No arm is best: graph, json-files and sqlite tie." in text
    html = (three / "r" / "report.html").read_text("utf-8")
    shown = re.findall(r"<h2[^>]*>\s*(?:<[^>]+>)*\s*([^<]+?)\s*<", html)
    first = shown.index("Gate")
    assert tuple(shown[first : first + len(SECTIONS)]) == SECTIONS
    for wanted in ("no decision: no cost", summary["suite_settings"]["facts"], "percentile bootstrap, as published"):
        assert wanted.lower() in text.lower()
        assert wanted.lower() in html.lower()
    for task in tasks_of(three / "r"):
        assert f"{task['id']}/graph/0.0" in text


def test_who_got_a_brief_is_disclosed(few: Path, cli: Cli, workplace: Path) -> None:
    equal = (few / "r" / "summary.md").read_text("utf-8")
    assert "briefs were equal" in equal
    assert json.loads((few / "r" / "summary.json").read_text("utf-8"))["suite_settings"]["equal_briefs"] is True
    published = cli("run", *FEW, "--published-briefs", "--stores", few / "stores", "--out", "p", "--json")
    assert published.code == 0, published.err
    assert published.json["suite_settings"]["equal_briefs"] is False
    for name in ("summary.md", "report.html"):
        text = (workplace / "p" / name).read_text("utf-8")
        assert re.search(r"not equal", text, re.IGNORECASE), name
        assert "briefs were equal" not in text
    arms = [json.loads((run / "manifest.json").read_text())["identity"]["arms"] for run in (few / "r", workplace / "p")]
    for form in FILES.split(","):
        assert arms[0][form]["instructions"] != arms[1][form]["instructions"]


def test_the_gate_takes_its_wording_from_a_setting(few: Path, cli: Cli, workplace: Path) -> None:
    wording = "draft"
    ran = cli("run", *FEW, "--set", f"association.gate={wording}", "--stores", few / "stores", "--out", "w", "--json")
    assert ran.code == 0, ran.err
    gate = ran.json["conclusion"]["gate"]
    assert (gate["wording"], gate["published"]["verdict"]) == (wording, gate["wordings"][wording])
    assert wording in (workplace / "w" / "summary.md").read_text("utf-8")


# -- wrong on purpose ----------------------------------------------------------------------------------------------


QUICK = ("first", "today")
"""The mistakes of the agent are tested one by one beside it; these two, a part and a whole of a score, run here."""


@pytest.mark.parametrize("mistake", [m if m in QUICK else pytest.param(m, marks=pytest.mark.slow) for m in MISTAKES])
def test_a_mistake_loses_exactly_what_it_must(mistake: str, few: Path, cli: Cli, workplace: Path) -> None:
    flags = ("--set", f"agent.mistake={mistake}", "--stores", few / "stores")
    ran = cli("run", *FEW, *flags, "--out", "m", "--json")
    assert ran.code == 0, ran.err
    tasks = tasks_of(workplace / "m")
    wanted = expected_after(mistake, tasks)
    found = scores(workplace / "m")
    for form in FILES.split(","):
        assert found[form] == wanted, form
        value = ran.json["arms"][form]["metrics"]["score"]["value"]
        assert value == pytest.approx(sum(wanted.values()) / len(tasks), abs=1e-9)
    assert found["reference"] == dict.fromkeys(wanted, 1.0), "the control makes no mistake"
    assert found["empty"] == dict.fromkeys(wanted, 0.0)
    below = {one["cell"].split("/")[0] for one in ran.json["conclusion"]["below_one"]}
    assert below == {task for task, score in wanted.items() if score < 1}


@pytest.mark.slow
@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_graph_loses_the_same(mistake: str, three: Path, cli: Cli, workplace: Path) -> None:
    flags = ("--memory", "graph", "--set", f"agent.mistake={mistake}", "--no-controls", "--stores", three / "stores")
    ran = cli("run", *THREE, *flags, "--out", "m", "--json")
    assert ran.code == 0, ran.err
    assert scores(workplace / "m") == {"graph": expected_after(mistake, tasks_of(workplace / "m"))}
