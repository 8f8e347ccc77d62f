"""Shards, a second writer, and the same records whatever the workers, the process, the hash seed and the folder."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from acceptance_tools import Process, answers, cells, equal_runs, judgements, lines, stable

from kit import Cli, child_environment
from memassay.running.experiment import experiment_of
from memassay.running.observing import Silent
from memassay.running.pipeline import Place, run_experiment

Small = Callable[..., Path]


def wait_for(path: Path, seconds: float = 20, size: int = 1) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if path.exists() and path.stat().st_size >= size:
            return
        time.sleep(0.01)
    raise AssertionError(f"{path.name} did not appear")


def test_two_shards_at_once_are_the_unsharded_run(
    cli: Cli, workplace: Path, own_home: Path, small_file: Small, toy: str
) -> None:
    base = [
        "locomo", "--data", small_file(5, 12), "--memory", f"slow={toy},files", "--tokens", "chars4",
        "--budgets", "40,400", "--json",
    ]  # fmt: skip
    whole = cli("run", *base, "--out", workplace / "whole" / "r").json
    out = workplace / "shared" / "r"
    both = [
        Process(["run", *base, "--out", out, "--shard", f"{i}/2"], child_environment(own_home), workplace)
        for i in (1, 2)
    ]
    ended = [process.end() for process in both]
    assert [code for code, _, _ in ended] == [0, 0], [err for _, _, err in ended]
    assert sorted(p.name for p in out.glob("answers-*.jsonl")) == ["answers-1of2.jsonl", "answers-2of2.jsonl"]
    assert set(answers(out)) == set(answers(workplace / "whole" / "r"))
    assert len(answers(out)) == len(set(answers(out))) == whole["cells"]["planned"]
    # Whoever ended last has seen everything; and so does a summary made again.
    assert stable(json.loads((out / "summary.json").read_text("utf-8"))) == stable(whole)
    assert stable(cli("judge", out, "--json").json) == stable(whole)
    assert set(judgements(out)) == set(judgements(workplace / "whole" / "r"))
    assert set(json.loads((out / "manifest.json").read_text())["writers"]) == {"1of2", "2of2"}


def test_shards_that_end_at_the_same_moment_do_not_refuse_each_other(
    workplace: Path, own_home: Path, small_file: Small
) -> None:
    """Nothing is left to answer, both only judge and sum up: neither may end with an error."""
    base = ["locomo", "--data", small_file(5, 12), "--memory", "files,lexical", "--tokens", "chars4", "--json"]
    out = workplace / "r"
    for turn in range(2):
        both = [
            Process(["run", *base, "--out", out, "--shard", f"{i}/2"], child_environment(own_home), workplace)
            for i in (1, 2)
        ]
        ended = [process.end() for process in both]
        assert [code for code, _, _ in ended] == [0, 0], (turn, [err for _, _, err in ended])


def test_the_last_summary_is_that_of_the_whole_run(workplace: Path, small_file: Small) -> None:
    """Shard 1 has counted and is judging when shard 2 ends: what stays in the folder must not be shard 1's half."""
    experiment = experiment_of(
        {
            "suite": "locomo",
            "options": {"data": str(small_file(3, 4))},
            "memories": {"files": {"use": "files"}},
            "tokens": "chars4",
        }
    )
    out = workplace / "r"
    other = threading.Thread(target=run_experiment, args=(experiment, Place(out=out, shard=(2, 2))))

    class Slow(Silent):
        def stage(self, name: str, total: int | None) -> None:
            if name == "judge":
                other.start()
                other.join(timeout=4)

    run_experiment(experiment, Place(out=out, shard=(1, 2)), Slow())
    other.join(timeout=30)
    assert not other.is_alive()
    found = json.loads((out / "summary.json").read_text("utf-8"))["cells"]
    assert found["counted"] == found["planned"]


def test_one_shard_alone_says_what_is_missing(cli: Cli, workplace: Path, small_file: Small) -> None:
    base = ["run", "locomo", "--data", small_file(3, 4), "--memory", "files", "--tokens", "chars4", "--json"]
    half = cli(*base, "--out", workplace / "r", "--shard", "1/2")
    assert half.code == 0, half.err
    assert half.json["cells"]["counted"] < half.json["cells"]["planned"]
    assert [r for r in half.json["publishable"]["reasons"] if "missing" in r]
    rest = cli(*base, "--out", workplace / "r", "--shard", "2/2").json
    assert rest["cells"]["counted"] == rest["cells"]["planned"]
    assert not [r for r in rest["publishable"]["reasons"] if "missing" in r]


def test_a_second_writer_of_a_shard_is_refused_while_the_first_runs(
    workplace: Path, own_home: Path, small_file: Small, toy: str
) -> None:
    args = [
        "run", "locomo", "--data", small_file(3, 8), "--memory", f"slow={toy}", "--set", "slow.delay=0.4",
        "--tokens", "chars4", "--workers", "1", "--out", workplace / "r", "--json",
    ]  # fmt: skip
    env = child_environment(own_home)
    first = Process(args, env, workplace)
    wait_for(workplace / "r" / "answers-1of1.jsonl")
    before = cells(workplace / "r")
    code, out, err = Process(args, env, workplace).end()
    assert first.popen.poll() is None, "the first must still be running for this test"
    assert code == 3
    assert out == ""
    (line,) = err.strip().splitlines()
    assert line.startswith("memassay: ")
    assert "answers-1of1.jsonl" in line
    assert "--shard" in line
    first.kill_after(0)
    assert max(cells(workplace / "r").values()) == 1
    assert set(before) <= set(cells(workplace / "r"))


def test_a_second_writer_is_refused_before_it_spends_anything(
    workplace: Path, own_home: Path, small_file: Small, toy: str
) -> None:
    """While the first still builds, the second must neither build nor wait."""
    log = workplace / "log"
    args = [
        "run", "locomo", "--data", small_file(4, 4), "--memory", f"slow={toy}", "--set", "slow.build_delay=1.5",
        "--set", f"slow.log={log}", "--tokens", "chars4", "--out", workplace / "r", "--json",
    ]  # fmt: skip
    env = child_environment(own_home)
    first = Process(args, env, workplace)
    wait_for(log)
    started = time.monotonic()
    second = Process(args, env, workplace)
    try:
        code, _, err = second.end(timeout=6)
    except Exception:
        second.kill_after(0)
        code, err = -1, "the second writer was still at work after 6 seconds"
    finally:
        first.kill_after(0)
    assert code == 3, err
    assert time.monotonic() - started < 4


# -- determinism ---------------------------------------------------------------------------------------------------


def same_everywhere(cli_process: Cli, workplace: Path, base: list[str | Path]) -> None:
    places = (workplace / "one" / "r", workplace / "zwei é" / "r")
    summaries = []
    for out, workers, seed, locale in zip(places, ("1", "8"), ("0", "4711"), ("C", "C.UTF-8"), strict=True):
        ran = cli_process(
            "run", *base, "--out", out, "--workers", workers, "--json", env={"PYTHONHASHSEED": seed, "LC_ALL": locale}
        )
        assert ran.code == 0, ran.err
        summaries.append(stable(ran.json))
    equal_runs(*places)
    assert summaries[0] == summaries[1]
    built = []
    for out in places:
        rows = [json.loads(line) for line in lines([out / "builds.jsonl"])]
        for row in rows:
            row["store"].pop("location")
        built.append({json.dumps(row, sort_keys=True) for row in rows})
    assert built[0] == built[1], "the stores differ"
    dossiers = [sorted(p.relative_to(out / "dossiers").as_posix() for p in out.rglob("dossiers/*/*")) for out in places]
    assert dossiers[0] == dossiers[1]


@pytest.mark.parametrize("suite", ["locomo", "custom"])
def test_one_and_eight_workers_two_processes_two_hash_seeds_two_folders(
    suite: str, cli_process: Cli, workplace: Path
) -> None:
    memories = "files,lexical,turns=lexical"
    base = [
        suite,
        "--sample",
        "--memory",
        memories,
        "--set",
        "turns.window=1",
        "--limit",
        "16",
        "--budgets",
        "250,1000",
    ]
    same_everywhere(cli_process, workplace, base)


@pytest.mark.slow
@pytest.mark.data
def test_the_same_on_the_real_file(cli_process: Cli, workplace: Path, locomo_file: Path, audit_file: Path) -> None:
    base: list[str | Path] = [
        "locomo", "--stage", "retrieval", "--memory", "files,lexical", "--data", locomo_file, "--corrections",
        audit_file, "--tokens", "chars4", "--limit", "60",
    ]  # fmt: skip
    same_everywhere(cli_process, workplace, base)
