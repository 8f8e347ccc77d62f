"""What all shapes are made of, who calls, and what a platform says of itself."""

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
Source = Literal["insights", "memory", "knowledge_pages", "catalog"]
Dimension = Literal["knowledge", "event", "preference"]
Origin = Literal["user", "agent_discovery", "enrichment_gap", "automation", "lineage_event"]
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


class Persona(Shape):
    name: str
    display_name: str


class PlatformInfo(Shape):
    """What ``platform_info`` tells; ``session_id`` is the new handle. ``user`` and ``sql_dialect`` are ours alone."""

    name: str = "memassay platform"
    version: str
    session_id: str
    session_expires_at: str
    agent_instructions: str
    toolkits: tuple[str, ...]
    persona: Persona
    user: str
    sql_dialect: str = "sqlite"


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
