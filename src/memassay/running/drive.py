"""From cells to answers: workers, attempts, retries, one record per attempt."""

from __future__ import annotations

import asyncio
import datetime
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, count, groupby
from typing import Any

from memassay.core import registry
from memassay.core.contracts import Drives, Retrieves
from memassay.core.dossier import dossier_of, trimmed
from memassay.core.errors import CannotMeasure, EnvironmentProblem
from memassay.core.types import (
    Answer,
    Arm,
    BuildReport,
    CellKey,
    Dossier,
    Query,
    Status,
    Step,
    Task,
    Usage,
)
from memassay.core.views import Surroundings, view
from memassay.judging.verdicts import spent
from memassay.running.answering import Answering, Said
from memassay.running.build import Stores
from memassay.running.calls import call, describe, redact, without_secrets
from memassay.running.episodes import CUT, Cut, Ended, Episodes
from memassay.running.experiment import NO_AGENT
from memassay.running.failures import Failed, checked, classify
from memassay.running.judges import model_kind
from memassay.running.markers import MARKER
from memassay.running.money import Purse, paid
from memassay.running.plan import Plan
from memassay.runs.folder import RunFolder
from memassay.runs.lines import LineWriter
from memassay.runs.records import Key, key_of, to_line

PROVIDER_ATTEMPTS = 3
_BACKOFF_SECONDS = 0.5

NATIVE_PASSAGES = 10
"""Of a memory that does not say how much it gives by itself."""

FAILURES_IN_A_ROW = 5
"""So many cells of agents that failed one after the other, by provider or harness, end the command."""


@dataclass
class Tally:
    """How a drive went; ``by_kind`` counts cells by the kind they ended in, ``stopped`` says why it ended early."""

    planned: int = 0
    already: int = 0
    recorded: int = 0
    by_kind: dict[str, int] = field(default_factory=dict)
    cost_usd: float = 0.0
    stopped: str = ""


class Driver:
    """Runs the open cells of one shard.

    Args:
        unavailable: arms that cannot be measured, left out; grows when a memory says so at a question.
        on_cell: called after every record (for a progress bar).
        purse: what may be spent.
        agents: those that are ready, by :func:`memassay.running.answering.speaker`.
    """

    def __init__(
        self,
        plan: Plan,
        run: RunFolder,
        stores: Stores,
        unavailable: dict[str, str],
        on_cell: Callable[[Tally], None],
        purse: Purse,
        agents: Mapping[str, Any],
    ) -> None:
        self.plan, self.run, self.stores, self.unavailable = plan, run, stores, unavailable
        self.on_cell = on_cell
        self.tally = Tally()
        self._purse = purse
        self._answering = Answering(plan, stores, agents)
        self._episodes = Episodes(plan, run, stores, self._answering)
        self._native = native_sizes(plan)
        self._in_a_row = 0
        self._tasks = {task.id: task for task in plan.tasks}
        self._arms = {arm.name: arm for arm in plan.arms}
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
            await self._alone(queue, lines)
            async with asyncio.TaskGroup() as group:
                for _ in range(max(1, workers)):
                    group.create_task(self._work(queue, lines))
        except BaseExceptionGroup as group_error:
            raise _first(group_error) from None
        finally:
            await self._answering.close()
            await self.stores.close()
        return self.tally

    def _queue(
        self, shard: tuple[int, int], done: set[Key], attempts: Mapping[Key, int]
    ) -> Iterator[tuple[CellKey, int]]:
        """The open cells, task by task. A task is begun only if all its cells can be paid, so arms stay balanced.

        What failed in an earlier call comes after what was never asked: else a few cells that always fail would end
        every call before it got any further.
        """

        def still(asked: bool) -> Iterator[CellKey]:
            return (c for c in self.plan.cells(shard) if key_of(c) not in done and (key_of(c) in attempts) == asked)

        for _, block in groupby(chain(still(False), still(True)), key=lambda cell: cell.task):
            cells = [cell for cell in block if cell.arm not in self.unavailable]
            asking = [self._arms[cell.arm] for cell in cells if self._pays(cell)]
            if self.tally.stopped:
                return
            if asking and not self._purse.open(cells[0].task, [arm.name for arm in asking]):
                self.tally.stopped = self._purse.reason
                return
            for cell in cells:
                if self.tally.stopped:
                    return
                if cell.arm not in self.unavailable:
                    yield cell, attempts.get(key_of(cell), 0) + 1

    def _asks(self, cell: CellKey) -> bool:
        """Whether the cell puts a question to an agent."""
        arm = self._arms[cell.arm]
        return arm.agent != NO_AGENT and self._tasks[cell.task].category != MARKER

    def _pays(self, cell: CellKey) -> bool:
        """Whether the cell's answer may cost something; the agent of a control has no model."""
        return self._asks(cell) and self._arms[cell.arm].role != "control"

    async def _work(self, queue: Iterator[tuple[CellKey, int]], lines: LineWriter) -> None:
        # One generator for all workers: each takes the next open cell; only the cells in flight are held in memory.
        for cell, first in queue:
            await self._one(cell, first, lines)

    async def _alone(self, queue: Iterator[tuple[CellKey, int]], lines: LineWriter) -> None:
        """Under a limit, answer the first task cell by cell, until it is known of every arm what an answer costs."""
        while not self._purse.knows([arm.name for arm in self.plan.contenders if arm.agent != NO_AGENT]):
            following = next(queue, None)
            if following is None:
                return
            await self._one(*following, lines)

    async def _one(self, cell: CellKey, first: int, lines: LineWriter) -> None:
        try:
            answer = await self._attempts(cell, first, lines)
        except CannotMeasure as error:
            self._give_up(cell, redact(str(error)))
            return
        kind = answer.status.kind
        self.tally.recorded += 1
        self.tally.by_kind[kind] = self.tally.by_kind.get(kind, 0) + 1
        self.on_cell(self.tally)
        self._watch(answer)

    def _watch(self, answer: Answer) -> None:
        """Stop where agents fail again and again for reasons that are not the memory's: asking on only costs."""
        if not self._asks(answer.cell):
            return
        if self._purse.limit is not None and answer.model == "real" and not _costs(answer) and not self.tally.stopped:
            self.tally.stopped = (
                "an answer came without its usage, so what it cost is not known and --max-usd cannot be kept; "
                "leave --max-usd out to go on"
            )
        self._in_a_row = self._in_a_row + 1 if answer.status.kind in ("provider", "harness") else 0
        if self._in_a_row >= FAILURES_IN_A_ROW and not self.tally.stopped:
            self.tally.stopped = (
                f"{self._in_a_row} cells failed one after the other, the last with {answer.status}"
                f"{f' ({answer.detail})' if answer.detail else ''}; mend it and run the same command again"
            )

    async def _attempts(self, cell: CellKey, first: int, lines: LineWriter) -> Answer:
        """Record attempts at a cell until it is no provider failure, or too many; returns the last."""
        arm = self._arms[cell.arm]
        alone = self._asks(cell) and getattr(self._answering.agent(arm), "retries_itself", False)
        last = first + (1 if alone else PROVIDER_ATTEMPTS) - 1
        for attempt in count(first):
            answer = await self._answer(cell, attempt)
            lines.append(to_line(answer))
            self._episodes.forget(cell, attempt)
            if answer.detail == CUT:
                last += 1
                continue
            self.tally.cost_usd += paid(answer.usage)
            if self._pays(cell):
                self._purse.pay(cell.task, cell.arm, answer.usage, ended=attempt == last or _ends(answer.status))
            if _ends(answer.status) or attempt == last or self.stores.lacks(cell, self._tasks[cell.task]):
                break
            await asyncio.sleep(_BACKOFF_SECONDS * 2 ** (attempt - first))
        return answer

    def _give_up(self, cell: CellKey, reason: str) -> None:
        """Leave an arm out from here on: its memory says that it cannot be measured here."""
        if cell.arm not in self.unavailable:
            self.unavailable[cell.arm] = reason
            scope = self._tasks[cell.task].scope
            self.run.record_build(BuildReport(memory=cell.arm, scope=scope, status="unavailable", detail=reason))

    async def _answer(self, cell: CellKey, attempt: int) -> Answer:
        task, arm = self._tasks[cell.task], self._arms[cell.arm]
        if self._asks(cell) and isinstance(self.plan.suite, Drives):
            return await self._driven(cell, attempt, task, arm)
        if self._asks(cell):
            await self._answering.warm_up(task, arm, cell.build)
        started = time.perf_counter()
        status, detail = Status.OK, ""
        steps: list[Step] = []
        said: Said | None = None
        try:
            dossier = None
            if "dossier" in arm.access:
                dossier = await self._dossier(task, arm, cell.build)
                status = Status.EMPTY if dossier.status == "empty" else Status.OK
                steps.append(self._retrieval(status, "", self.run.put_dossier(dossier), started))
            if self._asks(cell):
                said = await self._said(cell, attempt, task, arm, dossier)
                steps.append(self._kept(said.step))
                status, detail = said.step.status, said.step.detail
        except (EnvironmentProblem, CannotMeasure):
            raise
        except Failed as failure:
            status, detail = failure.status, failure.detail
        except Exception as error:
            # Neither the memory nor the agent was running: this is a bug of ours.
            status, detail = Status.HARNESS, describe(error)
        if not steps:
            steps.append(self._retrieval(status, detail, None, started))
        wall = round((time.perf_counter() - started) * 1000, 3)
        return Answer(
            cell=cell,
            attempt=attempt,
            status=status,
            data=self.plan.suite.data,
            model=model_kind(self._answering.agent(arm)) if said else "none",
            detail=detail,
            steps=tuple(steps),
            state_before=said.before if said else None,
            state_after=said.after if said else None,
            usage=(said.step.usage if said else Usage()).model_copy(update={"wall_ms": wall}),
            at=datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
        )

    async def _driven(self, cell: CellKey, attempt: int, task: Task, arm: Arm) -> Answer:
        """An attempt at a task that its suite takes through several steps."""
        started = time.perf_counter()
        status, detail = Status.OK, ""
        try:
            steps = tuple(await self._episodes.drive(cell, attempt, task, arm, self._kept))
        except (EnvironmentProblem, CannotMeasure):
            raise
        except Cut as cut:
            status, detail, steps = Status.HARNESS, str(cut), cut.steps
        except Ended as ended:
            status, detail = ended.step.status, ended.step.detail
            steps = (*self._episodes.kept(cell, attempt), ended.step)
        except Exception as error:
            status, detail = classify(error)
            steps = self._episodes.kept(cell, attempt)
        wall = round((time.perf_counter() - started) * 1000, 3)
        return Answer(
            cell=cell,
            attempt=attempt,
            status=status,
            data=self.plan.suite.data,
            model=model_kind(self._answering.agent(arm)),
            detail=detail,
            steps=steps,
            usage=spent(step.usage for step in steps).model_copy(update={"wall_ms": wall}),
            at=datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
        )

    @staticmethod
    def _retrieval(status: Status, detail: str, digest: str | None, started: float) -> Step:
        usage = Usage(wall_ms=round((time.perf_counter() - started) * 1000, 3))
        return Step(name="retrieve", status=status, detail=detail, dossier=digest, usage=usage)

    def _kept(self, step: Step) -> Step:
        """The agent's step, with all that it saw as a file of the run; no secret of ours in either."""
        kept: dict[str, object] = {"evidence": None}
        if step.evidence is not None:
            kept["transcript"] = self.run.put_transcript(without_secrets(step.evidence.decode("utf-8", "replace")))
        if step.text is not None:
            kept["text"] = without_secrets(step.text)
        return step.model_copy(update=kept)

    async def _said(self, cell: CellKey, attempt: int, task: Task, arm: Arm, dossier: Dossier | None) -> Said:
        """What the agent answered; what the memory raises while its store is opened is its failure."""
        try:
            return await self._answering.ask(cell, attempt, task, arm, dossier)
        except (EnvironmentProblem, CannotMeasure):
            raise
        except Exception as error:
            status, detail = classify(error)
            raise Failed(status, detail) from error

    async def _retrieved(self, task: Task, arm: Arm, build: int) -> Dossier:
        """What the memory gives for a task; whatever it raises is its failure (or the network's)."""
        limit = self.plan.experiment.limits.retrieve_seconds
        try:
            store = await self.stores.open(arm, task.scope, build)
            if not isinstance(store, Retrieves):
                raise CannotMeasure(f"its store has no retrieve(query); {type(store).__name__} cannot be asked")
            query = Query(text=task.prompt, as_of=task.as_of, budget_tokens=max(self.plan.experiment.budgets))
            found = checked(await call(store.retrieve, query, seconds=limit))
        except (EnvironmentProblem, CannotMeasure):
            raise
        except Exception as error:
            status, detail = classify(error)
            raise Failed(status, detail) from error
        return dossier_of(found.passages[: self._native[arm.name]]) if arm.name in self._native else found

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


def native_sizes(plan: Plan) -> dict[str, int | None]:
    """By contender how many passages its memory gives where nobody says how much, for a suite that is ``native``.

    That is the memory's class attribute ``native``; None is all it finds.
    """
    arms = plan.contenders if getattr(plan.suite, "native", False) else ()
    return {arm.name: getattr(registry.memories.get(arm.memory), "native", NATIVE_PASSAGES) for arm in arms}


def _costs(answer: Answer) -> bool:
    """Whether it is known what an answer cost; what failed on the way is not asked."""
    known = answer.usage.cost_usd is not None or answer.usage.reported_usd is not None
    return known or answer.status.kind != "answered"


def _ends(status: Status) -> bool:
    """Whether a status needs no further attempt in this call of the command."""
    return status.kind != "provider"


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
