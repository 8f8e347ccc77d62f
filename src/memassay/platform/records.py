"""Memory records and insights: capture, supersede by similarity, states and who may see what.

A record has two axes. ``lifecycle``: active | stale | superseded | archived; the first two are *live*. ``status``, for
what needs review (an insight), else None::

    pending  -> approved | rejected | superseded | applied      (apply does not ask for approval)
    approved -> rejected | superseded | applied
    applied  -> pending (rollback) | superseded                 (by its owner's newer record)

pending, approved and applied are active, rejected is archived, superseded is superseded. Forgetting archives a record;
a forgotten insight counts as rejected.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from memassay.platform.database import Writing, new_id
from memassay.platform.errors import PlatformError
from memassay.platform.lexicon import add_words, remove_words
from memassay.platform.meaning import Meaning
from memassay.platform.settings import Settings
from memassay.platform.shapes import (
    CaptureRequest,
    CaptureResult,
    Dimension,
    Identity,
    Similar,
)

TABLE = "records"
LIVE = ("active", "stale")
OWN_TYPES = ("personal_preference", "episodic_event")
DIMENSIONS: Mapping[str, Dimension] = {"personal_preference": "preference", "episodic_event": "event"}
"""Of the types that need no review; all others are ``knowledge``."""

MODERATED = {"pending": ("approved", "rejected"), "approved": ("rejected",)}
"""What a reviewer may make of an insight by hand."""

# What the vector index knows of a record: 0 is not live.
SIEVE = (
    "t.owner",
    "CASE WHEN t.lifecycle NOT IN ('active', 'stale') THEN 0 WHEN t.status IS NULL THEN 1 "
    "WHEN t.status = 'pending' THEN 2 WHEN t.status = 'approved' THEN 3 ELSE 4 END",
)
MEMORY, PENDING, APPROVED, APPLIED = 1, 2, 3, 4

# Of the published rule: so many nearest records are looked at.
_NEAREST = 5

_LEAST, _MOST = 10, 4000


def check_content(content: str) -> None:
    """Raise ``invalid`` for what is too short or too long to keep."""
    said, size = (len(text.encode("utf-8", "replace")) for text in (content.strip(), content))
    if said < _LEAST or size > _MOST:
        raise PlatformError("invalid", f"content must be {_LEAST} to {_MOST:,} bytes long, not {size:,}.")


# -- capture -------------------------------------------------------------------------------------------------------


def capture(
    writing: Writing,
    request: CaptureRequest,
    owner: int,
    identity: Identity,
    session: str,
    settings: Settings,
    meaning: Meaning,
) -> CaptureResult:
    """Keep a record, and retire those that it replaces."""
    con = writing.con
    near = _near(con, request, owner, settings, meaning)
    replaced = [(row, score) for row, score in near if score >= settings.supersede]
    similar = [(row, score) for row, score in near if settings.similar <= score < settings.supersede]
    status = None if request.type in OWN_TYPES else "pending"
    id, at = new_id(), writing.tick()
    cursor = con.execute(
        "INSERT INTO records (id, created, updated, owner, created_by, persona, session_id, dimension, sink_class, "
        "content, category, confidence, source, entity_urns, related_columns, suggested_actions, metadata, lifecycle, "
        "status) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'active', ?)",
        (
            id,
            at,
            at,
            owner,
            identity.email,
            identity.persona,
            session,
            DIMENSIONS.get(request.type, "knowledge"),
            request.type,
            request.content,
            request.category,
            request.confidence,
            request.source,
            _json(list(dict.fromkeys(request.entity_urns))),
            _json(request.related_columns),
            _json(request.suggested_actions),
            _json(_metadata(request)),
            status,
        ),
    )
    seq = int(cursor.lastrowid or 0)
    con.executemany(
        "INSERT INTO record_entities VALUES (?, ?)", [(urn, seq) for urn in dict.fromkeys(request.entity_urns)]
    )
    meaning.put(con, TABLE, seq, request.content)
    add_words(con, TABLE, seq, request.content, labels(owner, status))
    note(writing, id, "capture", identity, None, status or "active")
    for row, score in replaced:
        retire(writing, row, "superseded", "supersede", identity, by=id, score=score)
    return CaptureResult(
        id=id,
        sink_class=request.type,
        superseded=replaced[0][0]["id"] if replaced else None,
        superseded_ids=tuple(row["id"] for row, _ in replaced),
        similar_existing=tuple(Similar(id=row["id"], score=score) for row, score in similar),
        message=_message(status, len(replaced), len(similar)),
        unlinked_thread_ids=request.thread_ids,
    )


def _near(
    con: sqlite3.Connection,
    request: CaptureRequest,
    owner: int,
    settings: Settings,
    meaning: Meaning,
) -> list[tuple[sqlite3.Row, float]]:
    """The owner's nearest live records that the new one may replace."""
    found = meaning.near(con, TABLE, request.content, lambda owners, _: owners == owner, _NEAREST)
    urns = set(request.entity_urns)
    near = []
    for seq, score in found:
        row = con.execute("SELECT * FROM records WHERE seq = ?", (seq,)).fetchone()
        if row is None or row["owner"] != owner or row["lifecycle"] not in LIVE:
            continue
        shares = bool(urns.intersection(json.loads(row["entity_urns"])))
        strict = settings.supersede_same_class
        if shares and row["sink_class"] == request.type if strict else shares or not urns:
            near.append((row, score))
    return near


def _metadata(request: CaptureRequest) -> dict[str, Any]:
    links = {"thread_ids": list(request.thread_ids), "sources": list(request.sources)}
    return {**request.metadata, **{name: link for name, link in links.items() if link}}


def _message(status: str | None, replaced: int, similar: int) -> str:
    kept = "Kept for you." if status is None else "Kept for you, and waiting for review."
    took = f" It takes the place of {replaced} older record{'s' * (replaced != 1)}." if replaced else ""
    close = f" {similar} similar record{'s' * (similar != 1)} of yours stayed." if similar else ""
    return kept + took + close


# -- changes of one record -----------------------------------------------------------------------------------------


def own_live(con: sqlite3.Connection, id: str, owner: int) -> sqlite3.Row:
    """An own record that is live; raises ``not_found`` or ``conflict``."""
    row: sqlite3.Row | None = con.execute("SELECT * FROM records WHERE id = ?", (id,)).fetchone()
    if row is None or row["owner"] != owner:
        raise PlatformError("not_found", f"You have no record {id}.")
    if row["lifecycle"] not in LIVE:
        raise PlatformError("conflict", f"The record {id} is {row['status'] or row['lifecycle']}.")
    return row


def insight_row(con: sqlite3.Connection, id: str) -> sqlite3.Row:
    """The row of an insight; raises ``not_found``."""
    row: sqlite3.Row | None = con.execute("SELECT * FROM records WHERE id = ? AND status IS NOT NULL", (id,)).fetchone()
    if row is None:
        raise PlatformError("not_found", f"There is no insight {id}.")
    return row


def change(writing: Writing, row: sqlite3.Row, **fields: Any) -> None:
    """Write these columns of a record, and keep the word index true; text and labels follow from the columns."""
    fields["updated"] = writing.tick()
    names = ", ".join(f"{name} = ?" for name in fields)
    writing.con.execute(f"UPDATE records SET {names} WHERE seq = ?", (*fields.values(), row["seq"]))
    before, after = _indexed(dict(row)), _indexed({**dict(row), **fields})
    if before != after:
        if before is not None:
            remove_words(writing.con, TABLE, row["seq"], *before)
        if after is not None:
            add_words(writing.con, TABLE, row["seq"], *after)


def retire(
    writing: Writing,
    row: sqlite3.Row,
    lifecycle: str,
    route: str,
    identity: Identity,
    *,
    by: str | None = None,
    score: float | None = None,
    notes: str = "",
) -> str:
    """End a record: superseded (``by`` is the record in its place) or archived; gives what it is now."""
    status = None if row["status"] is None else "rejected" if lifecycle == "archived" else "superseded"
    change(writing, row, lifecycle=lifecycle, status=status, superseded_by=by)
    note(writing, row["id"], route, identity, row["status"] or row["lifecycle"], status or lifecycle, by, score, notes)
    return status or lifecycle


def reword(
    writing: Writing, row: sqlite3.Row, content: str, identity: Identity, route: str, meaning: Meaning, **more: Any
) -> None:
    """Other words for a live record, and other columns with them; a stale one is active again."""
    change(writing, row, content=content, lifecycle="active", **more)
    meaning.put(writing.con, TABLE, row["seq"], content)
    status = row["status"] or "active"
    note(writing, row["id"], route, identity, row["status"] or row["lifecycle"], status)


def moderate(writing: Writing, row: sqlite3.Row, status: str, identity: Identity, notes: str) -> None:
    """Approve or reject; raises ``conflict`` where the states do not allow it."""
    if status not in MODERATED.get(row["status"], ()):
        raise PlatformError("conflict", f"The insight {row['id']} is {row['status']} and cannot become {status}.")
    lifecycle = "archived" if status == "rejected" else row["lifecycle"]
    change(
        writing,
        row,
        status=status,
        lifecycle=lifecycle,
        reviewed_by=identity.email,
        reviewed_at=writing.tick(),
        review_notes=notes,
    )
    note(
        writing,
        row["id"],
        "reject" if status == "rejected" else "approve",
        identity,
        row["status"],
        status,
        notes=notes,
    )


def note(
    writing: Writing,
    id: str,
    route: str,
    identity: Identity,
    before: str | None,
    after: str,
    other: str | None = None,
    score: float | None = None,
    notes: str = "",
) -> None:
    """Add to the history."""
    writing.con.execute(
        "INSERT INTO history (at, record_id, route, by, from_status, to_status, other_id, score, notes) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (writing.tick(), id, route, identity.email, before, after, other, score, notes),
    )


# -- who may see what ----------------------------------------------------------------------------------------------


def labels(owner: int, status: str | None) -> str:
    """The labels of a live record in the word index: whose it is, and where its review stands."""
    return f"m{owner}" if status is None else f"i{owner} {status}"


def _indexed(row: Mapping[str, Any]) -> tuple[str, str] | None:
    """Text and labels of a record in the word index, None where it is not live."""
    if row["lifecycle"] not in LIVE:
        return None
    return row["content"], labels(row["owner"], row["status"])


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
