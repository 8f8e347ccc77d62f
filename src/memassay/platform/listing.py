"""Records as their owners, searches and pushes see them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from memassay.platform.database import rfc3339
from memassay.platform.records import DIMENSIONS
from memassay.platform.shapes import HeldRecord, MemoryRecord, Paged, RecordEvent, RecordFilter, RecordList


def filed_on(con: sqlite3.Connection, urns: Sequence[str]) -> list[int]:
    """The ``seq`` of every record on one of these entities, ascending."""
    marks = ",".join("?" * len(urns))
    rows = con.execute(f"SELECT DISTINCT seq FROM record_entities WHERE urn IN ({marks}) ORDER BY seq", list(urns))
    return [row["seq"] for row in rows]


def pushed(
    con: sqlite3.Connection, urns: Sequence[str], owner: int, persona: str | None, limit: int
) -> list[sqlite3.Row]:
    """Live records on these entities, newest first: notes and applied insights, never what waits for review.

    Args:
        con: in a transaction.
        urns: entities.
        owner: whose records, where ``persona`` is None.
        persona: records of everybody with this persona, or None.
        limit: at most so many.
    """
    whose, value = ("owner = ?", owner) if persona is None else ("persona = ?", persona)
    marks = ",".join("?" * len(urns))
    return con.execute(
        f"SELECT * FROM records WHERE seq IN (SELECT seq FROM record_entities WHERE urn IN ({marks})) "
        f"AND lifecycle IN ('active', 'stale') AND (status IS NULL OR status = 'applied') AND {whose} "
        "ORDER BY seq DESC LIMIT ?",
        (*urns, value, limit),
    ).fetchall()


def _where(owner: int, asked: RecordFilter) -> tuple[str, list[Any]]:
    """The SQL condition of a filter over somebody's records, and its values."""
    parts, values = ["owner = ?"], [owner, *(() if asked.status is None else (asked.status,))]
    parts.append("lifecycle IN ('active', 'stale')" if asked.status is None else "lifecycle = ?")
    for condition, value in (
        ("category = ?", asked.category),
        ("seq IN (SELECT seq FROM record_entities WHERE urn = ?)", asked.entity_urn),
    ):
        if value is not None:
            parts.append(condition)
            values.append(value)
    if asked.dimension is not None:
        own = [type for type, dimension in DIMENSIONS.items() if asked.dimension in (dimension, "knowledge")]
        parts.append(f"sink_class {'NOT ' * (asked.dimension == 'knowledge')}IN ({', '.join('?' * len(own))})")
        values += own
    return " AND ".join(parts), values


def listed(con: sqlite3.Connection, owner: int, filters: RecordFilter, limit: int, offset: int) -> RecordList:
    """Some of somebody's records, newest first."""
    condition, values = _where(owner, filters)
    total: int = con.execute(f"SELECT count(*) FROM records WHERE {condition}", values).fetchone()[0]
    rows = con.execute(
        f"SELECT * FROM records WHERE {condition} ORDER BY seq DESC LIMIT ? OFFSET ?", (*values, limit, offset)
    )
    found = tuple(memory_record(row) for row in rows)
    return RecordList(records=found, total=total, limit=limit, offset=offset)


def history(con: sqlite3.Connection, record_id: str | None, page: int, per_page: int) -> Paged[RecordEvent]:
    """What happened to records, or to one, oldest first."""
    condition, values = ("1", ()) if record_id is None else ("record_id = ?", (record_id,))
    total: int = con.execute(f"SELECT count(*) FROM history WHERE {condition}", values).fetchone()[0]
    rows = con.execute(
        f"SELECT * FROM history WHERE {condition} ORDER BY seq LIMIT ? OFFSET ?",
        (*values, per_page, (page - 1) * per_page),
    )
    events = tuple(
        RecordEvent(
            at=rfc3339(row["at"]),
            record_id=row["record_id"],
            route=row["route"],
            by=row["by"],
            from_status=row["from_status"],
            to_status=row["to_status"],
            other_id=row["other_id"],
            score=row["score"],
            notes=row["notes"],
        )
        for row in rows
    )
    return Paged(data=events, total=total, page=page, per_page=per_page)


def held(con: sqlite3.Connection, owner: str | None, page: int, per_page: int) -> Paged[HeldRecord]:
    """Everybody's records, or those that one captured, oldest first."""
    condition, values = ("1", ()) if owner is None else ("created_by = ?", (owner,))
    total: int = con.execute(f"SELECT count(*) FROM records WHERE {condition}", values).fetchone()[0]
    rows = con.execute(
        "SELECT r.*, (SELECT h.seq FROM history h WHERE h.record_id = r.id AND r.lifecycle NOT IN ('active', 'stale') "
        f"ORDER BY h.seq DESC LIMIT 1) AS ended FROM records r WHERE {condition} ORDER BY r.seq LIMIT ? OFFSET ?",
        (*values, per_page, (page - 1) * per_page),
    ).fetchall()
    ends = {row["seq"]: con.execute("SELECT * FROM history WHERE seq = ?", (row["ended"],)).fetchone() for row in rows}
    found = tuple(
        HeldRecord(
            id=row["id"],
            captured_by=row["created_by"],
            type=row["sink_class"],
            lifecycle=row["lifecycle"],
            status=row["status"],
            content=row["content"],
            entity_urns=tuple(json.loads(row["entity_urns"])),
            created_at=rfc3339(row["created"]),
            changeset_ref=row["changeset_ref"],
            retired_by=None if end is None else end["route"],
            superseded_by=row["superseded_by"],
            superseded_score=None if end is None else end["score"],
        )
        for row in rows
        for end in (ends[row["seq"]],)
    )
    return Paged(data=found, total=total, page=page, per_page=per_page)


def reference(row: sqlite3.Row) -> str:
    return f"mcp:{'memory' if row['status'] is None else 'insight'}:{row['id']}"


def memory_record(row: sqlite3.Row) -> MemoryRecord:
    status = {} if row["status"] is None else {"insight_status": row["status"]}
    return MemoryRecord(
        id=row["id"],
        created_at=rfc3339(row["created"]),
        updated_at=rfc3339(row["updated"]),
        created_by=row["created_by"],
        persona=row["persona"],
        dimension=DIMENSIONS.get(row["sink_class"], "knowledge"),
        sink_class=row["sink_class"],
        content=row["content"],
        category=row["category"],
        confidence=row["confidence"],
        source=row["source"],
        entity_urns=tuple(json.loads(row["entity_urns"])),
        related_columns=tuple(json.loads(row["related_columns"])),
        metadata=json.loads(row["metadata"]) | status,
        status=row["lifecycle"],
        reference=reference(row),
        superseded_by=row["superseded_by"],
    )
