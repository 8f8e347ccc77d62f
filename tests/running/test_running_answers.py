"""Answers end to end with a scripted agent: every cell accounted for, whatever fails and however often it is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kit import Cli, child_environment, small_conversation
from memassay.agents.scripted import planted
from memassay.core.types import CellKey, Status

FAULTS = "refused,limit-time,limit-turns,limit-money,rate-limit,api-error,network,harness,crash"
KIND = {
    "": "answered",
    "refused": "answered",
    "limit-time": "memory",
    "limit-turns": "memory",
    "limit-money": "memory",
    "rate-limit": "provider",
    "api-error": "provider",
    "network": "provider",
    "harness": "harness",
    "crash": "harness",
}


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memassay.running.drive._BACKOFF_SECONDS", 0.0)


def data_file(folder: Path, conversations: int, questions: int) -> Path:
    path = folder / "talk.json"
    talk = [small_conversation(number, questions) for number in range(conversations)]
    for conversation in talk:
        for number, question in enumerate(conversation["qa"]):
            question["question"] += f" This is question {number}."  # one question, once
    path.write_text(json.dumps(talk), encoding="utf-8")
    return path


def answers_of(run: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for path in sorted(run.glob("answers-*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
    ]


def command(data: Path, out: Path, *more: str) -> list[str]:
    base = ["run", "locomo", "--data", str(data), "--arm", "lexical/dossier", "--no-controls", "--out", str(out)]
    return [*base, "--agent", "scripted", "--json", *more]


def test_answers_are_scored_and_counted(cli: Cli, tmp_path: Path) -> None:
    data = data_file(tmp_path, 2, 8)
    usage = ("agent.input_tokens=100", "agent.output_tokens=7", "agent.cache_read_tokens=50", "agent.cost_usd=0.25")
    settings = [word for item in ("agent.text=answer 1", *usage) for word in ("--set", item)]
    ran = cli(*command(data, tmp_path / "run", *settings))
    assert ran.code == 0
    arm = ran.json["arms"]["lexical/dossier"]
    # Every conversation of the kit has the gold answers "answer 0" to "answer 7": one of eight is said.
    assert arm["metrics"]["exact_match"]["value"] == pytest.approx(1 / 8)
    used = arm["usage"]["answers"]
    assert used["n"] == 16
    assert used["tokens"] == {"input": 1600, "output": 112, "cache_read": 800, "cache_write": 0}
    assert used["cost_usd"] == pytest.approx(4.0)
    assert ran.json["model"] == arm["model"] == "scripted"
    assert "the agent is a scripted stand-in" in ran.json["publishable"]["reasons"]


def test_failures_of_every_kind_stand_in_their_columns(cli: Cli, tmp_path: Path) -> None:
    data = data_file(tmp_path, 6, 12)
    settings = ("--set", f"agent.faults={FAULTS}", "--set", "agent.share=0.4", "--set", "agent.text=answer 1")
    ran = cli(*command(data, tmp_path / "run", "--repetitions", "2", *settings, "--workers", "1"))
    if ran.code == 3:  # five failures in a row have stopped it; the same command goes on
        assert "stopped before its end" in ran.err
    for _ in range(40):
        if ran.code == 0:
            break
        ran = cli(*command(data, tmp_path / "run", "--repetitions", "2", *settings, "--workers", "1"))
    records = answers_of(tmp_path / "run")
    last = {json.dumps(r["cell"], sort_keys=True): r for r in records}
    expected = Counter(
        KIND[planted(CellKey.model_validate(r["cell"]), tuple(FAULTS.split(",")), 0.4, 0)] for r in last.values()
    )
    found = Counter(Status(r["status"]).kind for r in last.values())
    assert found == expected
    assert len(last) == 144
    arm = ran.json["arms"]["lexical/dossier"]
    assert arm["failures"] == {kind: expected[kind] for kind in ("memory", "provider", "harness")}


def test_a_task_that_one_arm_could_not_finish_leaves_every_arm(cli: Cli, tmp_path: Path) -> None:
    data = data_file(tmp_path, 2, 6)
    replies = tmp_path / "replies.json"
    replies.write_text(json.dumps({"arms": {}, "default": "answer 1"}), encoding="utf-8")
    settings = ("--set", "agent.faults=network", "--set", "agent.share=0.2", "--set", "agent.text=answer 1")
    ran = cli(*command(data, tmp_path / "run", "--arm", "files/dossier", *settings))
    planned = {r["cell"]["task"] for r in answers_of(tmp_path / "run")}
    broken = {
        task
        for task in planned
        for arm in ("lexical/dossier", "files/dossier")
        if planted(CellKey(task=task, arm=arm), ("network",), 0.2, 0)
    }
    assert 0 < len(broken) < len(planned)
    for arm in ran.json["arms"].values():
        assert arm["metrics"]["f1"]["n"] == len(planned) - len(broken)


def test_money_stops_whole_tasks_and_a_higher_limit_goes_on(cli: Cli, tmp_path: Path) -> None:
    data = data_file(tmp_path, 2, 8)
    arms = ("--arm", "files/dossier", "--set", "agent.text=x", "--set", "agent.cost_usd=0.1")
    ran = cli(*command(data, tmp_path / "run", *arms, "--max-usd", "1.5"))
    assert ran.code == 3
    assert "--max-usd" in ran.err
    records = answers_of(tmp_path / "run")
    spent = sum(r["usage"]["cost_usd"] for r in records)
    assert spent <= 1.5
    per_arm = Counter(r["cell"]["arm"] for r in records)
    assert per_arm["lexical/dossier"] == per_arm["files/dossier"] > 0
    assert {tuple(sorted(a["cell"]["arm"] for a in records if a["cell"]["task"] == t)) for t in
            {r["cell"]["task"] for r in records}} == {("files/dossier", "lexical/dossier")}  # fmt: skip
    done = cli(*command(data, tmp_path / "run", *arms, "--max-usd", "100"))
    assert done.code == 0
    assert len(answers_of(tmp_path / "run")) == 32


def test_five_failures_in_a_row_end_the_command_and_the_next_goes_on(cli: Cli, tmp_path: Path) -> None:
    data = data_file(tmp_path, 2, 8)
    settings = ("--set", "agent.faults=rate-limit", "--set", "agent.share=1", "--workers", "1")
    ran = cli(*command(data, tmp_path / "run", *settings))
    assert ran.code == 3
    assert "5 cells failed one after the other" in ran.err
    cells = {json.dumps(r["cell"], sort_keys=True) for r in answers_of(tmp_path / "run")}
    assert len(cells) == 5
    again = cli(*command(data, tmp_path / "run", *settings))
    assert again.code == 3
    assert len(answers_of(tmp_path / "run")) == 30  # three attempts at each of five cells, twice


def test_cells_that_always_fail_do_not_keep_a_resumed_run_from_the_others(cli: Cli, tmp_path: Path) -> None:
    data = data_file(tmp_path, 4, 12)
    settings = ("--set", "agent.faults=api-error", "--set", "agent.share=0.3", "--set", "agent.text=x")
    for _ in range(12):
        ran = cli(*command(data, tmp_path / "run", *settings, "--workers", "1"))
    cells = {json.dumps(r["cell"], sort_keys=True) for r in answers_of(tmp_path / "run")}
    assert len(cells) == 48 == ran.json["cells"]["counted"]


@pytest.mark.slow
def test_1540_answers_three_times_with_failures_killed_five_times(tmp_path: Path) -> None:
    data = data_file(tmp_path, 10, 154)
    out = tmp_path / "run"
    settings = ("--repetitions", "3", "--set", f"agent.faults={FAULTS}", "--set", "agent.share=0.05")
    more = (*settings, "--set", "agent.text=answer 1", "--set", "agent.input_tokens=10", "--set", "agent.cost_usd=0.01")
    arguments = [sys.executable, "-m", "memassay", *command(data, out, *more, "--workers", "4")]
    environment = child_environment(tmp_path)
    for _ in range(5):
        child = subprocess.Popen(arguments, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(6)
        if child.poll() is None:
            os.kill(child.pid, signal.SIGKILL)
        child.wait()
    for _ in range(10):
        done = subprocess.run(arguments, env=environment, capture_output=True, check=False)
        if done.returncode == 0:
            break
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    arm = summary["arms"]["lexical/dossier"]
    faults = tuple(FAULTS.split(","))
    tasks = [json.loads(line) for line in (out / "tasks.jsonl").read_text("utf-8").splitlines()]
    cells = [
        CellKey(task=t["id"], arm="lexical/dossier", repetition=r) for t in tasks for r in range(3)
    ]  # fmt: skip
    kinds = Counter(KIND[planted(cell, faults, 0.05, 0)] for cell in cells)
    assert len(cells) == 4620 == summary["cells"]["planned"] == summary["cells"]["counted"]
    assert arm["failures"] == {kind: kinds[kind] for kind in ("memory", "provider", "harness")}
    whole = [
        t for t in tasks
        if all(KIND[planted(CellKey(task=t["id"], arm="lexical/dossier", repetition=r), faults, 0.05, 0)]
               in ("answered", "memory") for r in range(3))
    ]  # fmt: skip

    def right(task: dict[str, Any]) -> float:
        gold = task["gold"]["original"]["answer"]
        said = [
            planted(CellKey(task=task["id"], arm="lexical/dossier", repetition=r), faults, 0.05, 0) for r in range(3)
        ]
        return sum(not fault and gold == "answer 1" for fault in said) / 3

    expected = sum(map(right, whole)) / len(whole)
    assert arm["metrics"]["exact_match"]["n"] == len(whole)
    assert arm["metrics"]["exact_match"]["value"] == pytest.approx(expected)
    paying = [c for c in cells if KIND[planted(c, faults, 0.05, 0)] in ("answered", "memory")]
    assert arm["usage"]["answers"]["tokens"]["input"] == 10 * len(paying)
    assert arm["usage"]["answers"]["cost_usd"] is None or arm["usage"]["answers"]["cost_usd"] == pytest.approx(
        0.01 * len(paying)
    )
