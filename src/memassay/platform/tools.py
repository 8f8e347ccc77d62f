"""The tools, by name: what they say of themselves, what they take, and which operation of the platform they are.

``call`` never raises what a model did wrong: a refusal is a value with a code, so that the model reads it and can try
again. How that goes over the wire is server.py's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, JsonValue

from memassay.platform import arguments
from memassay.platform.errors import PlatformError
from memassay.platform.service import PURPOSE_TOOLS, Platform
from memassay.platform.shapes import Caller, Commands, Identity, RecordFilter, RecordUpdate

INFO = "platform_info"
APPLY = "apply_knowledge"
COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "update": "Change content, category, confidence or metadata of a record that nobody has reviewed: id.",
        "forget": "Take a record back: id.",
        "list": "Your records, newest first: filter_dimension, filter_status, filter_category, filter_entity_urn.",
        "review_stale": "Records that nobody has changed for long.",
        "review_duplicates": "Pairs of records that say nearly the same.",
        "consolidate": "Keep the record id, and retire duplicate_id in its favour.",
    }
)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool.

    Attributes:
        says: what a model is told.
        takes: its arguments, but for ``session_id`` and ``purpose``.
        run: the operation.
        reads: whether it leaves the memory as it is.
    """

    says: str
    takes: type[BaseModel]
    run: Callable[[Platform, Caller, Any], BaseModel]
    reads: bool = True


def offered(platform: Platform, identity: Identity) -> dict[str, tuple[Tool, dict[str, Any]]]:
    """The tools that somebody is shown, each with the JSON schema of its arguments, in a fixed order."""
    return {
        name: (
            tool,
            arguments.schema_of(
                tool.takes, session=name != INFO, purpose=platform.settings.purpose and name in PURPOSE_TOOLS
            ),
        )
        for name, tool in TOOLS.items()
        if name != APPLY or platform.may_review(identity)
    }


def call(platform: Platform, identity: Identity, name: str, given: Mapping[str, Any]) -> BaseModel:
    """Use a tool.

    Args:
        platform: the workspace.
        identity: who calls.
        name: one of ``TOOLS``, shown to the caller or not.
        given: all arguments, ``session_id`` and ``purpose`` among them.

    Raises:
        PlatformError: the call is refused or fails.
        ConnectionDropped: see ``Faults``.
    """
    platform.admit(identity)
    tool = TOOLS[name]
    own = dict(given)
    said = {part: own.pop(part, "") for part in ("session_id", "purpose") if name != INFO}
    if wrong := [part for part, value in said.items() if not isinstance(value, str)]:
        raise PlatformError("invalid", f"{name}: {wrong[0]} must be a text.")
    caller = Caller(identity=identity, session=said.get("session_id", ""), purpose=said.get("purpose", ""))
    return tool.run(platform, caller, arguments.read(tool.takes, name, own))


def refusal(problem: PlatformError) -> dict[str, JsonValue]:
    """A refusal as clients read it."""
    said: dict[str, JsonValue] = {
        "code": problem.code,
        "category": problem.category,
        "message": problem.message,
        "hint": problem.hint,
    }
    return {"error": said}


# -- tools that are several operations -----------------------------------------------------------------------------


def _manage(platform: Platform, caller: Caller, given: arguments.Manage) -> BaseModel:
    match given.command:
        case "":
            return Commands(commands=COMMANDS)
        case "update":
            update = RecordUpdate(
                content=given.content or None,
                category=given.category,
                confidence=given.confidence,
                metadata=given.metadata,
            )
            if update == RecordUpdate():
                raise PlatformError("invalid", "There is nothing to update.", "Give content, category or confidence.")
            return platform.memory_update(caller, _needed("id", given.id), update)
        case "forget":
            return platform.memory_forget(caller, _needed("id", given.id))
        case "consolidate":
            kept, gone = _needed("id", given.id), _needed("duplicate_id", given.duplicate_id)
            return platform.memory_consolidate(caller, kept, gone)
        case "list":
            filters = RecordFilter(
                dimension=given.filter_dimension,
                status=given.filter_status,
                category=given.filter_category,
                entity_urn=given.filter_entity_urn,
            )
            return platform.memory_list(caller, filters, given.limit, given.offset)
        case "review_stale":
            return platform.memory_review_stale(caller, given.limit, given.offset)
        case "review_duplicates":
            return platform.memory_review_duplicates(caller, given.limit, given.offset)


def _apply(platform: Platform, caller: Caller, given: arguments.Apply) -> BaseModel:
    match given.action:
        case "bulk_review":
            return platform.knowledge_bulk_review(caller, itemize=given.itemize, limit=given.limit, offset=given.offset)
        case "review":
            return platform.knowledge_review(caller, _needed("entity_urn", given.entity_urn))
        case "synthesize":
            return platform.knowledge_synthesize(caller, _needed("entity_urn", given.entity_urn), given.insight_ids)
        case "approve":
            return platform.knowledge_approve(caller, given.insight_ids, given.review_notes)
        case "reject":
            return platform.knowledge_reject(caller, given.insight_ids, given.review_notes)
        case "apply":
            return platform.knowledge_apply(
                caller,
                given.insight_ids,
                given.sink,
                entity_urn=given.entity_urn,
                changes=given.changes,
                page=given.page,
                confirm=given.confirm,
                review_notes=given.review_notes,
            )
        case "rollback":
            return platform.knowledge_rollback(caller, _needed("changeset_id", given.changeset_id))
        case "list_changesets":
            return platform.knowledge_list_changesets(caller, given.entity_urn or None, given.limit, given.offset)
        case "bulk_untag":
            return platform.knowledge_bulk_untag(caller, _needed("tag_urn", given.tag_urn), given.confirm)


def _needed(name: str, value: str) -> str:
    if not value:
        raise PlatformError("invalid", f"{name} is missing.")
    return value


# -- all of them ---------------------------------------------------------------------------------------------------

TOOLS: Mapping[str, Tool] = MappingProxyType(
    {
        INFO: Tool(
            "Begin here: gives the session_id that every other tool needs, and how to work with this platform.",
            arguments.Nothing,
            lambda platform, caller, _: platform.platform_info(caller.identity),
        ),
        "search": Tool(
            "Search what is known: your own insights and notes, what was shared after review, pages and the catalogue. "
            "Call it before you query the warehouse or answer.",
            arguments.Search,
            lambda platform, caller, given: platform.search(
                caller,
                given.intent,
                context=given.context,
                entity_urns=given.entity_urns,
                status=given.status,
                sources=given.sources,
                limit=given.limit,
                offset=given.offset,
            ),
        ),
        "fetch": Tool(
            "Read the whole of something that search found.",
            arguments.Fetch,
            lambda platform, caller, given: platform.fetch(caller, given.reference),
        ),
        "memory_capture": Tool(
            "Keep something that you were taught or found out. New wording of what you kept before replaces it.",
            arguments.Capture,
            lambda platform, caller, given: platform.memory_capture(caller, given.request()),
            reads=False,
        ),
        "memory_manage": Tool(
            "Look after what you kept yourself: update, forget, list, review_stale, review_duplicates, consolidate.",
            arguments.Manage,
            _manage,
            reads=False,
        ),
        APPLY: Tool(
            "Review what was captured and put it into shared knowledge: bulk_review, review, synthesize, approve, "
            "reject, apply, rollback, list_changesets, bulk_untag.",
            arguments.Apply,
            _apply,
            reads=False,
        ),
        "datahub_search": Tool(
            "Find entities of the catalogue, such as tables, by name and description.",
            arguments.FindEntities,
            lambda platform, caller, given: platform.datahub_search(caller, given.query, given.limit),
        ),
        "datahub_get_entity": Tool(
            "What the catalogue says about an entity: description, columns, tags, known issues.",
            arguments.GetEntity,
            lambda platform, caller, given: platform.datahub_get_entity(caller, given.urn),
        ),
        "trino_query": Tool(
            "Run one SELECT on the warehouse. It is an SQLite file: write SQLite's dialect (strftime, no DATE_TRUNC). "
            "Tables may be named catalog.schema.table.",
            arguments.Query,
            lambda platform, caller, given: platform.trino_query(caller, given.sql, given.limit),
        ),
        "trino_describe_table": Tool(
            "Columns and number of rows of a table of the warehouse (an SQLite file).",
            arguments.Table,
            lambda platform, caller, given: platform.trino_describe_table(caller, given.name()),
        ),
        "trino_browse": Tool(
            "List the catalogs of the warehouse (an SQLite file), the schemas of a catalog, or the tables of a schema.",
            arguments.Browse,
            lambda platform, caller, given: platform.trino_browse(caller, given.catalog, given.schema_, given.pattern),
        ),
    }
)
