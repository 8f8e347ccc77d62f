"""An open store: what a platform shows of itself to a suite, and how an agent gets at it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from memassay.core.errors import MemoryFailure
from memassay.core.taught import MemoryRecord, SharedPage, ToolCall
from memassay.core.types import Server, Toolset
from memassay.memories.platform import embedded
from memassay.memories.platform.client import (
    AUDIT,
    CHANGESETS,
    INSIGHTS,
    OWN_RECORDS,
    PlatformClient,
    Refused,
)
from memassay.memories.platform.embedded import Workspace
from memassay.memories.platform.people import AGENTS, People, own_numbers

SNAPSHOT = "platform.sqlite"
_UNDONE = ("confirmation_required", "duplicate_blocked")
_GONE = ("rejected", "superseded", "archived")


class PlatformStore:
    """A platform that is reached by address and key.

    Args:
        url: where its tools are served.
        key: of a reviewer.
        people: who may speak.
    """

    def __init__(self, url: Callable[[], str], key: str, people: People) -> None:
        self._url, self._key, self._people = url, key, people
        self._sessions: list[str] = []
        self._clients: dict[str, PlatformClient] = {}
        self._lock = threading.RLock()
        self._log: Path | None = None
        self._budget: int | None = None
        self._open = True

    def close(self) -> None:
        """End the sessions of its agents; with the last store the processes end. May be called twice."""
        for word in self._sessions:
            embedded.close_session(word)
        self._sessions.clear()
        self._forget()
        if self._open:
            self._open = False
            embedded.leave()

    # -- agents ----------------------------------------------------------------------------------------------------

    def identity(self, role: str, attempt: int) -> str:
        """See :class:`memassay.core.taught.Identities`."""
        return self._people.email(role, attempt)

    def toolset(self, identity: str = "") -> Toolset:
        """A new session of somebody's: a tool server that gives handle and purpose by itself, and notes every call."""
        who = identity or self._people.email("teacher", 1)
        with self._lock:
            self._log = self._log or embedded.new_log()
        word, url, tools = embedded.open_session(self._url(), self._people.key(who), self._log, who, self._budget)
        self._sessions.append(word)
        return Toolset(servers=(Server(url=url, tools=tools, writes=True),))

    def budget(self, calls: int) -> None:
        """See :class:`memassay.core.taught.Budgets`."""
        self._budget = calls

    def calls(self) -> Sequence[ToolCall]:
        """See :class:`memassay.core.taught.Watched`."""
        if self._log is None or not self._log.exists():
            return ()
        return tuple(ToolCall.model_validate_json(line) for line in self._log.read_bytes().splitlines())

    def audit(self, session: str) -> Sequence[Mapping[str, Any]]:
        """See :class:`memassay.core.taught.Audited`."""
        return tuple(self._client().every(AUDIT, session_id=session))

    # -- records ---------------------------------------------------------------------------------------------------

    def records(self, *, owner: str = "", entity: str = "") -> Sequence[MemoryRecord]:
        """Of the identities of this store, or of one of them; a platform that is shared holds others' too."""
        owners = {owner} if owner else set(self._people.emails())
        found = self._own_records() if self._shows_records else self._found(sorted(owners))
        return tuple(one for one in found if one.owner in owners and (not entity or entity in one.entities))

    @cached_property
    def _shows_records(self) -> bool:
        """Whether it shows all records at once, notes too, with what took the place of what."""
        return self._client().has(OWN_RECORDS, per_page=1)

    def _own_records(self) -> Iterable[MemoryRecord]:
        for row in self._client().every(OWN_RECORDS, per_page=500):
            yield _record(
                row,
                text="content",
                # An insight that its owner forgot is archived, and called rejected like one that a reviewer threw out.
                status="forgotten" if row.get("retired_by") == "forget" else row.get("status") or row.get("lifecycle"),
                live=row.get("lifecycle") not in _GONE,
            )

    def _found(self, owners: Sequence[str]) -> Sequence[MemoryRecord]:
        """By what every platform of this kind has: insights through REST, live notes by asking as their owner."""
        found = []
        for owner in owners:
            rows = self._client().every(INSIGHTS, captured_by=owner, order="oldest")
            for row in rows:
                status = str(row.get("status"))
                found.append(_record(row, text="insight_text", status=status, live=status not in _GONE))
            found += [
                _record(row, text="content", status=row.get("status", "active"), live=True, owner=owner)
                for row in self._client(owner).notes(owner)
            ]
        return sorted(found, key=lambda one: (one.created_at, one.id))

    # -- review ----------------------------------------------------------------------------------------------------

    def approve(self, record: str, notes: str = "") -> None:
        """See :class:`memassay.core.taught.Reviews`, as the following."""
        self._client().ask("PUT", f"{INSIGHTS}/{record}/status", {"status": "approved", "review_notes": notes})

    def reject(self, record: str, notes: str = "") -> None:
        self._client().ask("PUT", f"{INSIGHTS}/{record}/status", {"status": "rejected", "review_notes": notes})

    def apply(self, record: str, *, entity: str = "", description: str = "", page: SharedPage | None = None) -> str:
        given: dict[str, Any] = {"sink": "knowledge_page", "page": page.model_dump()} if page is not None else {
            "sink": "datahub",
            "entity_urn": entity,
            "changes": [{"change_type": "update_description", "target": "", "detail": description}],
        }  # fmt: skip
        said = self._client().tool("apply_knowledge", action="apply", insight_ids=[record], confirm=True, **given)
        if undone := next((why for why in _UNDONE if said.get(why)), None):
            raise Refused("apply_knowledge", undone, str(said.get("message", "nothing was applied")))
        return str(said.get("changeset_id") or "")

    def applied(self, change: str, record: str) -> bool:
        insight = self._client().ask("GET", f"{INSIGHTS}/{record}")
        held = self._change(str(insight.get("changeset_ref") or change), record)
        return insight.get("status") == "applied" and held is not None and not held.get("rolled_back")

    def stands(self, change: str, record: str) -> bool:
        held = self._change(change, record)
        return held is not None and not held.get("rolled_back")

    def description(self, entity: str) -> str | None:
        try:
            said = self._client().tool("datahub_get_entity", urn=entity)
        except Refused as problem:
            # Of the catalogue behind a platform some only have the words.
            if problem.code == "not_found" or (problem.code == "tool_error" and "not found" in str(problem).lower()):
                return None
            raise
        return str(said.get("description") or "")

    def page(self, slug: str) -> SharedPage | None:
        found = self._client().page(slug)
        if found is None:
            return None
        return SharedPage(slug=slug, **{name: str(found.get(name) or "") for name in ("title", "summary", "body")})

    def roll_back(self, change: str) -> None:
        self._client().ask("POST", f"{CHANGESETS}/{change}/rollback")

    def _change(self, change: str, record: str) -> Mapping[str, Any] | None:
        """A changeset that lists a record; where none is named, the newest that does."""
        if change:
            held: Mapping[str, Any] = self._client().ask("GET", f"{CHANGESETS}/{change}")
            return held if record in (held.get("source_insight_ids") or ()) else None
        rows = self._client().every(CHANGESETS)
        return next((row for row in rows if record in (row.get("source_insight_ids") or ())), None)

    # -- the platform ----------------------------------------------------------------------------------------------

    def _client(self, email: str = "") -> PlatformClient:
        """Of the reviewer, or of somebody."""
        with self._lock:
            if email not in self._clients:
                key = self._people.key(email) if email else self._key
                self._clients[email] = PlatformClient(self._url(), key)
            return self._clients[email]

    def _forget(self) -> None:
        with self._lock:
            for client in self._clients.values():
                client.close()
            self._clients.clear()


class EmbeddedStore(PlatformStore):
    """A workspace of its own in the embedded platform, made when it is first needed.

    Args:
        wanted: of the workspace, see :class:`.embedded.Workspace`.
        key: of its admin.
    """

    def __init__(self, wanted: Mapping[str, Any], key: str) -> None:
        super().__init__(lambda: self._workspace().url, key, People(key, own_numbers()))
        self._wanted = wanted
        self._made: Workspace | None = None

    def close(self) -> None:
        """Delete the workspace too."""
        if self._made is not None:
            self._made.remove()
            self._made = None
        super().close()

    def snapshot(self, place: Path) -> None:
        """See :class:`memassay.core.contracts.Snapshots`, as the following; the log of calls is no part of it."""
        self._workspace().snapshot(place / SNAPSHOT)

    def restore(self, place: Path) -> None:
        if not (place / SNAPSHOT).is_file():
            raise MemoryFailure(f"{place} holds no snapshot")
        self._workspace().restore(place / SNAPSHOT)
        self._forget()

    def restart(self) -> None:
        """Close the workspace's files, drop what the process remembers of them, and open them again.

        Other attempts are served by the same process, so it is not ended.
        """
        self._workspace().reopen()

    def _workspace(self) -> Workspace:
        with self._lock:
            if self._made is None:
                self._made = Workspace(self._wanted, self._key, AGENTS)
            return self._made


def _record(row: Mapping[str, Any], *, text: str, status: Any, live: bool, owner: str = "") -> MemoryRecord:
    """A row of REST or of a tool as a record."""
    try:
        return MemoryRecord(
            id=row["id"],
            text=row[text],
            status=str(status),
            live=live,
            owner=owner or row.get("captured_by") or "",
            kind=row.get("sink_class") or row.get("type") or "",
            entities=tuple(row.get("entity_urns") or ()),
            created_at=row.get("created_at") or "",
            superseded_by=row.get("superseded_by") or "",
            score=row.get("superseded_score"),
            retired_by=row.get("retired_by") or "",
            change=row.get("changeset_ref") or "",
        )
    except (KeyError, ValidationError) as error:
        raise MemoryFailure(f"the platform shows a record that is none ({type(error).__name__})") from error
