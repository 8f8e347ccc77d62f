"""Which claude runs."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from claude_kit import VERSION, Fake

from memassay.agents.claude_code.binary import find, inspect
from memassay.core.errors import EnvironmentProblem


@pytest.fixture(autouse=True)
def none_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMASSAY_PEERS", str(tmp_path / "none"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.delenv("CLAUDE_BIN", raising=False)


def test_the_order(fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundled = tmp_path / "sdk" / "_bundled" / "claude"
    bundled.parent.mkdir(parents=True)
    bundled.write_text("")
    spec = SimpleNamespace(submodule_search_locations=[str(tmp_path / "sdk")])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec if name == "claude_agent_sdk" else None)
    assert find() == bundled
    on_path = tmp_path / "bin" / "claude"
    on_path.parent.mkdir()
    on_path.symlink_to(fake.path)
    monkeypatch.setenv("PATH", f"{on_path.parent}:/usr/bin:/bin")
    assert find() == on_path
    own = tmp_path / "own-claude"
    own.symlink_to(fake.path)
    monkeypatch.setenv("CLAUDE_BIN", str(own))
    assert find() == own
    assert find(fake.path) == Path(fake.path)


def test_none_at_all() -> None:
    with pytest.raises(EnvironmentProblem, match="make peers"):
        find()
    with pytest.raises(EnvironmentProblem, match="/no/such"):
        find("/no/such")


def test_version_and_digest(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    about = inspect(Path(fake.path))
    assert about.version == VERSION
    assert about.sha256 == hashlib.sha256(Path(fake.path).read_bytes()).hexdigest()


def test_a_changed_program_is_looked_at_again(fake: Fake) -> None:
    program = Path(fake.path)
    before = inspect(program)
    program.write_text(program.read_text().replace(VERSION, "9.9.9"))
    os.utime(program, ns=(1, 1))
    assert inspect(program).version == "9.9.9"
    assert inspect(program).sha256 != before.sha256


def test_asked_for_its_version_it_sees_nothing_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "claude"
    program.write_text(f"#!/bin/sh\nenv > {tmp_path}/seen\necho 1.2.3\n")
    program.chmod(0o755)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret-of-ours")
    assert inspect(program).version == "1.2.3"
    names = {line.partition("=")[0] for line in (tmp_path / "seen").read_text().splitlines()}
    assert names - {"PWD", "_", "SHLVL", "OLDPWD"} == {"PATH", "HOME", "CLAUDE_CONFIG_DIR"}


def test_what_is_not_claude(tmp_path: Path) -> None:
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    with pytest.raises(EnvironmentProblem, match="code 3"):
        inspect(program)
    program.write_text("#!/no/such/interpreter\n")
    with pytest.raises(EnvironmentProblem, match="does not run"):
        inspect(program)
