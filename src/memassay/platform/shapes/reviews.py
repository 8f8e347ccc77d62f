"""What becomes of insights: ``apply_knowledge``, changesets, pages, and the audit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from memassay.platform.shapes.base import ChangeType, Reference, Shape, SinkName
from memassay.platform.shapes.findings import Entity
from memassay.platform.shapes.records import Insight


class Change(Shape):
    """One change of an entity.

    Attributes:
        change_type: ``flag_quality_issue`` cannot be rolled back.
        target: of a description "" for the entity itself, or ``column:NAME``; else it plays no part.
        detail: the description, tag or issue.
    """

    change_type: ChangeType
    target: str = Field(default="", max_length=600)
    detail: str = Field(max_length=20_000)


class PageDraft(Shape):
    """A knowledge page to be; with ``force_new`` a near-duplicate is not looked for."""

    slug: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=200)
    title: str = Field(min_length=1, max_length=300)
    summary: str = Field(min_length=1, max_length=2_000)
    body: str = Field(min_length=1, max_length=100_000)
    tags: tuple[Annotated[str, Field(max_length=100)], ...] = Field(default=(), max_length=50)
    references: tuple[Reference, ...] = Field(default=(), max_length=50)
    force_new: bool = False


class SimilarPage(Shape):
    id: str
    slug: str
    title: str
    score: float


class ApplyResult(Shape):
    """What ``apply`` did; ``status`` and ``sink`` are ours alone.

    Attributes:
        confirmation_required: nothing was done; ask again with ``confirm``.
        duplicate_blocked: nothing was done: the pages ``candidates`` say nearly the same.
        changeset_id: None unless applied.
        entity_urn, changes_applied, resulting_state: of the sink ``datahub``: the entity, how many changes were asked
            for, and the entity afterwards.
        page_id, slug, action: of the sink ``knowledge_page``: the page, and what became of it.
        revertible: whether it can be rolled back.
    """

    status: Literal["applied", "confirmation_required", "duplicate_blocked"]
    sink: SinkName
    confirmation_required: bool = False
    duplicate_blocked: bool = False
    candidates: tuple[SimilarPage, ...] = ()
    changeset_id: str | None = None
    insights_marked_applied: int = 0
    entity_urn: str | None = None
    changes_applied: int = 0
    resulting_state: Entity | None = None
    page_id: str | None = None
    slug: str | None = None
    action: Literal["created", "updated"] | None = None
    revertible: bool | None = None
    message: str


class ReviewResult(Shape):
    """What ``approve`` and ``reject`` did: all of the insights or none."""

    action: Literal["approve", "reject"]
    updated: int
    total: int


class EntityCount(Shape):
    entity_urn: str
    count: int


class BulkReview(Shape):
    """The queue at a glance; ``insights`` are given where itemised, oldest first."""

    total_pending: int
    by_category: Mapping[str, int]
    by_confidence: Mapping[str, int]
    by_entity: tuple[EntityCount, ...]
    insights: tuple[Insight, ...] | None = None


class EntityReview(Shape):
    """What waits for an entity (pending and approved, oldest first), beside what it says now."""

    entity_urn: str
    current_metadata: Entity | None
    insights: tuple[Insight, ...]


class ProposedChange(Shape):
    """A change that ``apply`` could be given, with what there is now."""

    change_type: ChangeType
    target: str = ""
    current_value: str
    suggested_value: str
    source_insight_ids: tuple[str, ...]


class Synthesis(Shape):
    """A proposal from approved insights."""

    entity_urn: str
    current_metadata: Entity | None
    approved_insights: tuple[Insight, ...]
    proposed_changes: tuple[ProposedChange, ...]


class Changeset(Shape):
    """One application of insights to a sink, with what was there before.

    Attributes:
        target_urn: the entity, or ``kp:SLUG`` for a page.
        change_type: ``create_page``, ``update_page``, a change type of entities, or ``multiple``.
        previous_value, new_value: the touched fields before and after.
    """

    id: str
    created_at: str
    target_urn: str
    change_type: str
    previous_value: Mapping[str, JsonValue]
    new_value: Mapping[str, JsonValue]
    source_insight_ids: tuple[str, ...]
    approved_by: str | None = None
    applied_by: str
    rolled_back: bool = False
    rolled_back_by: str | None = None
    rolled_back_at: str | None = None


class ChangesetFilter(Shape):
    """Which changesets; None is any, times are inclusive."""

    entity_urn: str | None = None
    applied_by: str | None = None
    rolled_back: bool | None = None
    since: str | None = None
    until: str | None = None


class ChangesetSummary(Shape):
    """A changeset without what it replaced."""

    changeset_id: str
    created_at: str
    target_urn: str
    change_type: str
    applied_by: str
    source_insight_ids: tuple[str, ...]
    rolled_back: bool
    rolled_back_by: str | None = None
    rolled_back_at: str | None = None


class ChangesetList(Shape):
    """What ``list_changesets`` gives, newest first."""

    entity_urn: str
    total: int
    changesets: tuple[ChangesetSummary, ...]


class RollbackResult(Shape):
    """What ``rollback`` did: which fields were put back, and which insights are pending again."""

    changeset_id: str
    target_urn: str
    reverted_changes: tuple[str, ...]
    insights_rolled_back: tuple[str, ...]
    rolled_back_by: str


class UntagResult(Shape):
    """What ``bulk_untag`` did, or would with ``confirm``; each entity is a changeset of its own."""

    tag_urn: str
    confirmation_required: bool = False
    entities_found: int
    entities_untagged: int = 0
    affected_urns_sample: tuple[str, ...]
    changeset_ids: tuple[str, ...] = ()
    message: str


class KnowledgePage(Shape):
    id: str
    slug: str
    title: str
    summary: str
    body: str
    tags: tuple[str, ...]
    references: tuple[str, ...]
    entity_urns: tuple[str, ...]
    current_version: int
    created_at: str
    updated_at: str
    updated_by: str


class KnowledgePages(Shape):
    """What the portal lists, newest first."""

    pages: tuple[KnowledgePage, ...]
    total: int


class AuditEvent(Shape):
    """One call; token counts are estimates (a token per four bytes)."""

    id: str
    timestamp: str
    duration_ms: int
    session_id: str
    user_id: str
    event_kind: Literal["mcp_tool_call", "admin"]
    tool_name: str
    success: bool
    error_message: str | None = None
    enrichment_applied: bool = False
    enrichment_tokens_full: int = 0
    enrichment_tokens_dedup: int = 0
    enrichment_mode: str = "none"
