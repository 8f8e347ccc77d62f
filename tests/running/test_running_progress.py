"""What a command says while it works where standard error is no terminal, and how it ends where nothing is measured."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kit import Cli
from memassay.cli import progress
from memassay.cli.progress import Bar
from memassay.running.drive import Tally


def test_a_long_build_says_every_few_seconds_how_far_it_is(
    cli: Cli, small_file: Callable[..., Path], toy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_BUILD_SECONDS", 0.1)
    ran = cli(
        "run", "locomo", "--data", small_file(1, 2), "--memory", f"slow={toy}", "--set", "slow.build_delay=0.35",
        "--tokens", "chars4", "--no-controls", "--out", "r",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    lines = [line for line in ran.err.splitlines() if line.startswith("building")]
    assert len(lines) >= 2
    assert all(re.fullmatch(r"building slow, 4 documents, \d+ s so far", line) for line in lines), lines


def test_the_memorys_own_progress_is_shown_and_a_finished_build_is_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from memassay.core.types import BuildReport

    monkeypatch.setattr(progress, "_BUILD_SECONDS", 0.05)
    with Bar() as bar:
        bar.stage("build", 1)
        bar.building("building hybrid, 2,846 documents, 18 % done")
        time.sleep(0.2)
        bar.built(BuildReport(memory="hybrid", scope="pool"))
        during = capsys.readouterr().err
        time.sleep(0.2)
        assert capsys.readouterr().err == ""
    assert "building hybrid, 2,846 documents, 18 % done, 0 s so far\n" in during
    with Bar(quiet=True) as quiet:
        quiet.building("building")
        time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_a_quick_run_says_nothing_while_it_builds(cli: Cli, small_file: Callable[..., Path]) -> None:
    ran = cli("run", "locomo", "--data", small_file(2, 2), "--memory", "files", "--tokens", "chars4", "--out", "r")
    assert ran.code == 0
    assert "building" not in ran.err


def test_nothing_is_promised_before_the_first_cell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_LOG_SECONDS", -1.0)
    with Bar() as bar:
        bar.stage("answer", None)
        bar.drove(Tally(planned=100))
        first = capsys.readouterr().err
        bar._started -= 60
        bar.drove(Tally(planned=100, recorded=6))
        slow = capsys.readouterr().err
    assert first == "0 of 100 cells, 0.0/min\n"
    assert slow.startswith("6 of 100 cells, 6.0/min, 9")
    assert "s left" in slow


@pytest.mark.parametrize("json_", [(), ("--json",)])
@pytest.mark.parametrize("fault", ["build_fault", "fault"])
def test_a_run_without_a_measured_arm_ends_with_3_and_the_reason(
    cli: Cli, small_file: Callable[..., Path], toy: str, json_: tuple[str, ...], fault: str
) -> None:
    flags = ("--data", small_file(2, 2), "--memory", f"a={toy},b={toy}", "--tokens", "chars4", "--out", "r")
    ran = cli("run", "locomo", *flags, "--set", f"a.{fault}=cannot", "--set", f"b.{fault}=cannot", *json_)
    assert ran.code == 3
    last = ran.err.splitlines()[-1]
    assert last == "memassay: No memory could be measured. a, b: it needs a model and has none."
    assert "not measured" in ran.out
    assert "failed:" not in ran.out
    assert Path("r/report.html").exists()
    one = cli("run", "locomo", *flags[:-1], "one", "--set", f"a.{fault}=cannot", *json_)
    assert one.code == 0, "another arm has numbers"


@pytest.mark.parametrize("command", ["build", "answer"])
def test_building_or_answering_for_nobody_ends_with_3(
    cli: Cli, small_file: Callable[..., Path], toy: str, command: str
) -> None:
    ran = cli(
        command, "locomo", "--data", small_file(2, 2), "--memory", f"a={toy}", "--set", "a.build_fault=cannot",
        "--tokens", "chars4", "--out", "r",
    )  # fmt: skip
    assert ran.code == 3
    assert "No memory could be measured. a: it needs a model and has none." in ran.err
