"""The tools of those who ask: sessions, search, the catalogue, the warehouse."""

from __future__ import annotations

from collections.abc import Sequence

from memassay.platform import entities, identities, listing, pages, records, sessions
from memassay.platform.audit import Call
from memassay.platform.database import rfc3339
from memassay.platform.desk import Desk, bounded, some
from memassay.platform.errors import PlatformError
from memassay.platform.search import SOURCES, Question, search
from memassay.platform.shapes import (
    Browsed,
    BrowseResult,
    Caller,
    EntityList,
    EntityResult,
    FetchedDocument,
    FetchResult,
    Identity,
    InsightStatus,
    Persona,
    PlatformInfo,
    QueryResult,
    SearchResult,
    TableDescription,
)
from memassay.platform.warehouse import Warehouse
from memassay.version import __version__

_INSTRUCTIONS = (
    "This platform remembers between sessions. Call search before you answer or query, and pass session_id with every "
    "call. Keep what you are taught with memory_capture and name the entity it is about in entity_urns; when it "
    "changes, capture the new wording. Answer from what you find, and say so when nothing says it."
)

_TOOLKITS = ("search", "memory", "knowledge", "datahub", "trino")


class Learning(Desk):
    """Tools for everybody who asks."""

    def platform_info(self, identity: Identity) -> PlatformInfo:
        """A new session handle; the one tool that needs none."""
        with self._noted(Call(identity, "platform_info", "tool")) as call, self._write(call) as writing:
            identities.ensure(writing, identity)
            call.session, expires = sessions.mint(writing, identity, self.settings.session_hours)
        return PlatformInfo(
            session_id=call.session,
            version=__version__,
            user=identity.email,
            persona=Persona(name=identity.persona, display_name=identity.persona.capitalize()),
            session_expires_at=rfc3339(expires),
            agent_instructions=_INSTRUCTIONS,
            toolkits=_TOOLKITS,
        )

    def search(
        self,
        caller: Caller,
        intent: str = "",
        *,
        context: str = "",
        entity_urns: Sequence[str] = (),
        status: InsightStatus | None = None,
        sources: Sequence[str] = (),
        limit: int = 10,
        offset: int = 0,
    ) -> SearchResult | BrowseResult:
        """What the caller may see, best first; without an intent newest first, from ``offset`` on (browsing).

        Args:
            caller: see ``Caller``.
            intent: what is looked for, in words.
            context: more words about the task.
            entity_urns: only what is filed on one of these.
            status: only insights with this review status.
            sources: of ``insights``, ``memory``, ``knowledge_pages``, ``catalog``; empty is all, and what is none of
                them is named in the result.
            limit: 1 to 50 hits in all.
            offset: with an intent it must be 0.
        """
        with self._tool(caller, "search", discovers=True):
            if intent.strip() and offset:
                raise PlatformError("invalid", "offset is for browsing.", "Leave intent empty, or raise limit.")
            text = f"{intent}\n{context}".strip() if intent.strip() else ""
            self._meaning.of(text)  # before the transaction: a model is slow
            with self._database.read() as con:
                question = Question(
                    owner=identities.code_of(con, caller.identity),
                    text=text,
                    urns=some("entity_urns", entity_urns, 50),
                    status=status,
                    sources=tuple(source for source in SOURCES if not sources or source in sources),
                    limit=bounded("limit", limit, 1, 50),
                    offset=bounded("offset", offset, 0),
                    unknown=tuple(dict.fromkeys(source for source in sources if source not in SOURCES)),
                )
                return search(con, question, self.settings, self._meaning)

    def fetch(self, caller: Caller, reference: str) -> FetchResult:
        """The whole of ``mcp:knowledge_page:ID_OR_SLUG``, ``mcp:insight:ID``, ``mcp:memory:ID`` or ``urn:…``."""
        with self._tool(caller, "fetch"):
            document = self._document(caller, reference)
            message = f"There is no {reference} that you may see." if document is None else None
            return FetchResult(reference=reference, found=document is not None, document=document, message=message)

    def _document(self, caller: Caller, reference: str) -> FetchedDocument | None:
        """What is behind a reference, as far as the caller may see it."""
        kind, _, id = reference.removeprefix("mcp:").partition(":")
        with self._database.read() as con:
            if reference.startswith("urn:"):
                row = entities.row_of(con, reference)
                if row is None:
                    return None
                entity = entities.entity(row)
                return FetchedDocument(
                    reference=reference,
                    source="catalog",
                    title=entity.name,
                    body=entity.description,
                    content=entity.model_dump(mode="json"),
                    entity_urns=(entity.urn,),
                )
            if kind == "knowledge_page":
                try:
                    page = pages.page(pages.found(con, id))
                except PlatformError:
                    return None
                return FetchedDocument(
                    reference=reference,
                    source="knowledge_pages",
                    title=page.title,
                    body=page.body,
                    entity_urns=page.entity_urns,
                )
            owner = identities.code_of(con, caller.identity)
            row = con.execute("SELECT * FROM records WHERE id = ?", (id,)).fetchone()
            if row is None or listing.reference(row) != reference or row["lifecycle"] not in records.LIVE:
                return None
            if row["owner"] != owner and not (row["status"] == "applied" and self.settings.shared_applied):
                return None
            record = listing.memory_record(row)
            return FetchedDocument(
                reference=reference,
                source="memory" if row["status"] is None else "insights",
                body=record.content,
                content=record.model_dump(mode="json"),
                entity_urns=record.entity_urns,
            )

    # -- the catalogue and the warehouse ---------------------------------------------------------------------------

    def datahub_get_entity(self, caller: Caller, urn: str) -> EntityResult:
        """An entity as it is now (never from the cache). Counts as a search for the gate."""
        with self._tool(caller, "datahub_get_entity", discovers=True) as call:
            with self._database.read() as con:
                entity = entities.found(con, urn)
            return EntityResult(**entity.model_dump(), enrichment=self._enrichment(caller, call, [urn], described=True))

    def datahub_search(self, caller: Caller, query: str, limit: int = 10) -> EntityList:
        """Entities by name and description. Counts as a search for the gate."""
        with self._tool(caller, "datahub_search", discovers=True), self._database.read() as con:
            question = Question(
                owner=0,
                text=query.strip(),
                urns=(),
                status=None,
                sources=("catalog",),
                limit=bounded("limit", limit, 1, 50),
                offset=0,
            )
            catalogue = self.settings.model_copy(update={"entity_sink": True})
            found = search(con, question, catalogue, self._meaning)
            hits, total = (
                (found.items, found.total)
                if isinstance(found, BrowseResult)
                else ([hit for group in found.groups for hit in group.hits], found.coverage[0].matched)
            )
            return EntityList(entities=tuple(entities.found(con, hit.ref) for hit in hits), total=total)

    def trino_query(self, caller: Caller, sql: str, limit: int = 100) -> QueryResult:
        """One SELECT in SQLite's dialect; tables may be written ``catalog.schema.table``. Behind the gate.

        Args:
            caller: see ``Caller``.
            sql: the statement.
            limit: 1 to 1,000 rows.

        Raises:
            PlatformError: ``search_required``; ``tool_error``: the statement is wrong, not a SELECT or too slow;
                ``not_found``: there is no warehouse.
        """
        with self._tool(caller, "trino_query", gated=True) as call:
            result, tables = self._tables().query(sql, bounded("limit", limit, 1, 1_000))
            urns = [entities.dataset_urn(table) for table in tables]
            return result.model_copy(update={"enrichment": self._enrichment(caller, call, urns)})

    def trino_describe_table(self, caller: Caller, table: str) -> TableDescription:
        """Columns and size of a table, named in full or by its last part."""
        with self._tool(caller, "trino_describe_table") as call:
            described = self._tables().describe(table)
            return described.model_copy(update={"enrichment": self._enrichment(caller, call, [described.urn])})

    def trino_browse(self, caller: Caller, catalog: str = "", schema: str = "", pattern: str = "") -> Browsed:
        """The catalogs; with one its schemas; with a schema its tables, by a LIKE pattern."""
        with self._tool(caller, "trino_browse"):
            return self._tables().browse(catalog, schema, pattern)

    def _tables(self) -> Warehouse:
        if self._warehouse is None:
            raise PlatformError("not_found", "This workspace has no warehouse.")
        return self._warehouse
