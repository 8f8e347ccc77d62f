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

from answers_kit import Expected, compare, golds
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
    settings = ("--set", "agent.faults=api-error", "--set", "agent.share=0.7", "--set", "agent.text=x")
    asked = []
    for _ in range(12):
        ran = cli(*command(data, tmp_path / "run", *settings, "--workers", "1"))
        asked.append(len({json.dumps(r["cell"], sort_keys=True) for r in answers_of(tmp_path / "run")}))
        if asked[-1] == 48:
            break
    assert asked[0] < 48 == asked[-1] == ran.json["cells"]["counted"], asked


@pytest.mark.slow
def test_1540_answers_three_times_with_failures_killed_five_times(tmp_path: Path) -> None:
    data = data_file(tmp_path, 10, 154)
    out = tmp_path / "run"
    tokens = {"input": 10, "output": 7, "cache_read": 5, "cache_write": 3}
    told = {"faults": FAULTS, "share": 0.05, "text": "answer 1", "cost_usd": 0.01, "seconds": 0.01}
    told |= {f"{kind}_tokens": number for kind, number in tokens.items()}
    settings = [word for name, value in told.items() for word in ("--set", f"agent.{name}={value}")]
    flags = ("--repetitions", "3", "--workers", "4")
    program = [sys.executable, "-m", "memassay", *command(data, out, *settings, *flags)]
    environment, said = child_environment(tmp_path), tmp_path / "said.txt"

    def recorded() -> int:
        return sum(path.read_bytes().count(b"\n") for path in out.glob("answers-*.jsonl"))

    killed_at = []
    for share in (0.1, 0.3, 0.5, 0.7, 0.9):  # killed by what is done, so that a slow machine is as good as a fast one
        with said.open("wb") as stream:
            child = subprocess.Popen(program, env=environment, stdout=subprocess.DEVNULL, stderr=stream)
        while child.poll() is None and recorded() < share * 4620:
            time.sleep(0.02)
        assert child.poll() is None, said.read_text("utf-8")
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        killed_at.append(recorded())
    assert killed_at[0] > 0 and killed_at == sorted(set(killed_at)) and not (out / "summary.json").exists()
    # The last command asks again what the provider or the harness failed, which fails again by plan.
    done = subprocess.run(program, env=environment, capture_output=True, check=False)
    assert done.returncode in (0, 3), done.stderr.decode()
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    gold = golds(out)
    expected = Expected(gold, 3, FAULTS, 0.05, arms=("lexical/dossier",))
    assert len(gold) == 1540 and len(expected.faults) == 4620
    assert set(expected.faults.values()) == {"", *FAULTS.split(",")}, "every kind is there"
    assert summary["cells"]["planned"] == summary["cells"]["counted"] == 4620
    assert summary["cells"]["duplicates"] == 0
    compare(summary, expected)
    paid = expected.paid("lexical/dossier")
    used = summary["arms"]["lexical/dossier"]["usage"]["answers"]
    assert used["tokens"] == {kind: number * paid for kind, number in tokens.items()}
    assert used["cost_usd"] == used["attempts_usd"] == pytest.approx(0.01 * paid)
