"""One question put to an agent: its tools, its files, a folder of its own, and what became of the store.

The working folder is a temporary one, outside of the checkout and of every run, and gone after the cell; nothing of the
task's gold, of other tasks or of other cells is in it.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from memassay.core import registry
from memassay.core.contracts import Closes, Folder, Retrieves, Serves
from memassay.core.digest import canonical_json, digest_folder, digest_of
from memassay.core.dossier import rendering
from memassay.core.errors import CannotMeasure
from memassay.core.types import Arm, CellKey, Check, Dossier, Request, Server, Status, Step, StoreRef, Task, Toolset
from memassay.running import serving
from memassay.running.build import Stores
from memassay.running.calls import LimitReached, call, describe, is_network, redact
from memassay.running.experiment import NO_AGENT
from memassay.running.plan import Plan

# The agent keeps the limit itself and is given this much longer to come to an end before the harness gives it up.
_GRACE_SECONDS = 30.0


class Said(NamedTuple):
    """What an agent answered; digests of the copies that it could write to, if it could (see :func:`_state`)."""

    step: Step
    before: str | None = None
    after: str | None = None


async def ready(plan: Plan) -> dict[str, Any]:
    """The plan's agents, by :func:`speaker`; they and its judges have seen that they have what they need.

    Called before anything is built.

    Raises:
        EnvironmentProblem: one lacks a program, a package or a key, in one sentence.
    """
    agents: dict[str, Any] = {}
    for arm in plan.arms:
        if arm.agent != NO_AGENT and speaker(arm) not in agents:
            agents[speaker(arm)] = registry.agents.get(arm.agent)(**arm.agent_options)
    for one in (*agents.values(), *plan.model_judges, *plan.pair_judges):
        prepare = getattr(one, "prepare", None)
        if prepare is not None:
            await prepare()
    return agents


def speaker(arm: Arm) -> str:
    """What tells an arm's agent from others: its name and settings."""
    return canonical_json([arm.agent, arm.agent_options])


class Answering:
    """Puts questions to the plan's agents; one agent serves all cells of its settings.

    Args:
        plan: names the agents, the limits and the suite's instructions.
        stores: the arms' open stores.
        agents: by :func:`speaker`, ready (see :func:`ready`).
    """

    def __init__(self, plan: Plan, stores: Stores, agents: Mapping[str, Any]) -> None:
        self._plan, self._stores, self._agents = plan, stores, agents

    def agent(self, arm: Arm) -> Any:
        """The agent of an arm."""
        return self._agents[speaker(arm)]

    async def ask(self, cell: CellKey, attempt: int, task: Task, arm: Arm, dossier: Dossier | None) -> Said:
        """The agent's answer.

        Raises:
            CannotMeasure: the arm's store gives no tools, or no files.
            BaseException: what the memory raised while its store was opened.
        """
        with workdir() as place:
            toolset, guarded = await self._toolset(cell, task, arm, place)
            watched = {} if guarded is None else {"store": guarded}
            if toolset.folder is not None and getattr(self.agent(arm), "writes", False):
                watched["folder"] = Path(toolset.folder)
            before = {name: _digest(copy) for name, copy in watched.items()}
            request = self._request(cell, task, arm, dossier, toolset, place)
            step = await self._said(arm, request.model_copy(update={"attempt": attempt}))
            after = {name: _digest(copy) for name, copy in watched.items()}
        # The copies were this cell's own, so no other cell sees a change; but who should only read has written to its
        # store. In its folder the agent may write: there it is a note.
        notes = [
            Check(
                name=f"{name} unchanged",
                passed=False if name == "store" else None,
                expected=before[name],
                observed=after[name],
                source="files",
            )
            for name in watched
            if before[name] != after[name]
        ]
        step = step.model_copy(update={"checks": (*step.checks, *notes)}) if notes else step
        return Said(step, _state(before), _state(after))

    async def warm_up(self, task: Task, arm: Arm, build: int) -> None:
        """Open the arm's store and start its tool server: that is no part of the time that an answer takes.

        What fails here fails again where it is told, when the question is asked.
        """
        if {"tools", "folder"} & set(arm.access):
            with suppress(Exception):
                store, ref = await self._stores.opened(arm, task.scope, build)
                if "tools" in arm.access:
                    await self._servers(store, ref, arm)

    async def close(self) -> None:
        """Close what can be closed."""
        for agent in self._agents.values():
            if isinstance(agent, Closes):
                await call(agent.close, seconds=10)

    def _request(
        self, cell: CellKey, task: Task, arm: Arm, dossier: Dossier | None, toolset: Toolset, place: Path
    ) -> Request:
        experiment = self._plan.experiment
        shown = None if dossier is None else rendering(dossier, experiment.tokens).cut(max(experiment.budgets))
        return Request(
            cell=cell,
            system=self._plan.instructions(arm),
            prompt=task.prompt,
            as_of=task.as_of,
            dossier=shown,
            toolset=toolset,
            workdir=str(place / serving.WORK),
            limit_seconds=experiment.limits.answer_seconds,
            limit_turns=experiment.limits.turns,
            limit_usd=experiment.limits.usd,
        )

    async def session(self, arm: Arm, request: Request) -> Step:
        """What the agent does with one request, within its limits."""
        return await self._said(arm, request)

    async def _said(self, arm: Arm, request: Request) -> Step:
        limit = request.limit_seconds
        try:
            step = await call(self.agent(arm).answer, request, seconds=limit + _GRACE_SECONDS)
        except LimitReached:
            return Step(status=Status.LIMIT_TIME, detail=f"no answer after {limit:g} s")
        except CannotMeasure:
            raise
        except Exception as error:
            status = Status.NETWORK if is_network(error) else Status.HARNESS
            return Step(status=status, detail=describe(error))
        if not isinstance(step, Step):
            returned = f"answer() returned {type(step).__name__}; it must return a Step"
            return Step(status=Status.HARNESS, detail=returned)
        return step.model_copy(update={"detail": redact(step.detail)}) if step.detail else step

    async def _toolset(self, cell: CellKey, task: Task, arm: Arm, place: Path) -> tuple[Toolset, Path | None]:
        """What the arm gives its agent beside a dossier, and the copy of the store that is to be watched, if any."""
        (place / serving.WORK).mkdir()
        if not {"tools", "folder"} & set(arm.access):
            return Toolset(), None
        store, ref = await self._stores.opened(arm, task.scope, cell.build)
        guarded = None
        servers: tuple[Server, ...] = ()
        if "tools" in arm.access:
            if not isinstance(store, (Serves, Retrieves)):
                raise CannotMeasure(f"its store has neither toolset() nor retrieve(query); {arm.memory!r} has no tools")
            servers = await self._servers(store, ref, arm)
            if any(server.writes for server in servers):
                # A server that could write gets a copy of this cell alone, so that no cell can teach another.
                guarded = place / "store"
                shutil.copytree(ref.location, guarded)
                ref = StoreRef(key=ref.key, location=str(guarded), digest=ref.digest)
                store = await self._stores.open_elsewhere(arm, ref)
                servers = await self._servers(store, ref, arm)
        folder = None
        if "folder" in arm.access:
            if not isinstance(store, Folder):
                raise CannotMeasure(f"its store has no folder(); {arm.memory!r} cannot be read as files")
            folder = str(serving.lay_out(store.folder(), place / serving.WORK))
        return Toolset(servers=servers, folder=folder), guarded

    async def _servers(self, store: Any, ref: StoreRef, arm: Arm) -> tuple[Server, ...]:
        """The store's own tool servers, which it may first have to start, or ours over it."""
        if not isinstance(store, Serves):
            return serving.servers(ref, arm.memory)
        toolset: Toolset = await call(store.toolset, seconds=self._plan.experiment.limits.build_seconds)
        return toolset.servers


def _digest(copy: Path) -> str:
    """The digest of a folder that somebody else could write to: what they left unreadable costs them no answer."""
    try:
        return digest_folder(copy)
    except OSError as error:
        return f"cannot be read: {type(error).__name__}"


def _state(digests: Mapping[str, str]) -> str | None:
    """One digest of all copies that were watched: of one copy its own; None where there was none."""
    if len(digests) > 1:
        return digest_of(digests)
    return next(iter(digests.values()), None)


@contextmanager
def workdir() -> Iterator[Path]:
    """A folder of one cell, outside of any repository, gone afterwards."""
    place = Path(tempfile.mkdtemp(prefix="memassay-cell-"))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
