from __future__ import annotations

from pathlib import Path

import pytest

from memassay.core.errors import UnknownName, UsageError
from memassay.core.peers import PEERS, peer, peers_folder


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "path").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("MEMASSAY_PEERS", str(tmp_path / "peers"))
    for known in PEERS.values():
        monkeypatch.delenv(known.variable, raising=False)


@pytest.mark.parametrize("name", sorted(PEERS))
def test_a_variable_wins_over_the_folder_and_the_folder_over_the_path(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert peer(name) is None
    on_path = program(tmp_path / "path" / name)
    assert peer(name) == on_path
    installed = program(PEERS[name].place)
    assert installed.is_relative_to(tmp_path / "peers")
    assert peer(name) == installed
    own = program(tmp_path / "own" / "it")
    monkeypatch.setenv(PEERS[name].variable, str(own))
    assert peer(name) == own


def test_a_variable_that_names_no_program_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text").write_text("no program", encoding="utf-8")
    for wrong in ("text", "missing"):
        monkeypatch.setenv("IWE_BIN", str(tmp_path / wrong))
        with pytest.raises(UsageError, match=r"IWE_BIN is .* which is no program; correct it or unset it"):
            peer("iwe")


def test_a_relative_variable_gives_an_absolute_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "bin" / "iwe")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IWE_BIN", "bin/iwe")
    assert peer("iwe") == tmp_path / "bin" / "iwe"


def test_an_unknown_peer_is_said() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'iwe' or 'iwec'"):
        peer("iwex")


def test_the_folder_is_in_the_cache_of_the_user(monkeypatch: pytest.MonkeyPatch, own_home: Path) -> None:
    monkeypatch.delenv("MEMASSAY_PEERS")
    assert peers_folder() == own_home / ".cache" / "memassay" / "peers"
