"""A run of ``association`` that is shared out, judged and reported again, guarded, and classified."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from acceptance_tools import equal_runs, judgements, stable, tree
from association_kit import (
    FEW,
    FILES,
    KINDS,
    refusal,
    scores,
    tasks_of,
)

from kit import Cli

# -- stopping and going on -----------------------------------------------------------------------------------------


def test_two_shards_make_the_run(few: Path, cli: Cli, workplace: Path) -> None:
    base = ("run", *FEW, "--stores", few / "stores", "--out", "r")
    for part in ("1/2", "2/2"):
        ran = cli(*base, "--shard", part, "--json")
        assert ran.code == 0, ran.err
    assert sorted(path.name for path in (workplace / "r").glob("answers-*")) == [
        "answers-1of2.jsonl",
        "answers-2of2.jsonl",
    ]
    equal_runs(workplace / "r", few / "r")
    whole = json.loads((few / "r" / "summary.json").read_text("utf-8"))
    assert stable(ran.json) == stable(whole)


def test_judged_again_from_the_folder_alone(few: Path, cli: Cli, workplace: Path) -> None:
    run = shutil.copytree(few / "r", workplace / "r")
    whole = json.loads((run / "summary.json").read_text("utf-8"))
    before = judgements(run)
    shutil.rmtree(run / "judgements")
    for name in ("summary.json", "summary.md", "report.html"):
        (run / name).unlink()
    judged = cli("judge", "r", "--json")
    assert judged.code == 0, judged.err
    assert judgements(run) == before
    assert {**judged.json, "test_reads": 0} == {**whole, "test_reads": 0}
    for name in ("summary.md", "report.html"):
        assert (run / name).read_text("utf-8") == (few / "r" / name).read_text("utf-8")
        (run / name).unlink()
    reported = cli("report", "r")
    assert reported.code == 0, reported.err
    for name in ("summary.md", "report.html"):
        assert (run / name).read_text("utf-8") == (few / "r" / name).read_text("utf-8")


GUARDED: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "seed": (["--set", "association.seed=1"], ("suite_settings.seed", "suite_settings.facts")),
    "seed of the run": (["--seed", "1"], ("seed",)),
    "scale": (["--scale", "900"], ("suite_settings.scale", "suite_settings.facts")),
    "tasks": (["--tasks", "2"], ("suite_settings.tasks_per_kind",)),
    "gate": (["--set", "association.gate=draft"], ("suite_settings.gate",)),
    "equal_briefs": (["--published-briefs"], ("suite_settings.equal_briefs",)),
    "mistake": (["--set", "agent.mistake=first"], ("mistake",)),
    "pilot": (["--set", "association.pilot=pilot.json"], ("suite_settings.avoided",)),
    "repetitions": (["--repetitions", "2"], ("repetitions",)),
}


@pytest.mark.parametrize("what", GUARDED)
def test_what_can_change_a_number_is_guarded(what: str, few: Path, cli: Cli, workplace: Path) -> None:
    shutil.copytree(few / "r", workplace / "r")
    (workplace / "pilot.json").write_text('{"avoid": ["talent-000001"]}', encoding="utf-8")
    before = tree(workplace)
    flags, fields = GUARDED[what]
    refused = cli("run", *FEW, *flags, "--stores", few / "stores", "--out", "r", "--json")
    assert refused.code == 2
    for field in fields:
        assert f"{field}:" in refusal(refused)
    assert tree(workplace) == before


def test_another_seed_is_another_world_with_the_same_scores(few: Path, cli: Cli, workplace: Path) -> None:
    flags = ("--set", "association.seed=7", "--scale", "800", "--tasks", "1")
    ran = cli("run", "association", "--memory", FILES, *flags, "--out", "r", "--json")
    assert ran.code == 0, ran.err
    assert {name: arm["metrics"]["score"]["value"] for name, arm in ran.json["arms"].items()} == {
        "json-files": 1.0,
        "sqlite": 1.0,
    }
    assert Counter(task["category"] for task in tasks_of(workplace / "r")) == dict.fromkeys(KINDS, 1)
    mine, theirs = ({json.dumps(t["payload"]) for t in tasks_of(run)} for run in (workplace / "r", few / "r"))
    assert not mine & theirs
    assert ran.json["suite_settings"]["seed"] == 7


# -- whose fault ---------------------------------------------------------------------------------------------------


@pytest.fixture
def lossy(few: Path, cli: Cli, workplace: Path) -> dict[str, Any]:
    """A run ``m`` whose agent adds a near miss to every "why"."""
    flags = ("--set", "agent.mistake=size", "--stores", few / "stores")
    ran = cli("run", *FEW, *flags, "--out", "m", "--json")
    assert ran.code == 0, ran.err
    return ran.json  # type: ignore[no-any-return]


def _fault(run: Path, cell: str) -> tuple[str, str]:
    summary = json.loads((run / "summary.json").read_text("utf-8"))
    [found] = [one for one in summary["conclusion"]["below_one"] if one["cell"] == cell]
    return found["classification"], found["why"]


def test_a_lost_point_is_classified_in_summary_and_report(lossy: dict[str, Any], cli: Cli, workplace: Path) -> None:
    run, cell = workplace / "m", "assoc-why-1/sqlite/0.0"
    assert len(lossy["conclusion"]["below_one"]) == 2
    assert {one["classification"] for one in lossy["conclusion"]["below_one"]} == {"unclassified"}
    assert "2 of them unclassified" in (run / "summary.md").read_text("utf-8")
    why = "named a size rule that does <b>not</b> hold & knew it"
    for kind, said in (("tool", "first thought"), ("model", why)):
        ran = cli("classify", "m", "assoc-why-1", "--arm", "sqlite", "--as", kind, "--why", said)
        assert ran.code == 0, ran.err
        assert _fault(run, cell) == (kind, said), "the last word counts"
    html, text = (run / "report.html").read_text("utf-8"), (run / "summary.md").read_text("utf-8")
    assert "1 of them unclassified" in text
    assert "named a size rule" in text
    assert "does &lt;b&gt;not&lt;/b&gt; hold &amp; knew it" in html
    scored = scores(run)
    shutil.rmtree(run / "judgements")
    assert cli("judge", "m").code == 0
    assert _fault(run, cell) == ("model", why), "judging again keeps it"
    assert scores(run) == scored, "whose fault it was changes no score"


@pytest.mark.parametrize(
    ("given", "word"),
    [
        (["assoc-why-1", "--arm", "sqlite", "--as", "agent", "--why", "x"], "tool"),
        (["assoc-why-9", "--arm", "sqlite", "--as", "model", "--why", "x"], "assoc-why-9"),
        (["assoc-why-1", "--arm", "sqlit", "--as", "model", "--why", "x"], "sqlite"),
        (["assoc-why-1", "--arm", "sqlite", "--as", "model", "--why", " "], "--why"),
        (["assoc-why-1", "--arm", "sqlite", "--as", "model", "--why", "x", "--repetition", "2"], "2"),
    ],
)
def test_a_wrong_classification_is_one_line_and_changes_nothing(
    given: list[str], word: str, few: Path, cli: Cli, workplace: Path
) -> None:
    shutil.copytree(few / "r", workplace / "r")
    before = tree(workplace)
    refused = cli("classify", "r", *given)
    assert refused.code == 2
    assert word in refused.complaint
    assert tree(workplace) == before
