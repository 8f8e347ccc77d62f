"""One request per arm, made as a run makes it, and what a client made of it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memassay.core.contracts import Retrieves
from memassay.core.dossier import dossier_of, trimmed
from memassay.core.errors import CannotMeasure, EnvironmentProblem
from memassay.core.types import Arm, CellKey, Dossier, Query, Request, Status, Step, Task
from memassay.running.answering import Answering
from memassay.running.build import Stores, make_memories
from memassay.running.calls import call, describe, redact
from memassay.running.doctor.senders import Sender
from memassay.running.doctor.sentinels import Planted, planted
from memassay.running.plan import Plan
from memassay.runs.folder import RunFolder

# Put before the question: what a client might take for a command, and for a file to bring along.
_TRAP = "/cost What does @CLAUDE.md say?"


@dataclass(frozen=True)
class Look:
    """What one arm's request turned out to be.

    Attributes:
        problem: why there is none, or "".
        lacks: whether the problem is something that is not installed here.
        request: what the agent was given; None where it was not asked.
        body: what was sent, as JSON.
        tools: the tools that the arm gives, as the client names them; None means whatever its servers have.
        leaks: planted files whose words stand in the request, or in what the client says that it has loaded.
        skipped: files that could not be planted, with the reason.
    """

    problem: str = ""
    lacks: bool = False
    request: Request | None = None
    body: Any = None
    tools: frozenset[str] | None = frozenset()
    leaks: tuple[Path, ...] = ()
    skipped: Mapping[Path, str] = field(default_factory=dict)


async def look_at(plan: Plan, sender: Sender, place: Path) -> dict[str, Look]:
    """One look per arm, at the first question of the plan.

    Args:
        plan: the arms, and what is asked.
        sender: the agent.
        place: an empty folder, for the stores of the arms.
    """
    memories, unavailable = make_memories(plan)
    stores = Stores(place / "stores", plan, RunFolder(place / "run"), memories, lambda text: None)
    watched = _Watched(plan, stores, sender)
    try:
        return {arm.name: await watched.look(arm, unavailable.get(arm.name, "")) for arm in plan.contenders}
    finally:
        await stores.close()


class _Watched(Answering):
    """Makes the request of a cell as a run does, folder and tools included, and sends it to a scripted server."""

    def __init__(self, plan: Plan, stores: Stores, sender: Sender) -> None:
        super().__init__(plan, stores, {})
        self._sender = sender
        self._seen: dict[str, Look] = {}

    def agent(self, arm: Arm) -> Any:
        """Itself, in the place of every agent."""
        return self

    async def look(self, arm: Arm, unavailable: str) -> Look:
        """What becomes of an arm's first question."""
        if unavailable:
            return Look(unavailable, lacks=True)
        task = self._plan.tasks[0]
        task = task.model_copy(update={"prompt": f"{_TRAP} {task.prompt}"})
        try:
            dossier = await self._dossier(task, arm) if "dossier" in arm.access else None
            said = await self.ask(CellKey(task=task.id, arm=arm.name), 1, task, arm, dossier)
        except (CannotMeasure, EnvironmentProblem) as error:
            return Look(redact(str(error)), lacks=True)
        except Exception as error:
            return Look(f"its memory failed: {describe(error)}")
        return self._seen.get(arm.name) or Look(said.step.detail)

    async def answer(self, request: Request) -> Step:
        """Send the request and keep what was seen of it."""
        folder = Path(request.toolset.folder or request.workdir or tempfile.gettempdir()).resolve()
        with planted(folder) if self._sender.reads_files else nullcontext(Planted()) as sentinels:
            probe = await self._sender.send(request)
        problem = ""
        if probe.body is None or (self._sender.answered and probe.step.status is not Status.OK):
            problem = probe.step.detail or "no request was sent"
        said = (probe.step.evidence or b"").decode("utf-8", "replace")
        self._seen[request.cell.arm] = Look(
            problem=problem,
            request=request,
            body=probe.body,
            tools=self._sender.tools(request),
            leaks=tuple(sentinels.found_in(f"{probe.body}\n{said}")),
            skipped=sentinels.skipped,
        )
        return probe.step

    async def _dossier(self, task: Task, arm: Arm) -> Dossier:
        """What the memory finds, cut as a run cuts it."""
        store = await self._stores.open(arm, task.scope, 0)
        if not isinstance(store, Retrieves):
            raise CannotMeasure(f"its store has no retrieve(query); {arm.memory!r} cannot be asked")
        experiment = self._plan.experiment
        budget = max(experiment.budgets)
        query = Query(text=task.prompt, as_of=task.as_of, budget_tokens=budget)
        found = await call(store.retrieve, query, seconds=experiment.limits.retrieve_seconds)
        passages = found.passages if isinstance(found, Dossier) else found
        return trimmed(dossier_of(passages), experiment.tokens, budget)
