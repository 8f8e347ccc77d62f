"""The HTTP interface below ``/api/v1``.

What is below ``/admin`` and ``/portal`` is the wire contract that other platforms of this kind share; what is below
``/memassay`` is ours: records and their history, applying without a tool, who one is, what of a workspace can change a
number. Every path needs a key, this interface's own document too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, RootModel

from memassay.platform import openapi
from memassay.platform.routing import TRUTH, WHOLE, Asked, Endpoint, Router
from memassay.platform.service import Platform
from memassay.platform.shapes import (
    ApplyResult,
    AuditEvent,
    Caller,
    Category,
    Change,
    Changeset,
    ChangesetFilter,
    Confidence,
    Entity,
    Fingerprint,
    HeldRecord,
    Identity,
    Insight,
    InsightFilter,
    InsightStats,
    InsightStatus,
    KnowledgePage,
    KnowledgePages,
    Paged,
    PageDraft,
    RecordEvent,
    Reference,
    RollbackResult,
    Shape,
    StatusChanged,
)

PREFIX = "/api/v1"

_Page = Annotated[int, Field(ge=1, le=1_000_000_000), WHOLE]
_Moment = Annotated[str | None, Field(json_schema_extra={"format": "date-time"})]
_Notes = Annotated[str, Field(max_length=20_000)]


@dataclass(frozen=True, slots=True)
class Served:
    """What the interface works on: a workspace, and ``base``, the path before all others."""

    platform: Platform
    base: str = PREFIX


class InsightWhich(Shape):
    """The query of what is about insights."""

    status: InsightStatus | None = None
    category: Category | None = None
    entity_urn: str | None = None
    captured_by: str | None = None
    confidence: Confidence | None = None
    since: _Moment = None
    until: _Moment = None

    def filters(self) -> InsightFilter:
        return InsightFilter.model_validate(self.model_dump(include=set(InsightFilter.model_fields)))


class InsightQuery(InsightWhich):
    order: Literal["newest", "oldest"] = "newest"
    page: _Page = 1
    per_page: Annotated[int, Field(ge=1, le=100), WHOLE] = 20


class StatusChange(Shape):
    status: Literal["approved", "rejected"]
    review_notes: _Notes = ""


class InsightEdit(Shape):
    """What to change; what is left out, or null, stays."""

    insight_text: Annotated[str, Field(min_length=10, max_length=4_000)] | None = None
    category: Category | None = None
    confidence: Confidence | None = None


class ChangesetQuery(Shape):
    entity_urn: str | None = None
    applied_by: str | None = None
    rolled_back: Annotated[bool, TRUTH] | None = None
    since: _Moment = None
    until: _Moment = None
    page: _Page = 1
    per_page: Annotated[int, Field(ge=1, le=100), WHOLE] = 20

    def filters(self) -> ChangesetFilter:
        return ChangesetFilter.model_validate(self.model_dump(include=set(ChangesetFilter.model_fields)))


class AuditQuery(Shape):
    session_id: str | None = None
    page: _Page = 1
    per_page: Annotated[int, Field(ge=1, le=200), WHOLE] = 50
    sort_by: Literal["timestamp", "duration_ms", "tool_name"] = "timestamp"
    sort_order: Literal["asc", "desc"] = "desc"


class PagesQuery(Shape):
    limit: Annotated[int, Field(ge=1, le=100), WHOLE] = 20
    offset: Annotated[int, Field(ge=0, le=1_000_000_000), WHOLE] = 0


class HistoryQuery(Shape):
    record_id: str | None = None
    page: _Page = 1
    per_page: Annotated[int, Field(ge=1, le=500), WHOLE] = 100


class RecordsQuery(Shape):
    captured_by: str | None = None
    page: _Page = 1
    per_page: Annotated[int, Field(ge=1, le=500), WHOLE] = 100


class EntityQuery(Shape):
    urn: str


class _Apply(Shape):
    insight_ids: tuple[Reference, ...] = Field(min_length=1, max_length=50)
    review_notes: _Notes = ""


class ApplyToEntity(_Apply):
    sink: Literal["datahub"]
    entity_urn: str = Field(default="", max_length=600, pattern="^(urn:.*)?$")
    changes: tuple[Change, ...] = Field(min_length=1, max_length=20)


class ApplyToPage(_Apply):
    sink: Literal["knowledge_page"]
    page: PageDraft


class Application(RootModel[Annotated[ApplyToEntity | ApplyToPage, Field(discriminator="sink")]]):
    """What to apply, and to what."""


class OpenApi(RootModel[dict[str, JsonValue]]):
    """An OpenAPI 3.1 document."""


def _apply(served: Served, asked: Asked) -> ApplyResult:
    """Apply, as the tool does; the handle that tools need is made for this one call."""
    body = asked.body.root
    caller = Caller(identity=asked.identity, session=served.platform.platform_info(asked.identity).session_id)
    target: dict[str, Any] = (
        {"page": body.page}
        if isinstance(body, ApplyToPage)
        else {"entity_urn": body.entity_urn, "changes": body.changes}
    )
    return served.platform.knowledge_apply(
        caller, body.insight_ids, body.sink, confirm=True, review_notes=body.review_notes, **target
    )


def _edited(served: Served, asked: Asked) -> StatusChanged:
    return served.platform.edit_insight(asked.identity, asked.path["id"], **asked.body.model_dump())


def _changed(served: Served, asked: Asked) -> StatusChanged:
    id, body = asked.path["id"], asked.body
    return served.platform.set_insight_status(asked.identity, id, body.status, body.review_notes)


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET", "/admin/knowledge/insights", "listInsights", "Insights, newest first.",
        Paged[Insight], role="reviewer", query=InsightQuery,
        run=lambda served, asked: served.platform.list_insights(
            asked.identity, asked.query.filters(), order=asked.query.order,
            page=asked.query.page, per_page=asked.query.per_page,
        ),
    ),
    Endpoint(
        "GET", "/admin/knowledge/insights/stats", "insightStats", "Counts of insights.",
        InsightStats, role="reviewer", query=InsightWhich,
        run=lambda served, asked: served.platform.insight_stats(asked.identity, asked.query.filters()),
    ),
    Endpoint(
        "GET", "/admin/knowledge/insights/{id}", "getInsight", "One insight.",
        Insight, role="reviewer", refuses=("not_found",),
        run=lambda served, asked: served.platform.get_insight(asked.identity, asked.path["id"]),
    ),
    Endpoint(
        "PUT", "/admin/knowledge/insights/{id}", "editInsight", "Other words, category or confidence.",
        StatusChanged, role="reviewer", body=InsightEdit, refuses=("not_found", "conflict"), run=_edited,
    ),
    Endpoint(
        "PUT", "/admin/knowledge/insights/{id}/status", "setInsightStatus", "Approve or reject an insight.",
        StatusChanged, role="reviewer", body=StatusChange, refuses=("not_found", "conflict"), run=_changed,
    ),
    Endpoint(
        "GET", "/admin/knowledge/changesets", "listChangesets", "What was applied, newest first.",
        Paged[Changeset], role="reviewer", query=ChangesetQuery,
        run=lambda served, asked: served.platform.list_changesets(
            asked.identity, asked.query.filters(), page=asked.query.page, per_page=asked.query.per_page
        ),
    ),
    Endpoint(
        "GET", "/admin/knowledge/changesets/{id}", "getChangeset", "One changeset.",
        Changeset, role="reviewer", refuses=("not_found",),
        run=lambda served, asked: served.platform.get_changeset(asked.identity, asked.path["id"]),
    ),
    Endpoint(
        "POST", "/admin/knowledge/changesets/{id}/rollback", "rollbackChangeset", "Put back what was there before.",
        RollbackResult, role="reviewer", refuses=("not_found", "conflict", "irreversible"),
        run=lambda served, asked: served.platform.rollback_changeset(asked.identity, asked.path["id"]),
    ),
    Endpoint(
        "GET", "/admin/audit/events", "listAuditEvents", "Every call, newest first.",
        Paged[AuditEvent], role="admin", query=AuditQuery,
        run=lambda served, asked: served.platform.list_audit(asked.identity, **asked.query.model_dump()),
    ),
    Endpoint(
        "GET", "/portal/knowledge-pages", "listPages", "Knowledge pages, the last changed first.",
        KnowledgePages, query=PagesQuery,
        run=lambda served, asked: served.platform.list_pages(asked.identity, **asked.query.model_dump()),
    ),
    Endpoint(
        "POST", "/portal/knowledge-pages", "createPage", "A new knowledge page.",
        KnowledgePage, role="reviewer", body=PageDraft, status=201, refuses=("conflict",),
        run=lambda served, asked: served.platform.create_page(asked.identity, asked.body),
    ),
    Endpoint(
        "GET", "/portal/knowledge-pages/{id}", "getPage", "One knowledge page, by id or slug.",
        KnowledgePage, refuses=("not_found",),
        run=lambda served, asked: served.platform.get_page(asked.identity, asked.path["id"]),
    ),
    Endpoint(
        "PUT", "/portal/knowledge-pages/{id}", "editPage", "A new version of a page; its slug stays.",
        KnowledgePage, role="reviewer", body=PageDraft, refuses=("not_found", "conflict"),
        run=lambda served, asked: served.platform.edit_page(asked.identity, asked.path["id"], asked.body),
    ),
    Endpoint(
        "POST", "/memassay/apply", "applyInsights", "Apply insights to an entity or a page.",
        ApplyResult, role="reviewer", body=Application, refuses=("not_found", "conflict", "tool_error"), run=_apply,
    ),
    Endpoint(
        "GET", "/memassay/history", "listHistory", "What happened to records, oldest first.",
        Paged[RecordEvent], role="admin", query=HistoryQuery,
        run=lambda served, asked: served.platform.list_history(asked.identity, **asked.query.model_dump()),
    ),
    Endpoint(
        "GET", "/memassay/records", "listRecords", "Everybody's records, notes too, live or not, oldest first.",
        Paged[HeldRecord], role="admin", query=RecordsQuery,
        run=lambda served, asked: served.platform.list_records(asked.identity, **asked.query.model_dump()),
    ),
    Endpoint(
        "GET", "/memassay/entity", "getEntity", "An entity of the catalogue, as it is now.",
        Entity, role="reviewer", query=EntityQuery, refuses=("not_found",),
        run=lambda served, asked: served.platform.get_entity(asked.query.urn),
    ),
    Endpoint(
        "GET", "/memassay/me", "whoAmI", "Whose key it is.", Identity,
        run=lambda served, asked: asked.identity,
    ),
    Endpoint(
        "GET", "/memassay/fingerprint", "getFingerprint", "What of the workspace can change a number.",
        Fingerprint, role="admin",
        run=lambda served, asked: served.platform.fingerprint(),
    ),
    Endpoint(
        "GET", "/openapi.json", "getOpenApi", "This document.", OpenApi,
        run=lambda served, asked: OpenApi(openapi.document(ENDPOINTS, served.base)),
    ),
)  # fmt: skip


def _admitted(served: Served, key: str | None) -> Identity:
    """Whose key it is; the request is one of that user's calls."""
    identity = served.platform.authenticate(key)
    served.platform.admit(identity)
    return identity


ROUTER = Router(ENDPOINTS, _admitted)
