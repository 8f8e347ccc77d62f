"""Every registered suite goes through plan, run, kill, resume, refusal, controls, re-judge and report."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from acceptance_tools import Process, answers, cells, equal_runs, stable, tree

from kit import Cli, child_environment
from memassay.core import registry

SUITES = registry.suites.names()
LIMIT = "24"
BUDGETS = "250,1000"
FAMILY = {"hotpotqa": "both"}
"""What a suite calls "every piece of gold", where it is not ``all``."""


def test_there_are_suites() -> None:
    assert {"locomo", "custom"} <= set(SUITES)


@pytest.mark.parametrize("suite", SUITES)
def test_plan_run_refuse_judge_report(suite: str, cli: Cli, workplace: Path) -> None:
    base = [suite, "--sample", "--memory", "files,lexical", "--limit", LIMIT, "--budgets", BUDGETS]

    # plan: builds and spends nothing
    planned = cli("plan", *base, "--json")
    assert planned.code == 0, planned.err
    assert planned.json["tasks"] == int(LIMIT)
    assert planned.json["data"] == "generated"
    assert list(workplace.iterdir()) == []

    # run
    out = workplace / "runs" / "a"
    ran = cli("run", *base, "--out", out, "--json")
    assert ran.code == 0, ran.err
    summary = ran.json
    assert summary["suite"] == suite
    assert summary["sample"] is True
    assert summary["cells"]["planned"] == summary["cells"]["counted"] == planned.json["cells"]
    assert summary["cells"]["duplicates"] == 0
    assert set(summary["arms"]) == {"files", "lexical"}
    assert [r for r in summary["publishable"]["reasons"] if "sample" in r]

    # controls: present
    assert set(summary["controls"]) == {"oracle", "empty", "random", "shuffled-gold", "marker"}
    for name in ("oracle", "empty", "marker"):
        assert summary["controls"][name]["passed"] is True, (name, summary["controls"][name])

    # the same again changes nothing
    before = {name: data for name, data in tree(out).items() if name.endswith(".jsonl")}
    again = cli("run", *base, "--out", out, "--json")
    assert again.code == 0, again.err
    assert {name: data for name, data in tree(out).items() if name.endswith(".jsonl")} == before
    assert {**again.json, "test_reads": 0} == {**summary, "test_reads": 0}

    # guard: every thing that can change a number
    files = tree(out)
    for flags, field in (
        (["--tokens", "chars4"], "tokens"),
        (["--budgets", "250"], "budgets"),
        (["--ks", "3"], "ks"),
        (["--limit", "23"], "limit"),
        (["--seed", "1"], "seed"),
        (["--builds", "2"], "builds"),
        (["--no-controls"], "controls"),
        (["--memory", "files"], "arms.lexical"),
        (["--memory", "files,lexical,full-context"], "arms.full-context"),
        (["--set", "lexical.window=3"], "arms.lexical.options.window"),
        (["--primary", f"{FAMILY.get(suite, 'all')}@250:lexical>files"], "primary"),
    ):
        refused = cli("run", *base, *flags, "--out", out, "--json")
        assert refused.code == 2, flags
        assert f"{field}:" in refused.complaint, (flags, refused.complaint)
        assert refused.out == ""
    assert tree(out) == files, "a refused command must change nothing"
    # ... and what cannot: workers
    assert cli("run", *base, "--out", out, "--workers", "1", "--json").code == 0

    # judge again from the folder alone: no store, no verdicts, no summary
    shutil.rmtree(out.parent / "stores")
    shutil.rmtree(out / "judgements")
    (out / "summary.json").unlink()
    judged = cli("judge", out, "--json")
    assert judged.code == 0, judged.err
    assert {**judged.json, "test_reads": 0} == {**summary, "test_reads": 0}

    # report
    for name in ("report.html", "summary.md"):
        (out / name).unlink()
    reported = cli("report", out)
    assert reported.code == 0, reported.err
    html, markdown = (out / "report.html").read_text("utf-8"), (out / "summary.md").read_text("utf-8")
    for text in (html, markdown):
        assert "sample" in text.lower()
        assert "lexical" in text
    assert "<svg" in html
    assert "http://" not in html.replace("http://www.w3.org/", "")
    assert not [word for word in ("<script src", "<link", "@import", "url(http") if word in html]

    # one task, and the ledger
    task = json.loads(next(line for line in answers(out) if '"files"' in line))["cell"]["task"]
    shown = cli("show", out, task)
    assert shown.code == 0, shown.err
    assert "files" in shown.out
    listed = cli("ledger", out.parent, "--json")
    assert [entry["run"] for entry in listed.json["runs"]] == ["a"]
    assert listed.json["runs"][0]["publishable"] is False


@pytest.mark.parametrize("suite", SUITES)
def test_the_whole_sample_passes_its_controls_and_tells_memories_apart(suite: str, cli: Cli, workplace: Path) -> None:
    """At least 6 clusters and 100 questions, hard enough that ``files``, ``lexical`` and ``oracle`` differ."""
    flags = ["--sample", "--memory", "files,lexical", "--budgets", "250,500,1000"]
    ran = cli("run", suite, *flags, "--out", workplace / "r", "--json")
    assert ran.code == 0, ran.err
    summary = ran.json
    for name in ("oracle", "empty", "random", "marker"):
        assert summary["controls"][name]["passed"] is True, summary["controls"][name]
    metric = f"{FAMILY.get(suite, 'all')}@500"
    files, lexical = (summary["arms"][name]["metrics"][metric] for name in ("files", "lexical"))
    assert files["clusters"] >= 6
    assert files["n"] >= 100
    oracle = {check["metric"]: check["value"] for check in summary["controls"]["oracle"]["checks"]}[metric]
    assert files["value"] + 0.02 < lexical["value"] < oracle - 0.02


@pytest.mark.parametrize("suite", SUITES)
def test_killed_and_resumed(suite: str, cli: Cli, workplace: Path, own_home: Path) -> None:
    base = [suite, "--sample", "--memory", "files,lexical", "--limit", LIMIT, "--budgets", BUDGETS]
    whole = cli("run", *base, "--out", workplace / "whole" / "r", "--json").json
    out = workplace / "killed" / "r"
    command: list[Any] = ["run", *base, "--out", out, "--json"]
    moments = random.Random(f"kill {suite}")
    killed = 0
    seen: set[Any] = set()
    for _ in range(2):
        killed += Process(command, child_environment(own_home), workplace).kill_after(moments.uniform(0.0, 0.9))
        now = cells(out)
        assert max(now.values(), default=1) == 1, "a cell was recorded twice"
        assert seen <= set(now), "a finished cell was lost"
        seen = set(now)
    assert killed
    ended = cli(*command)
    assert ended.code == 0, ended.err
    equal_runs(out, workplace / "whole" / "r")
    assert stable(ended.json) == stable(whole)
