"""The tools of those who learn and ask: sessions, search, the warehouse, one's own memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memassay.platform import entities, identities, listing, pages, records, sessions
from memassay.platform.audit import Call
from memassay.platform.database import rfc3339
from memassay.platform.desk import Desk, bounded, some
from memassay.platform.errors import PlatformError
from memassay.platform.search import SOURCES, Question, search
from memassay.platform.shapes import (
    Caller,
    CaptureRequest,
    CaptureResult,
    DuplicateList,
    DuplicatePair,
    EntityList,
    EntityResult,
    FetchedDocument,
    FetchResult,
    Identity,
    InsightStatus,
    ManageResult,
    PlatformInfo,
    QueryResult,
    RecordFilter,
    RecordList,
    SearchResult,
    Source,
    TableDescription,
    TableList,
)
from memassay.platform.warehouse import Warehouse
from memassay.version import __version__

_INSTRUCTIONS = (
    "This platform remembers between sessions. Call search before you answer or query, and pass session_id with every "
    "call. Keep what you are taught with memory_capture and name the entity it is about in entity_urns; when it "
    "changes, capture the new wording. Answer from what you find, and say so when nothing says it."
)
_DAY = 86_400_000_000

# Own records, the newest first, among which duplicates are looked for: their cosines fit in 16 MB.
_COMPARED = 2_000


class Learning(Desk):
    """Tools for everybody."""

    def platform_info(self, identity: Identity) -> PlatformInfo:
        """A new session handle; the one tool that needs none."""
        with self._noted(Call(identity, "platform_info", "tool")) as call, self._write(call) as writing:
            identities.ensure(writing, identity)
            call.session, expires = sessions.mint(writing, identity, self.settings.session_hours)
        return PlatformInfo(
            session_id=call.session,
            version=__version__,
            user=identity.email,
            persona=identity.persona,
            expires_at=rfc3339(expires),
            instructions=_INSTRUCTIONS,
        )

    def search(
        self,
        caller: Caller,
        intent: str = "",
        *,
        context: str = "",
        entity_urns: Sequence[str] = (),
        status: InsightStatus | None = None,
        sources: Sequence[Source] = (),
        limit: int = 10,
        offset: int = 0,
    ) -> SearchResult:
        """What the caller may see, best first; without an intent newest first, from ``offset`` on (browsing).

        Args:
            caller: see ``Caller``.
            intent: what is looked for, in words.
            context: more words about the task.
            entity_urns: only what is filed on one of these.
            status: only insights with this review status.
            sources: of ``insights``, ``memory``, ``knowledge_pages``, ``entities``; empty is all.
            limit: 1 to 50 hits in all.
            offset: with an intent it must be 0.
        """
        with self._tool(caller, "search", discovers=True):
            if intent.strip() and offset:
                raise PlatformError("invalid", "offset is for browsing.", "Leave intent empty, or raise limit.")
            unknown = [source for source in sources if source not in SOURCES]
            if unknown:
                raise PlatformError("invalid", f"{unknown[0]!r} is no source.", f"Use {', '.join(SOURCES)}.")
            text = f"{intent}\n{context}".strip() if intent.strip() else ""
            self._meaning.of(text)  # before the transaction: a model is slow
            with self._database.read() as con:
                question = Question(
                    owner=identities.code_of(con, caller.identity),
                    text=text,
                    urns=some("entity_urns", entity_urns, 50),
                    status=status,
                    sources=tuple(sources) or SOURCES,
                    limit=bounded("limit", limit, 1, 50),
                    offset=bounded("offset", offset, 0),
                )
                return search(con, question, self.settings, self._meaning)

    def fetch(self, caller: Caller, reference: str) -> FetchResult:
        """The whole of ``mcp:knowledge_page:ID_OR_SLUG``, ``mcp:insight:ID``, ``mcp:memory:ID`` or ``urn:…``."""
        with self._tool(caller, "fetch"):
            return FetchResult(
                reference=reference,
                found=(document := self._document(caller, reference)) is not None,
                document=document,
            )

    def _document(self, caller: Caller, reference: str) -> FetchedDocument | None:
        """What is behind a reference, as far as the caller may see it."""
        kind, _, id = reference.removeprefix("mcp:").partition(":")
        with self._database.read() as con:
            if reference.startswith("urn:"):
                row = entities.row_of(con, reference)
                if row is None:
                    return None
                entity = entities.entity(row)
                return _document(entity.name, entity.description, entities.searched(entity), ())
            if kind == "knowledge_page":
                try:
                    page = pages.page(pages.found(con, id))
                except PlatformError:
                    return None
                links = (*page.references, *page.entity_urns)
                return _document(page.title, page.body, f"{page.title}\n\n{page.summary}\n\n{page.body}", links)
            owner = identities.code_of(con, caller.identity)
            row = con.execute("SELECT * FROM records WHERE id = ?", (id,)).fetchone()
            if row is None or listing.reference(row) != reference or row["lifecycle"] not in records.LIVE:
                return None
            if row["owner"] != owner and not (row["status"] == "applied" and self.settings.shared_applied):
                return None
            record = listing.memory_record(row)
            return _document(f"{record.type} ({record.category})", record.content, record.content, record.entity_urns)

    # -- the catalogue and the warehouse ---------------------------------------------------------------------------

    def datahub_get_entity(self, caller: Caller, urn: str) -> EntityResult:
        """An entity as it is now (never from the cache). Counts as a search for the gate."""
        with self._tool(caller, "datahub_get_entity", discovers=True) as call:
            with self._database.read() as con:
                entity = entities.found(con, urn)
            return EntityResult(**entity.model_dump(), enrichment=self._enrichment(caller, call, [urn]))

    def datahub_search(self, caller: Caller, query: str, limit: int = 10) -> EntityList:
        """Entities by name and description. Counts as a search for the gate."""
        with self._tool(caller, "datahub_search", discovers=True), self._database.read() as con:
            question = Question(
                owner=0,
                text=query.strip(),
                urns=(),
                status=None,
                sources=("entities",),
                limit=bounded("limit", limit, 1, 50),
                offset=0,
            )
            catalogue = self.settings.model_copy(update={"entity_sink": True})
            found = search(con, question, catalogue, self._meaning)
            hits = [hit for group in found.groups for hit in group.hits]
            return EntityList(
                entities=tuple(entities.found(con, hit.id) for hit in hits), total=found.coverage[0].matched
            )

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
        """Columns and size of a table."""
        with self._tool(caller, "trino_describe_table") as call:
            described = self._tables().describe(table)
            return described.model_copy(update={"enrichment": self._enrichment(caller, call, [described.urn])})

    def trino_browse(self, caller: Caller) -> TableList:
        """All tables."""
        with self._tool(caller, "trino_browse") as call:
            warehouse = self._tables()
            tables = warehouse.tables()
            urns = [entities.dataset_urn(table) for table in tables]
            return TableList(
                catalog=warehouse.catalog,
                schema_=warehouse.schema,
                tables=tables,
                enrichment=self._enrichment(caller, call, urns),
            )

    def _tables(self) -> Warehouse:
        if self._warehouse is None:
            raise PlatformError("not_found", "This workspace has no warehouse.")
        return self._warehouse

    # -- one's own memory ------------------------------------------------------------------------------------------

    def memory_capture(self, caller: Caller, request: CaptureRequest) -> CaptureResult:
        """Keep a record: live at once for its owner, or an insight that waits for review."""
        with self._tool(caller, "memory_capture") as call:
            records.check_content(request.content)
            if any(not urn.startswith("urn:") for urn in request.entity_urns):
                raise PlatformError("invalid", "entity_urns must be URNs.", "Write urn:li:dataset:(…).")
            self._meaning.of(request.content)  # before the lock: a model is slow
            with self._write(call) as writing:
                owner = identities.ensure(writing, caller.identity)
                return records.capture(
                    writing, request, owner, caller.identity, caller.session, self.settings, self._meaning
                )

    def memory_update(self, caller: Caller, id: str, content: str) -> ManageResult:
        """Other words for an own record that nobody has reviewed yet.

        Raises:
            PlatformError: ``not_found`` (also for another's record), ``conflict``: approved, applied or not live.
        """
        with self._tool(caller, "memory_manage") as call:
            records.check_content(content)
            self._meaning.of(content)
            with self._write(call) as writing:
                row = records.own_live(writing.con, id, identities.code_of(writing.con, caller.identity))
                if row["status"] in ("approved", "applied"):
                    raise PlatformError(
                        "conflict", f"The insight {id} is {row['status']}.", "Capture a correction instead."
                    )
                records.reword(writing, row, content, caller.identity, "update", self._meaning)
            return ManageResult(command="update", id=id, status=row["status"] or "active", message="Updated.")

    def memory_forget(self, caller: Caller, id: str) -> ManageResult:
        """Take back an own live record; an applied insight too, but what it was applied to stays."""
        with self._tool(caller, "memory_manage") as call, self._write(call) as writing:
            row = records.own_live(writing.con, id, identities.code_of(writing.con, caller.identity))
            status = records.retire(
                writing, row, "archived", "forget", caller.identity, notes="Forgotten by its owner."
            )
            return ManageResult(command="forget", id=id, status=status, message="Forgotten.")

    def memory_consolidate(self, caller: Caller, id: str, duplicate_id: str) -> ManageResult:
        """``duplicate_id`` becomes superseded by ``id``; both are own and live."""
        with self._tool(caller, "memory_manage") as call, self._write(call) as writing:
            if id == duplicate_id:
                raise PlatformError("invalid", "A record is no duplicate of itself.")
            owner = identities.code_of(writing.con, caller.identity)
            kept = records.own_live(writing.con, id, owner)
            gone = records.own_live(writing.con, duplicate_id, owner)
            records.retire(writing, gone, "superseded", "consolidate", caller.identity, by=id)
            status = kept["status"] or kept["lifecycle"]
            return ManageResult(command="consolidate", id=id, status=status, message=f"{duplicate_id} is superseded.")

    def memory_list(
        self, caller: Caller, filters: RecordFilter | None = None, limit: int = 20, offset: int = 0
    ) -> RecordList:
        """Own records, newest first; ``limit`` is 1 to 100."""
        with self._tool(caller, "memory_manage"), self._database.read() as con:
            owner = identities.code_of(con, caller.identity)
            bounds = bounded("limit", limit, 1, 100), bounded("offset", offset, 0)
            return listing.listed(con, "list", owner, filters or RecordFilter(), *bounds)

    def memory_review_stale(self, caller: Caller, limit: int = 20, offset: int = 0) -> RecordList:
        """Own live records unchanged for ``stale_days``; they are marked stale, and an update makes them active."""
        with self._tool(caller, "memory_manage") as call, self._write(call) as writing:
            owner = identities.code_of(writing.con, caller.identity)
            before = writing.tick() - int(self.settings.stale_days * _DAY)
            old = writing.con.execute(
                "SELECT * FROM records WHERE owner = ? AND lifecycle = 'active' AND updated < ? ORDER BY seq",
                (owner, before),
            ).fetchall()
            for row in old:
                records.change(writing, row, lifecycle="stale")
                records.note(writing, row["id"], "stale", caller.identity, "active", "stale")
            bounds = bounded("limit", limit, 1, 100), bounded("offset", offset, 0)
            return listing.listed(writing.con, "review_stale", owner, RecordFilter(lifecycle="stale"), *bounds)

    def memory_review_duplicates(self, caller: Caller, limit: int = 20, offset: int = 0) -> DuplicateList:
        """Pairs of own live records (of the 2,000 newest) with a cosine of at least ``similar``."""
        bounded("limit", limit, 1, 100)
        bounded("offset", offset, 0)
        with self._tool(caller, "memory_manage"), self._database.read() as con:
            rows = con.execute(
                "SELECT * FROM records WHERE owner = ? AND lifecycle IN ('active', 'stale') ORDER BY seq DESC LIMIT ?",
                (identities.code_of(con, caller.identity), _COMPARED),
            ).fetchall()[::-1]
            vectors = self._meaning.vectors(con, records.TABLE, [row["seq"] for row in rows])
            if not vectors.size:
                return DuplicateList(pairs=(), total=0)
            cosines = np.round(vectors @ vectors.T, 6)
            first, second = np.nonzero(np.triu(cosines >= self.settings.similar, k=1))
            order = np.lexsort((second, first, -cosines[first, second]))
            pairs = tuple(
                DuplicatePair(
                    id=rows[a]["id"],
                    duplicate_id=rows[b]["id"],
                    score=float(cosines[a, b]),
                    content=rows[a]["content"],
                    duplicate_content=rows[b]["content"],
                )
                for a, b in ((first[at], second[at]) for at in order[offset : offset + limit])
            )
            return DuplicateList(pairs=pairs, total=len(order))


def _document(title: str, body: str, content: str, links: Sequence[str]) -> FetchedDocument:
    return FetchedDocument(title=title, body=body, content=content, references=tuple(dict.fromkeys(links)))
