"""The tools of one's own memory: keep, change, forget, look through."""

from __future__ import annotations

import json
import sqlite3

import numpy as np

from memassay.platform import identities, listing, records
from memassay.platform.database import rfc3339
from memassay.platform.desk import Desk, bounded
from memassay.platform.errors import PlatformError
from memassay.platform.shapes import (
    Caller,
    CaptureRequest,
    CaptureResult,
    DuplicateList,
    DuplicatePair,
    ManageResult,
    RecordFilter,
    RecordList,
    RecordPreview,
    RecordUpdate,
)

_DAY = 86_400_000_000

# Own records, the newest first, among which duplicates are looked for: their cosines fit in 16 MB.
_COMPARED = 2_000

# Characters of a record that stands for itself in a list of pairs.
_PREVIEW = 200


class Remembering(Desk):
    """``memory_capture`` and the commands of ``memory_manage``."""

    def memory_capture(self, caller: Caller, request: CaptureRequest) -> CaptureResult:
        """Keep a record: live at once for its owner, or an insight that waits for review."""
        with self._tool(caller, "memory_capture") as call:
            records.check_content(request.content)
            if any(not urn.startswith("urn:") for urn in request.entity_urns):
                raise PlatformError("invalid", "entity_urns must be URNs.", "Write urn:li:dataset:(…).")
            self._meaning.of(request.content)  # before the lock: a model is slow
            with self._write(call) as writing:
                owner = identities.ensure(writing, caller.identity)
                return records.capture(
                    writing, request, owner, caller.identity, caller.session, self.settings, self._meaning
                )

    def memory_update(self, caller: Caller, id: str, update: RecordUpdate) -> ManageResult:
        """Other words, category, confidence or more metadata for an own record that nobody has reviewed yet.

        Raises:
            PlatformError: ``not_found`` (also for another's record), ``conflict``: approved, applied or not live.
        """
        with self._tool(caller, "memory_manage") as call:
            if update.content is not None:
                records.check_content(update.content)
                self._meaning.of(update.content)
            with self._write(call) as writing:
                row = records.own_live(writing.con, id, identities.code_of(writing.con, caller.identity))
                if row["status"] in ("approved", "applied"):
                    raise PlatformError(
                        "conflict", f"The insight {id} is {row['status']}.", "Capture a correction instead."
                    )
                text = row["content"] if update.content is None else update.content
                more = {
                    "category": update.category or row["category"],
                    "confidence": update.confidence or row["confidence"],
                    "metadata": json.dumps({**json.loads(row["metadata"]), **update.metadata}, ensure_ascii=False),
                }
                records.reword(writing, row, text, caller.identity, "update", self._meaning, **more)
            return ManageResult(id=id, message="Updated.")

    def memory_forget(self, caller: Caller, id: str) -> ManageResult:
        """Take back an own live record; an applied insight too, but what it was applied to stays."""
        with self._tool(caller, "memory_manage") as call, self._write(call) as writing:
            row = records.own_live(writing.con, id, identities.code_of(writing.con, caller.identity))
            records.retire(writing, row, "archived", "forget", caller.identity, notes="Forgotten by its owner.")
            return ManageResult(id=id, message="Forgotten.")

    def memory_consolidate(self, caller: Caller, id: str, duplicate_id: str) -> ManageResult:
        """``duplicate_id`` becomes superseded by ``id``; both are own and live."""
        with self._tool(caller, "memory_manage") as call, self._write(call) as writing:
            if id == duplicate_id:
                raise PlatformError("invalid", "A record is no duplicate of itself.")
            owner = identities.code_of(writing.con, caller.identity)
            records.own_live(writing.con, id, owner)
            gone = records.own_live(writing.con, duplicate_id, owner)
            records.retire(writing, gone, "superseded", "consolidate", caller.identity, by=id)
            return ManageResult(id=id, superseded=duplicate_id, message=f"{duplicate_id} is superseded.")

    def memory_list(
        self, caller: Caller, filters: RecordFilter | None = None, limit: int = 20, offset: int = 0
    ) -> RecordList:
        """Own records, newest first; ``limit`` is 1 to 100."""
        with self._tool(caller, "memory_manage"), self._database.read() as con:
            owner = identities.code_of(con, caller.identity)
            bounds = bounded("limit", limit, 1, 100), bounded("offset", offset, 0)
            return listing.listed(con, owner, filters or RecordFilter(), *bounds)

    def memory_review_stale(self, caller: Caller, limit: int = 20, offset: int = 0) -> RecordList:
        """Own live records unchanged for ``stale_days``; they are marked stale, and an update makes them active."""
        with self._tool(caller, "memory_manage") as call, self._write(call) as writing:
            owner = identities.code_of(writing.con, caller.identity)
            before = writing.tick() - int(self.settings.stale_days * _DAY)
            old = writing.con.execute(
                "SELECT * FROM records WHERE owner = ? AND lifecycle = 'active' AND updated < ? ORDER BY seq",
                (owner, before),
            ).fetchall()
            for row in old:
                records.change(writing, row, lifecycle="stale")
                records.note(writing, row["id"], "stale", caller.identity, "active", "stale")
            bounds = bounded("limit", limit, 1, 100), bounded("offset", offset, 0)
            return listing.listed(writing.con, owner, RecordFilter(status="stale"), *bounds)

    def memory_review_duplicates(self, caller: Caller, limit: int = 20, offset: int = 0) -> DuplicateList:
        """Pairs of own live records (of the 2,000 newest) with a cosine of at least ``similar``."""
        bounded("limit", limit, 1, 100)
        bounded("offset", offset, 0)
        with self._tool(caller, "memory_manage"), self._database.read() as con:
            rows = con.execute(
                "SELECT * FROM records WHERE owner = ? AND lifecycle IN ('active', 'stale') ORDER BY seq DESC LIMIT ?",
                (identities.code_of(con, caller.identity), _COMPARED),
            ).fetchall()[::-1]
            vectors = self._meaning.vectors(con, records.TABLE, [row["seq"] for row in rows])
            if not vectors.size:
                return DuplicateList(pairs=(), total=0, message="There are no duplicates.")
            cosines = np.round(vectors @ vectors.T, 6)
            first, second = np.nonzero(np.triu(cosines >= self.settings.similar, k=1))
            order = np.lexsort((second, first, -cosines[first, second]))
            pairs = tuple(
                DuplicatePair(older=_preview(rows[a]), newer=_preview(rows[b]), score=float(cosines[a, b]))
                for a, b in ((first[at], second[at]) for at in order[offset : offset + limit])
            )
            more = len(order) - offset - len(pairs)
            message = "consolidate keeps one of a pair and retires the other." if pairs else "There are no duplicates."
            return DuplicateList(pairs=pairs, total=len(pairs), more_pairs=more > 0, message=message)


def _preview(row: sqlite3.Row) -> RecordPreview:
    return RecordPreview(
        id=row["id"],
        created_at=rfc3339(row["created"]),
        updated_at=rfc3339(row["updated"]),
        created_by=row["created_by"],
        status=row["lifecycle"],
        content_preview=row["content"][:_PREVIEW],
    )
