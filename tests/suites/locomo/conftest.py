from __future__ import annotations

import copy
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memassay.suites.locomo.sample import generate

ROOT = Path(__file__).resolve().parents[3]
_MADE = generate(1)


@pytest.fixture
def made() -> list[dict[str, Any]]:
    """Generated conversations, fresh for each test."""
    return copy.deepcopy(_MADE)


@pytest.fixture(scope="session")
def real() -> Callable[[str], Path]:
    """Path of a real data file; the test is skipped, by name, where it is not there."""

    def find(name: str) -> Path:
        named = os.environ.get("MEMASSAY_DATA")
        for folder in ([Path(named)] if named else []) + [ROOT.parent / "shared" / "data"]:
            if (folder / name).is_file():
                return folder / name
        pytest.skip(f"{name} is in neither $MEMASSAY_DATA nor ../shared/data")

    return find
