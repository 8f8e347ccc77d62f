"""What is found and what comes along: ``search``, ``fetch``, the push, the catalogue, the warehouse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import ConfigDict, Field, JsonValue

from memassay.platform.shapes.base import Category, Confidence, Dimension, Shape, Source


class Hit(Shape):
    """Something found; ``category`` and ``created_at`` are ours alone.

    Attributes:
        text: of a page its title and summary, of a dataset its name and description.
        ref: its id within its source.
        score: 0 to 1 within its source.
        status, captured_by: of records.
        reference: what ``fetch`` takes.
    """

    text: str
    source: Source
    ref: str
    score: float
    status: str | None = None
    entity_urns: tuple[str, ...] = ()
    captured_by: str | None = None
    reference: str
    category: str | None = None
    created_at: str


class Group(Shape):
    source: Source
    hits: tuple[Hit, ...]


class Coverage(Shape):
    """How much of a source is shown: of ``matched`` candidates, and whether there may be more than those."""

    source: Source
    matched: int
    shown: int
    matched_capped: bool = False


class SearchResult(Shape):
    """What ``search`` gives. ``ranking`` is ``entity`` (newest first) where there was no intent."""

    groups: tuple[Group, ...]
    coverage: tuple[Coverage, ...]
    count: int
    ranking: Literal["hybrid", "lexical", "entity"]
    unknown_sources: tuple[str, ...] = ()


class BrowseResult(Shape):
    """What ``search`` gives of one source without an intent and without entities: all of it, page by page."""

    source: Source
    total: int
    offset: int
    limit: int
    count: int
    items: tuple[Hit, ...]


class FetchedDocument(Shape):
    """``body`` is its text; ``content`` the whole record or dataset, None for a page."""

    reference: str
    source: Source
    title: str | None = None
    body: str | None = None
    content: JsonValue = None
    entity_urns: tuple[str, ...] = ()


class FetchResult(Shape):
    """What ``fetch`` gives; a thing that the caller may not see is not found."""

    found: bool
    reference: str
    document: FetchedDocument | None = None
    message: str | None = None


class PushedRecord(Shape):
    """A record that a result carries along; ``truncated`` where ``summary`` is not all of it."""

    id: str
    reference: str
    summary: str
    truncated: bool
    dimension: Dimension
    category: Category
    confidence: Confidence
    created_at: str


class OmittedRecord(Shape):
    """A record that a result carries along by its reference alone."""

    id: str
    reference: str


class SemanticContext(Shape):
    """What the catalogue says of the table that a result is about."""

    urn: str
    description: str


class TableContext(Shape):
    """The same of a further table."""

    table: str
    urn: str
    description: str


class MetadataReference(Shape):
    """Tables whose description this session has been told before."""

    tables: tuple[str, ...]
    note: str


class Enrichment(Shape):
    """What is known about the entities that a result names: each field is a block of its own in the result.

    ``mode`` is no block; it is ``reference`` where all was told before.
    """

    mode: Literal["full", "reference"] = Field(exclude=True)
    semantic_context: SemanticContext | None = None
    additional_tables: tuple[TableContext, ...] = ()
    metadata_reference: MetadataReference | None = None
    memory_context: tuple[PushedRecord, ...] = ()
    memory_context_omitted: tuple[OmittedRecord, ...] = ()

    def blocks(self) -> list[dict[str, JsonValue]]:
        """What is there, as the blocks that follow a result: the catalogue's, what was told before, memories."""
        said = self.model_dump(mode="json")
        parts = (
            ("semantic_context", "additional_tables"),
            ("metadata_reference",),
            ("memory_context", "memory_context_omitted"),
        )
        blocks = [{name: said[name] for name in names if said[name]} for names in parts]
        return [block for block in blocks if block]


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


class QueryColumn(Shape):
    """A column of a result; ``type`` is that of its first value, in SQLite's words."""

    name: str
    type: str


class QueryStats(Shape):
    """``truncated`` where there were more rows than ``limit_applied``."""

    row_count: int
    truncated: bool
    limit_applied: int


class QueryResult(Shape):
    """Rows of ``trino_query``, each by the names of its columns; of columns of one name the last is shown."""

    columns: tuple[QueryColumn, ...]
    rows: tuple[Mapping[str, JsonValue], ...]
    row_count: int
    stats: QueryStats
    enrichment: Enrichment | None = None


class Column(Shape):
    """A column of a table; ``nullable`` is ``YES`` or ``NO``."""

    name: str
    type: str
    nullable: str
    comment: str = ""


class _InSchema(Shape):
    """Base of what has a field ``schema``, a name that pydantic keeps for itself."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", ser_json_inf_nan="null", validate_by_name=True, serialize_by_alias=True
    )


class TableDescription(_InSchema):
    """What ``trino_describe_table`` gives; ``urn`` and ``row_count`` are ours alone."""

    catalog: str
    schema_: str = Field(alias="schema")
    table: str
    columns: tuple[Column, ...]
    column_count: int
    urn: str
    row_count: int
    enrichment: Enrichment | None = None


class Browsed(_InSchema):
    """What ``trino_browse`` gives: the names of the catalogs, of a catalog's schemas, or of a schema's tables."""

    level: Literal["catalogs", "schemas", "tables"]
    catalog: str | None = None
    schema_: str | None = Field(default=None, alias="schema")
    items: tuple[str, ...]
    count: int
    pattern: str | None = None
