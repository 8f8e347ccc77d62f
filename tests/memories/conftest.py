from __future__ import annotations

from typing import Any

import pytest
from memories_corpora import MEMORIES


@pytest.fixture(params=sorted(MEMORIES))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def memory(name: str) -> Any:
    return MEMORIES[name]()
