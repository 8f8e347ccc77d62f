"""The process in which a memory under check runs: one request per line comes in, one answer per line goes out.

A memory may hang, end its process, print, or write where it should not; here it can do all that to nobody else.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memassay.core import registry
from memassay.core.contracts import BuildContext, Closes, Retrieves
from memassay.core.digest import canonical_json, digest_text
from memassay.core.dossier import dossier_of
from memassay.core.errors import CannotMeasure, MissingExtra, UsageError
from memassay.core.types import Dossier, Passage, Query, StoreRef
from memassay.running.calls import call, describe, is_network, redact
from memassay.running.conformance.samples import corpus
from memassay.running.conformance.watch import Watch
from memassay.runs.records import check_passages

NO_SUCH_SETTING = "no_such_setting"
# Threads change places this often while they read together, so that a race shows in a second and not in a week.
_SWITCH_SECONDS = 1e-5


class Host:
    """Holds the memory and its open stores, and does what the requests ask.

    Args:
        watch: told of every place that the memory is given.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._memory: Any = None
        self._stores: dict[str, Any] = {}

    async def do(self, what: str, **about: Any) -> Any:
        """The answer to one request, as a value that JSON can say."""
        return await getattr(self, f"do_{what}")(**about)

    async def do_make(self, memory: str, options: dict[str, Any]) -> Any:
        factory = registry.memories.get(memory)
        self._factory, self._options = factory, registry.bind_options(factory, options, f"memory {memory!r}")
        try:
            self._memory = factory(**self._options)
        except (UsageError, CannotMeasure, MissingExtra):
            raise
        except (Exception, SystemExit) as error:
            raise UsageError(f"The memory {memory!r} cannot be made: {describe(error)}.") from error

    async def do_settings(self) -> Any:
        """Settings that memassay cannot name, that the manifest cannot hold, and whether an unknown one is refused."""
        parameters = inspect.signature(self._factory).parameters.values()
        unnamed = [str(p) for p in parameters if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL, p.POSITIONAL_ONLY)]
        unsaid = [name for name, value in self._options.items() if not _sayable(value)]
        try:
            registry.bind_options(self._factory, {**self._options, NO_SUCH_SETTING: 1}, "memory")
            refused = None
        except UsageError as error:
            refused = str(error)
        return {"unnamed": unnamed, "unsaid": unsaid, "refused": refused}

    async def do_build(self, name: str, place: str, fatal: int = 0) -> Any:
        """Build a corpus; ``fatal`` ends the process with SIGKILL at that step of the build."""
        given = corpus(name)
        before = digest_text(repr(given.documents))
        self._watch.allow(place)
        # As in a run, builds share a cache; it is among the temporary files, where all processes of a check find it.
        context = BuildContext(progress=self._watch.step, cache=Path(tempfile.gettempdir(), "cache"))
        with self._watch.counting(fatal):
            await call(self._memory.build, given, Path(place), context, seconds=None)
        return {"steps": self._watch.steps, "changed": digest_text(repr(given.documents)) != before}

    async def do_ask(self, place: str, queries: list[dict[str, Any]], threads: int = 1) -> Any:
        self._watch.allow(place)
        if place not in self._stores:
            ref = StoreRef(key="check", location=place)
            self._stores[place] = await call(self._memory.open, ref, seconds=None)
        store = self._stores[place]
        if not isinstance(store, Retrieves):
            raise CannotMeasure(f"its store has no retrieve(query); {type(store).__name__} cannot be asked")
        room = asyncio.Semaphore(threads)

        async def answer(query: Query) -> list[dict[str, Any]]:
            async with room:
                returned = await call(store.retrieve, query, seconds=None)
            return [passage.model_dump() for passage in _passages(returned)]

        usual = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_SECONDS if threads > 1 else usual)
        try:
            return await asyncio.gather(*(answer(Query.model_validate(query)) for query in queries))
        finally:
            sys.setswitchinterval(usual)

    async def do_close(self, place: str) -> Any:
        store = self._stores.pop(place, None)
        if isinstance(store, Closes):
            await call(store.close, seconds=None)

    async def do_outside(self) -> Any:
        """The paths written outside the memory's places since the last time."""
        paths, self._watch.outside = self._watch.outside, []
        return paths


def _passages(returned: object) -> Sequence[Passage]:
    """What ``retrieve`` returned, if it is what a run would accept."""
    passages = returned.passages if isinstance(returned, Dossier) else returned
    if not isinstance(passages, list | tuple):
        raise TypeError(f"retrieve() returned {type(returned).__name__}; return a list of Passage, best first")
    strange = sorted({type(passage).__name__ for passage in passages if not isinstance(passage, Passage)})
    if strange:
        kind = type(passages).__name__
        raise TypeError(
            f"retrieve() returned a {kind} of {' and '.join(strange)}; return a list of Passage, best first"
        )
    check_passages(dossier_of(passages))
    return passages


def _sayable(value: Any) -> bool:
    try:
        canonical_json(value)
    except (TypeError, ValueError):
        return False
    return True


def _fault(error: Exception, what: str) -> dict[str, str]:
    if isinstance(error, CannotMeasure | MissingExtra):
        return {"fault": "cannot", "text": redact(str(error))}
    if is_network(error):
        return {"fault": "cannot", "text": describe(error)}
    if isinstance(error, UsageError) and what == "make":
        return {"fault": "usage", "text": redact(str(error))}
    return {"fault": "failed", "text": describe(error)}


async def _serve(requests: int, answers: int, watch: Watch) -> None:
    host = Host(watch)
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[bytes] = asyncio.Queue()

    def read() -> None:
        with os.fdopen(requests, "rb") as stream:
            for line in stream:
                loop.call_soon_threadsafe(lines.put_nowait, line)
        os._exit(0)  # whoever asked is gone, and a memory that never returns must not outlive it

    threading.Thread(target=read, daemon=True).start()
    with os.fdopen(answers, "wb") as stream:
        while True:
            request = json.loads(await lines.get())
            try:
                said = {"value": await host.do(**request)}
            except Exception as error:
                said = _fault(error, request["what"])
            stream.write(json.dumps(said).encode("ascii") + b"\n")
            stream.flush()


def main() -> None:
    """Serve on standard input and output, which the memory itself does not get to see."""
    requests, answers = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command decides when its processes end
    asyncio.run(_serve(requests, answers, Watch()))


if __name__ == "__main__":
    main()
