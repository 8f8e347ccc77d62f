"""Made once for all modules: the graph form of one small world (who changes it takes a copy), and sets of tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from association_forms import build, world_of

from memassay.core.types import Task
from memassay.suites.association.tasks import Draft, drafts_of, tasks_of
from memassay.suites.association.truth import Links
from memassay.suites.association.world import LAST_DAY, Node, World, make_world
from session import once, shared

THREE = ["INDUSTRY_ALIGNMENT", "SPECIALTY_MATCH", "LOCATION_FIT"]


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the store."""
    pytest.importorskip("mushroomdb")
    from memassay.suites.association.graph import Graph

    base = shared(tmp_path_factory, "association-graph")
    with once(base) as mine:
        return build(Graph(), base / "store") if mine else base / "store"


@pytest.fixture(scope="session")
def reader(place: Path) -> Iterator[Any]:
    """A ``GraphReader`` of the store."""
    from memassay.suites.association.graph.store import GraphReader

    with GraphReader.opened(place) as opened:
        yield opened


@pytest.fixture(scope="session")
def tools(reader: Any) -> Any:
    """The ``Tools`` over the store."""
    from memassay.suites.association.graph.tools import Tools

    return Tools(reader)


@pytest.fixture(scope="session")
def live() -> Mapping[str, Node]:
    """The world at the end of its last day."""
    return world_of().state(LAST_DAY)


@pytest.fixture(scope="session")
def today(live: Mapping[str, Node]) -> Links:
    """The links of that day."""
    return Links(live)


@pytest.fixture(scope="session")
def talent(live: Mapping[str, Node], today: Links) -> str:
    """A talent that three types link to a company."""
    return next(key for key in sorted(live) if key.startswith("talent") and today.others(key, THREE, "Company"))


@pytest.fixture(scope="session")
def published() -> World:
    """The published world."""
    return make_world(seed=20260910, scale=2000)


@pytest.fixture(scope="session")
def twenty(published: World) -> list[Task]:
    """Its twenty tasks."""
    return tasks_of(published)


@pytest.fixture(scope="session")
def other() -> World:
    """A world that nobody has published."""
    return make_world(seed=7, scale=1000)


@pytest.fixture(scope="session")
def drafts(other: World) -> list[Draft]:
    """Ten of each kind about it."""
    return drafts_of(other, count=10)
