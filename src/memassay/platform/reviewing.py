"""The tool ``apply_knowledge``: what becomes of insights."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Literal

from memassay.platform import changes, entities, insights, pages, records
from memassay.platform.audit import Call
from memassay.platform.changes import applicable
from memassay.platform.database import Writing
from memassay.platform.desk import Desk, bounded, refuse, some
from memassay.platform.errors import PlatformError
from memassay.platform.shapes import (
    ApplyResult,
    BulkReview,
    Caller,
    Change,
    Changeset,
    ChangesetFilter,
    Entity,
    EntityReview,
    Identity,
    InsightFilter,
    PageDraft,
    ReviewResult,
    RollbackResult,
    SimilarPage,
    SinkName,
    Synthesis,
    UntagResult,
)

_TOOL = "apply_knowledge"


class Reviewing(Desk):
    """The review queue and what comes of it."""

    # -- apply_knowledge -------------------------------------------------------------------------------------------

    def knowledge_bulk_review(
        self, caller: Caller, *, itemize: bool = False, limit: int = 20, offset: int = 0
    ) -> BulkReview:
        """The queue at a glance; ``limit`` is 1 to 100."""
        self._allowed(caller)
        with self._tool(caller, _TOOL), self._database.read() as con:
            stats = insights.counted(con, InsightFilter(status="pending"), self._database.now(con))
            bounds = bounded("limit", limit, 1, 100), bounded("offset", offset, 0)
            items = insights.listed(con, InsightFilter(status="pending"), True, *bounds)[0] if itemize else None
            return BulkReview(
                total_pending=stats.total_pending,
                by_category=stats.by_category,
                by_confidence=stats.by_confidence,
                by_entity=insights.pending_by_entity(con),
                insights=None if items is None else tuple(items),
            )

    def knowledge_review(self, caller: Caller, entity_urn: str) -> EntityReview:
        """What waits for an entity."""
        self._allowed(caller)
        with self._tool(caller, _TOOL), self._database.read() as con:
            row = entities.row_of(con, entity_urn)
            return EntityReview(
                entity_urn=entity_urn,
                entity=None if row is None else entities.entity(row),
                insights=tuple(insights.waiting(con, entity_urn)),
            )

    def knowledge_synthesize(self, caller: Caller, entity_urn: str, insight_ids: Sequence[str] = ()) -> Synthesis:
        """A proposal from these insights, or from all approved ones of the entity."""
        self._allowed(caller)
        with self._tool(caller, _TOOL), self._database.read() as con:
            ids = some("insight_ids", insight_ids, 50)
            if ids:
                taken = [insights.insight(row) for row in applicable(con, ids)]
            else:
                taken = [one for one in insights.waiting(con, entity_urn) if one.status == "approved"]
            row = entities.row_of(con, entity_urn)
            current = "" if row is None else str(row["description"])
            text = "\n".join(dict.fromkeys(part for part in (current, *(one.insight_text for one in taken)) if part))
            change = Change(change_type="update_description", detail=text[:20_000])
            return Synthesis(
                entity_urn=entity_urn,
                insight_ids=tuple(one.id for one in taken),
                current_description=current,
                changes=(change,) if taken else (),
            )

    def knowledge_approve(self, caller: Caller, insight_ids: Sequence[str], review_notes: str = "") -> ReviewResult:
        """Approve pending insights."""
        return self._moderated(caller, "approve", insight_ids, review_notes)

    def knowledge_reject(self, caller: Caller, insight_ids: Sequence[str], review_notes: str = "") -> ReviewResult:
        """Reject pending or approved insights."""
        return self._moderated(caller, "reject", insight_ids, review_notes)

    def _moderated(
        self, caller: Caller, action: Literal["approve", "reject"], insight_ids: Sequence[str], notes: str
    ) -> ReviewResult:
        self._allowed(caller)
        with self._tool(caller, _TOOL) as call, self._write(call) as writing:
            ids = some("insight_ids", insight_ids, 50, least=1)
            status: Literal["approved", "rejected"] = "approved" if action == "approve" else "rejected"
            self._moderate(writing, ids, status, caller.identity, notes)
            return ReviewResult(action=action, status=status, insight_ids=ids)

    def knowledge_apply(
        self,
        caller: Caller,
        insight_ids: Sequence[str],
        sink: SinkName,
        *,
        entity_urn: str = "",
        changes: Sequence[Change] = (),
        page: PageDraft | None = None,
        confirm: bool = False,
        review_notes: str = "",
    ) -> ApplyResult:
        """Write pending or approved insights into a sink: all of it or nothing.

        Args:
            caller: see ``Caller``.
            insight_ids: 1 to 50.
            sink: ``datahub`` is for entities.
            entity_urn: for the sink ``datahub``; "" is the one entity that the insights name.
            changes: 1 to 20 of them, for the sink ``datahub``.
            page: for the sink ``knowledge_page``; a page with its slug gets a new version.
            confirm: without it nothing is done, and the result says so.
            review_notes: kept with the insights.

        Raises:
            PlatformError: ``conflict``: an insight is applied already, rejected or superseded; ``not_found``;
                ``invalid``; ``tool_error``: the sink is switched off or did not take the write.
        """
        self._allowed(caller)
        with self._tool(caller, _TOOL) as call:
            ids = some("insight_ids", insight_ids, 50, least=1)
            self._sink_takes(sink, changes, page)
            if not confirm:
                with self._database.read() as con:
                    applicable(con, ids)
                return ApplyResult(
                    status="confirmation_required", sink=sink, message="Nothing was done; call again with confirm."
                )
            faults = self.settings.faults
            if faults.conflict:
                raise PlatformError("conflict", f"The insight {ids[0]} has just been changed by somebody else.")
            if faults.refuse_apply:
                raise PlatformError("tool_error", "The sink refused the write.")
            time.sleep(faults.slow_sink_s)
            if page is not None and sink == "knowledge_page":
                self._meaning.of(pages.searched(page.model_dump()))
            with self._write(call) as writing:
                if page is not None and sink == "knowledge_page":
                    return self._apply_page(writing, ids, page, caller.identity, review_notes)
                return self._apply_entity(writing, ids, entity_urn, changes, caller.identity, review_notes)

    def _sink_takes(self, sink: SinkName, changes: Sequence[Change], page: PageDraft | None) -> None:
        """Raise where a sink is switched off, or is not given what it needs."""
        on = self.settings.entity_sink if sink == "datahub" else self.settings.page_sink
        if not on:
            raise PlatformError("tool_error", f"The sink {sink} is switched off here.", "Use the other sink.")
        if sink == "datahub" and not 1 <= len(changes) <= 20:
            raise PlatformError("invalid", "The sink datahub needs 1 to 20 changes.")
        if sink == "knowledge_page" and page is None:
            raise PlatformError("invalid", "The sink knowledge_page needs a page.")

    def _apply_entity(
        self,
        writing: Writing,
        ids: Sequence[str],
        entity_urn: str,
        wanted: Sequence[Change],
        identity: Identity,
        notes: str,
    ) -> ApplyResult:
        rows = applicable(writing.con, ids)
        if not entity_urn:
            named = list(dict.fromkeys(urn for row in rows for urn in insights.insight(row).entity_urns))
            if len(named) != 1:
                raise PlatformError("invalid", f"The insights name {len(named)} entities.", "Give entity_urn.")
            entity_urn = named[0]
        elif not entity_urn.startswith("urn:"):
            raise PlatformError("invalid", f"{entity_urn!r} is no URN.", "Write urn:li:dataset:(…).")
        row = entities.row_of(writing.con, entity_urn)
        old = Entity(urn=entity_urn, name=entities.name_of(entity_urn)) if row is None else entities.entity(row)
        id, new = changes.to_entity(writing, rows, old, wanted, identity, self.settings.faults, self._meaning, notes)
        return ApplyResult(
            status="applied",
            sink="datahub",
            changeset_id=None if self.settings.faults.no_changeset_ref else id,
            insights_marked_applied=len(rows),
            resulting_state=new,
            message=f"Applied to {entity_urn}.",
        )

    def _apply_page(
        self, writing: Writing, ids: Sequence[str], page: PageDraft, identity: Identity, notes: str
    ) -> ApplyResult:
        rows = applicable(writing.con, ids)
        near = self._near_pages(writing, page)
        if near:
            return ApplyResult(
                status="duplicate_blocked",
                sink="knowledge_page",
                similar_pages=near,
                message=f"Nothing was done: the page {near[0].slug} says nearly the same. Update it, or set force_new.",
            )
        id, page_id = changes.to_page(writing, rows, page, identity, self.settings.faults, self._meaning, notes)
        return ApplyResult(
            status="applied",
            sink="knowledge_page",
            changeset_id=None if self.settings.faults.no_changeset_ref else id,
            insights_marked_applied=len(rows),
            page_id=page_id,
            slug=page.slug,
            message=f"Applied to the page {page.slug}.",
        )

    def _near_pages(self, writing: Writing, page: PageDraft) -> tuple[SimilarPage, ...]:
        """The pages that a new page would nearly repeat; none for a new version of a page."""
        if page.force_new or pages.by_slug(writing.con, page.slug) is not None:
            return ()
        text = pages.searched(page.model_dump())
        return tuple(pages.similar(writing.con, self._meaning, text, self.settings.duplicate_page))

    def knowledge_rollback(self, caller: Caller, changeset_id: str) -> RollbackResult:
        """See :meth:`rollback_changeset`."""
        self._allowed(caller)
        with self._tool(caller, _TOOL) as call:
            return self._rolled_back(call, changeset_id)

    def knowledge_list_changesets(
        self, caller: Caller, entity_urn: str | None = None, limit: int = 20, offset: int = 0
    ) -> tuple[Changeset, ...]:
        """Newest first; ``limit`` is 1 to 100."""
        self._allowed(caller)
        with self._tool(caller, _TOOL), self._database.read() as con:
            filters = ChangesetFilter(entity_urn=entity_urn)
            found, _ = changes.listed(con, filters, bounded("limit", limit, 1, 100), bounded("offset", offset, 0))
            return tuple(found)

    def knowledge_bulk_untag(self, caller: Caller, tag: str, entity_urns: Sequence[str], confirm: bool) -> UntagResult:
        """Take a tag off 1 to 50 entities; each becomes a changeset of its own."""
        self._allowed(caller)
        with self._tool(caller, _TOOL) as call:
            urns = some("entity_urns", entity_urns, 50, least=1)
            if not confirm:
                return UntagResult(status="confirmation_required", changeset_ids=(), entities_untagged=())
            with self._write(call) as writing:
                done = {urn: changes.untag(writing, urn, tag, caller.identity, self._meaning) for urn in urns}
            kept = {urn: id for urn, id in done.items() if id is not None}
            return UntagResult(status="applied", changeset_ids=tuple(kept.values()), entities_untagged=tuple(kept))

    def _allowed(self, caller: Caller) -> None:
        if not self.may_review(caller.identity):
            refuse("Only a reviewer may use apply_knowledge.")

    def _moderate(self, writing: Writing, ids: Sequence[str], status: str, identity: Identity, notes: str) -> None:
        if self.settings.faults.conflict:
            raise PlatformError("conflict", f"The insight {ids[0]} has just been changed by somebody else.")
        for id in ids:
            records.moderate(writing, records.insight_row(writing.con, id), status, identity, notes)

    def _rolled_back(self, call: Call, id: str) -> RollbackResult:
        with self._write(call) as writing:
            return changes.roll_back(writing, id, call.identity, self._meaning)
