"""A workspace in a scratch folder, with people in it and a clock that tests move."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memassay.platform.errors import PlatformError
from memassay.platform.service import Platform
from memassay.platform.settings import Settings
from memassay.platform.shapes import (
    ApplyResult,
    BrowseResult,
    Caller,
    CaptureRequest,
    CaptureResult,
    Change,
    Hit,
    Identity,
    PageDraft,
    SearchResult,
)

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:trino,warehouse.main.orders,PROD)"
CUSTOMERS = "urn:li:dataset:(urn:li:dataPlatform:trino,warehouse.main.customers,PROD)"
FACT = "A zorblat order is an order above three hundred units."
CORRECTION = "A zorblat order is an order above five hundred units."
NOISE = "Quarterly glimmer reviews happen whenever the harbour committee meets."

START = 1_800_000_000_000_000


class Clock:
    """A wall clock that stands still unless a test moves it, in microseconds."""

    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> int:
        return self.at

    def move(self, seconds: float) -> None:
        self.at += round(seconds * 1_000_000)


class Bench:
    """A platform and the usual things to do with it."""

    def __init__(self, folder: Path, warehouse: Path | None = None, **knobs: Any) -> None:
        chosen = {"embedder": "hash", "supersede": 0.6, "similar": 0.4, "durable": False} | knobs
        self.clock = Clock()
        self.folder = folder
        self.platform = Platform(folder, Settings(**chosen), warehouse=warehouse, clock=self.clock)
        agents = self.platform.add_pool("K", 3)
        self.teacher, self.learner, self.third = (self.caller(agent) for agent in agents)
        self.admin = self.platform.authenticate("K")
        self.reviewer = self.caller(self.admin)

    def caller(self, identity: Identity) -> Caller:
        handle = self.platform.platform_info(identity).session_id
        return Caller(identity=identity, session=handle, purpose="A test wants to know.")

    def capture(self, content: str = FACT, *urns: str, who: Caller | None = None, **more: Any) -> CaptureResult:
        fields = {"type": "business_knowledge", "content": content, "entity_urns": urns or (ORDERS,)} | more
        return self.platform.memory_capture(who or self.teacher, CaptureRequest.model_validate(fields))

    def describe(self, id: str, text: str = FACT, **more: Any) -> ApplyResult:
        change = Change(change_type="update_description", detail=text)
        options = {"entity_urn": ORDERS, "changes": [change], "confirm": True} | more
        return self.platform.knowledge_apply(self.reviewer, [id], "datahub", **options)

    def publish(self, id: str, text: str = FACT, slug: str = "zorblat", **more: Any) -> ApplyResult:
        page = draft(slug, text, force_new=more.pop("force_new", False))
        options = {"page": page, "confirm": True} | more
        return self.platform.knowledge_apply(self.reviewer, [id], "knowledge_page", **options)

    def status(self, id: str) -> str:
        return self.platform.get_insight(self.admin, id).status

    def table(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of the file, read past the platform."""
        with sqlite3.connect(self.folder / "platform.sqlite") as con:
            rows = con.execute(sql).fetchall()
        con.close()
        return rows


def draft(slug: str, text: str = FACT, title: str = "", **more: Any) -> PageDraft:
    return PageDraft(slug=slug, title=title or slug, summary=text, body=f"# {slug}\n\n{text}", **more)


def hits(result: SearchResult | BrowseResult, source: str | None = None) -> list[Hit]:
    assert isinstance(result, SearchResult)
    return [hit for group in result.groups if source in (None, group.source) for hit in group.hits]


@contextmanager
def refused(code: str) -> Iterator[None]:
    """The block is refused with this code, in one sentence."""
    with pytest.raises(PlatformError) as caught:
        yield
    assert caught.value.code == code, caught.value
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)
