"""The suite ``lifecycle`` with the memory ``platform`` and agents without a model, as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kit import Cli, child_environment

pytestmark = pytest.mark.slow

ARGS = ("run", "lifecycle", "--set", "platform.embedder=hash", "--set", "platform.supersede=0.5", "--out", "run")


def test_a_run_without_a_key(cli_process: Cli) -> None:
    ran = cli_process(*ARGS, "--limit", "2", "--json", timeout=200)
    assert ran.code == 0, ran.err
    assert {name: one["passed"] for name, one in ran.json["controls"].items()} == {
        "perfect": True,
        "never-taught": True,
    }
    arm = ran.json["conclusion"]["arms"]["platform"]
    assert arm["n"] == 2
    assert arm["unavailable"] == {}
    assert arm["published"]["pass_k"]["num"] == 2


def test_a_killed_run_goes_on_within_an_attempt(workplace: Path, own_home: Path, cli_process: Cli) -> None:
    args = (*ARGS, "--limit", "1", "--no-controls")
    child = subprocess.Popen(
        [sys.executable, "-m", "memassay", *args],
        env=child_environment(own_home),
        cwd=workplace,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until, kept = time.monotonic() + 120, 0
    while kept < 3 and child.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
        kept = sum(path.read_bytes().count(b"\n") for path in workplace.glob("run/partial/*/steps.jsonl"))
    child.kill()
    child.wait()
    assert kept >= 3
    ran = cli_process(*args, "--json", timeout=200)
    assert ran.code == 0, ran.err
    assert ran.json["conclusion"]["arms"]["platform"]["published"]["pass_k"]["num"] == 1
    lines = (workplace / "run" / "answers-1of1.jsonl").read_text().splitlines()
    (answer,) = [json.loads(line) for line in lines]
    assert answer["attempt"] == 1
    names = [step["name"] for step in answer["steps"]]
    assert len(names) == len(set(names)) > 10
