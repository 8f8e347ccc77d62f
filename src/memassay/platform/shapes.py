"""What operations take and give, as frozen models; their JSON is what goes over the wire.

Times are RFC 3339 in UTC with microseconds, ids are 32 hexadecimal digits and mean nothing. A field that may be absent
is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue

T = TypeVar("T")

RecordType = Literal["personal_preference", "episodic_event", "business_knowledge", "schema_entity", "operational_rule"]
Category = Literal[
    "correction", "business_context", "data_quality", "usage_guidance", "relationship", "enhancement", "general"
]
Confidence = Literal["low", "medium", "high"]
InsightStatus = Literal["pending", "approved", "rejected", "applied", "superseded"]
Lifecycle = Literal["active", "stale", "superseded", "archived"]
SinkName = Literal["datahub", "knowledge_page"]
Source = Literal["insights", "memory", "knowledge_pages", "entities"]
ChangeType = Literal["update_description", "add_tag", "remove_tag", "flag_quality_issue"]
Route = Literal[
    "capture", "supersede", "update", "edit", "forget", "consolidate", "stale", "approve", "reject", "apply", "rollback"
]

Reference = Annotated[str, Field(max_length=600)]


class Shape(BaseModel):
    """Base: frozen, unknown fields refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")


class Paged(Shape, Generic[T]):
    """One page of a list; ``page`` counts from 1, ``total`` is of all pages."""

    data: tuple[T, ...]
    total: int
    page: int
    per_page: int


# -- who calls -----------------------------------------------------------------------------------------------------


class Identity(Shape):
    """Somebody. ``roles`` are of ``agent``, ``reviewer`` and ``admin``; an admin may do what a reviewer may."""

    user_id: str
    email: str
    name: str
    roles: tuple[str, ...] = ("agent",)
    persona: str = "analyst"

    @property
    def reviews(self) -> bool:
        return "reviewer" in self.roles or "admin" in self.roles

    @property
    def administers(self) -> bool:
        return "admin" in self.roles


class Caller(Shape):
    """Who uses a tool: the identity, the session handle (``dps_…``) and the purpose, "" where none was given."""

    identity: Identity
    session: str = ""
    purpose: str = ""


class PlatformInfo(Shape):
    """What ``platform_info`` tells; ``session_id`` is the new handle."""

    session_id: str
    version: str
    name: str = "memassay platform"
    user: str
    persona: str
    expires_at: str
    instructions: str
    sql_dialect: str = "sqlite"


# -- records -------------------------------------------------------------------------------------------------------


class Insight(Shape):
    """A record that goes through review, as REST and reviewers see it."""

    id: str
    created_at: str
    updated_at: str
    session_id: str
    captured_by: str
    persona: str
    source: str
    category: Category
    insight_text: str
    confidence: Confidence
    entity_urns: tuple[str, ...]
    related_columns: tuple[JsonValue, ...]
    suggested_actions: tuple[JsonValue, ...]
    status: InsightStatus
    sink_class: RecordType
    reviewed_by: str | None = None
    reviewed_at: str | None = None
    review_notes: str | None = None
    applied_by: str | None = None
    applied_at: str | None = None
    changeset_ref: str | None = None
    superseded_by: str | None = None


class InsightStats(Shape):
    total_pending: int
    by_category: Mapping[str, int]
    by_confidence: Mapping[str, int]
    by_status: Mapping[str, int]
    oldest_pending_at: str | None
    pending_over_30d: int


class StatusChanged(Shape):
    status: InsightStatus


class InsightFilter(Shape):
    """Which insights; None is any. ``since`` and ``until`` (RFC 3339) are inclusive and mean ``created_at``."""

    status: InsightStatus | None = None
    category: Category | None = None
    entity_urn: str | None = None
    captured_by: str | None = None
    confidence: Confidence | None = None
    since: str | None = None
    until: str | None = None


class MemoryRecord(Shape):
    """A record as its owner sees it; ``status`` is None for what needs no review."""

    id: str
    reference: str
    type: RecordType
    lifecycle: Lifecycle
    status: InsightStatus | None
    content: str
    category: Category
    confidence: Confidence
    entity_urns: tuple[str, ...]
    created_at: str
    updated_at: str
    superseded_by: str | None = None
    metadata: Mapping[str, JsonValue] = Field(default_factory=dict)


class HeldRecord(Shape):
    """A record as an admin sees it, whoever's it is, live or not.

    Attributes:
        status: None for what needs no review.
        retired_by: how it ended: ``supersede``, ``consolidate``, ``forget``, ``reject``; None where it is live.
        superseded_by: the record that took its place; ``superseded_score`` is their cosine where that decided.
    """

    id: str
    captured_by: str
    type: RecordType
    lifecycle: Lifecycle
    status: InsightStatus | None
    content: str
    entity_urns: tuple[str, ...]
    created_at: str
    changeset_ref: str | None = None
    retired_by: Route | None = None
    superseded_by: str | None = None
    superseded_score: float | None = None


class RecordEvent(Shape):
    """Something that happened to a record.

    Attributes:
        route: what changed it.
        other_id: for ``supersede`` and ``consolidate`` the record that took its place.
        score: their cosine where it decided, -1 to 1.
        from_status, to_status: review status, or the lifecycle of what needs no review; ``from_status`` is None for
            ``capture``.
    """

    at: str
    record_id: str
    route: Route
    by: str
    from_status: str | None
    to_status: str
    other_id: str | None = None
    score: float | None = None
    notes: str = ""


# -- memory_capture, memory_manage ---------------------------------------------------------------------------------


class CaptureRequest(Shape):
    """The arguments of ``memory_capture``; ``content`` is 10 to 4,000 bytes of UTF-8."""

    type: RecordType
    content: str
    category: Category = "general"
    entity_urns: tuple[Reference, ...] = Field(default=(), max_length=10)
    related_columns: tuple[JsonValue, ...] = Field(default=(), max_length=20)
    suggested_actions: tuple[JsonValue, ...] = Field(default=(), max_length=5)
    confidence: Confidence = "medium"
    source: str = Field(default="agent", max_length=100)
    thread_ids: tuple[Reference, ...] = Field(default=(), max_length=20)
    sources: tuple[Reference, ...] = Field(default=(), max_length=20)
    metadata: Mapping[str, JsonValue] = Field(default_factory=dict)


class Similar(Shape):
    """Another record of the same owner and how near it is (cosine)."""

    id: str
    score: float


class CaptureResult(Shape):
    """What capturing gave. ``status`` is ``pending`` or, for what needs no review, ``active``."""

    id: str
    sink_class: RecordType
    status: Literal["pending", "active"]
    superseded: bool
    superseded_ids: tuple[str, ...]
    similar_existing: tuple[Similar, ...]
    message: str


class RecordFilter(Shape):
    """Which of one's own records ``list`` gives; None is any, but without ``lifecycle`` only live ones."""

    type: RecordType | None = None
    lifecycle: Lifecycle | None = None
    status: InsightStatus | None = None
    category: Category | None = None
    entity_urn: str | None = None


class ManageResult(Shape):
    """What a command that changes one record did."""

    command: Literal["update", "forget", "consolidate"]
    id: str
    status: str
    message: str


class RecordList(Shape):
    """What ``list`` and ``review_stale`` give, newest first."""

    command: Literal["list", "review_stale"]
    records: tuple[MemoryRecord, ...]
    total: int
    limit: int
    offset: int


class DuplicatePair(Shape):
    """Two live records of one owner; ``id`` is the older one."""

    id: str
    duplicate_id: str
    score: float
    content: str
    duplicate_content: str


class DuplicateList(Shape):
    """What ``review_duplicates`` gives, nearest first."""

    command: Literal["review_duplicates"] = "review_duplicates"
    pairs: tuple[DuplicatePair, ...]
    total: int


# -- search, fetch -------------------------------------------------------------------------------------------------


class Hit(Shape):
    """Something found; ``score`` is 0 to 1 within its source, ``status`` is None for pages and entities."""

    id: str
    reference: str
    title: str
    text: str
    score: float
    entity_urns: tuple[str, ...] = ()
    status: str | None = None
    category: str | None = None
    created_at: str


class Group(Shape):
    source: Source
    hits: tuple[Hit, ...]


class Coverage(Shape):
    """How much of a source is shown: ``matched`` candidates, at most 25 per source; ``withheld`` is None for none."""

    source: Source
    matched: int
    shown: int
    withheld: int | None = None


class SearchResult(Shape):
    """What ``search`` gives. ``ranking`` is ``entity`` (newest first) where there was no intent."""

    groups: tuple[Group, ...]
    coverage: tuple[Coverage, ...]
    count: int
    ranking: Literal["hybrid", "lexical", "entity"]


class FetchedDocument(Shape):
    title: str
    body: str
    content: str
    references: tuple[str, ...]


class FetchResult(Shape):
    """What ``fetch`` gives; a thing that the caller may not see is not found."""

    reference: str
    found: bool
    document: FetchedDocument | None = None


# -- push ----------------------------------------------------------------------------------------------------------


class PushedMemory(Shape):
    """A record that a result carries along; ``summary`` is None where only the reference fits."""

    reference: str
    type: RecordType
    entity_urns: tuple[str, ...]
    summary: str | None


class PushedDescription(Shape):
    """What an entity is said to be; ``description`` is None where this session has been told already."""

    urn: str
    description: str | None


class Enrichment(Shape):
    """What is known about the entities that a result names; ``mode`` is ``reference`` where all was told already."""

    mode: Literal["full", "reference"]
    memories: tuple[PushedMemory, ...] = ()
    descriptions: tuple[PushedDescription, ...] = ()


# -- entities and the warehouse ------------------------------------------------------------------------------------


class Entity(Shape):
    """A thing of the catalogue; ``columns`` maps a column to its description."""

    urn: str
    name: str
    description: str = ""
    columns: Mapping[str, str] = Field(default_factory=dict)
    tags: tuple[str, ...] = ()
    issues: tuple[str, ...] = ()


class EntityResult(Entity):
    """What ``datahub_get_entity`` gives."""

    enrichment: Enrichment | None = None


class EntityList(Shape):
    """What ``datahub_search`` gives."""

    entities: tuple[Entity, ...]
    total: int


class QueryResult(Shape):
    """Rows of ``trino_query``; ``truncated`` where there were more."""

    columns: tuple[str, ...]
    rows: tuple[tuple[JsonValue, ...], ...]
    row_count: int
    truncated: bool = False
    enrichment: Enrichment | None = None


class Column(Shape):
    name: str
    type: str
    nullable: bool


class TableDescription(Shape):
    """What ``trino_describe_table`` gives; ``table`` is ``catalog.schema.table``."""

    table: str
    urn: str
    columns: tuple[Column, ...]
    row_count: int
    enrichment: Enrichment | None = None


class TableList(Shape):
    """What ``trino_browse`` gives: full table names."""

    catalog: str
    schema_: str = Field(alias="schema")
    tables: tuple[str, ...]
    enrichment: Enrichment | None = None

    model_config = ConfigDict(
        frozen=True, extra="forbid", ser_json_inf_nan="null", validate_by_name=True, serialize_by_alias=True
    )


# -- apply_knowledge -----------------------------------------------------------------------------------------------


class Change(Shape):
    """One change of an entity.

    Attributes:
        change_type: ``flag_quality_issue`` cannot be rolled back.
        target: of a description "" for the entity itself or a column's name; of ``bulk_untag`` an entity's URN.
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
    """What ``apply`` did.

    Attributes:
        status: ``applied``; ``confirmation_required`` (nothing was done; ask again with ``confirm``); or
            ``duplicate_blocked`` (nothing was done: a page says nearly the same, see ``similar_pages``).
        changeset_id: None unless applied.
        resulting_state: the entity afterwards, for the sink ``datahub``.
        page_id, slug: the page, for the sink ``knowledge_page``.
    """

    status: Literal["applied", "confirmation_required", "duplicate_blocked"]
    sink: SinkName
    changeset_id: str | None = None
    insights_marked_applied: int = 0
    resulting_state: Entity | None = None
    page_id: str | None = None
    slug: str | None = None
    similar_pages: tuple[SimilarPage, ...] = ()
    message: str


class ReviewResult(Shape):
    """What ``approve`` and ``reject`` did: all of the insights or none."""

    action: Literal["approve", "reject"]
    status: InsightStatus
    insight_ids: tuple[str, ...]


class EntityCount(Shape):
    entity_urn: str
    pending: int


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
    entity: Entity | None
    insights: tuple[Insight, ...]


class Synthesis(Shape):
    """A proposal: ``changes`` is what ``apply`` could be given for these insights."""

    entity_urn: str
    insight_ids: tuple[str, ...]
    current_description: str
    changes: tuple[Change, ...]


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


class RollbackResult(Shape):
    """What ``rollback`` did; these insights are pending again."""

    changeset_id: str
    target_urn: str
    rolled_back: Literal[True] = True
    insights_returned: tuple[str, ...]


class UntagResult(Shape):
    """What ``bulk_untag`` did: one changeset per entity that had the tag."""

    status: Literal["applied", "confirmation_required"]
    changeset_ids: tuple[str, ...]
    entities_untagged: tuple[str, ...]


# -- pages, audit --------------------------------------------------------------------------------------------------


class KnowledgePage(Shape):
    id: str
    slug: str
    title: str
    summary: str
    body: str
    tags: tuple[str, ...]
    references: tuple[str, ...]
    entity_urns: tuple[str, ...]
    version: int
    created_at: str
    updated_at: str
    updated_by: str


class KnowledgePages(Shape):
    """What the portal lists, newest first."""

    pages: tuple[KnowledgePage, ...]
    total: int


class AuditEvent(Shape):
    """One call. ``event_kind`` is ``tool`` or ``admin``; token counts are estimates (a token per four bytes)."""

    id: str
    timestamp: str
    duration_ms: float
    session_id: str
    user_id: str
    event_kind: Literal["tool", "admin"]
    tool_name: str
    success: bool
    error_message: str | None = None
    enrichment_applied: bool = False
    enrichment_tokens_full: int = 0
    enrichment_tokens_dedup: int = 0
    enrichment_mode: str = "none"


# -- the platform itself -------------------------------------------------------------------------------------------


class EmbedderPrint(Shape):
    name: str
    digest: str
    dimension: int


class Fingerprint(Shape):
    """What of a workspace can change a number; ``settings`` is ``Settings`` as JSON, ``embedder`` None for none."""

    version: str
    database_schema: int
    settings: Mapping[str, JsonValue]
    embedder: EmbedderPrint | None
    warehouse: str | None
    digest: str
