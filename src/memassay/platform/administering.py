"""What is behind REST: the queue, changesets and audit for reviewers, pages for everybody."""

from __future__ import annotations

from typing import Literal

from memassay.platform import audit, changes, insights, listing, pages, records
from memassay.platform.desk import bounded
from memassay.platform.errors import PlatformError
from memassay.platform.reviewing import Reviewing
from memassay.platform.shapes import (
    AuditEvent,
    Category,
    Changeset,
    ChangesetFilter,
    Confidence,
    HeldRecord,
    Identity,
    Insight,
    InsightFilter,
    InsightStats,
    KnowledgePage,
    KnowledgePages,
    Paged,
    PageDraft,
    RecordEvent,
    RollbackResult,
    StatusChanged,
)


class Administering(Reviewing):
    """Operations of an identity, without a session."""

    # -- /admin ----------------------------------------------------------------------------------------------------

    def list_insights(
        self,
        identity: Identity,
        filters: InsightFilter | None = None,
        *,
        order: Literal["newest", "oldest"] = "newest",
        page: int = 1,
        per_page: int = 20,
    ) -> Paged[Insight]:
        """``per_page`` is 1 to 100."""
        self._reviewer(identity)
        offset, per_page = _page(page, per_page, 100)
        with self._database.read() as con:
            found, total = insights.listed(con, filters, order == "oldest", per_page, offset)
        return Paged(data=tuple(found), total=total, page=page, per_page=per_page)

    def insight_stats(self, identity: Identity, filters: InsightFilter | None = None) -> InsightStats:
        """Counts of insights."""
        self._reviewer(identity)
        with self._database.read() as con:
            return insights.counted(con, filters, self._database.now(con))

    def get_insight(self, identity: Identity, id: str) -> Insight:
        """One insight, whatever its status."""
        self._reviewer(identity)
        with self._database.read() as con:
            return insights.insight(records.insight_row(con, id))

    def set_insight_status(self, identity: Identity, id: str, status: str, review_notes: str = "") -> StatusChanged:
        """Approve or reject.

        Raises:
            PlatformError: ``invalid``: another status; ``not_found``; ``conflict``: an illegal transition.
        """
        with self._admin(identity, "set_insight_status") as call:
            if status not in ("approved", "rejected"):
                raise PlatformError("invalid", f"{status!r} cannot be set.", "Set approved or rejected.")
            with self._write(call) as writing:
                self._moderate(writing, (id,), status, identity, review_notes)
        return StatusChanged()

    def edit_insight(
        self,
        identity: Identity,
        id: str,
        *,
        insight_text: str | None = None,
        category: Category | None = None,
        confidence: Confidence | None = None,
    ) -> StatusChanged:
        """Other words, category or confidence; ``conflict`` when applied or terminal."""
        with self._admin(identity, "edit_insight") as call:
            if insight_text is not None:
                records.check_content(insight_text)
                self._meaning.of(insight_text)
            with self._write(call) as writing:
                row = records.insight_row(writing.con, id)
                if row["status"] not in ("pending", "approved"):
                    raise PlatformError("conflict", f"The insight {id} is {row['status']} and cannot be edited.")
                text = row["content"] if insight_text is None else insight_text
                more = {"category": category or row["category"], "confidence": confidence or row["confidence"]}
                records.reword(writing, row, text, identity, "edit", self._meaning, **more)
        return StatusChanged()

    def list_changesets(
        self, identity: Identity, filters: ChangesetFilter | None = None, *, page: int = 1, per_page: int = 20
    ) -> Paged[Changeset]:
        """Newest first; ``per_page`` is 1 to 100."""
        self._reviewer(identity)
        offset, per_page = _page(page, per_page, 100)
        with self._database.read() as con:
            found, total = changes.listed(con, filters, per_page, offset)
        return Paged(data=tuple(found), total=total, page=page, per_page=per_page)

    def get_changeset(self, identity: Identity, id: str) -> Changeset:
        """One changeset."""
        self._reviewer(identity)
        with self._database.read() as con:
            return changes.changeset(changes.row_of(con, id))

    def rollback_changeset(self, identity: Identity, id: str) -> RollbackResult:
        """Put back what was there; the insights are pending again.

        Raises:
            PlatformError: ``conflict``: rolled back already, a newer live change of the same target, or the target was
                edited since; ``irreversible``; ``not_found``.
        """
        with self._admin(identity, "rollback_changeset") as call:
            return self._rolled_back(call, id)

    def list_audit(
        self,
        identity: Identity,
        *,
        session_id: str | None = None,
        page: int = 1,
        per_page: int = 50,
        sort_by: Literal["timestamp", "duration_ms", "tool_name"] = "timestamp",
        sort_order: Literal["asc", "desc"] = "desc",
    ) -> Paged[AuditEvent]:
        """``per_page`` is 1 to 200. Admins only."""
        self._administrator(identity)
        _page(page, per_page, 200)
        with self._database.read() as con:
            return audit.listed(con, session_id, page, per_page, sort_by, sort_order == "desc")

    def list_history(
        self, identity: Identity, *, record_id: str | None = None, page: int = 1, per_page: int = 100
    ) -> Paged[RecordEvent]:
        """What happened to records, oldest first: each transition, and each supersede with target and score.

        Admins only; ``per_page`` is 1 to 500.
        """
        self._administrator(identity)
        _page(page, per_page, 500)
        with self._database.read() as con:
            return listing.history(con, record_id, page, per_page)

    def list_records(
        self, identity: Identity, *, captured_by: str | None = None, page: int = 1, per_page: int = 100
    ) -> Paged[HeldRecord]:
        """Everybody's records or somebody's, live or not, oldest first. Admins only; ``per_page`` is 1 to 500."""
        self._administrator(identity)
        _page(page, per_page, 500)
        with self._database.read() as con:
            return listing.held(con, captured_by, page, per_page)

    # -- /portal ---------------------------------------------------------------------------------------------------

    def list_pages(self, identity: Identity, *, limit: int = 20, offset: int = 0) -> KnowledgePages:
        """Pages, the last changed first; everybody may. ``limit`` is 1 to 100."""
        with self._database.read() as con:
            found, total = pages.listed(con, bounded("limit", limit, 1, 100), bounded("offset", offset, 0))
        return KnowledgePages(pages=tuple(found), total=total)

    def get_page(self, identity: Identity, id_or_slug: str) -> KnowledgePage:
        """One page; everybody may."""
        with self._database.read() as con:
            return pages.page(pages.found(con, id_or_slug))

    def create_page(self, identity: Identity, draft: PageDraft) -> KnowledgePage:
        """``conflict`` when the slug is taken or a page says nearly the same."""
        with self._admin(identity, "create_page") as call:
            self._meaning.of(pages.searched(draft.model_dump()))
            with self._write(call) as writing:
                if pages.by_slug(writing.con, draft.slug) is not None:
                    raise PlatformError("conflict", f"The slug {draft.slug} is taken.", "Edit that page.")
                near = self._near_pages(writing, draft)
                if near:
                    raise PlatformError(
                        "conflict",
                        f"The page {near[0].slug} says nearly the same.",
                        "Edit that page, or set force_new.",
                    )
                fields = pages.fields_of(draft, ())
                return pages.page(pages.put(writing, fields, identity.email, None, self._meaning))

    def edit_page(self, identity: Identity, id_or_slug: str, draft: PageDraft) -> KnowledgePage:
        """A new version with the draft's words; the slug and the entities stay what they are."""
        with self._admin(identity, "edit_page") as call:
            self._meaning.of(pages.searched(draft.model_dump()))
            with self._write(call) as writing:
                row = pages.found(writing.con, id_or_slug)
                fields = pages.fields_of(draft, pages.contents(row)["entity_urns"]) | {"slug": row["slug"]}
                return pages.page(pages.put(writing, fields, identity.email, row, self._meaning))


def _page(page: int, per_page: int, most: int) -> tuple[int, int]:
    """Offset and size of a page."""
    bounded("page", page, 1)
    bounded("per_page", per_page, 1, most)
    return (page - 1) * per_page, per_page
