"""The memory ``platform`` over a small warehouse, with the embedder that needs no model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra platform is not installed")

from platform_corpus import KNOBS, corpus

from memassay.core.contracts import BuildContext
from memassay.core.types import StoreRef
from memassay.memories.platform import PlatformMemory, embedded


@pytest.fixture(scope="module", autouse=True)
def kept(request: pytest.FixtureRequest) -> Iterator[None]:
    """The processes are started once for a module, but where it says that they are to be ``ALONE``."""
    if getattr(request.module, "ALONE", False):
        yield
        return
    embedded.use()
    yield
    embedded.leave()


@pytest.fixture
def open_store(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """``open_store("name", gate=False)``: a built store, open; all are closed after the test."""
    opened = []

    def make(name: str = "one", memory: PlatformMemory | None = None, **knobs: Any) -> Any:
        memory = memory or PlatformMemory(**{**KNOBS, **knobs})
        place = tmp_path / name
        if not place.exists():
            place.mkdir()
            memory.build(corpus(), place, BuildContext())
        opened.append(memory.open(StoreRef(key=name, location=str(place))))
        return opened[-1]

    yield make
    for store in reversed(opened):
        store.close()
