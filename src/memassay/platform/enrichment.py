"""The push: what is known about the entities that a result names, carried along with it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from memassay.core.digest import digest_text
from memassay.platform import identities, listing, sessions
from memassay.platform.entities import DescriptionCache
from memassay.platform.settings import Settings
from memassay.platform.shapes import Caller, Enrichment, PushedDescription, PushedMemory

# Records with their words, records in all, and bytes of one record's and of all words.
_SUMMARISED, _NAMED = 5, 10
_BYTES_EACH, _BYTES_ALL = 400, 1200

# Bytes of a token, roughly.
_TOKEN = 4


def enrich(
    con: sqlite3.Connection, caller: Caller, urns: Sequence[str], settings: Settings, cache: DescriptionCache, now: int
) -> tuple[Enrichment | None, tuple[int, int], list[tuple[str, str]]]:
    """What a result about these entities carries along.

    Returns:
        The enrichment, or None where nothing is known; how many tokens it would be in full, and is; and the
        descriptions (URN and digest) that the session has then been told.
    """
    urns = list(dict.fromkeys(urns))
    if not settings.push or not urns:
        return None, (0, 0), []
    persona = caller.identity.persona if settings.push_scope == "persona" else None
    owner = identities.code_of(con, caller.identity)
    memories = _memories(listing.pushed(con, urns, owner, persona, _NAMED))
    descriptions, fresh, full, sent = [], [], 0, 0
    for urn in urns if settings.entity_sink else ():
        text = cache.get(con, urn, now)
        if not text:
            continue
        digest = digest_text(text)[:32]
        old = sessions.told(con, caller.session, urn) == digest
        if not old:
            fresh.append((urn, digest))
            sent += len(text.encode())
        full += len(text.encode())
        descriptions.append(PushedDescription(urn=urn, description=None if old else text))
    if not memories and not descriptions:
        return None, (0, 0), []
    words = sum(len((memory.summary or memory.reference).encode()) for memory in memories)
    enrichment = Enrichment(
        mode="full" if memories or fresh else "reference", memories=memories, descriptions=tuple(descriptions)
    )
    return enrichment, ((full + words) // _TOKEN, (sent + words) // _TOKEN), fresh


def _memories(rows: Sequence[sqlite3.Row]) -> tuple[PushedMemory, ...]:
    """The newest with their words as far as the bytes go, the others by reference."""
    left, pushed = _BYTES_ALL, []
    for at, row in enumerate(rows):
        summary = _cut(row["content"], min(_BYTES_EACH, left)) if at < _SUMMARISED else ""
        left -= len(summary.encode())
        pushed.append(
            PushedMemory(
                reference=listing.reference(row),
                type=row["sink_class"],
                entity_urns=tuple(json.loads(row["entity_urns"])),
                summary=summary or None,
            )
        )
    return tuple(pushed)


def _cut(text: str, size: int) -> str:
    """A text of at most so many bytes, "" where hardly a word would fit."""
    if len(text.encode()) <= size:
        return text
    if size < 20:
        return ""
    return text.encode()[: size - 3].decode("utf-8", "ignore") + "…"
