"""The suite ``lifecycle``: a fact is taught, recalled, promoted, passed on, corrected, and never invented."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from memassay.core.contracts import Control, Env, Grading, Judge, MetricSpec, Outcome
from memassay.core.digest import digest_text
from memassay.core.errors import UnknownName, UsageError
from memassay.core.report import Section
from memassay.core.types import Arm, Corpus, DataKind, Task
from memassay.suites.lifecycle import sections as drawn
from memassay.suites.lifecycle.canonical import extras_digest, published_hash
from memassay.suites.lifecycle.databases import load_warehouse
from memassay.suites.lifecycle.driving import drive
from memassay.suites.lifecycle.frozen import freeze, thaw
from memassay.suites.lifecycle.grading import NEVER_TAUGHT, PASS, LifecycleJudge, metric_specs
from memassay.suites.lifecycle.holdings import Holdings, holdings_for, holdings_of
from memassay.suites.lifecycle.loading import load_protocols
from memassay.suites.lifecycle.prompts import instructions
from memassay.suites.lifecycle.protocol import Extras, Protocol
from memassay.suites.lifecycle.results import conclude
from memassay.suites.lifecycle.stages import CHOICES, plan
from memassay.suites.lifecycle.templates import DEFAULT_PROTOCOLS, INTERFERENCE, generate
from memassay.suites.lifecycle.warehouse import Warehouse, make_warehouse

SCOPE = "warehouse"
SEED = 20261130
SAMPLE_PROTOCOLS = 4
NEVER = "never_taught"
KNOWN: Mapping[str, str] = {
    "daeac8a49319e6240541f905e1acf45d99e47fa4e4958ee0203d5f4fe1245695": "the thirty that are published",
}
"""Sets of protocols by their published hash."""

PERFECT = Arm(
    name="perfect",
    memory="platform",
    options={"supersede": 0.5, "similar": 0.5},
    access=("tools",),
    agent="scripted-lifecycle",
    agent_options={"script": "perfect"},
    role="control",
)
"""Who plays every stage as it should be, where the threshold lets no correction by: all must come out right."""
UNTAUGHT = Arm(
    name="never-taught",
    memory="platform",
    access=("tools",),
    agent="rules",
    agent_options={"guesses": True},
    role="control",
)
"""Who is asked before anything is taught, guesses from the data, and must be wrong. It plays no other stage."""
NOTHING_KEPT = Arm(
    name="nothing-kept",
    memory="platform",
    access=("tools",),
    agent="scripted-lifecycle",
    agent_options={"script": "never-captures"},
    role="control",
)
"""Who keeps nothing of what it is told must pass nothing: the one control that holds for any protocols."""
_GUESSES = 0.05
_SQL = re.compile(r"\bSQL:.*;", re.DOTALL)
"""How a fact states its definition for agents that run it."""


class Lifecycle:
    """Protocols of one fact each, played in sessions that share nothing but the memory.

    Nothing is made or read before it is needed, so that a report can be made from a run folder alone.

    Args:
        protocols: a folder of protocol files to import; without it ours are generated.
        warehouse: a file with the tables that imported protocols ask about: SQLite, or a script in Trino's dialect.
        original: the folder holds the first published set, whose pages have no summary.
        count: how many protocols are generated; 36 are four of each template.
        seed: of the warehouse and its protocols.
        interference: how many other facts are taught before the question is asked once more, 0 to 12.
        choices: extra stages, by the names of :data:`.stages.CHOICES`; all of them unless said.
        sample: four protocols, one of each sink and kind; their numbers carry no verdict.
    """

    name = "lifecycle"
    design = "clustered"
    default_categories: tuple[str, ...] = ()
    words: Mapping[str, str] = {"tasks": "protocols", "clusters": "clusters of one"}
    defaults: Mapping[str, Any] = {
        "stage": "answer",
        "agent": "rules",
        "memories": {"platform": {"use": "platform"}},
        "repetitions": 1,
    }

    def __init__(
        self,
        protocols: str | None = None,
        warehouse: str | None = None,
        original: bool = False,
        count: int | None = None,
        seed: int = SEED,
        interference: int | None = None,
        choices: tuple[str, ...] | None = None,
        sample: bool = False,
    ) -> None:
        if original and protocols is None:
            raise UsageError(
                "original is about protocols that are imported; give their folder: --set lifecycle.protocols=FOLDER."
            )
        if warehouse is not None and protocols is None:
            raise UsageError(
                "warehouse is of protocols that are imported, ours have their own; give their folder: "
                "--set lifecycle.protocols=FOLDER."
            )
        if protocols is not None and (sample or count is not None or interference is not None):
            raise UsageError(
                "count, interference and sample are of generated protocols; leave them out (--limit takes fewer)."
            )
        for choice in choices or ():
            if choice not in CHOICES:
                raise UnknownName("extra stage", choice, CHOICES)
        self.data: DataKind = "generated" if protocols is None else "real"
        self._folder, self._original = None if protocols is None else Path(protocols), original
        self._file = None if warehouse is None else Path(warehouse)
        self.sample, self._seed = sample, seed
        self._count = count if count is not None else SAMPLE_PROTOCOLS if sample else DEFAULT_PROTOCOLS
        self._interference = INTERFERENCE if interference is None else interference
        self._choices = tuple(choice for choice in CHOICES if choices is None or choice in choices)

    # -- what it is made of ----------------------------------------------------------------------------------------

    @cached_property
    def protocols(self) -> tuple[Protocol, ...]:
        """The protocols, in order.

        Raises:
            DataError: a file is no protocol.
            UsageError: so many cannot be made.
        """
        if self._folder is None:
            return generate(self._warehouse, self._count, interference=self._interference)
        return tuple(_with_control(one) for one in load_protocols(self._folder, original=self._original))

    @cached_property
    def _warehouse(self) -> Warehouse:
        return make_warehouse(self._seed, self._count)

    @cached_property
    def holdings(self) -> Holdings:
        """What is there before anything is taught.

        Raises:
            DataError: the file of the warehouse holds none, or not the one of the protocols.
            MissingExtra: a script needs the extra ``platform``.
        """
        if self._folder is None:
            return holdings_of(self._warehouse)
        return holdings_for(self.protocols, None if self._file is None else load_warehouse(self._file))

    def identity(self) -> Mapping[str, JsonValue]:
        """The protocols under their published hash, what we add to them, and how they are played."""
        found = published_hash(self.protocols)
        return {
            "protocols": {"count": len(self.protocols), "hash": found, "extras": extras_digest(self.protocols)},
            "set": KNOWN.get(found, "imported" if self._folder else "generated"),
            "seed": None if self._folder else self._seed,
            "warehouse": self.holdings.digest,
            "choices": list(self._choices),
            "prompts": digest_text(instructions()),
            "tool_budget": "told, and enforced by memories that can",
        }

    def corpora(self) -> Sequence[Corpus]:
        """One, without documents: everything is taught."""
        return (Corpus(id=SCOPE, documents=(), native=self.holdings, digest=self.holdings.digest),)

    def tasks(self) -> Sequence[Task]:
        return tuple(_task(protocol) for protocol in self.protocols)

    def about(self) -> list[str]:
        """What is played, for a plan: one line, and one for each thing that an imported set lacks."""
        found = self.identity()
        made = f"generated from seed {self._seed}" if self._folder is None else str(found["set"])
        extra = ", ".join(self._choices) or "none"
        hashed = f"{published_hash(self.protocols)[:16]}\N{HORIZONTAL ELLIPSIS}"
        said = [f"{len(self.protocols)} protocols, {made} (published hash {hashed}); extra stages: {extra}"]
        return said if self._folder is None else [*said, *self._lacking()]

    def _lacking(self) -> list[str]:
        """What stands in the way of an answer to imported protocols, a sentence each."""
        prose = sum(_SQL.search(protocol.fact) is None for protocol in self.protocols)
        said = []
        if self.holdings.warehouse is None:
            said.append(
                "They came without their warehouse, so the embedded platform has no rows to answer from: "
                "--set lifecycle.warehouse=FILE."
            )
        if prose:
            said.append(
                f"{prose} of {len(self.protocols)} facts are prose without SQL: the agents rules and "
                "scripted-lifecycle can keep them and answer none, so give an agent with a model."
            )
        return said

    # -- how it is played and graded -------------------------------------------------------------------------------

    async def drive(self, task: Task, env: Env) -> None:
        """Take a protocol through its stages."""
        protocol = thaw(task)
        stages = plan(protocol, self._choices)
        if env.cell.arm == UNTAUGHT.name:
            stages = tuple(stage for stage in stages if stage.name == NEVER)
        await drive(protocol, stages, env)

    def instructions(self, access: Sequence[str], memory: str = "") -> str:
        """What agents are told, all stages together: for the manifest."""
        return instructions()

    def judges(self, grading: Grading) -> Sequence[Judge]:
        return [LifecycleJudge(self._choices)]

    def metrics(self, grading: Grading) -> Sequence[MetricSpec]:
        """The published metrics under their names, then ours under ``strict:``."""
        return metric_specs()

    def controls(self) -> Sequence[Control]:
        """A perfect script passes everything; who was never taught guesses next to nothing.

        Imported facts need not state SQL, and imported questions may be guessed: that is for the run to show, not for a
        control to deny.
        """
        if self._folder is not None:
            return (Control(NOTHING_KEPT, PASS, 0.0, 0.0),)
        found = [Control(PERFECT, PASS, 1.0, 1.0)]
        if NEVER in self._choices:
            found.append(Control(UNTAUGHT, NEVER_TAUGHT, 0.0, _GUESSES))
        return tuple(found)

    # -- what is concluded -----------------------------------------------------------------------------------------

    def conclude(self, outcomes: Sequence[Outcome], planned: Sequence[str] = ()) -> Mapping[str, JsonValue]:
        """The published table and the strict one of each arm, and what each arm changes against the first."""
        return conclude(outcomes, self._choices, planned)

    def sections(self, summary: Mapping[str, Any]) -> Sequence[Section]:
        """From the summary alone."""
        return drawn.sections(summary.get("conclusion", {}))


def _with_control(protocol: Protocol) -> Protocol:
    """A protocol whose recall question is put to somebody who was never taught as well."""
    extras = protocol.extras or Extras()
    if extras.never_taught is not None:
        return protocol
    return protocol.model_copy(update={"extras": extras.model_copy(update={"never_taught": protocol.recall})})


def _task(protocol: Protocol) -> Task:
    kind = "update" if protocol.update else "transfer" if protocol.transfer else "recall"
    payload: dict[str, JsonValue] = {
        "title": protocol.title,
        "sink": protocol.sink,
        "kind": kind,
        "template": protocol.template,
    }
    return Task(
        id=protocol.id,
        suite=Lifecycle.name,
        scope=SCOPE,
        cluster=protocol.cluster,
        category=protocol.template or kind,
        prompt=protocol.recall.prompt,
        payload=payload,
        gold=freeze(protocol),
    )
