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
    ChangesetFilter,
    ChangesetList,
    Entity,
    EntityReview,
    Identity,
    InsightFilter,
    PageDraft,
    ProposedChange,
    ReviewResult,
    RollbackResult,
    SimilarPage,
    SinkName,
    Synthesis,
    UntagResult,
)

_TOOL = "apply_knowledge"

# Entities that the answer of bulk_untag names.
_SAMPLE = 10


class Reviewing(Desk):
    """The review queue and what comes of it. Whoever is no reviewer sees of the queue what is their own."""

    # -- apply_knowledge -------------------------------------------------------------------------------------------

    def knowledge_bulk_review(
        self, caller: Caller, *, itemize: bool = False, limit: int = 20, offset: int = 0
    ) -> BulkReview:
        """The queue at a glance; ``limit`` is 1 to 100."""
        self._allowed(caller)
        with self._tool(caller, _TOOL), self._database.read() as con:
            seen = InsightFilter(status="pending", captured_by=self._whose(caller))
            stats = insights.counted(con, seen, self._database.now(con))
            bounds = bounded("limit", limit, 1, 100), bounded("offset", offset, 0)
            items = insights.listed(con, seen, True, *bounds)[0] if itemize else None
            return BulkReview(
                total_pending=stats.total_pending,
                by_category=stats.by_category,
                by_confidence=stats.by_confidence,
                by_entity=insights.pending_by_entity(con, seen.captured_by),
                insights=None if items is None else tuple(items),
            )

    def knowledge_review(self, caller: Caller, entity_urn: str) -> EntityReview:
        """What waits for an entity."""
        self._allowed(caller)
        with self._tool(caller, _TOOL), self._database.read() as con:
            row = entities.row_of(con, entity_urn)
            return EntityReview(
                entity_urn=entity_urn,
                current_metadata=None if row is None else entities.entity(row),
                insights=tuple(insights.waiting(con, entity_urn, self._whose(caller))),
            )

    def knowledge_synthesize(self, caller: Caller, entity_urn: str, insight_ids: Sequence[str] = ()) -> Synthesis:
        """A proposal from these insights, or from all approved ones of the entity."""
        self._allowed(caller)
        with self._tool(caller, _TOOL), self._database.read() as con:
            ids = some("insight_ids", insight_ids, 50)
            if ids:
                taken = [insights.insight(row) for row in applicable(con, ids)]
                for one in taken:
                    if self._whose(caller) not in (None, one.captured_by):
                        raise PlatformError("not_found", f"There is no insight {one.id} that you may see.")
            else:
                found = insights.waiting(con, entity_urn, self._whose(caller))
                taken = [one for one in found if one.status == "approved"]
            row = entities.row_of(con, entity_urn)
            entity = None if row is None else entities.entity(row)
            current = "" if entity is None else entity.description
            text = "\n".join(dict.fromkeys(part for part in (current, *(one.insight_text for one in taken)) if part))
            change = ProposedChange(
                change_type="update_description",
                current_value=current,
                suggested_value=text[:20_000],
                source_insight_ids=tuple(one.id for one in taken),
            )
            return Synthesis(
                entity_urn=entity_urn,
                current_metadata=entity,
                approved_insights=tuple(taken),
                proposed_changes=(change,) if taken else (),
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
            return ReviewResult(action=action, updated=len(ids), total=len(ids))

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
                    status="confirmation_required",
                    sink=sink,
                    confirmation_required=True,
                    message="Nothing was done; call again with confirm.",
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
            entity_urn=entity_urn,
            changes_applied=len(wanted),
            resulting_state=new,
            revertible=not any(change.change_type in changes.FINAL for change in wanted),
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
                duplicate_blocked=True,
                candidates=near,
                message=f"Nothing was done: the page {near[0].slug} says nearly the same. Update it, or set force_new.",
            )
        action: Literal["created", "updated"] = (
            "created" if pages.by_slug(writing.con, page.slug) is None else "updated"
        )
        id, page_id = changes.to_page(writing, rows, page, identity, self.settings.faults, self._meaning, notes)
        return ApplyResult(
            status="applied",
            sink="knowledge_page",
            changeset_id=None if self.settings.faults.no_changeset_ref else id,
            insights_marked_applied=len(rows),
            page_id=page_id,
            slug=page.slug,
            action=action,
            revertible=True,
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
    ) -> ChangesetList:
        """Those of an entity or of ``kp:SLUG``, None is all, newest first; ``limit`` is 1 to 100."""
        self._allowed(caller)
        with self._tool(caller, _TOOL), self._database.read() as con:
            filters = ChangesetFilter(entity_urn=entity_urn)
            found, total = changes.listed(con, filters, bounded("limit", limit, 1, 100), bounded("offset", offset, 0))
            shown = tuple(changes.summary(one) for one in found)
            return ChangesetList(entity_urn=entity_urn or "", total=total, changesets=shown)

    def knowledge_bulk_untag(self, caller: Caller, tag_urn: str, confirm: bool) -> UntagResult:
        """Take a tag, by its name or as ``urn:li:tag:NAME``, off all entities; each becomes a changeset of its own."""
        self._allowed(caller)
        with self._tool(caller, _TOOL) as call:
            if not confirm:
                with self._database.read() as con:
                    found = dict(entities.tagged(con, tag_urn))
                return UntagResult(
                    tag_urn=tag_urn,
                    confirmation_required=True,
                    entities_found=len(found),
                    affected_urns_sample=tuple(found)[:_SAMPLE],
                    message="Nothing was done; call again with confirm.",
                )
            with self._write(call) as writing:
                tagged = entities.tagged(writing.con, tag_urn)
                done = [changes.untag(writing, urn, tag, caller.identity, self._meaning) for urn, tag in tagged]
            found = dict(tagged)
            return UntagResult(
                tag_urn=tag_urn,
                entities_found=len(found),
                entities_untagged=len(found),
                affected_urns_sample=tuple(found)[:_SAMPLE],
                changeset_ids=tuple(done),
                message=f"Taken off {len(found)} entities.",
            )

    def _allowed(self, caller: Caller) -> None:
        if not self.may_review(caller.identity):
            refuse("Only a reviewer may use apply_knowledge.")

    @staticmethod
    def _whose(caller: Caller) -> str | None:
        """Whose part of the queue somebody may read; None is everybody's."""
        return None if caller.identity.reviews else caller.identity.email

    def _moderate(self, writing: Writing, ids: Sequence[str], status: str, identity: Identity, notes: str) -> None:
        if self.settings.faults.conflict:
            raise PlatformError("conflict", f"The insight {ids[0]} has just been changed by somebody else.")
        for id in ids:
            records.moderate(writing, records.insight_row(writing.con, id), status, identity, notes)

    def _rolled_back(self, call: Call, id: str) -> RollbackResult:
        with self._write(call) as writing:
            return changes.roll_back(writing, id, call.identity, self._meaning)
