"""``memassay doctor``: what it prints, how it ends, and what is left after Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kit import Cli, child_environment
from memassay.running.doctor import sentinels
from servers.claude import stand_in

MODEL = "claude-opus-4-8"
KEY = "sk-a-real-one-of-ours-0123456789"


@pytest.fixture
def cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that cells are in; nothing is planted above this test's own."""
    folder = tmp_path / "cells"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    above = sentinels.ancestors
    monkeypatch.setattr(sentinels, "ancestors", lambda f: [a for a in above(f) if tmp_path in (a, *a.parents)])
    return folder


def agent(program: Path, *more: str) -> list[str]:
    return ["doctor", "--agent", "claude-code", "--model", MODEL, "--set", f"agent.binary={program}", *more]


def test_without_an_agent_it_looks_at_the_machine(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    ran = cli("doctor")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert [line for line in lines if line and not line.startswith(" ")] == [
        "versions", "credentials", "disk", "data", "prices",
    ]  # fmt: skip
    assert "  ok      ANTHROPIC_API_KEY: set" in lines
    assert "          -> memassay data fetch locomo" in lines
    assert KEY not in ran.out
    assert str(Path.home()) not in ran.out


def test_with_an_agent_it_looks_at_its_requests(
    cli: Cli, cells: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    program = stand_in(tmp_path / "program")
    ran = cli(*agent(program, "--json"))
    assert ran.code == 0, ran.out
    found = {finding["name"]: finding for finding in ran.json["findings"]}
    assert ran.json["exit_code"] == 0
    assert set(found["differences"]) == {"section", "name", "state", "detail", "fix"}
    assert {finding["state"] for finding in found.values()} <= {"ok", "note"}
    assert found["agent claude-code"]["detail"] == "ready"
    assert "sentinels, markdown/tools" in found
    assert KEY not in ran.out
    assert list(cells.iterdir()) == []


def test_a_leak_fails_the_command(cli: Cli, cells: Path, tmp_path: Path, own_home: Path) -> None:
    program = stand_in(tmp_path / "program", home=str(own_home / ".claude" / "CLAUDE.md"))
    ran = cli(*agent(program, "--arm", "lexical/dossier"))
    assert ran.code == 1
    assert "  FAILED  sentinels, lexical/dossier: it has read ~/.claude/CLAUDE.md" in ran.out.splitlines()
    assert "  MISSING agent claude-code: not ready: There is no key" in ran.out
    assert not (own_home / ".claude").exists()


def test_what_is_missing_ends_with_3(cli: Cli, cells: Path, tmp_path: Path) -> None:
    ran = cli(*agent(tmp_path / "no-such"))
    assert (ran.code, ran.err) == (3, "")
    assert "MISSING agent claude-code: not looked at: There is no program" in ran.out


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--model", "x"], "name it with --agent"),
        (["--agent", "claude-code"], "needs the setting 'model'"),
        (["--agent", "claude-cod"], "Did you mean 'claude-code'?"),
        (["--agent", "claude-code", "--model", "x", "--arm", "files/folder"], "cannot use 'folder'"),
        (["--agent", "claude-code", "--model", "x", "--set", "agent.profil=bare"], "Did you mean 'profile'?"),
    ],
)
def test_a_mistake_is_one_sentence(given: list[str], says: str, cli: Cli, cells: Path, tmp_path: Path) -> None:
    more = ["--set", f"agent.binary={stand_in(tmp_path / 'program')}"] if "--model" in given and len(given) > 2 else []
    ran = cli("doctor", *given, *more)
    assert ran.code == 2
    assert says in ran.complaint


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_after_an_interruption_nothing_is_left(
    number: signal.Signals, workplace: Path, own_home: Path, tmp_path: Path
) -> None:
    cells = tmp_path / "cells"
    cells.mkdir()
    program = stand_in(tmp_path / "program", sleeps=60)
    start = (
        "import sys; from pathlib import Path; from memassay.running.doctor import sentinels; "
        "from memassay.cli.main import main; above = sentinels.ancestors; top = Path(sys.argv.pop(1)); "
        "sentinels.ancestors = lambda f: [a for a in above(f) if top in (a, *a.parents)]; main()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", start, str(tmp_path), *agent(program, "--arm", "lexical/dossier")],
        env=child_environment(own_home, TMPDIR=str(cells)),
        cwd=workplace,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    planted = own_home / ".claude" / "CLAUDE.md"
    seen = program.with_name("seen.json")
    deadline = time.monotonic() + 60
    while not (planted.exists() and seen.exists()) and time.monotonic() < deadline and child.poll() is None:
        time.sleep(0.05)
    assert planted.exists(), child.communicate()
    cell = Path(json.loads(seen.read_text())["cwd"])
    assert (cell / "CLAUDE.md").exists()
    os.kill(child.pid, number)
    _, err = child.communicate(timeout=60)
    assert (child.returncode, err.startswith("memassay: Interrupted.")) == (130, True)
    assert not (own_home / ".claude").exists()
    assert list(cells.iterdir()) == []
    assert not (tmp_path / "CLAUDE.md").exists()
