"""The push: what is known about the entities that a result names, carried along with it."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from memassay.core.digest import digest_text
from memassay.platform import entities, identities, listing, sessions
from memassay.platform.database import rfc3339
from memassay.platform.entities import DescriptionCache
from memassay.platform.records import DIMENSIONS
from memassay.platform.settings import Settings
from memassay.platform.shapes import (
    Caller,
    Enrichment,
    MetadataReference,
    OmittedRecord,
    PushedRecord,
    SemanticContext,
    TableContext,
)

# Records with their words, records in all, and bytes of one record's and of all words.
_SUMMARISED, _NAMED = 5, 10
_BYTES_EACH, _BYTES_ALL = 400, 1200

_TOLD = "This session has been told what these tables are; datahub_get_entity tells it again."

# Bytes of a token, roughly.
_TOKEN = 4


def enrich(
    con: sqlite3.Connection,
    caller: Caller,
    urns: Sequence[str],
    described: bool,
    settings: Settings,
    cache: DescriptionCache,
    now: int,
) -> tuple[Enrichment | None, tuple[int, int], list[tuple[str, str]]]:
    """What a result about these entities carries along; no descriptions where they are ``described`` in it.

    Returns:
        The enrichment, or None where nothing is known; how many tokens it would be in full, and is; and the
        descriptions (URN and digest) that the session has then been told.
    """
    urns = list(dict.fromkeys(urns))
    if not settings.push or not urns:
        return None, (0, 0), []
    persona = caller.identity.persona if settings.push_scope == "persona" else None
    owner = identities.code_of(con, caller.identity)
    rows = listing.pushed(con, urns, owner, persona, _NAMED)
    memories, unsaid = _memories(rows)
    # A reference is only given to whoever may follow it; others' notes come with their words, or not at all.
    mine = {row["id"] for row in rows if row["owner"] == owner or (row["status"] and settings.shared_applied)}
    omitted = tuple(one for one in unsaid if one.id in mine)
    texts = {urn: cache.get(con, urn, now) for urn in urns} if settings.entity_sink and not described else {}
    digests = {urn: digest_text(text)[:32] for urn, text in texts.items() if text}
    fresh = [(urn, digest) for urn, digest in digests.items() if sessions.told(con, caller.session, urn) != digest]
    known = tuple(entities.name_of(urn) for urn, digest in digests.items() if (urn, digest) not in fresh)
    if not rows and not digests:
        return None, (0, 0), []
    tables = [TableContext(table=entities.name_of(urn), urn=urn, description=texts[urn]) for urn, _ in fresh]
    enrichment = Enrichment(
        mode="full" if rows or fresh else "reference",
        semantic_context=SemanticContext(urn=tables[0].urn, description=tables[0].description) if tables else None,
        additional_tables=tuple(tables[1:]),
        metadata_reference=MetadataReference(tables=known, note=_TOLD) if known else None,
        memory_context=memories,
        memory_context_omitted=omitted,
    )
    words = sum(len(memory.summary.encode()) for memory in memories) + sum(len(one.reference) for one in omitted)
    full = words + sum(len(texts[urn].encode()) for urn in digests)
    sent = words + sum(len(table.description.encode()) for table in tables)
    return enrichment, (full // _TOKEN, sent // _TOKEN), fresh


def _memories(rows: Sequence[sqlite3.Row]) -> tuple[tuple[PushedRecord, ...], tuple[OmittedRecord, ...]]:
    """The newest with their words as far as the bytes go, the others by reference."""
    left, pushed, omitted = _BYTES_ALL, [], []
    for at, row in enumerate(rows):
        summary = _cut(row["content"], min(_BYTES_EACH, left)) if at < _SUMMARISED else ""
        left -= len(summary.encode())
        if not summary:
            omitted.append(OmittedRecord(id=row["id"], reference=listing.reference(row)))
            continue
        pushed.append(
            PushedRecord(
                id=row["id"],
                reference=listing.reference(row),
                summary=summary,
                truncated=summary != row["content"],
                dimension=DIMENSIONS.get(row["sink_class"], "knowledge"),
                category=row["category"],
                confidence=row["confidence"],
                created_at=rfc3339(row["created"]),
            )
        )
    return tuple(pushed), tuple(omitted)


def _cut(text: str, size: int) -> str:
    """A text of at most so many bytes, "" where hardly a word would fit."""
    if len(text.encode()) <= size:
        return text
    if size < 20:
        return ""
    return text.encode()[: size - 3].decode("utf-8", "ignore") + "…"
