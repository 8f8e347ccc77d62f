"""Changesets: insights written into a sink with what was there before, and taken back again.

All of it happens in one transaction, so of two reviewers who apply the same insight one is told of a conflict, and a
write that fails leaves nothing behind.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from memassay.platform import entities, pages, records
from memassay.platform.database import Writing, moment, new_id, rfc3339
from memassay.platform.errors import PlatformError
from memassay.platform.meaning import Meaning
from memassay.platform.settings import Faults
from memassay.platform.shapes import (
    Change,
    Changeset,
    ChangesetFilter,
    ChangesetSummary,
    Entity,
    Identity,
    PageDraft,
    RollbackResult,
)

PAGE = "kp:"
# What others may have acted upon cannot be taken back.
FINAL = ("flag_quality_issue",)


def applicable(con: sqlite3.Connection, insight_ids: Sequence[str]) -> list[sqlite3.Row]:
    """The rows of insights that can be applied; raises ``not_found`` or ``conflict``."""
    rows = [records.insight_row(con, id) for id in dict.fromkeys(insight_ids)]
    for row in rows:
        if row["status"] not in ("pending", "approved"):
            raise PlatformError("conflict", f"The insight {row['id']} is {row['status']} and cannot be applied.")
    return rows


def to_entity(
    writing: Writing,
    rows: Sequence[sqlite3.Row],
    old: Entity,
    changes: Sequence[Change],
    identity: Identity,
    faults: Faults,
    meaning: Meaning,
    notes: str = "",
) -> tuple[str, Entity]:
    """Apply to an entity; gives the changeset's id and the entity afterwards."""
    new = entities.changed(old, changes)
    previous, now = entities.difference(old, new)
    if not faults.lose_apply:
        entities.put(writing, new, meaning)
        if entities.found(writing.con, old.urn) != new:
            raise PlatformError("tool_error", f"The catalogue did not take the change of {old.urn}.")
    kinds = list(dict.fromkeys(change.change_type for change in changes))
    id = _add(
        writing,
        rows,
        identity,
        target_urn=old.urn,
        change_type=kinds[0] if len(kinds) == 1 else "multiple",
        previous=previous,
        new=now,
        irreversible=any(kind in FINAL for kind in kinds),
    )
    _mark(writing, rows, identity, id, faults, notes)
    return id, new


def to_page(
    writing: Writing,
    rows: Sequence[sqlite3.Row],
    draft: PageDraft,
    identity: Identity,
    faults: Faults,
    meaning: Meaning,
    notes: str = "",
) -> tuple[str, str | None]:
    """Apply to a knowledge page, new or by its slug; gives the ids of the changeset and of the page."""
    old = pages.by_slug(writing.con, draft.slug)
    urns = [urn for row in rows for urn in json.loads(row["entity_urns"])]
    kept = [] if old is None else json.loads(old["entity_urns"])
    fields = pages.fields_of(draft, [*kept, *urns])
    page = old
    if not faults.lose_apply:
        page = pages.put(writing, fields, identity.email, old, meaning)
        if pages.contents(page) != fields:
            raise PlatformError("tool_error", f"The page {draft.slug} did not take the change.")
    id = _add(
        writing,
        rows,
        identity,
        target_urn=PAGE + draft.slug,
        change_type="create_page" if old is None else "update_page",
        previous={} if old is None else pages.contents(old),
        new=fields,
    )
    _mark(writing, rows, identity, id, faults, notes)
    return id, None if page is None else page["id"]


def roll_back(writing: Writing, id: str, identity: Identity, meaning: Meaning) -> RollbackResult:
    """Put back what a changeset replaced.

    Raises:
        PlatformError: ``not_found``, ``conflict`` or ``irreversible``.
    """
    con = writing.con
    row = row_of(con, id)
    target, previous, new = row["target_urn"], json.loads(row["previous"]), json.loads(row["new"])
    if row["rolled_back"]:
        raise PlatformError("conflict", f"The changeset {id} has been rolled back already.")
    if row["irreversible"]:
        raise PlatformError("irreversible", f"The changeset {id} flagged an issue, which cannot be taken back.")
    newer = con.execute(
        "SELECT id FROM changesets WHERE target_urn = ? AND seq > ? AND NOT rolled_back", (target, row["seq"])
    ).fetchone()
    if newer is not None:
        raise PlatformError(
            "conflict", f"{target} has a newer change, {newer['id']}.", "Roll the newer change back first."
        )
    if target.startswith(PAGE):
        _restore_page(writing, target.removeprefix(PAGE), previous, new, identity, meaning)
    else:
        _restore_entity(writing, target, previous, new, meaning)
    con.execute(
        "UPDATE changesets SET rolled_back = 1, rolled_back_by = ?, rolled_back_at = ? WHERE seq = ?",
        (identity.email, writing.tick(), row["seq"]),
    )
    returned = []
    for insight_id in json.loads(row["insight_ids"]):
        insight = records.insight_row(con, insight_id)
        if insight["status"] == "applied":
            records.change(writing, insight, status="pending", applied_by=None, applied_at=None, changeset_ref=None)
            records.note(writing, insight_id, "rollback", identity, "applied", "pending")
            returned.append(insight_id)
    return RollbackResult(
        changeset_id=id,
        target_urn=target,
        reverted_changes=tuple(previous or new),
        insights_rolled_back=tuple(returned),
        rolled_back_by=identity.email,
    )


def _restore_page(
    writing: Writing,
    slug: str,
    previous: dict[str, Any],
    new: dict[str, Any],
    identity: Identity,
    meaning: Meaning,
) -> None:
    page = pages.by_slug(writing.con, slug)
    if page is None or pages.contents(page) != new:
        raise PlatformError("conflict", f"The page {slug} was edited since.", "Edit the page by hand instead.")
    fields = previous or pages.contents(page)
    pages.put(writing, fields, identity.email, page, meaning, live=bool(previous))


def _restore_entity(
    writing: Writing,
    urn: str,
    previous: dict[str, Any],
    new: dict[str, Any],
    meaning: Meaning,
) -> None:
    now = entities.found(writing.con, urn).model_dump(mode="json")
    if any(now[name] != value for name, value in new.items()):
        raise PlatformError("conflict", f"{urn} was edited since.", "Change it by hand instead.")
    restored = Entity.model_validate({**now, **previous})
    entities.put(writing, restored, meaning)


def _add(
    writing: Writing,
    rows: Sequence[sqlite3.Row],
    identity: Identity,
    *,
    target_urn: str,
    change_type: str,
    previous: Mapping[str, Any],
    new: Mapping[str, Any],
    irreversible: bool = False,
) -> str:
    id = new_id()
    approvers = list(dict.fromkeys(row["reviewed_by"] for row in rows if row["status"] == "approved"))
    writing.con.execute(
        "INSERT INTO changesets (id, created, target_urn, change_type, previous, new, insight_ids, irreversible, "
        "approved_by, applied_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            id,
            writing.tick(),
            target_urn,
            change_type,
            json.dumps(previous, ensure_ascii=False),
            json.dumps(new, ensure_ascii=False),
            json.dumps([row["id"] for row in rows]),
            irreversible,
            approvers[0] if approvers else None,
            identity.email,
        ),
    )
    return id


def untag(writing: Writing, urn: str, tag: str, identity: Identity, meaning: Meaning) -> str:
    """Take a tag off an entity; gives the changeset's id."""
    old = entities.found(writing.con, urn)
    change = Change(change_type="remove_tag", detail=tag)
    return to_entity(writing, (), old, (change,), identity, Faults(), meaning)[0]


def _mark(
    writing: Writing, rows: Sequence[sqlite3.Row], identity: Identity, id: str, faults: Faults, notes: str
) -> None:
    """The insights are applied."""
    for row in rows:
        records.change(
            writing,
            row,
            status="applied",
            lifecycle="active",
            applied_by=identity.email,
            applied_at=writing.tick(),
            changeset_ref=None if faults.no_changeset_ref else id,
            review_notes=notes or row["review_notes"],
        )
        records.note(writing, row["id"], "apply", identity, row["status"], "applied", other=id, notes=notes)


# -- lists ---------------------------------------------------------------------------------------------------------


def row_of(con: sqlite3.Connection, id: str) -> sqlite3.Row:
    """The row of a changeset; raises ``not_found``."""
    row: sqlite3.Row | None = con.execute("SELECT * FROM changesets WHERE id = ?", (id,)).fetchone()
    if row is None:
        raise PlatformError("not_found", f"There is no changeset {id}.")
    return row


def listed(
    con: sqlite3.Connection, filters: ChangesetFilter | None, limit: int, offset: int
) -> tuple[list[Changeset], int]:
    """Some of the changesets, newest first, and how many there are."""
    parts: list[str] = ["1"]
    values: list[Any] = []
    asked = filters or ChangesetFilter()
    for condition, value in (
        ("target_urn = ?", asked.entity_urn),
        ("applied_by = ?", asked.applied_by),
        ("rolled_back = ?", asked.rolled_back),
        ("created >= ?", None if asked.since is None else moment(asked.since)),
        ("created <= ?", None if asked.until is None else moment(asked.until)),
    ):
        if value is not None:
            parts.append(condition)
            values.append(value)
    where = " AND ".join(parts)
    total: int = con.execute(f"SELECT count(*) FROM changesets WHERE {where}", values).fetchone()[0]
    rows = con.execute(
        f"SELECT * FROM changesets WHERE {where} ORDER BY seq DESC LIMIT ? OFFSET ?", (*values, limit, offset)
    )
    return [changeset(row) for row in rows], total


def summary(one: Changeset) -> ChangesetSummary:
    fields = one.model_dump(include=set(ChangesetSummary.model_fields))
    return ChangesetSummary(changeset_id=one.id, **fields)


def changeset(row: sqlite3.Row) -> Changeset:
    return Changeset(
        id=row["id"],
        created_at=rfc3339(row["created"]),
        target_urn=row["target_urn"],
        change_type=row["change_type"],
        previous_value=json.loads(row["previous"]),
        new_value=json.loads(row["new"]),
        source_insight_ids=tuple(json.loads(row["insight_ids"])),
        approved_by=row["approved_by"],
        applied_by=row["applied_by"],
        rolled_back=bool(row["rolled_back"]),
        rolled_back_by=row["rolled_back_by"],
        rolled_back_at=None if row["rolled_back_at"] is None else rfc3339(row["rolled_back_at"]),
    )
