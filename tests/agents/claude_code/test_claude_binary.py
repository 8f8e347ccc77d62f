"""Which claude runs."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import importlib.util
import os
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
from claude_kit import VERSION, Fake

from kit import ROOT
from memassay.agents.claude_code.binary import NotAsPinned, find, inspect
from memassay.core.errors import EnvironmentProblem
from memassay.core.peers import CLAUDE_SDK, CLAUDE_SHA256, PEERS, machine_kind
from peer_programs import use_peer


@pytest.fixture(autouse=True)
def none_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMASSAY_PEERS", str(tmp_path / "none"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.delenv("CLAUDE_BIN", raising=False)


@pytest.fixture
def bundled(fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the place of the one that the package carries."""
    program = tmp_path / "sdk" / "_bundled" / "claude"
    copied(fake, program)
    spec = SimpleNamespace(submodule_search_locations=[str(tmp_path / "sdk")])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec if name == "claude_agent_sdk" else None)
    monkeypatch.setattr(importlib.metadata, "version", lambda name: CLAUDE_SDK)
    return program


def copied(fake: Fake, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(Path(fake.path).read_bytes())
    place.chmod(0o755)


def test_the_order(fake: Fake, bundled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_the_pinned_one_on_request_whatever_else_there_is(
    fake: Fake, bundled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_path = tmp_path / "bin" / "claude"
    copied(fake, on_path)
    copied(fake, on_path.with_name("pinned"))  # a program of that name is not meant
    monkeypatch.setenv("PATH", f"{on_path.parent}:/usr/bin:/bin")
    monkeypatch.setenv("CLAUDE_BIN", str(on_path))
    assert find("pinned") == bundled
    with pytest.raises(NotAsPinned):  # and it must be what was pinned
        inspect(find("pinned"))
    copied(fake, PEERS["claude"].place)
    assert find("pinned") == PEERS["claude"].place


def test_the_pinned_one_is_not_there(bundled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.3.0")
    with pytest.raises(EnvironmentProblem, match=r"make peers.*claude-pinned"):
        find("pinned")


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


def test_the_pinned_one_has_to_be_the_one_that_was_pinned(
    fake: Fake, bundled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied(fake, PEERS["claude"].place)
    Path(fake.path).unlink()
    for place, again in (
        (bundled, f"pip install --force-reinstall --no-deps claude-agent-sdk=={CLAUDE_SDK}"),
        (PEERS["claude"].place, "make peers"),
    ):
        link = tmp_path / f"link-{len(again)}"
        link.symlink_to(place)
        for path in (place, link):
            with pytest.raises(NotAsPinned) as refused:
                inspect(path)
            assert str(refused.value).startswith(f"{path} is not the pinned Claude Code {VERSION} (its sha256 is ")
            assert str(refused.value).endswith(f"; get it again: {again}.")
    right = hashlib.sha256(bundled.read_bytes()).hexdigest()
    monkeypatch.setitem(PEERS, "claude", dataclasses.replace(PEERS["claude"], sha256=right))
    assert inspect(bundled).sha256 == inspect(PEERS["claude"].place).sha256 == right


def test_a_pinned_one_with_another_digest_is_never_started(tmp_path: Path) -> None:
    place = PEERS["claude"].place
    place.parent.mkdir(parents=True)
    place.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\necho {VERSION}\n")
    place.chmod(0o755)
    with pytest.raises(NotAsPinned):
        inspect(place)
    assert not (tmp_path / "started").exists()


def test_another_version_of_the_package_is_a_program_of_ones_own(
    bundled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.3.0")
    assert inspect(bundled).sha256 == hashlib.sha256(bundled.read_bytes()).hexdigest()


def test_the_extra_and_the_table_are_about_the_same_program() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert extras["claude-pinned"] == [f"claude-agent-sdk=={CLAUDE_SDK}"]
    assert sorted(CLAUDE_SHA256) == ["darwin-arm64", "darwin-x64", "linux-arm64", "linux-x64"]
    assert len(set(CLAUDE_SHA256.values())) == 4 and all(len(digest) == 64 for digest in CLAUDE_SHA256.values())
    assert PEERS["claude"].sha256 == CLAUDE_SHA256[machine_kind()]


@pytest.mark.peer
def test_claude_as_make_peers_installed_it_has_the_pinned_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    about = inspect(use_peer("claude", monkeypatch))
    assert (about.version, about.sha256) == (PEERS["claude"].version, PEERS["claude"].sha256)
