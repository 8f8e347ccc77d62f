"""An open store of iwe: a dossier for a question, its own tools, its pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from memassay.core.types import Passage, Query, Server, Toolset
from memassay.memories.iwe import program
from memassay.memories.iwe.anchors import anchors
from memassay.memories.iwe.program import Page
from memassay.memories.pages import Written

# The five tools that the published arms had; ``iwe_query`` is a sixth by choice. The others write.
TOOLS = ("iwe_find", "iwe_retrieve", "iwe_tree", "iwe_squash", "iwe_stats")
QUERY = "iwe_query"
SERVER = "iwe"

# Of the anchored variant: for each phrase that the question names, before the question itself.
_ANCHOR_SEEDS = 2
_ANCHOR_TOKENS = 4000

_BETWEEN = len(b"\n\n---\n\n")  # what the study put after each page; it counts


@dataclass(frozen=True, slots=True)
class Asking:
    """How a question is put.

    Attributes:
        seeds: pages to start from.
        inbound: whether links that lead to a page are followed too.
        anchored: whether what the question names is looked up first.
        max_tokens: of a dossier, as iwe counts.
        max_bytes: of a dossier; the first page that would exceed it and all after it are left out.
    """

    seeds: int
    inbound: bool
    anchored: bool
    max_tokens: int
    max_bytes: int


class IweStore:
    """An open store; any number of threads may ask it. iwe is started anew for every question.

    Args:
        pages: the folder of pages.
        written: what the pages are made of, by key.
        asking: how a question is put.
        query: whether agents get ``iwe_query`` too.
    """

    def __init__(self, pages: Path, written: Mapping[str, Written], asking: Asking, *, query: bool = False) -> None:
        self._pages, self._written, self._asking, self._query = pages, written, asking, query

    def retrieve(self, query: Query) -> list[Passage]:
        """The pages of the study's dossier, in its order, whole; each page once, none that is empty."""
        passages: list[Passage] = []
        taken: set[str] = set()
        size = 0
        for page in self._found(query.text):
            if page.key in taken:
                continue
            taken.add(page.key)
            if size + len(page.content.encode()) > self._asking.max_bytes:
                break
            size += len(page.content.encode()) + _BETWEEN
            if page.content.strip():
                passages.append(self._passage(page, len(passages) + 1))
            if query.limit is not None and len(passages) >= query.limit:
                break
        return passages

    def folder(self) -> Path:
        """The pages."""
        return self._pages

    def toolset(self, identity: str = "") -> Toolset:
        """``iwec`` over the pages, kept to the tools that read.

        Raises:
            CannotMeasure: it is not installed.
        """
        tools = (*TOOLS, QUERY) if self._query else TOOLS
        server = Server(
            name=SERVER, command=(str(program.program("iwec")),), cwd=str(self._pages), tools=tools, writes=True
        )
        return Toolset(servers=(server,))

    def _found(self, words: str) -> list[Page]:
        asked = self._asking
        found: list[Page] = []
        for phrase in anchors(words) if asked.anchored else ():
            found += program.retrieve(
                self._pages, phrase, limit=_ANCHOR_SEEDS, max_tokens=_ANCHOR_TOKENS, inbound=asked.inbound
            )
        return found + program.retrieve(
            self._pages, words, limit=asked.seeds, max_tokens=asked.max_tokens, inbound=asked.inbound
        )

    def _passage(self, page: Page, rank: int) -> Passage:
        made = self._written.get(page.key)
        if made is None or not made.id:
            return Passage(text=page.content, rank=rank, native_id=page.key)
        # iwe writes a page anew; what it changed of a unit's words is not claimed.
        text = (self._pages / f"{page.key}.md").read_text(encoding="utf-8")
        shown = tuple(unit for unit, start, end in made.units if text[start:end] in page.content)
        return Passage(
            text=page.content,
            doc_ids=(made.id,),
            unit_ids=shown,
            valid_from=made.date,
            rank=rank,
            native_id=page.key,
        )
