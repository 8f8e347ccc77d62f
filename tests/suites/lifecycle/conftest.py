"""A warehouse and its protocols, made once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_platform import Plain

from kit import ROOT
from memassay.suites.lifecycle import driving, sharing
from memassay.suites.lifecycle.protocol import Protocol
from memassay.suites.lifecycle.templates import DEFAULT_PROTOCOLS, generate
from memassay.suites.lifecycle.warehouse import Warehouse, make_warehouse

SEED = 11


@pytest.fixture(scope="session")
def warehouse() -> Warehouse:
    return make_warehouse(SEED, DEFAULT_PROTOCOLS)


@pytest.fixture(scope="session")
def generated(warehouse: Warehouse) -> tuple[Protocol, ...]:
    return generate(warehouse)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is waited for."""
    monkeypatch.setattr(driving, "CAPTURE_SECONDS", 0.0)
    monkeypatch.setattr(sharing, "SINK_SECONDS", 0.0)


@pytest.fixture(scope="session")
def paged(generated: tuple[Protocol, ...]) -> Protocol:
    """Passed on through a page."""
    return generated[0]


@pytest.fixture(scope="session")
def corrected(generated: tuple[Protocol, ...]) -> Protocol:
    return generated[1]


@pytest.fixture(scope="session")
def described(generated: tuple[Protocol, ...]) -> Protocol:
    """Passed on through the description of a dataset."""
    return generated[3]


@pytest.fixture(scope="session", autouse=True)
def closed() -> Iterator[None]:
    """What fake platforms opened is closed at the end."""
    yield
    for connection in Plain.data.values():
        connection.close()
    Plain.opened.clear()


_REAL_DATA = os.environ.get("MEMASSAY_DATA")


@pytest.fixture(scope="session")
def published_folder() -> Path:
    """The thirty published protocols; the test is skipped where they are not there."""
    for folder in ([Path(_REAL_DATA)] if _REAL_DATA else []) + [ROOT.parent / "shared" / "data"]:
        if (folder / "lifecycle_protocols").is_dir():
            return folder / "lifecycle_protocols"
    pytest.skip("lifecycle_protocols is in neither $MEMASSAY_DATA nor ../shared/data")
