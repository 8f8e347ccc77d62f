"""The review queue: lists, counts and the shape of an insight."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from memassay.platform.database import moment, rfc3339
from memassay.platform.shapes import EntityCount, Insight, InsightFilter, InsightStats

_DAY = 86_400_000_000
STATUSES = ("pending", "approved", "applied", "rejected", "superseded")


def where(filters: InsightFilter | None) -> tuple[str, list[Any]]:
    """The SQL condition of a filter over ``records``, and its values."""
    parts: list[str] = ["status IS NOT NULL"]
    values: list[Any] = []
    if filters is not None:
        for name, value in (
            ("status", filters.status),
            ("category", filters.category),
            ("created_by", filters.captured_by),
            ("confidence", filters.confidence),
        ):
            if value is not None:
                parts.append(f"{name} = ?")
                values.append(value)
        if filters.entity_urn is not None:
            parts.append("seq IN (SELECT seq FROM record_entities WHERE urn = ?)")
            values.append(filters.entity_urn)
        if filters.since is not None:
            parts.append("created >= ?")
            values.append(moment(filters.since))
        if filters.until is not None:
            parts.append("created <= ?")
            values.append(moment(filters.until))
    return " AND ".join(parts), values


def listed(
    con: sqlite3.Connection, filters: InsightFilter | None, oldest: bool, limit: int, offset: int
) -> tuple[list[Insight], int]:
    """Some of the insights, and how many there are."""
    condition, values = where(filters)
    total: int = con.execute(f"SELECT count(*) FROM records WHERE {condition}", values).fetchone()[0]
    rows = con.execute(
        f"SELECT * FROM records WHERE {condition} ORDER BY created {'ASC' if oldest else 'DESC'} LIMIT ? OFFSET ?",
        (*values, limit, offset),
    )
    return [insight(row) for row in rows], total


def waiting(con: sqlite3.Connection, urn: str, captured_by: str | None) -> list[Insight]:
    """Pending and approved insights of an entity, of one owner or (None) of all, oldest first."""
    condition, values = where(InsightFilter(entity_urn=urn, captured_by=captured_by))
    rows = con.execute(
        f"SELECT * FROM records WHERE {condition} AND status IN ('pending', 'approved') ORDER BY created", values
    )
    return [insight(row) for row in rows]


def counted(con: sqlite3.Connection, filters: InsightFilter | None, now: int) -> InsightStats:
    condition, values = where(filters)

    def by(column: str, more: str = "") -> dict[str, int]:
        rows = con.execute(
            f"SELECT {column}, count(*) FROM records WHERE {condition}{more} GROUP BY 1 ORDER BY 1", values
        )
        return {name: number for name, number in rows}

    statuses = by("status")
    pending = con.execute(
        f"SELECT min(created), count(*) FILTER (WHERE created < ?) FROM records WHERE {condition} "
        "AND status = 'pending'",
        (now - 30 * _DAY, *values),
    ).fetchone()
    return InsightStats(
        total_pending=statuses.get("pending", 0),
        by_category=by("category"),
        by_confidence=by("confidence"),
        by_status={name: statuses.get(name, 0) for name in STATUSES},
        oldest_pending_at=None if pending[0] is None else rfc3339(pending[0]),
        pending_over_30d=pending[1],
    )


def pending_by_entity(con: sqlite3.Connection, captured_by: str | None) -> tuple[EntityCount, ...]:
    """Entities with pending insights, of one owner or (None) of all, most first."""
    condition, values = where(InsightFilter(status="pending", captured_by=captured_by))
    rows = con.execute(
        f"SELECT urn, count(*) FROM record_entities WHERE seq IN (SELECT seq FROM records WHERE {condition}) "
        "GROUP BY 1 ORDER BY 2 DESC, 1",
        values,
    )
    return tuple(EntityCount(entity_urn=urn, count=number) for urn, number in rows)


def insight(row: sqlite3.Row) -> Insight:
    return Insight(
        id=row["id"],
        created_at=rfc3339(row["created"]),
        updated_at=rfc3339(row["updated"]),
        session_id=row["session_id"],
        captured_by=row["created_by"],
        persona=row["persona"],
        source=row["source"],
        category=row["category"],
        insight_text=row["content"],
        confidence=row["confidence"],
        entity_urns=tuple(json.loads(row["entity_urns"])),
        related_columns=tuple(json.loads(row["related_columns"])),
        suggested_actions=tuple(json.loads(row["suggested_actions"])),
        status=row["status"],
        sink_class=row["sink_class"],
        reviewed_by=row["reviewed_by"],
        reviewed_at=None if row["reviewed_at"] is None else rfc3339(row["reviewed_at"]),
        review_notes=row["review_notes"],
        applied_by=row["applied_by"],
        applied_at=None if row["applied_at"] is None else rfc3339(row["applied_at"]),
        changeset_ref=row["changeset_ref"],
        superseded_by=row["superseded_by"],
    )
