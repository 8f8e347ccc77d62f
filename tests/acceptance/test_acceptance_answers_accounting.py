"""Accounting that cannot lie: four kinds apart, both columns, attempts, abort and resume, every count computed anew."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import mean, stdev

import pytest
from acceptance_tools import Process, cells, lines
from test_acceptance_answers import counted, golds, kind, records, refusal, replies, run, said, talk

from answers_kit import ARMS, Expected, compare, fault, kind_of
from kit import Cli, child_environment

TWO = [word for arm in ARMS for word in ("--arm", arm)]
MIXED = "refused,limit-time,limit-turns,limit-money,rate-limit,api-error,network,harness"


def scripted(faults: str = "", share: float = 0.0, **more: object) -> list[str]:
    """Flags of an agent that says ``answer 1`` and fails as told."""
    told = {"text": "answer 1", **({"faults": faults, "share": share} if faults else {}), **more}
    return ["--agent", "scripted", *(word for key, value in told.items() for word in ("--set", f"agent.{key}={value}"))]


@pytest.mark.parametrize("repetitions", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_every_kind_in_both_columns(
    repetitions: int, cli: Cli, small_file: Callable[..., Path], tmp_path: Path, no_backoff: None, never_gives_up: None
) -> None:
    out = tmp_path / "r"
    more = ["--repetitions", str(repetitions)]
    ran = cli(*run(small_file(4, 12), out, *TWO, *scripted(MIXED, 0.3), *more))
    assert ran.code == 0, ran.err
    expected = Expected(golds(out), repetitions, MIXED, 0.3)
    assert {kind_of(name) for name in expected.faults.values()} == {"answered", "memory", "provider", "harness"}
    compare(ran.json, expected)
    assert ran.json["cells"]["planned"] == ran.json["cells"]["counted"] == 4 * 12 * 2 * repetitions
    assert len(counted(out)) == 96 * repetitions
    assert not ran.json["publishable"]["value"]
    harness = sum(expected.failures(arm)["harness"] for arm in ARMS)
    assert any(str(harness) in r and "harness" in r for r in ran.json["publishable"]["reasons"])
    report = (out / "summary.md").read_text()
    assert "answered only" in report


def test_what_failed_says_nothing_that_a_judge_could_grade(
    cli: Cli, small_file: Callable[..., Path], tmp_path: Path, no_backoff: None, never_gives_up: None
) -> None:
    out = tmp_path / "r"
    assert cli(*run(small_file(2, 12), out, *TWO, *scripted(MIXED, 0.4))).code == 0
    for record in records(out):
        if kind(record) != "answered" or record["status"] == "refused":
            assert said(record) == ""
            assert record["detail"], "why it failed is said"


def test_a_provider_that_comes_back_costs_attempts_and_no_task(
    cli: Cli, small_file: Callable[..., Path], tmp_path: Path, no_backoff: None
) -> None:
    out = tmp_path / "r"
    ran = cli(*run(small_file(2, 6), out, *TWO, *scripted("rate-limit,network", 0.5, lasts=1, cost_usd=0.25)))
    assert ran.code == 0, ran.err
    tried = cells(out)
    hit = {key for key in tried if fault(key[0], key[1], 0, "rate-limit,network", 0.5)}
    assert hit
    assert {key: n for key, n in tried.items() if n > 1} == dict.fromkeys(hit, 2), "each attempt is a record"
    for arm in ran.json["arms"].values():
        assert arm["failures"] == {"memory": 0, "provider": 0, "harness": 0}
        assert arm["n"] == 12
        assert arm["usage"]["answers"]["cost_usd"] == pytest.approx(12 * 0.25), "twelve answers were paid"
    assert ran.json["cells"]["attempts"] == len(hit), "the number of attempts beyond the first is shown"
    numbers = [r["attempt"] for r in records(out)]
    assert set(numbers) == {1, 2}


def test_a_cost_that_was_paid_is_shown_although_a_call_failed(
    cli: Cli, small_file: Callable[..., Path], tmp_path: Path, no_backoff: None, never_gives_up: None
) -> None:
    out = tmp_path / "r"
    ran = cli(*run(small_file(2, 6), out, *TWO, *scripted("network,limit-turns", 0.3, cost_usd=0.25)))
    assert ran.code == 0, ran.err
    for name, arm in ran.json["arms"].items():
        paid = [r["usage"]["cost_usd"] for r in records(out) if r["cell"]["arm"] == name and r["usage"]["cost_usd"]]
        assert kind_of("network") == "provider"
        assert arm["usage"]["answers"]["attempts_usd"] == pytest.approx(sum(paid))
        assert arm["usage"]["answers"]["cost_usd"] is not None, "a refused connection cost nothing; the rest is known"


# -- abort and resume ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["network", "harness"])
def test_five_failures_in_a_row_end_the_command(
    name: str, cli: Cli, small_file: Callable[..., Path], tmp_path: Path, no_backoff: None
) -> None:
    out = tmp_path / "r"
    ran = cli(*run(small_file(2, 12), out, *TWO, *scripted(name, 1.0), "--workers", "1"))
    assert ran.code == 3
    assert "5" in refusal(ran)
    assert len(cells(out)) == 5, "it stops there"
    assert ran.json["stopped"]
    assert not ran.json["publishable"]["value"]


@pytest.mark.parametrize("name", ["limit-turns", "limit-money", "refused"])
def test_failures_of_the_memory_do_not_end_the_command(
    name: str, cli: Cli, small_file: Callable[..., Path], tmp_path: Path
) -> None:
    ran = cli(*run(small_file(2, 4), tmp_path / "r", *TWO, *scripted(name, 1.0), "--workers", "1"))
    assert ran.code == 0, ran.err
    for arm in ran.json["arms"].values():
        assert arm["n"] == 8
        assert arm["metrics"]["f1"]["value"] == 0
        assert arm["failures"]["memory"] == (0 if name == "refused" else 8)


def test_a_resume_goes_on_where_it_stopped(
    cli: Cli, small_file: Callable[..., Path], tmp_path: Path, no_backoff: None
) -> None:
    # Each command gives up after five cells; the harness fails every cell once, the network three times.
    args = run(small_file(1, 6), tmp_path / "r", *TWO, "--workers", "1")
    out, whole = tmp_path / "r", tmp_path / "whole"
    codes = []
    while len(codes) < 20 and not (
        codes and codes[-1] == 0 and all(kind(r) == "answered" for r in counted(out).values())
    ):
        codes.append(cli(*args, *scripted("network,harness", 1.0, lasts=3)).code)
        assert codes[-1] in (0, 3)
    assert codes[-1] == 0, codes
    assert codes[0] == 3
    assert len(counted(out)) == 12, "the totals equal the plan"
    assert cli(*run(small_file(1, 6), whole, *TWO, *scripted())).code == 0
    finished = json.loads((out / "summary.json").read_text())
    clean = json.loads((whole / "summary.json").read_text())
    for arm in ARMS:
        assert finished["arms"][arm]["n"] == clean["arms"][arm]["n"] == 6
        assert finished["arms"][arm]["metrics"] == clean["arms"][arm]["metrics"]
        assert finished["arms"][arm]["failures"] == {"memory": 0, "provider": 0, "harness": 0}


@pytest.mark.parametrize(("faults", "lasts"), [("limit-turns,refused,network", 3), ("limit-turns,refused,harness", 1)])
def test_a_resume_asks_again_only_what_provider_or_harness_failed(
    faults: str, lasts: int, cli: Cli, small_file: Callable[..., Path], tmp_path: Path, no_backoff: None
) -> None:
    out = tmp_path / "r"
    args = run(small_file(4, 6), out, *TWO, *scripted(faults, 0.3, lasts=lasts))
    assert cli(*args).code == 0
    first = {key: kind(record) for key, record in counted(out).items()}
    before = lines(sorted(out.glob("answers-*.jsonl")))
    ran = cli(*args)
    assert ran.code == 0, ran.err
    after = lines(sorted(out.glob("answers-*.jsonl")))
    assert after[: len(before)] == before, "records are appended, never changed"
    again = {(c["task"], c["arm"], 0) for c in (json.loads(line)["cell"] for line in after[len(before) :])}
    assert again == {key for key, of in first.items() if of in ("provider", "harness")} != set()
    assert ran.json["arms"][ARMS[0]]["n"] == 24, "what was missing is there"
    assert sum(arm["failures"]["memory"] for arm in ran.json["arms"].values()) == list(first.values()).count("memory")
    assert not [r for r in ran.json["publishable"]["reasons"] if "harness" in r or "provider" in r]


@pytest.mark.slow
def test_killed_again_and_again_the_totals_equal_the_plan(
    cli: Cli, small_file: Callable[..., Path], tmp_path: Path, own_home: Path
) -> None:
    out, faults, share = tmp_path / "r", "refused,limit-turns,limit-money,network,harness", 0.05
    more = ["--repetitions", "3", "--workers", "3"]
    args = run(small_file(6, 24), out, *TWO, *scripted(faults, share, seconds=0.02, cost_usd=0.01), *more)
    killed = 0
    for seconds in (0.8, 1.1, 1.4, 1.7, 2.0):
        killed += Process(args, child_environment(own_home), tmp_path).kill_after(seconds)
    assert killed, "the run was over before it could be killed"
    # A last command asks again what the provider or the harness failed, which fails again by plan.
    code, text, err = Process(args, child_environment(own_home), tmp_path).end(timeout=300)
    assert code in (0, 3), err
    expected = Expected(golds(out), 3, faults, share)
    assert len(counted(out)) == 6 * 24 * 2 * 3
    summary = json.loads(text)
    compare(summary, expected)
    assert summary["cells"]["counted"] == summary["cells"]["planned"] == len(expected.faults)
    assert summary["cells"]["duplicates"] == 0
    paid = Counter(arm for (_, arm, _), name in expected.faults.items() if kind_of(name) in ("answered", "memory"))
    for arm in ARMS:
        assert summary["arms"][arm]["usage"]["answers"]["attempts_usd"] == pytest.approx(paid[arm] * 0.01)


# -- repetitions ---------------------------------------------------------------------------------------------------


def test_repetitions_are_mean_and_standard_deviation(cli: Cli, small_file: Callable[..., Path], tmp_path: Path) -> None:
    out = tmp_path / "r"
    ran = cli(*run(small_file(3, 6), out, *TWO, *scripted("limit-turns", 0.4), "--repetitions", "3"))
    assert ran.code == 0, ran.err
    expected = Expected(golds(out), 3, "limit-turns", 0.4)
    compare(ran.json, expected)
    for arm in ARMS:
        for metric in ("f1", "bleu1"):
            means = [mean(expected.score(task, arm, r, metric) for task in expected.kept) for r in range(3)]
            found = ran.json["arms"][arm]["repetitions"][metric]
            assert found["means"] == pytest.approx(means, abs=1e-6)
            assert (found["mean"], found["sd"]) == pytest.approx((mean(means), stdev(means)), abs=1e-6)


def test_one_failed_repetition_does_not_take_the_others_out_of_the_second_column(
    cli: Cli, small_file: Callable[..., Path], tmp_path: Path
) -> None:
    out = tmp_path / "r"
    ran = cli(*run(small_file(3, 6), out, *TWO, *scripted("limit-turns", 0.4), "--repetitions", "3"))
    assert ran.code == 0, ran.err
    expected = Expected(golds(out), 3, "limit-turns", 0.4)
    for arm in ARMS:
        second = ran.json["arms"][arm]["secondary"]["answered_only"]["metrics"]["f1"]
        assert (second["value"], second["n"]) == expected.answered(arm, "f1")


def test_the_mean_of_the_repetitions_is_the_number_in_the_table(
    cli: Cli, small_file: Callable[..., Path], tmp_path: Path, no_backoff: None
) -> None:
    out = tmp_path / "r"
    faults = "network,limit-turns"
    ran = cli(*run(small_file(4, 6), out, *TWO, *scripted(faults, 0.15), "--repetitions", "3"))
    assert ran.code == 0, ran.err
    expected = Expected(golds(out), 3, faults, 0.15)
    assert 0 < len(expected.kept) < 24
    for arm in ARMS:
        found = ran.json["arms"][arm]
        assert found["repetitions"]["f1"]["tasks"] == found["n"] == len(expected.kept), "the same tasks for all arms"
        assert found["repetitions"]["f1"]["mean"] == pytest.approx(found["metrics"]["f1"]["value"], abs=1e-6)


def test_repetitions_of_a_deterministic_agent_are_no_measure_of_noise(cli: Cli, tmp_path: Path) -> None:
    data = talk(tmp_path, [{"question": f"Question {n}?", "answer": "Oslo"} for n in range(3)])
    arms = ["--arm", "lexical/dossier"]
    ran = cli(*run(data, tmp_path / "r", *arms, *replies(tmp_path, {}, "Oslo"), "--repetitions", "2"))
    assert ran.code == 0, ran.err
    found = ran.json["arms"]["lexical/dossier"]["repetitions"]["f1"]
    assert found["sd"] in (None, 0)
    assert found["sd"] == 0 or found["reason"]
