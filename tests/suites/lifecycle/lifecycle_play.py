"""Protocols played without the runner: an ``Env``, an agent that follows rules, and agents that misbehave."""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from fake_platform import Knobs, Plain, Reviewed

from memassay.core.contracts import Cell
from memassay.core.types import Answer, CellKey, Judgement, Status, Step, Task, Toolset, Usage
from memassay.suites.lifecycle.driving import drive
from memassay.suites.lifecycle.frozen import freeze
from memassay.suites.lifecycle.grading import LifecycleJudge
from memassay.suites.lifecycle.protocol import Protocol
from memassay.suites.lifecycle.records import Attempt
from memassay.suites.lifecycle.stages import CHOICES, plan
from memassay.suites.lifecycle.warehouse import Warehouse, urn_of

FACT = re.compile(r"In (main\.(\w+)), (?:a|the) '(\w+)' .*?SQL: (.*?);", re.DOTALL)
NOT_KNOWN = "INSUFFICIENT INFORMATION"


class Killed(BaseException):
    """Stands for a process that ends."""


class Talk:
    """One session of an agent: what it was told, and its tools."""

    def __init__(self, system: str, prompt: str, toolset: Toolset) -> None:
        self.system, self.prompt = system, prompt
        env = toolset.servers[0].env
        self.store, self.who = Plain.opened[env["PLACE"]], env["WHO"]
        self.name = self.store.session()

    def call(self, tool: str, **given: Any) -> Any:
        return self.store.call(self.who, self.name, tool, **given)


class Rules:
    """Does what it is told: saves facts, looks up what a term means, runs the query that defines it."""

    def __call__(self, talk: Talk) -> str:
        told = FACT.search(talk.prompt)
        if told is not None and "INSUFFICIENT" not in talk.system:
            wrong = talk.prompt.startswith("I told you something wrong")
            return self.correct(talk, told) if wrong else self.save(talk, told)
        if "Remove it from your memory" in talk.prompt:
            return self.forget(talk)
        return self.answer(talk)

    def save(self, talk: Talk, told: re.Match[str]) -> str:
        talk.call("memory_capture", type="schema_entity", content=told.group(0), entity_urns=[urn_of(told.group(2))])
        return "Noted."

    def correct(self, talk: Talk, told: re.Match[str]) -> str:
        return self.save(talk, told)

    def forget(self, talk: Talk) -> str:
        for hit in found(talk):
            talk.call("memory_manage", command="forget", id=hit)
        return "Removed."

    def answer(self, talk: Talk) -> str:
        known = self.meaning(talk)
        if known is None:
            return NOT_KNOWN
        sql = known.group(4)
        if "the average" in talk.prompt:
            columns = {"deposit": "deposit_cents", "fee": "fee_cents", "rebate": "rebate_cents", "length": "days"}
            column = columns.get(talk.prompt.split("the average ")[1].split()[0])
            return self.refuse(talk) if column is None else self.say(talk, averaged(sql, column))
        return self.say(talk, sql)

    def meaning(self, talk: Talk) -> re.Match[str] | None:
        """The first definition of the term that a search or, without one, a look at the data brings."""
        texts = [hit["text"] for hit in hits(talk)]
        table = re.search(r"main\.\w+", talk.prompt)
        if not any(defines(text, talk.prompt) for text in texts) and table is not None:
            said = talk.call("trino_query", sql=f"SELECT count(*) FROM {table.group(0)}")
            texts += [one["summary"] for one in said.get("memory_context", ())]
            texts += [one["description"] for one in said.get("additional_tables", ())]
        return next((known for text in texts if (known := defines(text, talk.prompt))), None)

    def say(self, talk: Talk, sql: str) -> str:
        return f"Worked out.\nFINAL ANSWER: {talk.call('trino_query', sql=sql)['rows'][0]['value']}"

    def refuse(self, talk: Talk) -> str:
        return NOT_KNOWN


def hits(talk: Talk) -> list[dict[str, Any]]:
    said = talk.call("search", intent=talk.prompt)
    return [hit for group in said["groups"] for hit in group["hits"]]


def found(talk: Talk) -> list[str]:
    """Own records that the prompt is about."""
    word = re.search(r"about the (\w+) ", talk.prompt)
    assert word is not None
    return [hit["ref"] for hit in hits(talk) if f"'{word.group(1)}'" in hit["text"] and hit["ref"].startswith("r-")]


def defines(text: str, prompt: str) -> re.Match[str] | None:
    """The definition in a text where it is of a term of the prompt."""
    return next((one for one in FACT.finditer(text) if re.search(rf"\b{one.group(3)}\b", prompt)), None)


def averaged(sql: str, column: str) -> str:
    parts = re.fullmatch(r"SELECT (.*?) FROM (main\.\w+)(?!.*GROUP)(.*)", sql)
    if parts is not None:
        return f"SELECT avg({column}) FROM {parts.group(2)}{parts.group(3)}"
    named = re.fullmatch(r"SELECT (.*) FROM (main\.hires_\w+) WHERE .* GROUP BY 1 .*", sql)
    assert named is not None, sql
    return f"SELECT avg({column}) FROM {named.group(2)} WHERE {named.group(1)} = ({sql})"


class FakeEnv:
    """An ``Env``; ``kill_in`` names the stage in which the process ends, after its agent has done its work."""

    def __init__(self, protocol: Protocol, store: Any, agent: Any, held: Sequence[Step] = (), attempt: int = 1) -> None:
        self.cell, self.attempt, self.store = CellKey(task=protocol.id, arm="a"), attempt, store
        self._agent, self._steps = agent, list(held)
        self.kill_in, self.kill_keeping = "", ""
        self.fail: dict[str, Status] = {}
        self.saved: dict[str, Any] | None = None

    @property
    def steps(self) -> Sequence[Step]:
        return tuple(self._steps)

    async def agent(self, name: str, *, system: str, prompt: str, toolset: Toolset, identity: str = "") -> Step:
        if name in self.fail:
            return Step(name=name, identity=identity, status=self.fail[name], detail="planned")
        talk = Talk(system, prompt, toolset)
        text = self._agent(talk)
        if name == self.kill_in:
            raise Killed
        return Step(name=name, identity=identity, text=text, usage=Usage(input=7, output=3, turns=1, cost_usd=0.0))

    async def keep(self, step: Step) -> None:
        if step.status.kind in ("provider", "harness"):
            raise EOFError(step.name)
        if step.name == self.kill_keeping:
            raise Killed
        # As the runner does: the record is read again from its line.
        self._steps.append(Step.model_validate_json(step.model_dump_json()))
        with tempfile.TemporaryDirectory() as place:
            self.store.snapshot(Path(place))
            self.saved = json.loads((Path(place) / "state.json").read_text("utf-8"))


def play(
    protocol: Protocol,
    warehouse: Warehouse,
    *,
    agent: Any = None,
    knobs: Knobs | None = None,
    choices: Collection[str] = tuple(CHOICES),
    kind: type[Plain] = Reviewed,
) -> FakeEnv:
    """A protocol played through."""
    env = FakeEnv(protocol, kind(warehouse, knobs), agent or Rules())
    asyncio.run(drive(protocol, plan(protocol, choices), env))
    return env


def answer_of(env: FakeEnv, status: Status = Status.OK) -> Answer:
    """What an env holds, as the answer of its cell."""
    return Answer(cell=env.cell, status=status, detail="", steps=tuple(env.steps), data="generated")


def judged(
    protocol: Protocol, env: FakeEnv, choices: Collection[str] = tuple(CHOICES), status: Status = Status.OK
) -> Judgement:
    """The verdict on what an env holds, from its answer as it is written down."""
    answer = Answer.model_validate_json(answer_of(env, status).model_dump_json())
    task = Task(
        id=protocol.id,
        suite="lifecycle",
        scope="w",
        cluster=protocol.id,
        category="c",
        prompt="p",
        gold=freeze(protocol),
    )
    judge = LifecycleJudge(choices)
    return judge.judge(Cell(task, answer, None))


def attempt(protocol: Protocol, env: FakeEnv, choices: Collection[str] = tuple(CHOICES)) -> Attempt:
    """The graded attempt that an env holds."""
    return Attempt.model_validate(judged(protocol, env, choices).labels["attempt"])
