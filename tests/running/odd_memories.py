"""Memories that fail as a file says, and what a run keeps of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from memassay.core.types import BuildReport
from memassay.runs.folder import RunFolder
from memassay.runs.lines import read_lines

Run = Callable[..., tuple[Any, Path]]

ODD = '''
import asyncio
import errno
import os
import socket
import time
from pathlib import Path

from memassay.core.errors import CannotMeasure
from memassay.core.types import Passage


class ConnectTimeout(Exception):
    """As a network library calls it."""


def go_wrong(cause):
    if cause == "connection":
        raise ConnectionRefusedError("nobody listens there")
    if cause == "name":
        raise socket.gaierror(-2, "Name or service not known")
    if cause == "library":
        raise ConnectTimeout("no answer")
    if cause == "full":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if cause == "quota":
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))
    if cause == "timeout":
        raise TimeoutError("my index gave up after 3 rounds")
    if cause == "hang":
        time.sleep(0.7)
    kind, _, text = cause.partition("=")
    if text:
        raise {"runtime": RuntimeError, "network": ConnectionError, "cannot": CannotMeasure}[kind](text)


class Odd:
    """Fails as a file says, so that the cause can go away while every setting stays.

    Args:
        cause: a file that holds "STAGE CAUSE".
        api_key: nothing.
    """

    def __init__(self, *, cause: str = "", api_key: str = "") -> None:
        self.cause = Path(cause)

    def fail(self, stage):
        text = self.cause.read_text("utf-8") if self.cause.is_file() else ""
        where, _, cause = text.partition(" ")
        if where == stage:
            go_wrong(cause)

    def build(self, corpus, place, context):
        self.fail("build")
        type(self).units[corpus.id] = [(u.id, u.text) for d in corpus.documents for u in d.units]
        (place / "id").write_text(corpus.id)

    units = {}

    def open(self, ref):
        self.fail("open")
        return Store(self, self.units[(Path(ref.location) / "id").read_text()])


class Store:
    def __init__(self, memory, units):
        self.memory, self.units = memory, units

    def ranked(self, query):
        asked = set(query.text.strip("?").split())
        return sorted(self.units, key=lambda unit: (-len(asked & set(unit[1].split())), unit[0]))

    def retrieve(self, query):
        if "hedgehog" in query.text or "marathon" in query.text:
            self.memory.fail("retrieve")
        return [Passage(text=text, unit_ids=(unit,)) for unit, text in self.ranked(query)]


class Awaited(Odd):
    def open(self, ref):
        return AwaitedStore(self, Odd.open(self, ref).units)


class AwaitedStore(Store):
    async def retrieve(self, query):
        await asyncio.sleep(0)
        return Store.retrieve(self, query)


class Surrogates(Odd):
    def open(self, ref):
        return SurrogateStore(self, Odd.open(self, ref).units)


class SurrogateStore(Store):
    def retrieve(self, query):
        return [p.model_copy(update={"text": f"\\ud83d {p.text} \\udc00"}) for p in Store.retrieve(self, query)]


class Unchecked(Odd):
    def open(self, ref):
        return UncheckedStore(self, Odd.open(self, ref).units)


class UncheckedStore(Store):
    def retrieve(self, query):
        odd = {ODD_FIELDS}
        return [Passage.model_construct(**{"text": p.text, **odd}) for p in Store.retrieve(self, query)]
'''


def records(folder: Path, arm: str = "odd") -> list[dict[str, Any]]:
    return [
        record
        for segment in RunFolder(folder).segments()
        for _, record in read_lines(segment)
        if record["cell"]["arm"] == arm and not record["cell"]["task"].startswith("marker/")
    ]


def builds(folder: Path, arm: str = "odd") -> list[BuildReport]:
    return [b for b in RunFolder(folder).builds() if b.memory == arm and not b.scope.endswith("+marker")]


def value(summary: Any, arm: str = "odd", metric: str = "all@400") -> Any:
    return summary["arms"][arm]["metrics"][metric]["value"]
