"""Where the real programs of others are for tests marked ``peer``, which are skipped, by name, where they are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from memassay.core.peers import FOLDER_VARIABLE, PEERS, peers_folder

# Read before any test gets a home folder of its own.
_REAL = peers_folder()


def use_peer(name: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The program that ``make peers`` installed, which the code under test finds now; else the test is skipped."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(_REAL))
    monkeypatch.delenv(PEERS[name].variable, raising=False)
    place = PEERS[name].place
    if not place.is_file():
        pytest.skip(f"{name} {PEERS[name].version} is not installed; run: make peers")
    return place
