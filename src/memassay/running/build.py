"""Building stores: once per spec, in a folder of its own that appears whole or not at all, shared between runs."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import errno
import fcntl
import json
import os
import shutil
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

from memassay.core import registry
from memassay.core.contracts import BuildContext, Closes, Verifies
from memassay.core.digest import canonical_json, digest_folder, digest_of
from memassay.core.errors import CannotMeasure, EnvironmentProblem, MemassayError, MemoryFailure, UsageError
from memassay.core.types import Arm, BuildReport, CellKey, Status, StoreRef, Task, Usage
from memassay.running.calls import LimitReached, call, describe, is_network, redact
from memassay.running.plan import Plan
from memassay.runs.folder import RunFolder
from memassay.runs.lines import disk_errors, problem, write_whole

StoreKey = tuple[str, str, int]
"""Arm, scope, build."""


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


class NoStore(MemoryFailure):
    """A question to a store that could not be built; ``status`` says how the build ended."""

    def __init__(self, report: BuildReport) -> None:
        self.status = Status(report.status)
        super().__init__(f"no store: {report.detail}")


def make_memories(plan: Plan) -> tuple[dict[str, Any], dict[str, str]]:
    """Make every arm's memory with its settings, before anything is written.

    Returns:
        The memories by arm, and the arms whose memory says that it cannot be measured here, with the reason.

    Raises:
        UsageError: a memory refuses its settings.
    """
    memories: dict[str, Any] = {}
    unavailable: dict[str, str] = {}
    for arm in plan.built:
        try:
            memories[arm.name] = registry.memories.get(arm.memory)(**arm.options)
        except CannotMeasure as error:
            unavailable[arm.name] = redact(str(error))
        except MemassayError:
            raise
        except (Exception, SystemExit) as error:
            raise UsageError(f"The memory {arm.name!r} cannot be made: {describe(error)}.") from error
    return memories, unavailable


class Stores:
    """The stores beside the runs, ``stores/KEY/``.

    Args:
        folder: where they are.
        plan: whose arms and corpora they are built from.
        run: the run that records the builds.
        memories: the arms' memories by arm name.
    """

    def __init__(
        self, folder: Path, plan: Plan, run: RunFolder, memories: Mapping[str, Any], say: Callable[[str], None]
    ) -> None:
        self.folder, self.plan, self.run, self._memories, self._say = folder, plan, run, memories, say
        self._open: dict[StoreKey, Any] = {}
        self._locks: dict[StoreKey, asyncio.Lock] = {}
        self._failed: dict[StoreKey, BuildReport] = {}

    async def build_all(self, unavailable: dict[str, str], on_done: Callable[[BuildReport], None]) -> None:
        """Build or find every store that the plan needs.

        Args:
            unavailable: arms that cannot be measured here, with the reason; grows.
            on_done: called after every store.
        """
        before = self.run.builds()
        left_out = {r.memory for r in before if r.status == "unavailable"}
        # An arm that was left out and now builds is recorded again, so that the last word of builds.jsonl is right.
        recorded = {(r.memory, r.scope, r.store.key if r.store else "") for r in before if r.memory not in left_out}
        for name, reason in unavailable.items():
            self.run.record_build(BuildReport(memory=name, scope="", status="unavailable", detail=reason))
        scopes = list(dict.fromkeys(task.scope for task in self.plan.tasks))
        for arm in self.plan.built:
            for build in range(self.plan.replicates(arm)[0]):
                for scope in scopes:
                    if arm.name in unavailable:
                        continue
                    report = await self.build(arm, scope, build)
                    await self._verify(arm, scope, report)
                    if (report.memory, report.scope, report.store.key if report.store else "") not in recorded:
                        self.run.record_build(report)
                    on_done(report)
                    if report.status == "unavailable":
                        unavailable[arm.name] = report.detail

    async def _verify(self, arm: Arm, scope: str, report: BuildReport) -> None:
        """Let a memory that can tell whether its store still says what the corpus says do so, before any question."""
        memory = self._memories[arm.name]
        if report.store is not None and isinstance(memory, Verifies):
            limit = self.plan.experiment.limits.build_seconds
            await call(memory.verify, report.store, self.plan.corpora[scope], seconds=limit)
            _check_unchanged(arm, report.store)  # what the memory does not look at, such as a page for readers

    async def build(self, arm: Arm, scope: str, build: int) -> BuildReport:
        """One store: reused if its spec has been built, else built; a memory's failure is a status, not an exception.

        A build that failed is not tried again in this run of the command.

        Raises:
            EnvironmentProblem: the disk, not the memory, stands in the way.
        """
        key = (arm.name, scope, build)
        if key not in self._failed:
            report = await self._build(arm, scope, build)
            if report.store is not None:
                return report
            self._failed[key] = report
        return self._failed[key]

    async def _build(self, arm: Arm, scope: str, build: int) -> BuildReport:
        spec = self.plan.store_spec(arm, scope, build)
        key = digest_of(spec)[:32]
        place = self.folder / key
        report = _report(arm, scope)
        async with _locked(self.folder, key):
            kept = _kept(place)
            if kept is not None:
                return report.model_copy(update={**kept, "store": _ref(place, key, kept.get("digest")), "reused": True})
            working = self.folder / f".{key}.building"
            with disk_errors(working):
                shutil.rmtree(working, ignore_errors=True)
                (working / "store").mkdir(parents=True)
            started = time.perf_counter()
            limit = self.plan.experiment.limits.build_seconds
            corpus = self.plan.corpora[scope]
            try:
                context = BuildContext(
                    seed=spec.seed + build,
                    limit_seconds=limit,
                    progress=_progress(arm.name, len(corpus.documents), self._say),
                    cache=self.folder / ".cache",
                )
                made = await call(self._memories[arm.name].build, corpus, working / "store", context, seconds=limit)
                told = _told(made)
            except BaseException as error:
                shutil.rmtree(working, ignore_errors=True)
                failed = _build_failure(error, limit)
                if failed is None:
                    full = disk_error(error)
                    if full is not None:
                        raise problem(place, full) from error
                    raise
                return report.model_copy(update=failed)
            with disk_errors(working):
                digest = digest_folder(working / "store")
                size = sum(p.stat().st_size for p in (working / "store").rglob("*") if p.is_file())
                wall = (time.perf_counter() - started) * 1000
                stored = {"documents": len(corpus.documents), **told, "bytes": size, "digest": digest}
                about = {**stored, "wall_ms": wall, "spec": spec.model_dump(mode="json")}
                write_whole(working / "built.json", json.dumps(about, indent=1) + "\n")
                shutil.rmtree(place, ignore_errors=True)
                working.rename(place)
            stored.pop("digest")
            update = {**stored, "store": _ref(place, key, digest), "usage": Usage(wall_ms=wall)}
            return report.model_copy(update=update)

    async def open(self, arm: Arm, scope: str, build: int) -> Any:
        """The open store of a cell, opened once and shared.

        Raises:
            EnvironmentProblem: the store on disk is not the one that was built.
            BaseException: whatever the memory raised while opening.
        """
        key = (arm.name, scope, build)
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            if key not in self._open:
                report = await self.build(arm, scope, build)
                if report.store is None:
                    raise NoStore(report)
                _check_unchanged(arm, report.store)
                limit = self.plan.experiment.limits.build_seconds
                self._open[key] = await call(self._memories[arm.name].open, report.store, seconds=limit)
            return self._open[key]

    async def opened(self, arm: Arm, scope: str, build: int) -> tuple[Any, StoreRef]:
        """The open store of a cell, and where it is."""
        store = await self.open(arm, scope, build)
        report = await self.build(arm, scope, build)
        assert report.store is not None  # else it could not have been opened
        return store, report.store

    async def open_elsewhere(self, arm: Arm, ref: StoreRef) -> Any:
        """The store as it lies in another folder, which the caller copied it to."""
        limit = self.plan.experiment.limits.build_seconds
        return await call(self._memories[arm.name].open, ref, seconds=limit)

    def lacks(self, cell: CellKey, task: Task) -> bool:
        """Whether the cell's store could not be built in this call of the command: asking again is of no use."""
        return (cell.arm, task.scope, cell.build) in self._failed

    async def close(self) -> None:
        """Close what can be closed."""
        for store in self._open.values():
            if isinstance(store, Closes):
                with contextlib.suppress(Exception):
                    await call(store.close, seconds=10)
        self._open.clear()


def _check_unchanged(arm: Arm, store: StoreRef) -> None:
    place = Path(store.location)
    if digest_folder(place) != store.digest:
        raise EnvironmentProblem(
            f"The store {store.key} of {arm.name!r} was changed after it was built; "
            f"delete {place.parent} and run again."
        )


def _progress(arm: str, documents: int, say: Callable[[str], None]) -> Callable[[int, int], None]:
    """What a memory tells its progress, in words for whoever watches; the start of a build is told at once."""
    what = f"building {arm}, {documents:,} documents"
    say(what)

    def progress(done: int, total: int) -> None:
        if total > 0:
            say(f"{what}, {100 * done / total:.0f} % done")

    return progress


def _report(arm: Arm, scope: str) -> BuildReport:
    at = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
    return BuildReport(memory=arm.name, scope=scope, at=at)


def _ref(place: Path, key: str, digest: str | None) -> StoreRef:
    return StoreRef(key=key, location=str(place / "store"), digest=digest)


def _told(made: object) -> dict[str, Any]:
    """What a memory's ``build`` returned, as fields of the report.

    Raises:
        TypeError: facts that a record cannot hold.
    """
    if not isinstance(made, Mapping):
        return {"passages": None, "facts": {}}
    facts = made.get("facts", {})
    try:
        plain = json.loads(canonical_json(facts))
    except (TypeError, ValueError):
        plain = None
    if not isinstance(plain, dict):
        raise TypeError("build() returned facts that are no mapping of names to JSON values")
    return {"passages": made.get("passages"), "facts": plain}


def _kept(place: Path) -> dict[str, Any] | None:
    """Facts of a store that is already there, or None."""
    try:
        about = json.loads((place / "built.json").read_text("utf-8"))
        return {
            "documents": about["documents"],
            "passages": about["passages"],
            "bytes": about["bytes"],
            "facts": about.get("facts", {}),
            "digest": about["digest"],
            "usage": Usage(wall_ms=about["wall_ms"]),
        }
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _build_failure(error: BaseException, limit: float) -> dict[str, Any] | None:
    """The status of a failed build, or None where the error is not the memory's."""
    if isinstance(error, CannotMeasure):
        return {"status": "unavailable", "detail": redact(str(error))}
    if isinstance(error, LimitReached):
        return {"status": "memory-timeout", "detail": f"no store after {limit:g} s"}
    if is_network(error):
        return {"status": "network", "detail": describe(error)}
    if isinstance(error, MemoryFailure):
        return {"status": "memory-empty-store", "detail": describe(error)}
    if is_disk(error):
        return None
    if isinstance(error, (MemassayError, Exception)):
        return {"status": "memory-crash", "detail": describe(error)}
    return None


def is_disk(error: BaseException) -> bool:
    """Whether an error says that the disk is full or cannot be written."""
    return isinstance(error, EnvironmentProblem) or disk_error(error) is not None


def disk_error(error: BaseException) -> OSError | None:
    """What the operating system says of a disk that is full or read-only, also where a package only quotes it."""
    if isinstance(error, OSError):
        return error if error.errno in _FULL else None
    said = str(error)
    code = next((code for code in _FULL if os.strerror(code) in said), None)
    return None if code is None or isinstance(error, MemassayError) else OSError(code, os.strerror(code))


@contextlib.asynccontextmanager
async def _locked(folder: Path, key: str) -> AsyncIterator[None]:
    """One builder per store, across processes."""
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        handle = (folder / f".{key}.lock").open("a")
    with handle:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                await asyncio.sleep(0.1)
        yield
