"""What an agent can do with a store of notes, tool by tool: ``Desk(store).call("find", {"lexical": "coffee"})``.

The tools answer in JSON (``squash`` in Markdown) within a budget of tokens; a second text tells what was left out.
:mod:`memassay.knowledge.server` puts them behind a protocol; the command ``memassay store`` asks the same functions.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from memassay.core.errors import UnknownName, UsageError
from memassay.knowledge import arguments as given
from memassay.knowledge.answers import Answers, Reply
from memassay.knowledge.arguments import Arguments
from memassay.knowledge.store import KnowledgeStore

# A scan of the folder takes at most this share of the time.
_SCANNING = 0.1
_CLOSING_SECONDS = 5

_READING = "This store is served to be read; start the server with --write to edit it."


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool as clients are told of it.

    Attributes:
        name: without a prefix.
        says: what it does, for the model that chooses.
        takes: the class of its arguments.
    """

    name: str
    says: str
    takes: type[Arguments]


@dataclass(frozen=True, slots=True)
class Tool(Offer):
    """A tool over notes; ``run`` gives the answer."""

    run: Callable[[Answers, Any], Reply]


class Desk:
    """A store and the tools that are offered on it. Threads may share it; edits take turns.

    Args:
        store: it is closed with the desk.
        write: whether the tools may edit; the store must be writable then.
        names: the tools to offer; all that the desk may use if None.
        prefix: what the name of every tool begins with.

    Raises:
        UnknownName: there is no such tool.
        UsageError: a tool that edits is asked for and the desk may not.
    """

    def __init__(
        self, store: KnowledgeStore, *, write: bool = False, names: Iterable[str] | None = None, prefix: str = ""
    ) -> None:
        self.store, self.write, self.prefix = store, write, prefix
        chosen = (
            [name for name, tool in TOOLS.items() if write or not tool.takes.edits] if names is None else list(names)
        )
        for name in chosen:
            if name not in TOOLS:
                raise UnknownName("tool", name, TOOLS)
            if TOOLS[name].takes.edits and not write:
                raise UsageError(f"The tool {name!r} edits the pages; say --write to offer it.")
        self.tools = {prefix + name: TOOLS[name] for name in chosen}
        self._editing, self._following = threading.Lock(), threading.Lock()
        self._due = 0.0
        self._answers = Answers(store)

    @property
    def instructions(self) -> str:
        """What a model should know before it calls anything."""
        manner = "They may be read and edited." if self.write else "They can be read, not edited."
        return (
            "Notes in Markdown: a page has a key such as people/ada, and pages link to each other. "
            "search answers a question with passages, retrieve reads pages and what they link to, find lists pages. "
            f"{manner}"
        )

    def call(self, name: str, arguments: Mapping[str, Any]) -> list[str]:
        """Use a tool.

        Args:
            name: with the prefix.
            arguments: as they came, unchecked.

        Raises:
            UnknownName: no such tool is offered.
            MemassayError: the call cannot be served, in one sentence.
        """
        tool = self.tools.get(name)
        if tool is None:
            raise UnknownName("tool", name, self.tools)
        read = tool.takes.read(name, arguments)
        if read.writes and not self.write:
            raise UsageError(_READING)
        if not read.writes:
            self._follow()
            return tool.run(self._answers, read).texts()
        with self._editing:
            self.store.refresh()
            return tool.run(self._answers, read).texts()

    def close(self) -> None:
        """Close the store, once an edit that has begun is through."""
        got = self._editing.acquire(timeout=_CLOSING_SECONDS)
        try:
            self.store.close()
        finally:
            if got:
                self._editing.release()

    def _follow(self) -> None:
        """Take over what was edited outside, unless the folder has just been looked through."""
        with self._following:
            start = time.monotonic()
            if start >= self._due:
                self.store.refresh()
                end = time.monotonic()
                self._due = end + (end - start) * (1 / _SCANNING - 1)


_TOOLS = (
    Tool("find", "List pages: by words, by letters of key or title, by links, by what includes them.",
         given.Find, Answers.find),
    Tool("retrieve", "Read whole pages, by key or by words, with their links and the pages around them.",
         given.Retrieve, Answers.retrieve),
    Tool("search", "Answer a question with the passages that match it best, each with its place.",
         given.Search, Answers.search),
    Tool("tree", "Show which pages include which, as a tree of titles.", given.Tree, Answers.tree),
    Tool("squash", "Read a page with the pages it includes written out in place, as one Markdown text.",
         given.Squash, Answers.squash),
    Tool("stats", "Count pages and links, and list orphans, broken links and problems; or the figures of one page.",
         given.Stats, Answers.stats),
    Tool("query", "Find, count, update or delete pages by a query in YAML.", given.Query, Answers.query),
    Tool("create", "Write a new page.", given.Create, Answers.create),
    Tool("update", "Write a page anew, whole. For a part of a page, query with update is safer.",
         given.Update, Answers.update),
    Tool("delete", "Take a page away; links to it become plain words.", given.Delete, Answers.delete),
    Tool("rename", "Give a page another key; links to it are rewritten.", given.Rename, Answers.rename),
)  # fmt: skip
TOOLS = {tool.name: tool for tool in _TOOLS}
