"""Every registered suite goes through plan, run, kill, resume, refusal, controls, re-judge and report."""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from acceptance_tools import Process, answers, cells, equal_runs, stable, tree

from kit import Cli, child_environment
from memassay.core import registry

SUITES = registry.suites.names()
EVIDENCE = {"oracle", "empty", "random", "shuffled-gold", "marker"}


@dataclass(frozen=True)
class Course:
    """What of a suite differs on its way through.

    Attributes:
        arms: the line-up; the second is the one that a primary comparison would favour.
        limit: how many tasks of the sample are asked.
        more: further flags.
        metric: of a primary comparison.
        controls: every control, and those that must pass on so few tasks.
        guarded: flags that change a number, with the field that the refusal names.
    """

    arms: tuple[str, str] = ("files", "lexical")
    limit: int = 24
    more: tuple[str, ...] = ()
    metric: str = "all@250"
    controls: frozenset[str] = frozenset(EVIDENCE)
    passing: tuple[str, ...] = ("oracle", "empty", "marker")
    guarded: tuple[tuple[tuple[str, ...], str], ...] = (
        (("--memory", "files,lexical,full-context"), "arms.full-context"),
        (("--set", "lexical.window=5"), "arms.lexical.options.window"),
    )

    def flags(self, suite: str) -> list[str]:
        """The suite and its flags."""
        lineup = ["--memory", ",".join(self.arms).replace("again", "again=platform")]
        return [suite, "--sample", *lineup, "--limit", str(self.limit), "--budgets", "250,1000", *self.more]


COURSES = {
    "hotpotqa": Course(metric="both@250"),
    "lifecycle": Course(
        arms=("platform", "again"),
        limit=2,
        more=("--set", "platform.embedder=hash"),
        metric="personal_recall",
        controls=frozenset({"perfect", "never-taught"}),
        passing=("perfect", "never-taught"),
        guarded=(
            (("--set", "again.push=false"), "arms.again.options.push"),
            (("--set", "agent.guesses=true"), "arms.again.agent_options.guesses"),
            (("--set", "lifecycle.seed=1"), "suite_settings.seed"),
        ),
    ),
    "canary": Course(
        controls=frozenset(EVIDENCE) | {"stale", "gold against empty", "A against A"},
        passing=("oracle", "empty", "marker", "A against A"),
    ),
    "association": Course(
        arms=("json-files", "sqlite"),
        limit=8,
        metric="score",
        controls=frozenset({"reference", "empty"}),
        passing=("reference", "empty"),
        guarded=(
            (("--memory", "json-files,sqlite,again=sqlite"), "arms.again"),
            (("--set", "agent.mistake=first"), "arms.sqlite.agent_options.mistake"),
            (("--set", "association.seed=1"), "suite_settings.seed"),
            (("--scale", "900"), "suite_settings.scale"),
            (("--published-briefs",), "suite_settings.equal_briefs"),
        ),
    ),
}
"""By suite, where it is not as in ``Course()``."""

SLOW = ("lifecycle",)
"""Suites whose course takes minutes; their own tests take them through a shorter one."""
WITH_IDS = ("lifecycle",)
"""Suites whose records hold what a memory draws anew each time: ids of records and sessions."""
RANKED = [suite for suite in SUITES if COURSES.get(suite, Course()).controls >= EVIDENCE]
"""Suites whose memories give ranked evidence, which can be more or less right."""


def test_there_are_suites() -> None:
    assert {"locomo", "custom", "hotpotqa", "association"} <= set(SUITES)
    assert {"locomo", "custom", "hotpotqa"} <= set(RANKED)


EACH = [pytest.param(suite, marks=pytest.mark.slow if suite in SLOW else ()) for suite in SUITES]


@pytest.mark.parametrize("suite", EACH)
def test_plan_run_refuse_judge_report(suite: str, cli: Cli, workplace: Path) -> None:
    course = COURSES.get(suite, Course())
    base, (first, second) = course.flags(suite), course.arms

    # plan: builds and spends nothing
    planned = cli("plan", *base, "--json")
    assert planned.code == 0, planned.err
    assert planned.json["tasks"] == course.limit
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
    assert set(summary["arms"]) == set(course.arms)
    assert [r for r in summary["publishable"]["reasons"] if "sample" in r]

    # controls: present
    assert set(summary["controls"]) == course.controls
    for name in course.passing:
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
        (["--limit", str(course.limit - 1)], "limit"),
        (["--seed", "1"], "seed"),
        (["--builds", "2"], "builds"),
        (["--no-controls"], "controls"),
        (["--memory", first], f"arms.{second}"),
        (["--primary", f"{course.metric}:{second}>{first}"], "primary"),
        *course.guarded,
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
        assert second in text
    assert "<svg" in html
    assert "http://" not in html.replace("http://www.w3.org/", "")
    assert not [word for word in ("<script src", "<link", "@import", "url(http") if word in html]

    # one task, and the ledger
    task = json.loads(next(line for line in answers(out) if f'"{first}"' in line))["cell"]["task"]
    shown = cli("show", out, task)
    assert shown.code == 0, shown.err
    assert first in shown.out
    listed = cli("ledger", out.parent, "--json")
    assert [entry["run"] for entry in listed.json["runs"]] == ["a"]
    assert listed.json["runs"][0]["publishable"] is False


@pytest.mark.parametrize("suite", RANKED)
def test_the_whole_sample_passes_its_controls_and_tells_memories_apart(suite: str, cli: Cli, workplace: Path) -> None:
    """At least 6 clusters and 100 questions, hard enough that ``files``, ``lexical`` and ``oracle`` differ."""
    flags = ["--sample", "--memory", "files,lexical", "--budgets", "250,500,1000"]
    ran = cli("run", suite, *flags, "--out", workplace / "r", "--json")
    assert ran.code == 0, ran.err
    summary = ran.json
    for name in ("oracle", "empty", "random", "marker"):
        assert summary["controls"][name]["passed"] is True, summary["controls"][name]
    metric = COURSES.get(suite, Course()).metric.replace("@250", "@500")
    files, lexical = (summary["arms"][name]["metrics"][metric] for name in ("files", "lexical"))
    assert files["clusters"] >= 6
    assert files["n"] >= 100
    oracle = {check["metric"]: check["value"] for check in summary["controls"]["oracle"]["checks"]}[metric]
    assert files["value"] + 0.02 < lexical["value"] < oracle - 0.02


@pytest.mark.parametrize("suite", EACH)
def test_killed_and_resumed(suite: str, cli: Cli, workplace: Path, own_home: Path) -> None:
    base = COURSES.get(suite, Course()).flags(suite)
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
    if suite not in WITH_IDS:
        equal_runs(out, workplace / "whole" / "r")
    assert cells(out) == cells(workplace / "whole" / "r")
    assert stable(ended.json) == stable(whole)
