"""A disk that is really full, under a server that is a process: nothing is lost or half there, reading goes on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra platform is not installed")

from kit import child_environment

SCRIPT = Path(__file__).with_name("full_disk.py")
NAMESPACE = ("unshare", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child")
WHOLE = {"missing": [], "other words": [], "pages": []}
FULL = {"code": 3, "said": "memassay: The disk is full; nothing of this was kept.\n"}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    disk, beside = (tmp_path_factory.mktemp(name) for name in ("disk", "beside"))
    mount = ("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk))
    if shutil.which("unshare") is None or subprocess.run([*NAMESPACE, *mount], capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted here (no namespace of one's own)")
    env = child_environment(beside, PYTHONPATH=os.pathsep.join(sys.path))
    done = subprocess.run(
        [*NAMESPACE, sys.executable, str(SCRIPT), str(disk), str(beside)],
        env=env, capture_output=True, text=True, timeout=180,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    yield json.loads(done.stdout)


def test_every_answer_is_a_success_or_unavailable(found: dict[str, Any]) -> None:
    ends = found["ends"]
    assert {end.split()[1] for end in ends} == {"ok", "unavailable"}
    assert ends["capture ok"] == found["captured"] > 20
    assert ends["apply ok"] == found["applied"] > 3
    assert found["session when full"] == "unavailable"


def test_reading_goes_on(found: dict[str, Any]) -> None:
    assert found["read when full"] == WHOLE
    assert found["searched when full"] == ["found"]


def test_a_snapshot_onto_it_leaves_nothing_and_one_beside_it_is_whole(found: dict[str, Any]) -> None:
    assert (found["snapshot onto it"], found["new on it"], found["older one"]) == (FULL, [], "An older one.")
    assert found["snapshot beside"] == {"code": 0, "said": ""}
    assert found["read of the snapshot"] == WHOLE


def test_a_restore_that_finds_no_room_changes_nothing(found: dict[str, Any]) -> None:
    assert found["restored when full"] == FULL
    assert found["read with room"] == WHOLE


def test_a_killed_server_starts_again_while_the_disk_is_full(found: dict[str, Any]) -> None:
    assert (found["killed"], found["began when full"], found["ended when full"]) == (-9, True, [0, ""])
    assert found["read after a kill"] == WHOLE


def test_with_room_again_everything_acknowledged_is_there_and_nothing_half(found: dict[str, Any]) -> None:
    assert found["read with room"] == WHOLE
    assert found["searched with room"] == ["found"]
    assert found["captured with room"] and found["ended with room"] == 0
    counts = found["counts"]
    assert counts["records"] == counts["vectors"] == found["captured"] + 1
    assert counts["applied"] == counts["changesets"] == counts["pages"] == found["applied"]
