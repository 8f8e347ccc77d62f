"""``run locomo`` as the checks call it: filters, guard, corrections, and the shape of the summary."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from acceptance_tools import tree

from kit import Cli, small_conversation

ESTIMATE = {"value", "low", "high", "level", "n", "clusters", "method", "reason"}
SUMMARY = {"suite", "run", "identity_digest", "publishable", "controls", "arms", "comparisons"}
ARM = {"n", "data", "model", "metrics", "splits", "categories", "failures", "secondary", "usage"}
COMPARISON = {"a", "b", "metric", "diff", "p", "p_adjusted", "verdict", "equal_budget"}


@pytest.mark.parametrize(
    ("flags", "field"),
    [
        (["--tokens", "o200k_base"], "tokens"),
        (["--budgets", "1000"], "budgets"),
        (["--categories", "1,2"], "categories"),
        (["--conversations", "conv-900"], "conversations"),
        (["--limit", "7"], "limit"),
        (["--seed", "5"], "seed"),
        (["--set", "files.context=3"], "arms.files.options"),
        (["--memory", "files,lexical"], "arms.lexical"),
        (["--corrections", "AUDIT"], "suite_settings.corrections"),
        (["--data", "OTHER"], "suite_settings.data"),
    ],
)
def test_each_guarded_thing_is_refused_by_name_and_nothing_changes(
    flags: list[str], field: str, cli: Cli, workplace: Path, small_file: Callable[..., Path], tmp_path: Path
) -> None:
    base: list[Any] = ["run", "locomo", "--data", small_file(), "--memory", "files", "--tokens", "chars4", "--out", "r"]
    assert cli(*base).code == 0
    before = tree(workplace)
    data = [small_conversation(n, 6) for n in range(4)]
    data[0]["conversation"]["session_1"][0]["text"] += " More."
    (tmp_path / "OTHER").write_text(json.dumps(data), encoding="utf-8")
    asked = data[0]["qa"][0]
    audit = [
        {"question_id": "locomo_0_qa0", "question": asked["question"], "error_type": "WRONG_CITATION",
         "correct_evidence": ["D2:1"], "correct_answer": "x"}
    ]  # fmt: skip
    (tmp_path / "AUDIT").write_text(json.dumps(audit), encoding="utf-8")
    args = [str(tmp_path / word) if word in ("AUDIT", "OTHER") else word for word in flags]
    if flags[0] == "--set":
        options = json.loads((workplace / "r" / "manifest.json").read_text())["identity"]["arms"]["files"]["options"]
        name = next(k for k, v in options.items() if isinstance(v, int) and not isinstance(v, bool))
        args = ["--set", f"files.{name}={options[name] + 1}"]
    ran = cli(*base, *args)
    assert ran.code == 2
    assert f"{field}" in ran.complaint
    assert tree(workplace) == before
    assert cli(*base, "--workers", "2").code == 0


def test_judged_again_with_data_stores_and_verdicts_gone(
    cli: Cli, workplace: Path, small_file: Callable[..., Path]
) -> None:
    data = small_file()
    base = [
        "run",
        "locomo",
        "--data",
        data,
        "--memory",
        "files,lexical",
        "--tokens",
        "chars4",
        "--out",
        "runs/r",
        "--json",
    ]
    summary = cli(*base).json
    data.unlink()
    shutil.rmtree(workplace / "runs" / "stores")
    shutil.rmtree(workplace / "runs" / "r" / "judgements")
    elsewhere = workplace / "moved"
    shutil.move(workplace / "runs" / "r", elsewhere / "r")
    ran = cli("judge", elsewhere / "r", "--json")
    assert ran.code == 0, ran.err
    assert {**ran.json, "test_reads": 0} == {**summary, "test_reads": 0}


def test_reads_of_the_test_split_are_counted_and_said(
    cli: Cli, workplace: Path, small_file: Callable[..., Path]
) -> None:
    base = ["run", "locomo", "--data", small_file(), "--memory", "files", "--tokens", "chars4"]
    assert cli(*base, "--out", "runs/a", "--json").json["test_reads"] == 1
    assert cli(*base, "--out", "runs/b", "--json").json["test_reads"] == 2
    third = cli(*base, "--out", "runs/a")
    assert "test read 3 times" in third.err + third.out
    dev = cli(*base, "--conversations", "conv-900,conv-901", "--out", "runs/dev", "--json")
    assert dev.json["test_reads"] in (0, 3), "a run on dev reads no test split"
    assert cli("ledger", "runs", "--json").json["test_reads"] == 3


def estimates(value: Any) -> list[dict[str, Any]]:
    """Every Estimate in a summary."""
    if isinstance(value, dict):
        if set(value) >= ESTIMATE:
            return [value]
        return [e for inner in value.values() for e in estimates(inner)]
    return [e for inner in value for e in estimates(inner)] if isinstance(value, list) else []


def check_shape(summary: dict[str, Any], arms: set[str]) -> None:
    assert set(summary) >= SUMMARY
    assert set(summary["publishable"]) == {"value", "reasons"}
    assert set(summary["arms"]) == arms
    for arm in summary["arms"].values():
        assert set(arm) >= ARM
        assert set(arm["failures"]) == {"memory", "provider", "harness"}
        for block in arm["splits"].values():
            assert set(block) == {"n", "metrics"}
        for block in arm["categories"].values():
            assert isinstance(block["n"], int)
    for row in summary["comparisons"]:
        assert set(row) >= COMPARISON
        assert set(row["diff"]) == ESTIMATE
    found = estimates(summary)
    assert found
    for estimate in found:
        assert set(estimate) == ESTIMATE
        if estimate["value"] is None or estimate["low"] is None:
            assert estimate["reason"], "what is undefined has a reason"
            assert estimate["low"] is estimate["high"] is None
        else:
            assert estimate["low"] < estimate["high"], "low is never high"
            assert estimate["low"] <= estimate["value"] <= estimate["high"]
            assert estimate["method"]
            assert estimate["level"] == 0.95


def test_the_shape_of_a_summary(cli: Cli, small_file: Callable[..., Path]) -> None:
    ran = cli(
        "run", "locomo", "--stage", "retrieval", "--memory", "files,lexical", "--data", small_file(6, 12), "--tokens",
        "chars4", "--out", "r", "--json",
    )  # fmt: skip
    summary = ran.json
    check_shape(summary, {"files", "lexical"})
    arm = summary["arms"]["files"]
    assert arm["n"] == 72
    assert set(arm["splits"]) == {"dev", "test"}
    assert (arm["splits"]["dev"]["n"], arm["splits"]["test"]["n"]) == (24, 48)
    assert set(arm["categories"]) == {"multi-hop", "temporal", "open-domain", "single-hop"}
    assert arm["categories"]["multi-hop"]["n"] == 18
    families = {"all", "any", "rec"}
    assert set(arm["metrics"]) == {
        f"{f}@{at}" for f in families for at in (1000, 2000, 4000, 8000, 12000, "k5", "k10", "k20")
    }
    assert "cited@4000" not in arm["metrics"]
    assert json.loads((Path("r") / "summary.json").read_text("utf-8")) == summary
    assert {c["verdict"] for c in summary["comparisons"]} <= {None, "exploratory", "no verdict", ""}, (
        "no primary was named"
    )


def test_one_cluster_has_no_interval(cli: Cli, small_file: Callable[..., Path]) -> None:
    summary = cli(
        "run", "locomo", "--data", small_file(1, 8), "--memory", "files", "--tokens", "chars4", "--out", "r", "--json"
    ).json
    check_shape(summary, {"files"})
    estimate = summary["arms"]["files"]["metrics"]["all@4000"]
    assert estimate["low"] is None
    assert estimate["reason"]
    assert [n for n in summary["notes"] if "given this" in n]


def test_a_named_primary_gets_a_word_and_nothing_else_does(cli: Cli, small_file: Callable[..., Path]) -> None:
    summary = cli(
        "run", "locomo", "--data", small_file(6, 12), "--memory", "files,lexical", "--tokens", "chars4", "--primary",
        "all@1000:lexical>files", "--out", "r", "--json",
    ).json  # fmt: skip
    named = [c for c in summary["comparisons"] if c.get("primary")]
    assert [(c["a"], c["b"], c["metric"]) for c in named] == [("lexical", "files", "all@1000")]
    others = {c["verdict"] for c in summary["comparisons"] if not c.get("primary")}
    assert named[0]["verdict"] not in others
    assert summary["headline_metric"] == "all@1000"


# -- the real file -------------------------------------------------------------------------------------------------


@pytest.mark.data
def test_the_real_file_in_short(cli: Cli, workplace: Path, locomo_file: Path, audit_file: Path) -> None:
    base: list[Any] = [
        "run", "locomo", "--stage", "retrieval", "--memory", "lexical", "--data", locomo_file, "--tokens", "chars4",
        "--json",
    ]  # fmt: skip
    summary = cli(*base, "--limit", "60", "--corrections", audit_file, "--out", "runs/r").json
    check_shape(summary, {"lexical"})
    arm = summary["arms"]["lexical"]
    assert (arm["data"], arm["model"]) == ("real", "none")
    assert arm["metrics"]["all@4000"]["clusters"] == 10
    assert (
        arm["n"]
        == sum(arm["splits"][s]["n"] for s in ("dev", "test"))
        == sum(c["n"] for c in arm["categories"].values())
    )
    assert arm["splits"]["dev"]["n"] == 12
    assert set(arm["secondary"]["keys"]) == {"original", "audit-excluded", "audit-corrected"}
    assert set(summary["ceilings"]) == {"original", "audit-excluded", "audit-corrected"}
    assert [r for r in summary["publishable"]["reasons"] if "filter" in r]
    assert not [r for r in summary["publishable"]["reasons"] if "catalogue" in r]
    assert summary["test_reads"] == 1

    one = cli(
        *base, "--categories", "1,2", "--conversations", "conv-26,conv-41", "--limit", "20", "--out", "runs/s"
    ).json
    assert set(one["arms"]["lexical"]["categories"]) == {"multi-hop", "temporal"}
    tasks = [json.loads(line) for line in Path("runs/s/tasks.jsonl").read_text("utf-8").splitlines()]
    assert {t["scope"].removesuffix("+marker") for t in tasks} == {"conv-26", "conv-41"}


@pytest.mark.data
def test_how_many_questions_a_full_run_plans(cli: Cli, locomo_file: Path) -> None:
    planned = cli("plan", "locomo", "--data", locomo_file, "--memory", "lexical", "--json").json
    assert planned["tasks"] == 1540
    assert planned["tasks with evidence"] == 1536
    assert planned["clusters"] == 10
    everything = cli(
        "plan", "locomo", "--data", locomo_file, "--memory", "lexical", "--categories", "1,2,3,4,5", "--json"
    )
    assert everything.json["tasks"] == 1986
