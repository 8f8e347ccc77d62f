"""``kill -9`` at any moment: no finished cell lost, none counted twice, the totals those of the plan."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from acceptance_tools import Process, answers, cells, equal_runs, judgements, stable

from kit import Cli, child_environment


def killing(
    kills: int, seed: str, longest: float, cli: Cli, workplace: Path, home: Path, data: Path, toy: str, delay: str
) -> None:
    """One run after another is killed ``kills`` times in all; each that comes to its end is compared with the plan."""
    base = [
        "locomo", "--data", data, "--memory", f"slow={toy},files", "--set", f"slow.delay={delay}", "--set",
        "slow.build_delay=0.01", "--tokens", "chars4", "--budgets", "40,400", "--json",
    ]  # fmt: skip
    whole = workplace / "whole" / "r"
    reference = cli("run", *base, "--out", whole).json
    planned = cli("plan", *base).json["cells"]
    moments = random.Random(seed)
    done = rounds = 0
    out = workplace / "round-0" / "r"
    seen: set[Any] = set()
    while done < kills:
        process = Process(["run", *base, "--out", out], child_environment(home), workplace)
        if process.kill_after(moments.uniform(0, longest)):
            done += 1
            now = cells(out)
            assert max(now.values(), default=1) == 1, "a cell was recorded twice"
            assert seen <= set(now), "a finished cell was lost"
            seen = set(now)
        else:
            assert process.popen.returncode == 0
            finished(out, whole, planned)
            rounds += 1
            out, seen = workplace / f"round-{rounds}" / "r", set()
    ended = cli("run", *base, "--out", out)
    assert ended.code == 0, ended.err
    finished(out, whole, planned)
    assert stable(ended.json) == stable(reference)
    assert cli("judge", out, "--json").code == 0


def finished(out: Path, whole: Path, planned: int) -> None:
    counted = cells(out)
    assert len(counted) == planned
    assert set(counted.values()) == {1}
    assert len(set(judgements(out))) == len(judgements(out))
    equal_runs(out, whole)
    leftovers = [p.name for p in out.parent.rglob("*") if p.name.endswith(".building")]
    assert leftovers == [], "a half-built store stays behind"


def test_a_dozen_kills(cli: Cli, workplace: Path, own_home: Path, small_file: Callable[..., Path], toy: str) -> None:
    killing(12, "a dozen", 0.8, cli, workplace, own_home, small_file(5, 12), toy, "0.02")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_two_hundred_kills(
    cli: Cli, workplace: Path, own_home: Path, small_file: Callable[..., Path], toy: str
) -> None:
    killing(200, "two hundred", 1.2, cli, workplace, own_home, small_file(6, 24), toy, "0.02")


@pytest.mark.parametrize("where", ["answers-1of1.jsonl", "judgements/evidence.jsonl", "builds.jsonl"])
def test_a_torn_last_line_is_redone(where: str, cli: Cli, workplace: Path, small_file: Callable[..., Path]) -> None:
    base = ["locomo", "--data", small_file(2, 4), "--memory", "files", "--tokens", "chars4", "--json"]
    out = workplace / "torn" / "r"
    first = cli("run", *base, "--out", out)
    cli("run", *base, "--out", workplace / "whole" / "r")
    data = (out / where).read_bytes()
    last = data.rstrip(b"\n").rfind(b"\n") + 1
    for cut in (last, last + 1, (last + len(data)) // 2, len(data) - 1):
        (out / where).write_bytes(data[:cut])
        again = cli("run", *base, "--out", out)
        assert again.code == 0, again.err
        equal_runs(out, workplace / "whole" / "r")
        assert stable(again.json) == stable(first.json)


def test_an_answer_judged_but_torn_is_still_counted_once(
    cli: Cli, workplace: Path, small_file: Callable[..., Path]
) -> None:
    base = ["locomo", "--data", small_file(2, 4), "--memory", "files", "--tokens", "chars4", "--json"]
    out = workplace / "r"
    first = cli("run", *base, "--out", out).json
    segment = out / "answers-1of1.jsonl"
    kept = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(b"".join(kept[:-5]) + kept[-5][:40])
    again = cli("run", *base, "--out", out)
    assert stable(again.json) == stable(first)
    assert len(answers(out)) == len(kept)
    assert len(set(judgements(out))) == len(judgements(out))
