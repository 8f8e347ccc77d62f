"""The store of a run, of whatever memory, as one tool that only reads: ``search``.

``memassay memory serve`` puts it behind the protocol for an agent, in a process of its own::

    desk = open_desk(built_store(place))
    desk.call("search", {"query": "Where did Ada move?"})   # numbered passages, as a dossier shows them
"""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from memassay.core import registry
from memassay.core.contracts import Closes, Retrieves
from memassay.core.dossier import Rendering, dossier_of
from memassay.core.errors import (
    CannotMeasure,
    EnvironmentProblem,
    MemassayError,
    MemoryFailure,
    UnknownName,
    UsageError,
)
from memassay.core.tokens import DEFAULT_TOKENS, tokenizer
from memassay.core.types import Dossier, Query, StoreRef
from memassay.knowledge.arguments import Arguments
from memassay.knowledge.tools import Offer
from memassay.running.calls import describe

BUILT = "built.json"
STORE = "store"


class Search(Arguments):
    """Arguments of ``search``."""

    query: str = Field(description="What to look for: a question, or words.")
    limit: Annotated[int, Field(ge=1, le=100)] = Field(default=10, description="The most passages.")
    max_tokens: Annotated[int, Field(ge=1, le=20_000)] = Field(default=4000, description="The most tokens altogether.")


SEARCH = Offer("search", "Search the memory of past documents; the passages that match best come first.", Search)
_INSTRUCTIONS = "A memory of past documents. search finds passages in it; it can be asked again in other words."


@dataclass(frozen=True, slots=True)
class Built:
    """A store as its run left it: where it is, and the memory and settings that made it."""

    place: Path
    key: str
    memory: str
    options: Mapping[str, Any]
    digest: str | None


def built_store(folder: Path) -> Built | None:
    """What a run built in ``folder`` (``stores/KEY``, or the ``store`` inside it), or None for any other folder.

    Raises:
        EnvironmentProblem: its ``built.json`` is damaged.
    """
    place = folder.resolve()
    around = place.parent if place.name == STORE and (place.parent / BUILT).is_file() else place
    if not (around / BUILT).is_file():
        return None
    try:
        about = json.loads((around / BUILT).read_text(encoding="utf-8"))
        spec = about["spec"]
        return Built(around / STORE, around.name, str(spec["memory"]), dict(spec["options"]), about["digest"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = f"{BUILT} cannot be read ({type(error).__name__})"
        raise EnvironmentProblem(f"The store in {folder} cannot be used because {reason}; build it again.") from error


def open_desk(built: Built, *, memory: str | None = None, prefix: str = "") -> Desk:
    """Open a store to be searched.

    Args:
        built: the store.
        memory: the memory that made it, where that is a file of the user's own (``./mymem.py:MyMemory``), whose place
            the store does not know.
        prefix: what the tool's name begins with.

    Raises:
        UsageError: the memory is a file and not named, or another one is named, or its store cannot be searched.
        MemassayError: the memory refuses to open the store.
    """
    name = memory or built.memory
    if name.rpartition("/")[2] != built.memory:
        raise UsageError(f"The store was built by the memory {built.memory!r}, not by {name!r}; leave --memory out.")
    if memory is None and registry.is_file(name):
        raise UsageError(f"The store was built by a file of your own; say where it is: --memory ./{name}.")
    loop = _Loop()
    try:
        ref = StoreRef(key=built.key, location=str(built.place), digest=built.digest)
        store = loop.run(registry.memories.get(name)(**built.options).open, ref)
    except MemassayError:
        loop.close()
        raise
    except Exception as error:
        loop.close()
        raise CannotMeasure(f"The memory {built.memory!r} cannot open its store: {describe(error)}.") from error
    if not isinstance(store, Retrieves):
        loop.close()
        raise UsageError(f"The memory {built.memory!r} has no retrieve(query), so its store cannot be searched.")
    return Desk(store, loop, prefix)


class Desk:
    """One open store and the tool over it; threads may share it.

    Attributes:
        write: never.
    """

    write = False
    instructions = _INSTRUCTIONS

    def __init__(self, store: Retrieves, loop: _Loop, prefix: str = "") -> None:
        self._store, self._loop = store, loop
        self._tokens = tokenizer(DEFAULT_TOKENS)
        self.tools = {prefix + SEARCH.name: SEARCH}

    def call(self, name: str, arguments: Mapping[str, Any]) -> list[str]:
        """The passages that were found, numbered, as text.

        Raises:
            UnknownName, UsageError: no such tool, wrong arguments.
            MemoryFailure: the memory failed.
        """
        if name not in self.tools:
            raise UnknownName("tool", name, self.tools)
        asked = Search.read(name, arguments)
        query = Query(text=asked.query, budget_tokens=asked.max_tokens, limit=asked.limit)
        try:
            found = self._loop.run(self._store.retrieve, query)
            passages = dossier_of(found.passages if isinstance(found, Dossier) else found).passages[: asked.limit]
        except Exception as error:
            raise MemoryFailure(f"The memory failed: {describe(error)}.") from error
        text = Rendering(passages, self._tokens, asked.max_tokens).cut(asked.max_tokens)
        return [text or "Nothing was found."]

    def close(self) -> None:
        """Close the store."""
        if isinstance(self._store, Closes):
            self._loop.run(self._store.close)
        self._loop.close()


class _Loop:
    """One event loop for all that an asynchronous memory does; it is started when the first needs it."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def run(self, function: Any, *args: Any) -> Any:
        """What a plain or an asynchronous method returns."""
        value = function(*args)
        if not inspect.isawaitable(value):
            return value

        async def awaited() -> Any:
            return await value

        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="memassay-desk")
                self._thread.start()
        return asyncio.run_coroutine_threadsafe(awaited(), self._loop).result()

    def close(self) -> None:
        """End the loop."""
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
