"""The regression gate from the command line: 0 passed, 1 failed, 4 no decision, 2 for runs that did other things."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit import Cli

Run = Callable[..., Any]


@pytest.fixture
def run(cli: Cli, toy: str, small_file: Callable[..., Path]) -> Run:
    """``run("name", keep=0.5)``: a run over eight clusters whose one memory answers that share of the questions."""

    def make(name: str, *more: str, keep: float = 1.0, clusters: int = 8, questions: int = 16) -> str:
        data = small_file(clusters, questions, f"gate-{clusters}-{questions}.json")
        ran = cli(
            "run", "locomo", "--data", data, "--memory", f"mine={toy}", "--set", f"mine.keep={keep}", "--tokens",
            "chars4", "--budgets", "400,4000", "--no-controls", "--out", f"runs/{name}", *more,
        )  # fmt: skip
        assert ran.code == 0, ran.err
        return f"runs/{name}"

    return make


def test_the_same_run_passes_against_folder_and_baseline_file(cli: Cli, run: Run, workplace: Path) -> None:
    old, new = run("old"), run("new")
    made = cli("baseline", old, "--arm", "mine", "--out", "baseline.json")
    assert made.code == 0, made.err
    assert (workplace / "baseline.json").stat().st_size < 4000
    for baseline in (old, "baseline.json"):
        ran = cli("compare", new, "--baseline", baseline, "--gate", "no-worse", "--json")
        assert (ran.code, ran.json["gate"]["verdict"]) == (0, "passed"), ran.err
        assert cli("compare", new, "--baseline", baseline).code == 0
    said = cli("compare", new, "--baseline", "baseline.json", "--gate", "no-worse")
    assert "passed" in said.out


def test_a_clearly_worse_run_fails_and_a_better_one_passes(cli: Cli, run: Run) -> None:
    good, bad = run("good"), run("bad", keep=0.5)
    failed = cli("compare", bad, "--baseline", good, "--gate", "no-worse", "--json")
    assert (failed.code, failed.json["gate"]["verdict"]) == (1, "failed")
    assert failed.json["gate"]["reasons"]
    assert cli("compare", good, "--baseline", bad, "--gate", "no-worse").code == 0


def test_a_small_noisy_difference_is_no_decision(cli: Cli, run: Run) -> None:
    good, other = run("good", clusters=3, questions=6), run("other", clusters=3, questions=6, keep=0.9)
    ran = cli("compare", other, "--baseline", good, "--gate", "no-worse", "--json")
    assert ran.json["comparisons"][0]["losses"] > 0, "the test needs a difference"
    assert (ran.code, ran.json["gate"]["verdict"]) == (4, "no decision")


@pytest.mark.parametrize(
    ("more", "field"),
    [(["--tokens", "o200k_base"], "tokens"), (["--limit", "40"], "limit"), (["--categories", "4"], "categories"),
     (["--conversations", "conv-901,conv-902"], "conversations")],
)  # fmt: skip
def test_runs_that_did_other_things_are_refused_with_the_field(cli: Cli, run: Run, more: list[str], field: str) -> None:
    ran = cli("compare", run("new", *more), "--baseline", run("old"), "--gate", "no-worse")
    assert ran.code == 2
    assert f"{field}:" in ran.complaint


def test_other_data_are_refused(cli: Cli, run: Run) -> None:
    ran = cli("compare", run("new", questions=17), "--baseline", run("old"), "--gate", "no-worse")
    assert ran.code == 2
    assert "suite_settings" in ran.complaint


def test_seed_builds_workers_and_controls_may_differ(cli: Cli, run: Run) -> None:
    new = run("new", "--seed", "9", "--builds", "2", "--workers", "1")
    assert cli("compare", new, "--baseline", run("old"), "--gate", "no-worse").code == 0
