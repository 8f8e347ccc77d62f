"""What a model may say to each tool, and how it is told: JSON schemas without references.

``session_id`` and ``purpose`` are of the platform and not of a tool: they are added to the schemas, and taken out of
the arguments before a tool reads its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, Field, JsonValue, ValidationError

from memassay.core.errors import suggestion
from memassay.platform.errors import PlatformError
from memassay.platform.shapes import (
    CaptureRequest,
    Category,
    Change,
    Confidence,
    Dimension,
    InsightStatus,
    Lifecycle,
    PageDraft,
    RecordType,
    Reference,
    Shape,
    SinkName,
)

Given = TypeVar("Given", bound=BaseModel)

SESSION = {"type": "string", "description": "The session_id that platform_info gave."}
PURPOSE = {"type": "string", "description": "In one sentence, what you want to find out and why."}


@dataclass(frozen=True, slots=True)
class _Most:
    """A limit on results: more than ``most`` is taken for ``most``, 0 and less for ``standard``."""

    standard: int
    most: int

    def __call__(self, given: int) -> int:
        return self.standard if given <= 0 else min(given, self.most)


_Limit = Annotated[int, Field(description="The most results, up to 100."), AfterValidator(_Most(20, 100))]
_Hits = Annotated[int, Field(description="The most results, up to 50."), AfterValidator(_Most(10, 50))]
_Rows = Annotated[int, Field(description="The most rows, up to 1,000."), AfterValidator(_Most(1_000, 1_000))]
_Offset = Annotated[int, Field(description="How many to pass over.")]
_Connection = Annotated[str, Field(description="There is one connection; leave it empty.")]
_Urns = Annotated[tuple[Reference, ...], Field(max_length=50)]


class Nothing(Shape):
    """Arguments of a tool that takes none."""


class Search(Shape):
    """Arguments of ``search``."""

    intent: str = Field(default="", description="What you are looking for, in words; empty to browse the newest.")
    context: str = Field(default="", description="More words about the task.")
    entity_urns: _Urns = Field(default=(), description="Only what is filed on one of these entities.")
    status: InsightStatus | None = Field(default=None, description="Only insights with this review status.")
    sources: tuple[Reference, ...] = Field(
        default=(),
        max_length=50,
        description="Where to look, of insights, memory, knowledge_pages and catalog; empty is everywhere. One of them "
        "without intent and entities is given whole, page by page.",
    )
    limit: _Hits = 10
    offset: _Offset = 0


class Fetch(Shape):
    """Arguments of ``fetch``."""

    reference: str = Field(
        description="mcp:knowledge_page:ID, mcp:insight:ID, mcp:memory:ID or urn:li:…, as search gave it."
    )


class Manage(Shape):
    """Arguments of ``memory_manage``."""

    command: Literal["", "update", "forget", "list", "review_stale", "review_duplicates", "consolidate"] = Field(
        default="", description="What to do; empty tells what there is."
    )
    id: str = Field(default="", description="The record: of update and forget; of consolidate, the one to keep.")
    duplicate_id: str = Field(default="", description="Of consolidate: the record that the kept one replaces.")
    content: str = Field(default="", description="Of update: the new words, 10 to 4,000 bytes.")
    category: Category | None = Field(default=None, description="Of update: another category.")
    confidence: Confidence | None = Field(default=None, description="Of update: another confidence.")
    metadata: dict[str, JsonValue] = Field(default_factory=dict, description="Of update: what to add to the metadata.")
    filter_dimension: Dimension | None = Field(default=None, description="Of list: only this kind of record.")
    filter_status: Lifecycle | None = Field(default=None, description="Of list: only these; live ones without it.")
    filter_category: Category | None = Field(default=None, description="Of list: only this category.")
    filter_entity_urn: str | None = Field(default=None, description="Of list: only what is filed on this entity.")
    limit: _Limit = 20
    offset: _Offset = 0


class Apply(Shape):
    """Arguments of ``apply_knowledge``."""

    action: Literal[
        "bulk_review", "review", "synthesize", "apply", "approve", "reject", "rollback", "list_changesets", "bulk_untag"
    ]
    entity_urn: str = Field(default="", max_length=600, description="The entity to review, describe or change.")
    insight_ids: _Urns = Field(default=(), description="The insights that are meant.")
    sink: SinkName = Field(default="datahub", description="Of apply: an entity (with changes), or a page (with page).")
    changes: tuple[Change, ...] = Field(
        default=(),
        max_length=20,
        description="Of apply: what to change of the entity. A column's description has the target column:NAME.",
    )
    page: PageDraft | None = Field(default=None, description="Of apply: the page to write.")
    confirm: bool = Field(default=False, description="Of apply and bulk_untag: without it nothing is done.")
    review_notes: str = Field(default="", max_length=20_000, description="Why; kept with the insights.")
    changeset_id: str = Field(default="", description="Of rollback.")
    tag_urn: str = Field(default="", max_length=600, description="Of bulk_untag: the tag to take off all entities.")
    itemize: bool = Field(default=False, description="Of bulk_review: list the insights too.")
    limit: _Limit = 20
    offset: _Offset = 0


class GetEntity(Shape):
    """Arguments of ``datahub_get_entity``."""

    urn: str = Field(description="urn:li:dataset:(…).")
    connection: _Connection = ""


class FindEntities(Shape):
    """Arguments of ``datahub_search``."""

    query: str = Field(description="Words of a name or a description.")
    limit: _Hits = 10


class Query(Shape):
    """Arguments of ``trino_query``."""

    sql: str = Field(description="One SELECT. The dialect is SQLite's, not Trino's.")
    limit: _Rows = 1_000
    timeout_seconds: int = Field(default=0, ge=0, description="The platform's own limit is not raised by it.")
    format: Literal["json"] = "json"
    connection: _Connection = ""


class Table(Shape):
    """Arguments of ``trino_describe_table``."""

    catalog: str = Field(default="", description="The catalog; empty where the table is named in full or by its name.")
    schema_: str = Field(default="", alias="schema", description="The schema, likewise.")
    table: str = Field(description="The table, as catalog.schema.table or by its name alone.")
    connection: _Connection = ""

    def name(self) -> str:
        return ".".join(part for part in (self.catalog, self.schema_, self.table) if part)


class Browse(Shape):
    """Arguments of ``trino_browse``."""

    catalog: str = Field(default="", description="List this catalog's schemas; empty lists the catalogs.")
    schema_: str = Field(default="", alias="schema", description="List the tables of this schema of the catalog.")
    pattern: str = Field(default="", description="Only tables whose names match this LIKE pattern.")
    connection: _Connection = ""


class Capture(CaptureRequest):
    """Arguments of ``memory_capture``."""

    type: RecordType = Field(
        description="personal_preference and episodic_event are for you alone and live at once; business_knowledge, "
        "schema_entity and operational_rule wait for a review and can then be shared."
    )
    content: str = Field(description="What to keep, 10 to 4,000 bytes, in words that stand on their own.")
    entity_urns: tuple[Reference, ...] = Field(default=(), max_length=10, description="The entities it is about.")

    def request(self) -> CaptureRequest:
        return CaptureRequest.model_validate(self.model_dump())


def read(takes: type[Given], tool: str, given: Mapping[str, Any]) -> Given:
    """The arguments of a call.

    Raises:
        PlatformError: ``invalid``: one is missing, unknown or of the wrong type.
    """
    try:
        return takes.model_validate(given)
    except ValidationError as error:
        raise PlatformError("invalid", f"{tool}: {fault_of(error, takes.model_fields)}") from None


def fault_of(error: ValidationError, known: Iterable[str]) -> str:
    """The first fault that a check found, as half a sentence with its end."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    name = _short(".".join(str(part) for part in first["loc"])) or "the whole"
    if first["type"] == "extra_forbidden":
        return f"{name} is not known.{suggestion(name, known) if len(first['loc']) == 1 else ''}"
    if first["type"] == "missing":
        return f"{name} is missing."
    return f"{name}: {first['msg'][0].lower()}{first['msg'][1:]}."


def schema_of(takes: type[BaseModel], *, session: bool, purpose: bool) -> dict[str, Any]:
    """The arguments as a JSON schema without references."""
    schema = takes.model_json_schema()
    plain = _plain(schema, schema.get("$defs", {}))
    added = ({"session_id": SESSION} if session else {}) | ({"purpose": PURPOSE} if purpose else {})
    required = [*plain.get("required", ()), *added]
    return {
        "type": "object",
        "properties": plain.get("properties", {}) | added,
        "additionalProperties": False,
        **({"required": required} if required else {}),
    }


def _plain(schema: Any, names: Mapping[str, Any]) -> Any:
    """A schema with every reference written out, without the titles and docstrings of our classes."""
    if isinstance(schema, list):
        return [_plain(part, names) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        meant = names[schema["$ref"].rpartition("/")[2]]
        return _plain({key: value for key, value in meant.items() if key != "description"} | _without(schema), names)
    return {key: _plain(value, names) for key, value in schema.items() if key != "$defs" and not _is_title(key, value)}


def _without(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != "$ref"}


def _is_title(key: str, value: Any) -> bool:
    """Whether it is a title of pydantic's; a property may be called so too, and is an object."""
    return key == "title" and isinstance(value, str)


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
