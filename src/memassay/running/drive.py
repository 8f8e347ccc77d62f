"""From cells to answers: workers, attempts, retries, one record per attempt."""

from __future__ import annotations

import asyncio
import datetime
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memassay.core import registry
from memassay.core.contracts import Retrieves
from memassay.core.dossier import dossier_of, rendering, trimmed
from memassay.core.errors import CannotMeasure, EnvironmentProblem, MemoryFailure
from memassay.core.types import (
    Answer,
    Arm,
    BuildReport,
    CellKey,
    Dossier,
    Passage,
    Query,
    Request,
    Status,
    Step,
    Task,
    Usage,
)
from memassay.core.views import Surroundings, view
from memassay.running.build import NoStore, Stores, is_disk
from memassay.running.calls import LimitReached, call, describe, is_network, redact
from memassay.running.plan import NO_AGENT, Plan
from memassay.runs.folder import Key, RunFolder, check_passages, key_of, to_line
from memassay.runs.lines import LineWriter, problem

PROVIDER_ATTEMPTS = 3
_BACKOFF_SECONDS = 0.5


@dataclass
class Tally:
    """How a drive went; ``by_kind`` counts cells by the kind they ended in."""

    planned: int = 0
    already: int = 0
    recorded: int = 0
    by_kind: dict[str, int] = field(default_factory=dict)
    cost_usd: float = 0.0


class Driver:
    """Runs the open cells of one shard.

    Args:
        unavailable: arms that cannot be measured, left out; grows when a memory says so at a question.
        on_cell: called after every record (for a progress bar).
    """

    def __init__(
        self,
        plan: Plan,
        run: RunFolder,
        stores: Stores,
        unavailable: dict[str, str],
        on_cell: Callable[[Tally], None],
    ) -> None:
        self.plan, self.run, self.stores, self.unavailable = plan, run, stores, unavailable
        self.on_cell = on_cell
        self.tally = Tally()
        self._tasks = {task.id: task for task in plan.tasks}
        self._arms = {arm.name: arm for arm in plan.arms}
        self._agents: dict[str, Any] = {}
        self._neighbours: dict[str, list[Task]] = {}
        for task in plan.tasks:
            self._neighbours.setdefault(task.scope, []).append(task)

    async def drive(self, lines: LineWriter, shard: tuple[int, int], workers: int) -> Tally:
        """Record every open cell of the shard; what is finished is not touched.

        Args:
            lines: the shard's own segment, locked.
            shard: (i, n).
            workers: cells in flight.

        Raises:
            EnvironmentProblem: the disk stands in the way; what is recorded is safe.
        """
        done, attempts = self.run.finished()
        self.tally.planned = sum(1 for c in self.plan.cells(shard) if c.arm not in self.unavailable)
        self.tally.already = sum(1 for c in self.plan.cells(shard) if key_of(c) in done)
        self.on_cell(self.tally)
        queue = self._queue(shard, done, attempts)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(max(1, workers)):
                    group.create_task(self._work(queue, lines))
        except BaseExceptionGroup as group_error:
            raise _first(group_error) from None
        finally:
            await self.stores.close()
        return self.tally

    def _queue(
        self, shard: tuple[int, int], done: set[Key], attempts: Mapping[Key, int]
    ) -> Iterator[tuple[CellKey, int]]:
        for cell in self.plan.cells(shard):
            key = key_of(cell)
            if key not in done and cell.arm not in self.unavailable:
                yield cell, attempts.get(key, 0) + 1

    async def _work(self, queue: Iterator[tuple[CellKey, int]], lines: LineWriter) -> None:
        # One generator for all workers: each takes the next open cell; only the cells in flight are held in memory.
        for cell, first in queue:
            try:
                status = await self._attempts(cell, first, lines)
            except CannotMeasure as error:
                self._give_up(cell, redact(str(error)))
                continue
            self.tally.recorded += 1
            self.tally.by_kind[status.kind] = self.tally.by_kind.get(status.kind, 0) + 1
            self.on_cell(self.tally)

    async def _attempts(self, cell: CellKey, first: int, lines: LineWriter) -> Status:
        """Record attempts at a cell until it is no provider failure, or too many; returns the last status."""
        last = first + PROVIDER_ATTEMPTS - 1
        for attempt in range(first, last + 1):
            answer = await self._answer(cell, attempt)
            lines.append(to_line(answer))
            self.tally.cost_usd += answer.usage.cost_usd or 0.0
            if answer.status.kind != "provider" or attempt == last or self.stores.lacks(cell, self._tasks[cell.task]):
                break
            await asyncio.sleep(_BACKOFF_SECONDS * 2 ** (attempt - first))
        return answer.status

    def _give_up(self, cell: CellKey, reason: str) -> None:
        """Leave an arm out from here on: its memory says that it cannot be measured here."""
        if cell.arm not in self.unavailable:
            self.unavailable[cell.arm] = reason
            scope = self._tasks[cell.task].scope
            self.run.record_build(BuildReport(memory=cell.arm, scope=scope, status="unavailable", detail=reason))

    async def _answer(self, cell: CellKey, attempt: int) -> Answer:
        task, arm = self._tasks[cell.task], self._arms[cell.arm]
        started = time.perf_counter()
        status, detail, digest = Status.OK, "", None
        said: tuple[Step, ...] = ()
        try:
            dossier = await self._dossier(task, arm, cell.build)
            digest = self.run.put_dossier(dossier)
            status = Status.EMPTY if dossier.status == "empty" else Status.OK
            if arm.agent != NO_AGENT:
                said = (await self._ask(cell, task, arm, dossier),)
        except (EnvironmentProblem, CannotMeasure):
            raise
        except Failed as failure:
            status, detail = failure.status, failure.detail
        except Exception as error:
            # Neither the memory nor the agent was running: this is a bug of ours.
            status, detail = Status.HARNESS, describe(error)
        usage = Usage(wall_ms=round((time.perf_counter() - started) * 1000, 3))
        step = Step(name="retrieve", status=status, detail=detail, dossier=digest, usage=usage)
        at = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        status = said[-1].status if said else status
        return Answer(
            cell=cell,
            attempt=attempt,
            status=status,
            data=self.plan.suite.data,
            detail=detail,
            steps=(step, *said),
            usage=usage,
            at=at,
        )

    async def _ask(self, cell: CellKey, task: Task, arm: Arm, dossier: Dossier) -> Step:
        if arm.agent not in self._agents:
            self._agents[arm.agent] = registry.agents.get(arm.agent)(**arm.agent_options)
        limit = self.plan.experiment.limits.answer_seconds
        text = rendering(dossier, self.plan.experiment.tokens).cut(max(self.plan.experiment.budgets))
        request = Request(cell=cell, prompt=task.prompt, as_of=task.as_of, dossier=text, limit_seconds=limit)
        try:
            step: Step = await call(self._agents[arm.agent].answer, request, seconds=limit)
        except LimitReached as error:
            raise Failed(Status.LIMIT_TIME, f"no answer after {limit:g} s") from error
        except Exception as error:
            if is_network(error):
                raise Failed(Status.NETWORK, describe(error)) from error
            raise
        return step.model_copy(update={"detail": redact(step.detail)}) if step.detail else step

    async def _retrieved(self, task: Task, arm: Arm, build: int) -> Dossier:
        """What the memory gives for a task; whatever it raises is its failure (or the network's)."""
        limit = self.plan.experiment.limits.retrieve_seconds
        try:
            store = await self.stores.open(arm, task.scope, build)
            if not isinstance(store, Retrieves):
                raise CannotMeasure(f"its store has no retrieve(query); {type(store).__name__} cannot be asked")
            query = Query(text=task.prompt, as_of=task.as_of, budget_tokens=max(self.plan.experiment.budgets))
            return _checked(await call(store.retrieve, query, seconds=limit))
        except (EnvironmentProblem, CannotMeasure):
            raise
        except Exception as error:
            status, detail = classify(error)
            raise Failed(status, detail) from error

    async def _dossier(self, task: Task, arm: Arm, build: int) -> Dossier:
        dossier = Dossier(status="empty")
        if arm.role != "control":
            dossier = await self._retrieved(task, arm, build)
        if arm.view is not None:
            around = Surroundings(
                self.plan.corpora[task.scope], self._neighbours[task.scope], self.plan.experiment.seed
            )
            dossier = view(arm.view)(task, dossier, around)
        return trimmed(dossier, self.plan.experiment.tokens, max(self.plan.experiment.budgets))


class Failed(Exception):
    """A cell that failed outside the harness, with the status that says whose fault it was."""

    def __init__(self, status: Status, detail: str) -> None:
        self.status, self.detail = status, detail
        super().__init__(detail)


def _checked(returned: object) -> Dossier:
    """What a memory returned as a dossier; anything else is the memory's failure, in words that help its author."""
    passages = returned.passages if isinstance(returned, Dossier) else returned
    if not isinstance(passages, Sequence) or isinstance(passages, (str, bytes)):
        raise TypeError(f"retrieve() returned {type(returned).__name__}; return a list of Passage, best first")
    wrong = next((p for p in passages if not isinstance(p, Passage)), None)
    if wrong is not None:
        raise TypeError(f"retrieve() returned a list with a {type(wrong).__name__} in it; every item must be a Passage")
    dossier = dossier_of(passages)
    try:
        check_passages(dossier)
    except ValueError as error:
        raise TypeError(f"retrieve() returned a Passage that was made without validation: {error}") from error
    return dossier


def classify(error: Exception) -> tuple[Status, str]:
    """The status of a cell whose memory raised.

    Raises:
        EnvironmentProblem: it was the disk, which is nobody's failure.
    """
    if isinstance(error, NoStore):
        return error.status, redact(str(error))
    if isinstance(error, LimitReached):
        return Status.MEMORY_TIMEOUT, f"nothing retrieved after {error.seconds:g} s"
    if isinstance(error, OSError) and is_disk(error):
        raise problem(Path(error.filename or "the store"), error) from error
    if is_network(error):
        return Status.NETWORK, describe(error)
    if isinstance(error, TimeoutError):
        return Status.MEMORY_TIMEOUT, describe(error)
    if isinstance(error, MemoryFailure):
        return Status.MEMORY_EMPTY_STORE, describe(error)
    return Status.MEMORY_CRASH, describe(error)


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
