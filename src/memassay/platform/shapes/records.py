"""Records and insights, and what their owners ask of them: ``memory_capture``, ``memory_manage``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, JsonValue

from memassay.platform.shapes.base import (
    Category,
    Confidence,
    Dimension,
    InsightStatus,
    Lifecycle,
    Origin,
    RecordType,
    Reference,
    Route,
    Shape,
)


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
    """That an insight was changed by hand; what it is now says the insight."""

    status: Literal["updated"] = "updated"


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
    """A record as its owner sees it.

    Attributes:
        status: whether it is live; where its review stands is ``metadata["insight_status"]``.
        reference, superseded_by: ours alone.
    """

    id: str
    created_at: str
    updated_at: str
    created_by: str
    persona: str
    dimension: Dimension
    sink_class: RecordType
    content: str
    category: Category
    confidence: Confidence
    source: str
    entity_urns: tuple[str, ...]
    related_columns: tuple[JsonValue, ...]
    metadata: Mapping[str, JsonValue]
    status: Lifecycle
    reference: str
    superseded_by: str | None = None


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


class CaptureRequest(Shape):
    """The arguments of ``memory_capture``; ``content`` is 10 to 4,000 bytes of UTF-8."""

    type: RecordType
    content: str
    category: Category = "business_context"
    entity_urns: tuple[Reference, ...] = Field(default=(), max_length=10)
    related_columns: tuple[JsonValue, ...] = Field(default=(), max_length=20)
    suggested_actions: tuple[JsonValue, ...] = Field(default=(), max_length=5)
    confidence: Confidence = "medium"
    source: Origin = "user"
    thread_ids: tuple[Reference, ...] = Field(default=(), max_length=20)
    sources: tuple[Reference, ...] = Field(default=(), max_length=20)
    metadata: Mapping[str, JsonValue] = Field(default_factory=dict)


class Similar(Shape):
    """Another record of the same owner and how near it is (cosine)."""

    id: str
    score: float


class CaptureResult(Shape):
    """What capturing gave.

    Attributes:
        status: of its life, not of its review: ``active``.
        superseded: the nearest of those that it took the place of, or None.
        unlinked_thread_ids: there are no threads here.
    """

    id: str
    sink_class: RecordType
    status: Lifecycle = "active"
    superseded: str | None = None
    superseded_ids: tuple[str, ...] = ()
    similar_existing: tuple[Similar, ...] = ()
    message: str
    unlinked_thread_ids: tuple[str, ...] = ()


class RecordFilter(Shape):
    """Which of one's own records ``list`` gives; None is any, but without ``status`` only live ones."""

    dimension: Dimension | None = None
    status: Lifecycle | None = None
    category: Category | None = None
    entity_urn: str | None = None


class RecordUpdate(Shape):
    """What ``update`` changes of an own record; None stays, ``metadata`` is added to what there is."""

    content: str | None = None
    category: Category | None = None
    confidence: Confidence | None = None
    metadata: Mapping[str, JsonValue] = Field(default_factory=dict)


class ManageResult(Shape):
    """What a command that changes one record did; ``superseded`` is the record that ``consolidate`` retired."""

    id: str
    superseded: str | None = None
    message: str


class Commands(Shape):
    """What ``memory_manage`` says without a command."""

    commands: Mapping[str, str]


class RecordList(Shape):
    """What ``list`` and ``review_stale`` give, newest first."""

    records: tuple[MemoryRecord, ...]
    total: int
    limit: int
    offset: int


class RecordPreview(Shape):
    """One side of a pair; ``content_preview`` has at most 200 characters."""

    id: str
    created_at: str
    updated_at: str
    created_by: str
    status: Lifecycle
    content_preview: str


class DuplicatePair(Shape):
    """Two live records of one owner."""

    older: RecordPreview
    newer: RecordPreview
    score: float


class DuplicateList(Shape):
    """What ``review_duplicates`` gives, nearest first; ``total`` is of those given."""

    pairs: tuple[DuplicatePair, ...]
    total: int
    more_pairs: bool = False
    message: str
