"""What the tests of Claude Code share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from claude_kit import FAKE, Fake

from memassay.core.types import CellKey, Request


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    folder = tmp_path / "program"
    folder.mkdir()
    program = folder / "claude"
    program.write_text(FAKE)
    program.chmod(0o755)
    return Fake(folder)


@pytest.fixture
def asked() -> Callable[..., Request]:
    def make(**more: Any) -> Request:
        return Request(**{"cell": CellKey(task="t", arm="a"), "prompt": "Where does Alice live?", **more})

    return make
