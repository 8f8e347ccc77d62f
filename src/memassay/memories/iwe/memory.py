"""``iwe``: the real thing, as the published study used it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import JsonValue

from memassay.core.contracts import BuildContext
from memassay.core.errors import MemoryFailure
from memassay.core.peers import peer
from memassay.core.types import Corpus, StoreRef
from memassay.memories.folder import damaged, read_lines, seal, unseal, write_lines
from memassay.memories.iwe import program
from memassay.memories.iwe.store import Asking, IweStore
from memassay.memories.pages import Written
from memassay.memories.sessions import session_pages
from memassay.memories.settings import check_flag, check_whole

PAGES = "pages"
_DOCUMENTS = "documents.jsonl"
_NAME = "iwe"


class Iwe:
    """The knowledge graph iwe, a program of other people: pages found by words, and the pages that links join to them.

    Args:
        seeds: pages to start from; the study took 5 for LOCOMO and 10 for HotPotQA.
        inbound: whether links that lead to a page are followed too, as the study did for HotPotQA.
        anchors: whether what the question names is looked up first (the study's anchored variant).
        max_tokens: of a dossier as iwe counts them, lists of links included.
        max_bytes: of a dossier.
        query: whether an agent with tools gets ``iwe_query`` too.

    Raises:
        UsageError: a setting cannot be.
        CannotMeasure: iwe is not installed.
    """

    def __init__(
        self,
        *,
        seeds: int = 5,
        inbound: bool = False,
        anchors: bool = False,
        max_tokens: int = 12_000,
        max_bytes: int = 60_000,
        query: bool = False,
    ) -> None:
        check_whole("seeds", seeds, 1)
        check_flag("inbound", inbound)
        check_flag("anchors", anchors)
        check_whole("max_tokens", max_tokens, 1)
        check_whole("max_bytes", max_bytes, 1)
        check_flag("query", query)
        self._asking = Asking(seeds, inbound, anchors, max_tokens, max_bytes)
        self._query = query
        self._version = program.version("iwe")

    def identity(self) -> Mapping[str, JsonValue]:
        """The versions of the programs; ``iwec`` only serves agents and may be missing."""
        return {"iwe": self._version, "iwec": program.version("iwec") if peer("iwec") else None}

    def build(self, corpus: Corpus, place: Path, context: BuildContext) -> Mapping[str, Any]:
        """Write the pages under ``place`` and make them a store; returns how many pages there are."""
        return self.write(session_pages(corpus), place, context)

    def write(
        self,
        made: Iterable[tuple[Written, str]],
        place: Path,
        context: BuildContext,
        settings: Mapping[str, bytes] = MappingProxyType({}),
    ) -> Mapping[str, Any]:
        """Make a store of these pages.

        Args:
            made: the pages.
            place: an empty folder.
            context: of the build.
            settings: files of the store's own that stand in place of those that iwe begins with, by relative path.

        Raises:
            MemoryFailure: iwe does not see all of them.
        """
        folder = place / PAGES
        folder.mkdir()
        rows: list[JsonValue] = []
        for written, text in made:
            path = folder / f"{written.key}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            rows.append(written.row())
        write_lines(place / _DOCUMENTS, rows)
        program.initialise(folder)
        for name, content in settings.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(content)
        seen = program.count(folder)
        if seen != len(rows):
            raise MemoryFailure(
                f"iwe sees {seen} of {len(rows)} pages; a .gitignore above the stores, or the store's own settings, "
                "leave pages out"
            )
        files = [path for path in place.rglob("*") if path.is_file()]
        seal(place, _NAME, {"iwe": self._version}, files)
        context.progress(len(rows), len(rows))
        return {"passages": len(rows), "facts": dict(self.identity())}

    def open(self, ref: StoreRef) -> IweStore:
        """Open the pages to read them."""
        place = unseal(ref, _NAME, {"iwe": self._version})
        try:
            written = {row[0]: Written.of(row) for row in read_lines(place / _DOCUMENTS)}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise damaged(place, f"{_DOCUMENTS} cannot be read ({type(error).__name__})") from error
        return IweStore(place / PAGES, written, self._asking, query=self._query)
