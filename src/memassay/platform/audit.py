"""Every call leaves an event."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from time import perf_counter
from typing import Literal

from memassay.platform.database import Writing, new_id, rfc3339
from memassay.platform.shapes import AuditEvent, Enrichment, Identity, Paged

# As clients read the kinds of calls.
_KINDS: dict[str, Literal["mcp_tool_call", "admin"]] = {"tool": "mcp_tool_call", "admin": "admin"}
_SORTED = {"timestamp": "at", "duration_ms": "duration_ms", "tool_name": "tool"}


@dataclass(slots=True)
class Call:
    """A call while it goes on.

    Attributes:
        enrichment: what its result carries along; ``tokens`` it would be in full, and is.
        told: descriptions that the session knows afterwards, URN and digest.
        kept: whether its event is in the file.
    """

    identity: Identity
    name: str
    kind: Literal["tool", "admin"]
    session: str = ""
    enrichment: Enrichment | None = None
    tokens: tuple[int, int] = (0, 0)
    told: list[tuple[str, str]] = field(default_factory=list)
    started: float = field(default_factory=perf_counter)
    kept: bool = False


def add(writing: Writing, call: Call, error: str | None = None) -> None:
    """Keep the event of a call; an event that is rolled back with its work can be kept again."""
    writing.con.execute(
        "INSERT INTO audit (id, at, duration_ms, session_id, user_id, kind, tool, success, error, mode, tokens_full, "
        "tokens_dedup) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            new_id(),
            writing.tick(),
            round((perf_counter() - call.started) * 1000, 3),
            call.session,
            call.identity.user_id,
            call.kind,
            call.name,
            error is None,
            error,
            "none" if call.enrichment is None else call.enrichment.mode,
            *call.tokens,
        ),
    )


def listed(
    con: sqlite3.Connection, session_id: str | None, page: int, per_page: int, sort_by: str, descending: bool
) -> Paged[AuditEvent]:
    where, values = ("WHERE session_id = ?", (session_id,)) if session_id is not None else ("", ())
    total = con.execute(f"SELECT count(*) FROM audit {where}", values).fetchone()[0]
    way = "DESC" if descending else "ASC"
    rows = con.execute(
        f"SELECT * FROM audit {where} ORDER BY {_SORTED[sort_by]} {way}, seq {way} LIMIT ? OFFSET ?",
        (*values, per_page, (page - 1) * per_page),
    )
    return Paged(data=tuple(_event(row) for row in rows), total=total, page=page, per_page=per_page)


def _event(row: sqlite3.Row) -> AuditEvent:
    return AuditEvent(
        id=row["id"],
        timestamp=rfc3339(row["at"]),
        duration_ms=round(row["duration_ms"]),
        session_id=row["session_id"],
        user_id=row["user_id"],
        event_kind=_KINDS[row["kind"]],
        tool_name=row["tool"],
        success=bool(row["success"]),
        error_message=row["error"],
        enrichment_applied=row["mode"] != "none",
        enrichment_tokens_full=row["tokens_full"],
        enrichment_tokens_dedup=row["tokens_dedup"],
        enrichment_mode=row["mode"],
    )
