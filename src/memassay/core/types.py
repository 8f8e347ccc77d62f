"""The words of the house as frozen values: what flows from documents to records.

Every model is frozen and refuses unknown fields. The three records that are written line by line (``BuildReport``,
``Answer``, ``Judgement``) carry ``schema_version``; readers refuse a version they do not know.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

SCHEMA_VERSION = 1

Options = Mapping[str, JsonValue]
DataKind = Literal["real", "generated"]
ModelKind = Literal["real", "scripted", "none"]
Role = Literal["contender", "baseline", "control"]
FailureKind = Literal["answered", "memory", "provider", "harness"]


class Frozen(BaseModel):
    """Base of every value: immutable, unknown fields refused, NaN never serialised."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")


# -- what is remembered --------------------------------------------------------------------------------------------


class Unit(Frozen):
    """A citable part of a document.

    Attributes:
        id: unique within the corpus (for LOCOMO the dialogue id, ``D3:11``).
        text: the unit's own words; evidence recall looks for exactly these.
        speaker: who said it, or "".
        span: start and end offsets in ``Document.text``, in characters, or None.
    """

    id: str
    text: str
    speaker: str = ""
    note: str = ""
    span: tuple[int, int] | None = None


class Document(Frozen):
    """A thing to remember: a session, a page, a file. ``date`` is ISO 8601 or None; ``meta`` is free."""

    id: str
    title: str = ""
    text: str
    date: str | None = None
    links: tuple[str, ...] = ()
    units: tuple[Unit, ...] = ()
    meta: Mapping[str, JsonValue] = Field(default_factory=dict)


class Corpus(Frozen):
    """Documents of one scope, in order. ``digest`` covers everything but ``native``."""

    id: str
    variant: str = "default"
    documents: tuple[Document, ...]
    native: Any = Field(default=None, exclude=True, repr=False)
    digest: str


# -- what is asked -------------------------------------------------------------------------------------------------


class Evidence(Frozen):
    """A gold unit: its id in the corpus and the words that must stand in a dossier."""

    id: str
    text: str


class Gold(Frozen):
    """What a right answer is, under one key.

    Attributes:
        answer: the gold answer as text, or None where the data has none.
        evidence: the gold units; an empty tuple means that recall is undefined for this task.
        unresolved: evidence ids of the data file that name no unit, as written there.
        excluded: why this key leaves the task out, or None.
        truth: what else the suite's own graders go by, so that they read nothing but the run.
    """

    answer: str | None = None
    evidence: tuple[Evidence, ...] = ()
    unresolved: tuple[str, ...] = ()
    excluded: str | None = None
    truth: Mapping[str, JsonValue] = Field(default_factory=dict, exclude_if=operator.not_)


class Task(Frozen):
    """One question.

    Attributes:
        id: stable, independent of every filter.
        scope: id of the corpus (and so of the store) it is asked about.
        cluster: what was sampled independently and is resampled.
        split: ``dev``, ``test`` or ``all``.
        as_of: the "now" of the question, ISO 8601, or None.
        payload: the suite's own extras (duplicate of, answer type); never needed to answer.
        gold: gold per key; the first key is the original. Never reaches a memory or an agent.
    """

    id: str
    suite: str
    scope: str
    cluster: str
    category: str
    split: str = "all"
    prompt: str
    as_of: str | None = None
    payload: Mapping[str, JsonValue] = Field(default_factory=dict)
    gold: Mapping[str, Gold] = Field(default_factory=dict)


# -- who answers ---------------------------------------------------------------------------------------------------


class Arm(Frozen):
    """memory x options x view x access x agent, named."""

    name: str
    memory: str
    options: Mapping[str, JsonValue] = Field(default_factory=dict)
    view: str | None = None
    access: tuple[str, ...] = ("dossier",)
    agent: str = "none"
    agent_options: Mapping[str, JsonValue] = Field(default_factory=dict)
    isolation: Literal["shared", "copy", "fresh"] = "shared"
    role: Role = "contender"


class StoreSpec(Frozen):
    """What makes a store what it is; its digest is the store's key. ``source`` is the memory's version or digest."""

    memory: str
    options: Mapping[str, JsonValue] = Field(default_factory=dict)
    corpus_digest: str
    source: str = ""
    writer: str = "none"
    build: int = 0
    seed: int = 0


class StoreRef(Frozen):
    """Where a built store is. ``digest`` is None where a service has none."""

    key: str
    kind: Literal["folder", "service"] = "folder"
    location: str
    namespace: str = ""
    digest: str | None = None


class CellKey(Frozen):
    """The unit of work."""

    task: str
    arm: str
    build: int = 0
    repetition: int = 0


# -- what is retrieved ---------------------------------------------------------------------------------------------


class Query(Frozen):
    """What a memory is asked. ``budget_tokens`` is the largest budget that will be scored, in the run's own tokens."""

    text: str
    as_of: str | None = None
    budget_tokens: int
    limit: int | None = None


class Passage(Frozen):
    """A piece of a dossier, best first. ``unit_ids`` are the sources that the memory claims."""

    text: str
    kind: Literal["verbatim", "fact", "summary", "metadata"] = "verbatim"
    doc_ids: tuple[str, ...] = ()
    unit_ids: tuple[str, ...] = ()
    span: tuple[int, int] | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    score: float | None = None
    rank: int | None = None
    native_id: str | None = None


class Dossier(Frozen):
    """The passages a memory gave for a task, in its order; ``digest`` covers them, and is "" before they are stored."""

    status: Literal["ok", "empty"] = "ok"
    passages: tuple[Passage, ...] = ()
    digest: str = ""


class Server(Frozen):
    """A tool server (Model Context Protocol) over one store: started as a child process, or reached by ``url``.

    Attributes:
        name: what clients call it; a tool ``search`` of the server ``memory`` is ``mcp__memory__search`` to some.
        command: program and arguments; empty where ``url`` is given.
        env: what the child needs beside the harness's own short list of variables; never a secret of ours.
        cwd: the folder it is started in, or None.
        tools: the tools that an agent may use, as the server names them; the server may have more.
        writes: whether a tool of the server, offered or not, could change the store; each cell then gets a copy.
    """

    name: str = "memory"
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    url: str | None = None
    tools: tuple[str, ...] = ()
    writes: bool = False


class Toolset(Frozen):
    """What an agent may use beside the words of a request.

    Attributes:
        servers: tool servers over the store.
        folder: a folder whose files it may list, search and read, or None. It is the agent's own copy, and its
            working folder.
    """

    servers: tuple[Server, ...] = ()
    folder: str | None = None


class Request(Frozen):
    """All that an agent gets: never the gold, never another task.

    Attributes:
        attempt: how often this cell has been asked, from 1; a resumed run counts on.
        system: the suite's instructions.
        prompt: the question as the data has it; it may begin with any character and name any file.
        as_of: the "now" of the question, ISO 8601, or None.
        dossier: what the memory found, rendered and cut; None where the arm gives no dossier, "" where it is empty.
        toolset: tools and files of the arm.
        workdir: a folder of this cell alone, outside of any repository, gone after it; it holds nothing but
            ``toolset.folder`` where there is one.
        limit_seconds, limit_turns, limit_usd: limits that the agent keeps itself; None is no limit.
    """

    cell: CellKey
    attempt: int = 1
    system: str = ""
    prompt: str
    as_of: str | None = None
    dossier: str | None = None
    toolset: Toolset = Toolset()
    workdir: str | None = None
    limit_seconds: float = 600.0
    limit_turns: int | None = None
    limit_usd: float | None = None


# -- what a memory shows of itself ---------------------------------------------------------------------------------


# -- what is recorded ----------------------------------------------------------------------------------------------


class Status(StrEnum):
    """How a cell ended. ``kind`` is one of the four kinds of principle 2."""

    OK = "ok"
    EMPTY = "empty"
    REFUSED = "refused"
    MEMORY_TIMEOUT = "memory-timeout"
    MEMORY_CRASH = "memory-crash"
    MEMORY_EMPTY_STORE = "memory-empty-store"
    LIMIT_TIME = "limit-time"
    LIMIT_TURNS = "limit-turns"
    LIMIT_MONEY = "limit-money"
    RATE_LIMIT = "rate-limit"
    API_ERROR = "api-error"
    NETWORK = "network"
    HARNESS = "harness-error"

    @property
    def kind(self) -> FailureKind:
        return _KINDS.get(self, "memory")


_KINDS: dict[Status, FailureKind] = {
    Status.OK: "answered",
    Status.EMPTY: "answered",
    Status.REFUSED: "answered",
    Status.RATE_LIMIT: "provider",
    Status.API_ERROR: "provider",
    Status.NETWORK: "provider",
    Status.HARNESS: "harness",
}


class Usage(Frozen):
    """What a step, an answer or a build cost. ``wall_ms`` is the one field that differs between equal runs.

    Attributes:
        input: tokens sent that no cache served; ``cache_read`` and ``cache_write`` are apart from them.
        cost_usd: by our own dated price table, or None where it lacks the model.
        reported_usd: what the provider's own client says, or None.
    """

    input: int = Field(0, ge=0)
    output: int = Field(0, ge=0)
    cache_read: int = Field(0, ge=0)
    cache_write: int = Field(0, ge=0)
    cost_usd: float | None = Field(None, ge=0, allow_inf_nan=False)
    reported_usd: float | None = Field(None, ge=0, allow_inf_nan=False)
    turns: int = Field(0, ge=0)
    tool_calls: int = Field(0, ge=0)
    wall_ms: float = Field(0.0, ge=0, allow_inf_nan=False)


class Check(Frozen):
    """A verified fact about a step; ``passed`` is None where it could not be checked."""

    name: str
    passed: bool | None
    expected: JsonValue = None
    observed: JsonValue = None
    source: Literal["api", "files", "reply"] = "api"


class Step(Frozen):
    """One exchange. ``dossier`` and ``transcript`` are digests of content-addressed files in the run folder.

    ``tools`` counts an agent's calls by the name of the tool. ``facts`` is what a suite that drives its tasks itself
    notes for its graders. ``evidence`` is what an agent hands over to be kept as
    the transcript (every line that it saw); it is not part of the record.
    """

    name: str = "answer"
    identity: str = ""
    status: Status = Status.OK
    detail: str = ""
    text: str | None = None
    dossier: str | None = None
    transcript: str | None = None
    checks: tuple[Check, ...] = ()
    tools: Mapping[str, int] = Field(default_factory=dict)
    facts: Mapping[str, JsonValue] = Field(default_factory=dict)
    usage: Usage = Usage()
    evidence: bytes | None = Field(default=None, exclude=True, repr=False)


class Answer(Frozen):
    """The record of one attempt at a cell. The fields that a resume needs come first in the line."""

    schema_version: Literal[1] = 1
    cell: CellKey
    attempt: int = 1
    status: Status
    data: DataKind = "real"
    model: ModelKind = "none"
    detail: str = ""
    steps: tuple[Step, ...] = ()
    state_before: str | None = None
    state_after: str | None = None
    usage: Usage = Usage()
    at: str = ""


class Judgement(Frozen):
    """One grader's verdict. ``scores`` maps a metric to a number, or to None where it is undefined for this task."""

    schema_version: Literal[1] = 1
    id: str
    judge: str
    subjects: tuple[CellKey, ...]
    attempt: int = 1
    answer: str = ""
    data: DataKind = "real"
    model: ModelKind = "none"
    order: int = 0
    repetition: int = 0
    status: Literal["ok", "undefined", "failed"] = "ok"
    position: str | None = None
    labels: Mapping[str, JsonValue] = Field(default_factory=dict)
    scores: Mapping[str, float | None] = Field(default_factory=dict)
    explanation: str = ""
    raw: str | None = None
    usage: Usage = Usage()


class BuildReport(Frozen):
    """What building one store gave. ``status`` ``unavailable`` means the memory said why it cannot be measured here.

    ``facts`` is what the memory found out while it built, such as what a setting ``auto`` came to mean.
    """

    schema_version: Literal[1] = 1
    memory: str
    scope: str
    store: StoreRef | None = None
    status: Literal["ok", "unavailable", "memory-crash", "memory-timeout", "memory-empty-store", "network"] = "ok"
    detail: str = ""
    documents: int = 0
    passages: int | None = None
    bytes: int | None = None
    facts: Mapping[str, JsonValue] = Field(default_factory=dict)
    reused: bool = False
    usage: Usage = Usage()
    at: str = ""


# -- what is concluded ---------------------------------------------------------------------------------------------


class Estimate(Frozen):
    """A number with its error bar, or None with the reason why there is none.

    Attributes:
        value: the point estimate.
        low, high: ends of the two-sided interval at ``level``; both None where an interval is undefined.
        n: tasks behind the number; ``clusters``: independent clusters behind it.
        method: name of the rule of docs/statistics.md that made the interval.
        reason: why value or interval is None, else None.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    n: int = 0
    clusters: int = 0
    method: str = ""
    reason: str | None = None
