"""How the command ends when the reader of its output has left, the output cannot be written, or Ctrl-C is pressed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from acceptance_tools import cells, stable

from kit import Cli, child_environment

INTERRUPTED = "memassay: Interrupted. What is recorded is safe; run the same command again to go on."
Ends = Callable[..., tuple[int, str]]
# Whoever started the tests may have told them to ignore Ctrl-C; a child inherits that.
_START = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from memassay.cli import main
sys.argv = ["memassay", *sys.argv[1:]]
main.main()
"""
_CLOSED = """
import os, sys
os.close(1)
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture
def ends(workplace: Path, own_home: Path) -> Ends:
    """``ends("gone", "compare", ...)``: exit code and standard error of a command whose output goes nowhere."""

    def run(where: str, *args: str | Path) -> tuple[int, str]:
        command = [str(Path(sys.executable).with_name("memassay")), *map(str, args)]
        if where == "closed":
            command = [sys.executable, "-c", _CLOSED, *command]
        if where == "full":
            out = os.open("/dev/full", os.O_WRONLY)
        else:
            reader, out = os.pipe()
            os.close(reader)
        try:
            done = subprocess.run(
                command,
                stdout=out,
                stderr=subprocess.PIPE,
                stdin=subprocess.DEVNULL,
                env=child_environment(own_home),
                cwd=workplace,
                timeout=60,
            )
        finally:
            os.close(out)
        return done.returncode, done.stderr.decode()

    return run


@pytest.fixture
def base(small_file: Callable[..., Path], toy: str) -> list[str | Path]:
    return [
        "run", "locomo", "--data", small_file(8, 16), "--memory", f"mine={toy}", "--tokens", "chars4", "--budgets",
        "400,4000", "--no-controls",
    ]  # fmt: skip


@pytest.fixture
def pair(cli: Cli, base: list[str | Path]) -> tuple[str, str]:
    """A good run and a bad one."""
    for name, keep in (("good", "1.0"), ("bad", "0.5")):
        ran = cli(*base, "--set", f"mine.keep={keep}", "--out", f"runs/{name}")
        assert ran.code == 0, ran.err
    return "runs/good", "runs/bad"


def test_a_verdict_stays_what_it_is_when_the_reader_has_left(ends: Ends, pair: tuple[str, str]) -> None:
    good, bad = pair
    gate = ["--gate", "no-worse"]
    assert ends("gone", "compare", good, "--baseline", good, *gate) == (0, "")
    assert ends("gone", "compare", good, "--baseline", good, *gate, "--json") == (0, "")
    assert ends("gone", "compare", bad, "--baseline", good, *gate) == (1, "")
    assert ends("closed", "compare", bad, "--baseline", good, *gate) == (1, "")


def test_a_verdict_that_cannot_be_written_is_no_verdict(ends: Ends, pair: tuple[str, str]) -> None:
    good, bad = pair
    for new, more in ((good, []), (bad, ["--json"])):
        code, err = ends("full", "compare", new, "--baseline", good, "--gate", "no-worse", *more)
        assert code == 3
        assert err.startswith("memassay: ") and err.count("\n") == 1 and "No space left" in err


@pytest.mark.parametrize(("where", "more"), [("gone", []), ("gone", ["--json"]), ("closed", [])])
def test_a_run_ends_well_without_anybody_who_reads(
    ends: Ends, base: list[str | Path], workplace: Path, where: str, more: list[str]
) -> None:
    code, err = ends(where, *base, "--limit", "8", "--out", "runs/r", *more)
    assert code == 0 and "Traceback" not in err and "memassay: " not in err, err
    assert (workplace / "runs" / "r" / "summary.json").stat().st_size > 0
    assert (workplace / "runs" / "r" / "report.html").stat().st_size > 0


def test_a_run_whose_output_cannot_be_written_says_so_and_keeps_everything(
    ends: Ends, base: list[str | Path], workplace: Path
) -> None:
    code, err = ends("full", *base, "--limit", "8", "--out", "runs/r")
    assert code == 3 and "No space left" in err and "Traceback" not in err
    assert (workplace / "runs" / "r" / "summary.json").stat().st_size > 0


@pytest.mark.parametrize("command", [["ledger", "runs"], ["--help"], ["memory", "list"]])
def test_other_commands_end_well_when_the_reader_has_left(ends: Ends, workplace: Path, command: list[str]) -> None:
    (workplace / "runs").mkdir()
    code, err = ends("gone", *command)
    assert code == 0 and err == ""


@pytest.mark.parametrize("stage", ["answering", "building"])
def test_ctrl_c_is_one_sentence_and_a_resume_completes(
    cli: Cli, base: list[str | Path], workplace: Path, own_home: Path, stage: str
) -> None:
    slow = ["--set", f"mine.{'delay' if stage == 'answering' else 'build_delay'}=0.15"]
    out = workplace / "runs" / "r"
    segment = out / "answers-1of1.jsonl"
    child = subprocess.Popen(
        [sys.executable, "-c", _START, *map(str, [*base, *slow, "--out", out, "--json"])],
        env=child_environment(own_home),
        cwd=workplace,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        end = time.monotonic() + 30
        while time.monotonic() < end and not (
            segment.exists() and (stage == "building" or len(segment.read_bytes().splitlines()) >= 3)
        ):
            assert child.poll() is None, "it must be running for this test"
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        said, err = child.communicate(timeout=30)
    finally:
        if child.poll() is None:
            child.kill()
            child.communicate()
    assert (child.returncode, said.decode(), err.decode().strip()) == (130, "", INTERRUPTED)
    assert not (out / "summary.json").exists()
    before = cells(out)
    assert set(before.values()) <= {1}
    assert 3 <= len(before) < 128 if stage == "answering" else before == {}
    again = cli(*base, "--set", f"mine.{'delay' if stage == 'answering' else 'build_delay'}=0.15", "--workers", "64",
                "--out", out, "--json")  # fmt: skip
    assert again.code == 0, again.err
    assert set(before) <= set(cells(out)) and len(cells(out)) == 128
    assert again.json["cells"] == {"planned": 128, "counted": 128, "attempts": 0, "duplicates": 0, "differing": 0}
    whole = cli(*base, "--out", workplace / "whole" / "r", "--json").json
    assert stable(again.json)["arms"]["mine"]["metrics"] == stable(whole)["arms"]["mine"]["metrics"]
