"""Memories that are taught: what they keep, who may speak to them, and how what is kept becomes shared knowledge.

Contracts as in :mod:`memassay.core.contracts`: a capability is ``isinstance(store, Records)``, and a plain method does
where ``async`` is declared.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from pydantic import Field, JsonValue

from memassay.core.types import Frozen


class MemoryRecord(Frozen):
    """A thing that somebody had a memory keep, as it is now.

    Attributes:
        status: in the memory's own words (``pending``, ``applied``, ``superseded``).
        live: whether it can still be found by anybody.
        owner: who had it kept, as the memory calls them.
        kind: the memory's class of record; records of one class can take each other's place.
        entities: what it is filed on.
        superseded_by: the record that took its place, and ``score`` how alike the memory found the two.
        retired_by: how it went, as the memory tells: ``supersede``, ``consolidate``, ``reject``, ``forget``, or "".
        change: the change that put it into shared knowledge, or "".
    """

    id: str
    text: str
    status: str
    live: bool
    owner: str = ""
    kind: str = ""
    entities: tuple[str, ...] = ()
    created_at: str = ""
    superseded_by: str = ""
    score: float | None = None
    retired_by: str = ""
    change: str = ""


class SharedPage(Frozen):
    """A page of shared knowledge, as it is written or read."""

    slug: str
    title: str
    summary: str
    body: str


class ToolCall(Frozen):
    """A call that an agent made through a tool server of ours, as the server saw it.

    Attributes:
        session: of which conversation; calls of one share it, but where the memory ended it and another was opened.
        result: everything that the tool returned, as text.
        error: whether it was returned as an error; ``code`` is the memory's own, or "".
        sent: whether it reached the memory.
    """

    session: str
    identity: str
    tool: str
    arguments: Mapping[str, JsonValue] = Field(default_factory=dict)
    result: str = ""
    error: bool = False
    code: str = ""
    sent: bool = True
    wall_ms: float = 0.0


@runtime_checkable
class Records(Protocol):
    """A store that shows what it has kept, whoever had it kept."""

    def records(self, *, owner: str = "", entity: str = "") -> Awaitable[Sequence[MemoryRecord]]:
        """Records in the order in which they were made; those of an owner, or on an entity, where one is named."""
        ...


@runtime_checkable
class Identities(Protocol):
    """A store that tells apart who speaks to it; ``toolset(identity)`` then speaks as that one."""

    def identity(self, role: str, attempt: int) -> str:
        """A name that nobody has had before for ``teacher``, ``learner``, …; the same name for the same arguments."""
        ...


@runtime_checkable
class Watched(Protocol):
    """A store whose tool server notes every call."""

    def calls(self) -> Awaitable[Sequence[ToolCall]]:
        """The calls of all conversations so far, in order."""
        ...


BUDGET_EXHAUSTED = "budget_exhausted"
"""The code of a call that was refused because the budget of its conversation was spent."""


@runtime_checkable
class Budgets(Protocol):
    """A store whose tool server holds an agent to a budget of calls."""

    def budget(self, calls: int) -> Awaitable[None] | None:
        """Give every conversation that ``toolset()`` opens from now on so many calls.

        A call past them reaches nothing: its result is an error that says to give the final answer now, and in the log
        its code is ``BUDGET_EXHAUSTED``.
        """
        ...


@runtime_checkable
class Audited(Protocol):
    """A store whose memory keeps an audit log of its own."""

    def audit(self, session: str) -> Awaitable[Sequence[Mapping[str, JsonValue]]]:
        """The events of a conversation, by the id that its calls are noted under, as the memory gives them."""
        ...


@runtime_checkable
class Reviews(Protocol):
    """A store with a review queue between what is kept and what is shared. All raise ``MemoryFailure`` on a refusal."""

    def approve(self, record: str, notes: str = "") -> Awaitable[None]: ...

    def reject(self, record: str, notes: str = "") -> Awaitable[None]: ...

    def apply(
        self, record: str, *, entity: str = "", description: str = "", page: SharedPage | None = None
    ) -> Awaitable[str]:
        """Put a record into a sink: an entity's description, or a page. Returns the change's id, or ""."""
        ...

    def applied(self, change: str, record: str) -> Awaitable[bool]:
        """Whether the memory itself says that the change stands, is not rolled back, and is of that record."""
        ...

    def stands(self, change: str, record: str) -> Awaitable[bool]:
        """Whether a change of that record is not rolled back, whatever has become of the record since."""
        ...

    def description(self, entity: str) -> Awaitable[str | None]:
        """What an entity's description says, to whoever asks now."""
        ...

    def page(self, slug: str) -> Awaitable[SharedPage | None]:
        """A page as it is now, or None."""
        ...

    def roll_back(self, change: str) -> Awaitable[None]: ...


@runtime_checkable
class Restarts(Protocol):
    """A store whose process can be ended and started again."""

    def restart(self) -> Awaitable[None]: ...
