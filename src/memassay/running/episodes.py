"""A suite that drives its tasks itself: each attempt has a store of its own, and goes on after a kill.

Steps are kept in the run folder (``partial/``) as they are finished, each with a snapshot of the store where it can
make one. A process that finds such steps goes on from the last of them. Where there is no snapshot, the cut attempt is
recorded as it is, and another one begins.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from memassay.core.contracts import Closes, Drives, Snapshots
from memassay.core.digest import digest_of
from memassay.core.types import Arm, CellKey, Request, Step, StoreRef, Task, Toolset
from memassay.running.answering import Answering, workdir
from memassay.running.build import Stores
from memassay.running.calls import call
from memassay.running.plan import Plan
from memassay.runs.folder import RunFolder
from memassay.runs.lines import LineWriter, read_lines
from memassay.runs.records import key_of, to_line

_STEPS, _STATE = "steps.jsonl", "state"
_SECONDS = 120.0
"""Longest wait for a snapshot."""
CUT = "the process ended during this attempt, and the memory has no snapshots to go on from"


class Cut(Exception):
    """An attempt that a killed process left behind and that cannot go on; ``steps`` is what it had kept."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = tuple(steps)
        super().__init__(CUT)


class Ended(Exception):
    """A step that a provider or the harness failed: the attempt is over."""

    def __init__(self, step: Step) -> None:
        self.step = step
        super().__init__(step.detail)


class Episodes:
    """Takes cells through the drive of their suite.

    Args:
        plan: whose suite drives.
        run: where steps are kept.
        stores: of the arms.
        answering: the agents.
    """

    def __init__(self, plan: Plan, run: RunFolder, stores: Stores, answering: Answering) -> None:
        self._plan, self._run, self._stores, self._answering = plan, run, stores, answering

    async def drive(self, cell: CellKey, attempt: int, task: Task, arm: Arm, kept: Any) -> Sequence[Step]:
        """The steps of one attempt.

        Args:
            cell: which.
            attempt: from 1.
            task: of the cell.
            arm: of the cell.
            kept: makes a step one of the run's: its evidence a file, without secrets.

        Raises:
            Cut: an earlier process was killed in this attempt, and it cannot go on.
            Ended: a provider or the harness failed a step; the steps before it are in ``partial``.
            Exception: what the memory raised.
        """
        suite = self._plan.suite
        assert isinstance(suite, Drives)
        place = self._place(cell, attempt)
        held = [Step.model_validate(record) for _, record in read_lines(place / _STEPS)]
        with workdir() as around:
            _, ref = await self._stores.opened(arm, task.scope, cell.build)
            own = around / "store"
            shutil.copytree(ref.location, own)
            store = await self._stores.open_elsewhere(arm, StoreRef(key=ref.key, location=str(own), digest=ref.digest))
            try:
                if held and not await _restored(store, place, len(held)):
                    raise Cut(held)
                env = Session(self, cell, attempt, arm, store, held, place, around, kept)
                await suite.drive(task, env)
            finally:
                if isinstance(store, Closes):
                    with suppress(Exception):
                        await call(store.close, seconds=10)
        return tuple(env.steps)

    def kept(self, cell: CellKey, attempt: int) -> tuple[Step, ...]:
        """The steps that an attempt has kept so far."""
        return tuple(Step.model_validate(record) for _, record in read_lines(self._place(cell, attempt) / _STEPS))

    def forget(self, cell: CellKey, attempt: int) -> None:
        """Drop what was kept of an attempt, whose record is now written."""
        shutil.rmtree(self._place(cell, attempt), ignore_errors=True)
        with suppress(OSError):
            (self._run.path / "partial").rmdir()

    def _place(self, cell: CellKey, attempt: int) -> Path:
        return self._run.path / "partial" / digest_of([*key_of(cell), attempt])[:24]

    async def ask(self, arm: Arm, request: Request) -> Step:
        """One session of the arm's agent."""
        return await self._answering.session(arm, request)

    def request(self, cell: CellKey, attempt: int, system: str, prompt: str, toolset: Toolset, place: Path) -> Request:
        """A request with the limits of the experiment."""
        limits = self._plan.experiment.limits
        return Request(
            cell=cell,
            attempt=attempt,
            system=system,
            prompt=prompt,
            toolset=toolset,
            workdir=str(place),
            limit_seconds=limits.answer_seconds,
            limit_turns=limits.turns,
            limit_usd=limits.usd,
        )


class Session:
    """The :class:`memassay.core.contracts.Env` of one attempt."""

    def __init__(
        self,
        episodes: Episodes,
        cell: CellKey,
        attempt: int,
        arm: Arm,
        store: Any,
        held: Sequence[Step],
        place: Path,
        around: Path,
        kept: Any,
    ) -> None:
        self.cell, self.attempt, self.store = cell, attempt, store
        self._episodes, self._arm, self._place, self._around, self._kept = episodes, arm, place, around, kept
        self._steps = list(held)

    @property
    def steps(self) -> Sequence[Step]:
        """Kept so far."""
        return tuple(self._steps)

    async def agent(self, name: str, *, system: str, prompt: str, toolset: Toolset, identity: str = "") -> Step:
        """See :class:`memassay.core.contracts.Env`."""
        workdir = Path(tempfile.mkdtemp(dir=self._around))
        request = self._episodes.request(self.cell, self.attempt, system, prompt, toolset, workdir)
        step = await self._episodes.ask(self._arm, request)
        return step.model_copy(update={"name": name, "identity": identity})

    async def keep(self, step: Step) -> None:
        """See :class:`memassay.core.contracts.Env`."""
        step = self._kept(step)
        if step.status.kind in ("provider", "harness"):
            raise Ended(step)
        self._place.mkdir(parents=True, exist_ok=True)
        if isinstance(self.store, Snapshots):
            state = self._place / f"{_STATE}-{len(self._steps) + 1}"
            shutil.rmtree(state, ignore_errors=True)
            state.mkdir()
            await call(self.store.snapshot, state, seconds=_SECONDS)
        with LineWriter(self._place / _STEPS) as lines:
            lines.append(to_line(step))
        self._steps.append(step)
        shutil.rmtree(self._place / f"{_STATE}-{len(self._steps) - 1}", ignore_errors=True)


async def _restored(store: Any, place: Path, steps: int) -> bool:
    state = place / f"{_STATE}-{steps}"
    if not isinstance(store, Snapshots) or not state.is_dir():
        return False
    await call(store.restore, state, seconds=_SECONDS)
    return True
