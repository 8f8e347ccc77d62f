"""Takes a protocol through its stages, one kept step each; a killed attempt goes on after the last of them.

What happened is read from the memory itself (its records, its review queue, its log of calls), never from what an
agent says. A stage that the memory has no means for is left out, with the reason.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from memassay.core.contracts import Env, Serves, Snapshots
from memassay.core.digest import digest_of
from memassay.core.errors import CannotMeasure
from memassay.core.taught import (
    BUDGET_EXHAUSTED,
    Budgets,
    Identities,
    MemoryRecord,
    Records,
    Restarts,
    Reviews,
    ToolCall,
    Watched,
)
from memassay.core.types import Check, Step, Toolset, Usage
from memassay.suites.lifecycle.attribution import OTHER, Facts, deliveries, surfaced
from memassay.suites.lifecycle.auditing import audited
from memassay.suites.lifecycle.progress import Progress, progress_of
from memassay.suites.lifecycle.prompts import system_prompt
from memassay.suites.lifecycle.protocol import Protocol
from memassay.suites.lifecycle.records import Episode
from memassay.suites.lifecycle.sharing import CAPTURE_EVERY, CAPTURE_SECONDS, Shared, called, promote, roll_back, until
from memassay.suites.lifecycle.stages import Capability, Stage
from memassay.suites.lifecycle.states import (
    SUPERSEDED,
    GivenWay,
    Labels,
    given_way,
    new_on,
    retired,
    states,
    supersedes,
)

PENDING = "pending"
"""What waits for review, where there is one: only that counts as a capture, as published."""
SEARCH, CAPTURE = "search", "_capture"
_TOLD = {"teach": "taught", "update": "corrected", "correct": "corrected"}
_ASIDE = "never_taught"


async def drive(protocol: Protocol, stages: Sequence[Stage], env: Env) -> None:
    """Play every stage that is open and not yet played.

    Args:
        protocol: what is taught and asked.
        stages: of its plan, in order.
        env: the cell; its steps are stages that were played before the process was killed.

    Raises:
        CannotMeasure: the memory serves no tools.
    """
    await _Drive(protocol, stages, env).play()


def capabilities_of(store: Any) -> tuple[Capability, ...]:
    """What a store is able to. Nothing can be reviewed that cannot be seen."""
    seen = isinstance(store, Records)
    able: dict[Capability, bool] = {
        "capture": seen,
        "review": seen and isinstance(store, Reviews),
        "changesets": seen and isinstance(store, Reviews),
        "snapshots": isinstance(store, Snapshots),
        "identities": isinstance(store, Identities),
        "restart": isinstance(store, Restarts),
    }
    return tuple(name for name, can in able.items() if can)


class _Drive:
    def __init__(self, protocol: Protocol, stages: Sequence[Stage], env: Env) -> None:
        self._protocol, self._stages, self._env, self._store = protocol, stages, env, env.store
        self._facts = Facts.of(protocol)
        if not isinstance(self._store, Serves):
            raise CannotMeasure("its store has no toolset(identity), so that no agent can teach it anything")
        capabilities = capabilities_of(self._store)
        left_out = {one.name: why for one in stages if (why := one.unavailable(capabilities)) is not None}
        self._known = progress_of(env.steps) or Progress(capabilities=capabilities, unavailable=left_out)

    async def play(self) -> None:
        done = {step.name for step in self._env.steps}
        if isinstance(self._store, Budgets):
            await called(self._store.budget, self._protocol.budget_tool_calls)
        for stage in self._stages:
            if stage.name not in done and self._known.opens(stage):
                await (self._act(stage) if stage.kind == "act" else self._episode(stage))

    # -- stages without an agent -----------------------------------------------------------------------------------

    async def _act(self, stage: Stage) -> None:
        before = await self._records()
        started, shared = time.perf_counter(), Shared(True)
        if stage.name == "restart":
            await called(self._store.restart)
        elif stage.name == "promote":
            shared = await promote(self._store, self._protocol, self._known.insight_id)
            self._know(promoted=shared.done, change=shared.change)
        else:
            shared = await roll_back(self._store, self._protocol, self._known.change, self._known.insight_id)
        usage = Usage(cost_usd=0.0, wall_ms=round((time.perf_counter() - started) * 1000, 3))
        after, checks = await self._records(), shared.checks
        if stage.name == "restart" and before is not None:
            kept = [digest_of(_plain(records)) for records in (before, after or ())]
            checks = (Check(name="nothing changed", passed=kept[0] == kept[1], expected=kept[0], observed=kept[1]),)
        labels = Labels(self._known.labels, self._known.texts)
        noted = None if before is None or after is None else (states(before, labels), states(after, labels))
        step = Step(name=stage.name, identity=stage.identity, detail=shared.detail, checks=checks, usage=usage)
        await self._env.keep(step.model_copy(update={"facts": self._known.facts(states=noted)}))

    # -- stages with one -------------------------------------------------------------------------------------------

    async def _episode(self, stage: Stage) -> None:
        who = await self._identity(stage.identity)
        async with self._apart(stage):
            before = await self._records()
            # Before its own beginning a stage looks at nothing, so that a log that a restart emptied is as good.
            earlier = len(await self._calls() or ())
            toolset: Toolset = await called(self._store.toolset, who)
            system = system_prompt(stage, self._protocol.budget_tool_calls)
            step = await self._env.agent(
                stage.name, system=system, prompt=stage.prompt, toolset=toolset, identity=stage.identity
            )
            if step.status.kind in ("provider", "harness"):
                await self._env.keep(step)
                return
            heard = await self._calls()
            calls = None if heard is None else list(heard)[earlier:]
            after = await self._settled(stage, before, calls)
            log, unread = await audited(self._store, calls[0].session if calls else "")
        told = _TOLD.get(stage.name, stage.name if stage.name.startswith("interference") else OTHER)
        labelled = Labels(self._known.labels, self._known.texts)
        first = labelled.seen(before or (), self._facts, OTHER)
        labels = first.seen(after or (), self._facts, told)
        if stage.name != _ASIDE:
            self._know(labels=labels.of, texts=labels.texts)
        episode = self._noted(stage, who, step, calls)
        if before is not None and after is not None:
            noted = {
                "before": states(before, first),
                "after": states(after, labels),
                "supersedes": supersedes(before, after, labels, given_way(calls or ())),
            }
            episode = episode.model_copy(update=noted)
        if calls is not None:
            episode = episode.model_copy(update={"deliveries": deliveries(calls, self._facts, labels.of)})
        episode = episode.model_copy(update={"audit": log, "audit_read_error": unread})
        checks = self._verified(stage, episode, before, after, calls)
        update = {"checks": (*step.checks, *checks), "facts": self._known.facts(episode)}
        await self._env.keep(step.model_copy(update=update))

    def _noted(self, stage: Stage, who: str, step: Step, calls: Sequence[ToolCall] | None) -> Episode:
        """The published fields. Without a log of calls, tools are known by their names alone.

        A call that was refused because the budget was spent is no call; that there was one is that it was exhausted.
        """
        made = [call for call in calls or () if call.code != BUDGET_EXHAUSTED]
        named = [name.rpartition("__")[2] for name, times in step.tools.items() for _ in range(times)]
        names = named if calls is None else [call.tool for call in made]
        return Episode(
            stage=stage.name,
            identity=stage.identity,
            email=who,
            session_id=calls[0].session if calls else "",
            tool_calls=len(names),
            tool_errors=sum(call.error for call in made),
            search_called=SEARCH in names,
            capture_attempted=any(name.endswith(CAPTURE) for name in names),
            # Where nobody refuses a call, one past the budget was made.
            budget_exhausted=None if calls is None else len(calls) > self._protocol.budget_tool_calls,
            fact_surfaced=surfaced(calls, self._protocol) if stage.name == "transfer" and calls is not None else None,
        )

    def _verified(
        self,
        stage: Stage,
        episode: Episode,
        before: Sequence[MemoryRecord] | None,
        after: Sequence[MemoryRecord] | None,
        calls: Sequence[ToolCall] | None,
    ) -> tuple[Check, ...]:
        """What a stage has come to, by what the memory shows."""
        if stage.name == "teach":
            self._know(capture_attempted=episode.capture_attempted, teach_budget_exhausted=episode.budget_exhausted)
        if stage.name == "recall" and self._known.captured:
            self._know(recall_surfaced=episode.search_called)
        if stage.name == "transfer":
            self._know(transfer_surfaced=episode.fact_surfaced)
        if before is None or after is None:
            return ()
        entity = self._protocol.entity_urn
        if stage.name == "teach":
            taught = self._captured(before, after)
            found = taught[-1].id if taught else ""
            self._know(captured=bool(taught), insight_id=found)
            return (Check(name="captured", passed=bool(taught), expected=entity, observed=found or None),)
        if stage.name == "update":
            return self._corrected(episode, before, after, given_way(calls or ()))
        if stage.name == "forget":
            live = [
                record.id for record in after if record.live and self._known.labels.get(record.id) in _TOLD.values()
            ]
            return (Check(name="forgotten", passed=not live, expected=[], observed=list(live)),)
        return ()

    def _corrected(
        self,
        episode: Episode,
        before: Sequence[MemoryRecord],
        after: Sequence[MemoryRecord],
        told: Mapping[str, GivenWay],
    ) -> tuple[Check, ...]:
        """By the published rules, but for ``update_changed``: a capture counts where it was tried, or left a record."""
        new = new_on(before, after, self._protocol.entity_urn)
        route = retired(self._known.insight_id, before, after, told)
        captured = bool(episode.capture_attempted or new)
        old = next((record for record in after if record.id == self._known.insight_id), None)
        self._know(
            update_captured=captured,
            update_changed=bool(new) or route is not None,
            duplicated=(old is not None and old.status != SUPERSEDED) if captured else None,
            retired_by=route,
        )
        return (Check(name="replaced", passed=route is not None, expected=True, observed=route),)

    # -- the memory ------------------------------------------------------------------------------------------------

    async def _identity(self, role: str) -> str:
        if not isinstance(self._store, Identities):
            return ""
        return str(await called(self._store.identity, role, self._env.attempt))

    async def _records(self) -> tuple[MemoryRecord, ...] | None:
        """Everybody's records; None where the memory does not show them."""
        if not isinstance(self._store, Records):
            return None
        return tuple(await called(self._store.records))

    async def _calls(self) -> Sequence[ToolCall] | None:
        if not isinstance(self._store, Watched):
            return None
        calls: Sequence[ToolCall] = await called(self._store.calls)
        return calls

    def _captured(self, before: Sequence[MemoryRecord], after: Sequence[MemoryRecord]) -> list[MemoryRecord]:
        """New live records on the intended dataset; where there is a review, those that wait for it."""
        new = [record for record in new_on(before, after, self._protocol.entity_urn) if record.live]
        return [record for record in new if record.status == PENDING] if isinstance(self._store, Reviews) else new

    async def _settled(
        self, stage: Stage, before: Sequence[MemoryRecord] | None, calls: Sequence[ToolCall] | None
    ) -> tuple[MemoryRecord, ...] | None:
        """The records after a stage; what was told may take its time to be kept."""
        if stage.kind != "tell" or before is None:
            return await self._records()
        sent = None if calls is None else sum(call.tool.endswith(CAPTURE) and not call.error for call in calls)

        def settled(after: tuple[MemoryRecord, ...] | None) -> bool:
            new = new_on(before, after or ())
            if sent is not None:
                return len(new) >= sent
            changed = {record.id: record for record in before} != {record.id: record for record in after or ()}
            return bool(self._captured(before, after or ())) if stage.name == "teach" else changed

        return await until(self._records, settled, CAPTURE_SECONDS, CAPTURE_EVERY)

    @asynccontextmanager
    async def _apart(self, stage: Stage) -> AsyncIterator[None]:
        """What the never-taught leave behind is taken back, so that nobody is taught by it."""
        if stage.name != _ASIDE or not isinstance(self._store, Snapshots):
            yield
            return
        with tempfile.TemporaryDirectory(prefix="memassay-aside-") as folder:
            await called(self._store.snapshot, Path(folder))
            yield
            await called(self._store.restore, Path(folder))

    def _know(self, **more: Any) -> None:
        self._known = self._known.model_copy(update=more)


def _plain(records: Sequence[MemoryRecord]) -> list[dict[str, Any]]:
    return [record.model_dump(mode="json") for record in records]
