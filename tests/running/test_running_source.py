"""Whether memassay's own checkout is clean is asked without touching the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from memassay.running import surroundings

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one committed file, in which memassay seems to lie."""
    root = tmp_path / "checkout"
    module = root / "src" / "memassay" / "running" / "surroundings.py"
    module.parent.mkdir(parents=True)
    module.write_text("one\n", encoding="utf-8")
    name = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], [*name, "commit", "-q", "-m", "one"]):
        subprocess.run(["git", "-C", str(root), *words], check=True)
    monkeypatch.setattr(surroundings, "__file__", str(module))
    return root


def test_the_index_of_git_is_not_rewritten(checkout: Path) -> None:
    index = checkout / ".git" / "index"
    module = Path(surroundings.__file__)
    os.utime(module, (1, 1))  # same words, other times: a plain "git status" would note that in its index
    before = index.read_bytes()
    assert surroundings._source_dirty() is False
    assert index.read_bytes() == before
    subprocess.run(["git", "-C", str(checkout), "status", "--porcelain"], check=True, capture_output=True)
    assert index.read_bytes() != before, "else this test shows nothing"


def test_a_change_is_seen_and_no_checkout_is_neither(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(surroundings.__file__).write_text("two\n", encoding="utf-8")
    assert surroundings._source_dirty() is True
    shutil.rmtree(checkout / ".git")
    assert surroundings._source_dirty() is None
