from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from odd_memories import ODD


@pytest.fixture
def cause(tmp_path: Path) -> Path:
    """The file that says what goes wrong."""
    return tmp_path / "cause"


@pytest.fixture
def odd(tmp_path: Path) -> Callable[..., str]:
    def write(name: str = "Odd", fields: str = "{}") -> str:
        path = tmp_path / "odd.py"
        path.write_text(ODD.replace("{ODD_FIELDS}", fields), encoding="utf-8")
        return f"{path}:{name}"

    return write
