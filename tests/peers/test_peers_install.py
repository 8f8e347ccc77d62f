"""``make peers`` with a cargo and an npm of ours, which write down how they were called."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kit import ROOT
from memassay.core.peers import PEERS, claude_package

CARGO = """
echo "cargo $*" >> "$LOG"
echo "lto $CARGO_PROFILE_RELEASE_LTO" >> "$LOG"
test -z "$CARGO_FAILS" || exit 101
for last; do :; done
mkdir -p "$last/bin"
touch "$last/bin/iwe" "$last/bin/iwec"
"""
NPM = """
echo "npm $*" >> "$LOG"
for last; do :; done
mkdir -p "$last/node_modules/@PACKAGE@"
printf "${CLAUDE-right}" > "$last/node_modules/@PACKAGE@/claude"
""".replace("@PACKAGE@", claude_package())

# The installer, with a Claude Code of ours for the pinned one.
INSTALL = """
import dataclasses, hashlib, runpy
from memassay.core import peers
right = hashlib.sha256(b"right").hexdigest()
peers.PEERS["claude"] = dataclasses.replace(peers.PEERS["claude"], sha256=right)
runpy.run_path("peers/install.py", run_name="__main__")
"""

Run = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def run(tmp_path: Path, log: Path) -> Run:
    def install(*tools: str, **more: str) -> tuple[int, list[str]]:
        path = tmp_path / "-".join(["path", *tools])
        path.mkdir(exist_ok=True)
        for name, text in (("cargo", CARGO), ("npm", NPM)):
            if name in tools:
                (path / name).write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin{text}", encoding="utf-8")
                (path / name).chmod(0o755)
        env = {"PATH": str(path), "HOME": str(tmp_path / "home"), "PYTHONPATH": "src", "LOG": str(log)}
        env |= {"PYTHONDONTWRITEBYTECODE": "1", "MEMASSAY_PEERS": str(tmp_path / "peers"), **more}
        done = subprocess.run(
            [sys.executable, "-c", INSTALL], cwd=ROOT, env=env, capture_output=True, text=True, check=False
        )
        assert done.stderr == ""
        return done.returncode, done.stdout.splitlines()

    return install


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEMASSAY_PEERS", str(tmp_path / "peers"))
    return tmp_path / "peers"


def test_where_nothing_can_install_everything_is_skipped_in_a_line_each(run: Run, folder: Path) -> None:
    code, lines = run()
    assert code == 0 and len(lines) == 2
    assert "skipped, since npm is not installed" in lines[0]
    assert "skipped, since cargo is not installed" in lines[1]
    assert not folder.exists()


def test_it_installs_once_and_where_the_programs_are_looked_for(run: Run, folder: Path, log: Path) -> None:
    code, lines = run("cargo", "npm")
    assert code == 0
    assert all(peer.place.is_file() and peer.place.is_relative_to(folder) for peer in PEERS.values())
    assert sorted(os.listdir(folder)) == sorted({peer.folder for peer in PEERS.values()})  # noqa: PTH208
    npm, cargo, lto = log.read_text(encoding="utf-8").splitlines()
    assert f"iwe@{PEERS['iwe'].version} iwec@{PEERS['iwec'].version} --root" in cargo and "--locked" in cargo
    assert f"{claude_package()}@{PEERS['claude'].version} --prefix" in npm and "--ignore-scripts" in npm
    assert lto == "lto off"
    again, lines = run("cargo", "npm")
    assert again == 0 and all(": there, in " in line for line in lines) and len(lines) == 2
    assert len(log.read_text(encoding="utf-8").splitlines()) == 3


def test_a_failure_is_said_leaves_no_folder_and_stops_nothing_else(run: Run, folder: Path, log: Path) -> None:
    code, lines = run("cargo", "npm", CARGO_FAILS="1")
    assert code == 1
    assert "FAILED, cargo ended with 101; run make peers again to go on." in lines[-1]
    assert not PEERS["iwe"].place.exists() and PEERS["claude"].place.is_file()
    code, lines = run("cargo", "npm", CARGO_PROFILE_RELEASE_LTO="true")
    assert code == 0 and PEERS["iwec"].place.is_file()
    assert log.read_text(encoding="utf-8").splitlines()[-1] == "lto true", "a variable of one's own wins"


def test_a_program_with_another_digest_is_not_installed_and_one_that_changed_is_installed_again(
    run: Run, folder: Path
) -> None:
    claude = PEERS["claude"]
    code, lines = run("npm", CLAUDE="wrong")
    assert code == 1 and not claude.place.exists() and not list(folder.iterdir())
    assert f"FAILED, {claude.path} has another sha256 than the one that is pinned; run make peers again" in lines[1]
    assert run("npm")[0] == 0 and claude.place.read_bytes() == b"right"
    claude.place.write_bytes(b"changed")
    code, lines = run("npm")
    assert code == 0 and "installing with npm" in lines[0] and claude.place.read_bytes() == b"right"


def test_it_needs_no_package() -> None:
    """It runs before there is an environment: by any Python, with the source tree alone."""
    program = "import runpy; runpy.run_path('peers/install.py', run_name='it')"
    env = {"PATH": "/nonexistent", "PYTHONPATH": "src", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-S", "-c", program], cwd=ROOT, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_make_runs_it() -> None:
    done = subprocess.run(
        # The tests may be run by make themselves, which then says where it goes.
        ["make", "-n", "--no-print-directory", "peers", "PYTHON=python9"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "PYTHONPATH=src python9 peers/install.py\n"
