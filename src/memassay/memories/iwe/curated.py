"""``curated``: a store of pages that somebody wrote, read as it is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import JsonValue

from memassay.core.contracts import BuildContext
from memassay.core.digest import digest_file, digest_of
from memassay.core.errors import CannotMeasure, UsageError
from memassay.core.types import Corpus, Document, Passage, Query, StoreRef, Toolset
from memassay.memories.folder import damaged
from memassay.memories.iwe.memory import Iwe
from memassay.memories.iwe.store import IweStore
from memassay.memories.markdown import TOOLS, Markdown, MarkdownStore
from memassay.memories.pages import Written
from memassay.memories.settings import check_choice, check_flag, check_whole

Engine = Literal["iwe", "markdown"]

_SOURCE = "curated.json"
_README = "readme.md"
# What a curator was told and did; questions and gold answers may stand there.
_LOG = "curate-log."
# Made by the harness from a conversation to see that a memory finds what is planted; nobody has curated it.
_MARKER = "marker"


class Curated:
    """Pages that a person or a model wrote from the same documents, in a folder of the user's; nothing is written anew.

    Args:
        store: a folder with one folder per conversation, named as the conversation, or one folder of pages for all.
            Only pages (``.md``) and iwe's own settings are taken from it: no log of the curation (``curate-log.*``),
            nothing hidden.
        engine: what reads the pages: the program ``iwe``, or ``markdown``, which is part of memassay.
        seeds: pages (of ``markdown``: passages) to start from.
        inbound: with ``iwe``, whether links that lead to a page are followed too.
        anchors: with ``iwe``, whether what the question names is looked up first.
        query: whether an agent with tools may also send queries (``iwe_query``, ``query``).

    Raises:
        UsageError: a setting cannot be, or the folder is not there.
        CannotMeasure: iwe is not installed.
    """

    def __init__(
        self,
        *,
        store: str,
        engine: Engine = "iwe",
        seeds: int = 5,
        inbound: bool = False,
        anchors: bool = False,
        query: bool = False,
    ) -> None:
        check_choice("engine", engine, get_args(Engine))
        check_whole("seeds", seeds, 1)
        check_flag("query", query)
        if engine == "markdown" and (inbound or anchors):
            raise UsageError("Settings inbound and anchors are for engine=iwe; leave them out for markdown.")
        self._root = Path(store)
        if not self._root.is_dir():
            raise UsageError(f"There is no folder {store!r} of curated pages; give one: --set curated.store=DIR.")
        self._query = query
        self._reader: Markdown | Iwe
        if engine == "markdown":
            self._reader = Markdown(seeds=seeds)
        else:
            self._reader = Iwe(seeds=seeds, inbound=inbound, anchors=anchors, query=query)

    def identity(self) -> Mapping[str, JsonValue]:
        """The digest of all pages, and the versions of the programs."""
        reader = self._reader.identity() if isinstance(self._reader, Iwe) else {}
        return {"store": _digest(self._root), **reader}

    def build(self, corpus: Corpus, place: Path, context: BuildContext) -> Mapping[str, Any]:
        """Copy the pages of one scope under ``place``; returns how many pages or passages there are.

        Raises:
            CannotMeasure: there are no pages for this scope.
        """
        if corpus.variant == _MARKER:
            return self._reader.build(corpus, place, context)
        source = self._source(corpus.id)
        digest = _digest(source)
        texts = {key: path.read_text(encoding="utf-8", errors="replace") for key, path in _pages(source)}
        if isinstance(self._reader, Iwe):
            made = ((Written(key, "", None, False, ()), text) for key, text in texts.items())
            settings = {name: path.read_bytes() for name, path in _settings(source)}
            facts = self._reader.write(made, place, context, settings)
        else:
            documents = tuple(Document(id=key, text=text) for key, text in texts.items())
            facts = self._reader.build(Corpus(id=corpus.id, documents=documents, digest=digest), place, context)
        (place / _SOURCE).write_text(json.dumps({"scope": corpus.id, "digest": digest}) + "\n", encoding="utf-8")
        return facts

    def open(self, ref: StoreRef) -> CuratedStore:
        """Open the copied pages.

        Raises:
            EnvironmentProblem: the pages that they were copied from are others now.
        """
        place = Path(ref.location)
        if (place / _SOURCE).is_file():
            copied = json.loads((place / _SOURCE).read_text(encoding="utf-8"))
            if copied["digest"] != _digest(self._source(copied["scope"])):
                raise damaged(place, f"the pages in {self._root} have changed since")
        return CuratedStore(self._reader.open(ref), query=self._query)

    def _source(self, scope: str) -> Path:
        named = self._root / scope
        if named.is_dir() and self._root.resolve() in named.resolve().parents:
            return named
        if any(path.name.lower() != _README and not _is_log(path) for path in self._root.glob("*.md")):
            return self._root
        raise CannotMeasure(f"{self._root} has no folder {scope!r} and no pages of its own")


class CuratedStore:
    """An open store; what it gives is its writer's words, so no passage claims a document or a unit."""

    def __init__(self, store: IweStore | MarkdownStore, *, query: bool) -> None:
        self._store, self._query = store, query

    def retrieve(self, query: Query) -> list[Passage]:
        """What the engine finds."""
        no_source: dict[str, Any] = {"kind": "summary", "doc_ids": (), "unit_ids": (), "valid_from": None}
        return [passage.model_copy(update=no_source) for passage in self._store.retrieve(query)]

    def folder(self) -> Path:
        """The pages."""
        return self._store.folder()

    def toolset(self, identity: str = "") -> Toolset:
        """The engine's own server over the pages."""
        if isinstance(self._store, IweStore):
            return self._store.toolset(identity)
        return self._store.toolset(identity, tools=(*TOOLS, "query") if self._query else TOOLS)

    def close(self) -> None:
        """Close what the engine holds open."""
        if isinstance(self._store, MarkdownStore):
            self._store.close()


def _is_log(path: Path) -> bool:
    return path.name.lower().startswith(_LOG)


def _pages(folder: Path) -> Iterator[tuple[str, Path]]:
    """The pages of a store by key, sorted: plain ``.md`` files, no log, nothing hidden, nothing behind a link."""
    for path in sorted(folder.rglob("*.md")):
        inside = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in inside.parts)
        linked = any((folder / part).is_symlink() for part in (inside, *inside.parents[:-1]))
        if path.is_file() and not hidden and not linked and not _is_log(path):
            yield inside.as_posix().removesuffix(".md"), path


def _settings(folder: Path) -> Iterator[tuple[str, Path]]:
    """What iwe was told about a store, by relative path."""
    own = folder / ".iwe"
    for path in (own / "config.toml", *sorted((own / "schemas").glob("*.yaml"))):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path


def _digest(root: Path) -> str:
    """Over the names and bytes of all that is taken from a folder, with the settings of the folders in it."""
    folders = [root, *sorted(path for path in root.iterdir() if path.is_dir())]
    files = {path for _, path in _pages(root)} | {path for folder in folders for _, path in _settings(folder)}
    return digest_of([[path.relative_to(root).as_posix(), digest_file(path)] for path in sorted(files)])
