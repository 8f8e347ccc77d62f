"""What a caller may see, ranked, and shared out among the sources.

The score of a candidate is ``0.6 * (cosine + 1) / 2 + 0.4 * words``, where ``words`` is its BM25 as a share of the best
one's, 0 to 1; without an embedder it is ``words`` alone. At most 25 candidates per source; scores are then stretched
to 0 to 1 within a source. Of the hits that are shown each source with candidates gets one, and none more than half.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from memassay.platform import entities, listing, pages, records
from memassay.platform.database import rfc3339
from memassay.platform.lexicon import find_words
from memassay.platform.meaning import Mask, Meaning, Owners, States
from memassay.platform.settings import Settings
from memassay.platform.shapes import BrowseResult, Coverage, Group, Hit, InsightStatus, SearchResult, Source

SOURCES: tuple[Source, ...] = ("insights", "memory", "knowledge_pages", "catalog")

_CANDIDATES = 25
_MEANING, _WORDS = 0.6, 0.4
_STATES = {"pending": records.PENDING, "approved": records.APPROVED, "applied": records.APPLIED}


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and by whom.

    Attributes:
        owner: number of the caller.
        text: what is looked for; "" browses, newest first.
        urns: only what is filed on one of these; empty is all.
        status: only insights with this review status.
        sources: where to look.
        unknown: sources that were asked for and are none.
    """

    owner: int
    text: str
    urns: tuple[str, ...]
    status: InsightStatus | None
    sources: tuple[Source, ...]
    limit: int
    offset: int
    unknown: tuple[str, ...] = ()

    @property
    def browses(self) -> Source | None:
        """The one source that is gone through page by page, or None."""
        one = len(self.sources) == 1 and not self.text and not self.urns and not self.unknown
        return self.sources[0] if one else None


@dataclass(frozen=True, slots=True)
class _Arm:
    """How one source is searched.

    Attributes:
        table: of its rows.
        wanted: the first sieve, over owners and states.
        labels: the same for the word index.
        seen: the SQL condition that decides, and its values.
        hit: from a row to a hit with score 0.
    """

    table: str
    wanted: Callable[[Owners, States], Mask]
    labels: str
    seen: str
    values: tuple[Any, ...]
    hit: Callable[[sqlite3.Row], Hit]


def search(
    con: sqlite3.Connection, question: Question, settings: Settings, meaning: Meaning
) -> SearchResult | BrowseResult:
    """The hits for a question."""
    found: dict[Source, list[Hit]] = {}
    matched: dict[Source, int] = {}
    for source in SOURCES:
        arm = _arm(source, question, settings)
        if arm is None or source not in question.sources:
            continue
        among = _among(con, source, question.urns) if question.urns else None
        if question.text:
            found[source] = _ranked(con, arm, question.text, among, meaning)
            matched[source] = len(found[source])
        else:
            found[source], matched[source] = _newest(con, arm, among, question.offset + question.limit)
    shown = _shares(found, question.limit) if question.text else _slice(found, question.offset, question.limit)
    if (browsed := question.browses) is not None:
        items = tuple(shown.get(browsed, ()))
        return BrowseResult(
            source=browsed,
            total=matched.get(browsed, 0),
            offset=question.offset,
            limit=question.limit,
            count=len(items),
            items=items,
        )
    return SearchResult(
        groups=tuple(Group(source=source, hits=tuple(hits)) for source, hits in shown.items() if hits),
        coverage=tuple(
            Coverage(
                source=source,
                matched=matched[source],
                shown=len(shown[source]),
                matched_capped=bool(question.text) and matched[source] >= _CANDIDATES,
            )
            for source in found
        ),
        count=sum(map(len, shown.values())),
        ranking="entity" if not question.text else "lexical" if meaning.embedder is None else "hybrid",
        unknown_sources=question.unknown,
    )


# -- the sources ---------------------------------------------------------------------------------------------------


def _arm(source: Source, question: Question, settings: Settings) -> _Arm | None:
    """How a source is searched, or None where it is switched off or cannot hold what is asked for."""
    owner, status = question.owner, question.status
    if source == "insights":
        return _insights(owner, status, settings.shared_applied)
    if status is not None:
        return None
    if source == "memory":
        return _Arm(
            records.TABLE,
            lambda owners, states: (owners == owner) & (states == records.MEMORY),
            records.labels(owner, None),
            "owner = ? AND status IS NULL AND lifecycle IN ('active', 'stale')",
            (owner,),
            _record_hit,
        )
    if source == "knowledge_pages":
        return _Arm(pages.TABLE, _all, "", "live", (), _page_hit) if settings.page_sink else None
    return _Arm(entities.TABLE, _all, "", "1", (), _entity_hit) if settings.entity_sink else None


def _insights(owner: int, status: str | None, shared: bool) -> _Arm | None:
    """The caller's own live insights, and everybody's applied ones."""
    if status is not None and status not in _STATES:
        return None  # rejected and superseded insights are not live
    code = _STATES.get(status or "")

    def wanted(owners: Owners, states: States) -> Mask:
        mask: Mask = (owners == owner) & (states >= records.PENDING)
        if shared:
            mask |= states == records.APPLIED
        return mask if code is None else mask & (states == code)

    own = f"i{owner}" if status is None else f"(i{owner} AND {status})"
    both = shared and status in (None, "applied")
    seen = "(owner = ? OR status = 'applied')" if both else "owner = ?"
    return _Arm(
        records.TABLE,
        wanted,
        f"{own} OR applied" if both else own,
        f"{seen} AND status {'IS NOT NULL' if status is None else '= ?'} AND lifecycle IN ('active', 'stale')",
        (owner,) if status is None else (owner, status),
        _record_hit,
    )


def _all(_: Owners, states: States) -> Mask:
    mask: Mask = states > 0
    return mask


def _among(con: sqlite3.Connection, source: Source, urns: Sequence[str]) -> list[int]:
    """The rows of a source that are filed on one of these entities."""
    if source in ("insights", "memory"):
        return listing.filed_on(con, urns)
    marks = ",".join("?" * len(urns))
    if source == "catalog":
        rows = con.execute(f"SELECT seq FROM entities WHERE urn IN ({marks})", list(urns))
    else:
        rows = con.execute(
            f"SELECT DISTINCT seq FROM pages, json_each(entity_urns) WHERE live AND json_each.value IN ({marks})",
            list(urns),
        )
    return sorted(row["seq"] for row in rows)


# -- candidates ----------------------------------------------------------------------------------------------------


def _ranked(con: sqlite3.Connection, arm: _Arm, text: str, among: list[int] | None, meaning: Meaning) -> list[Hit]:
    """The best candidates of a source, with scores from 0 to 1."""
    if among is not None and not among:
        return []
    said = dict(find_words(con, arm.table, text, arm.labels, _CANDIDATES, among))
    if meaning.embedder is None:
        scores = said
    else:
        near = dict(meaning.near(con, arm.table, text, arm.wanted, _CANDIDATES, among))
        others = [seq for seq in said if seq not in near]
        cosines = meaning.vectors(con, arm.table, others) @ meaning.of(text)
        near |= {seq: round(float(cosine), 6) for seq, cosine in zip(others, cosines, strict=True)}
        scores = {seq: _MEANING * (cosine + 1) / 2 + _WORDS * said.get(seq, 0.0) for seq, cosine in near.items()}
    order = sorted(scores, key=lambda seq: (-round(scores[seq], 9), -seq))
    rows = _rows(con, arm, order)
    kept = [seq for seq in order if seq in rows][:_CANDIDATES]
    if not kept:
        return []
    low, high = scores[kept[-1]], scores[kept[0]]
    span = high - low
    return [
        arm.hit(rows[seq]).model_copy(update={"score": round((scores[seq] - low) / span, 4) if span > 1e-9 else 1.0})
        for seq in kept
    ]


def _rows(con: sqlite3.Connection, arm: _Arm, seqs: Sequence[int]) -> dict[int, sqlite3.Row]:
    """Those of the rows that the caller may see, as they are in the file now."""
    marks = ",".join("?" * len(seqs))
    rows = con.execute(f"SELECT * FROM {arm.table} WHERE seq IN ({marks}) AND {arm.seen}", (*seqs, *arm.values))
    return {row["seq"]: row for row in rows}


def _newest(con: sqlite3.Connection, arm: _Arm, among: list[int] | None, limit: int) -> tuple[list[Hit], int]:
    """The newest rows of a source, and how many there are."""
    only = "" if among is None else f" AND seq IN ({','.join(map(str, among))})"
    total: int = con.execute(f"SELECT count(*) FROM {arm.table} WHERE {arm.seen}{only}", arm.values).fetchone()[0]
    rows = con.execute(
        f"SELECT * FROM {arm.table} WHERE {arm.seen}{only} ORDER BY seq DESC LIMIT ?", (*arm.values, limit)
    )
    return [arm.hit(row).model_copy(update={"score": 1.0}) for row in rows], total


# -- what is shown -------------------------------------------------------------------------------------------------


def _shares(found: dict[Source, list[Hit]], limit: int) -> dict[Source, list[Hit]]:
    """At least one of each source that has any, at most half (rounded up) of one, the best of all otherwise."""
    filled = [source for source in found if found[source]]
    most = limit if len(filled) == 1 else max(1, (limit + 1) // 2)
    taken = dict.fromkeys(found, 0)
    for source in filled[:limit]:
        taken[source] = 1
    rest = [
        (-hit.score, SOURCES.index(source), at, source)
        for source in filled
        for at, hit in enumerate(found[source][:most])
        if at >= taken[source]
    ]
    for _, _, _, source in sorted(rest)[: limit - sum(taken.values())]:
        taken[source] += 1
    return {source: found[source][: taken[source]] for source in found}


def _slice(found: dict[Source, list[Hit]], offset: int, limit: int) -> dict[Source, list[Hit]]:
    """A page of everything, newest first."""
    everything = [(hit, source) for source, hits in found.items() for hit in hits]
    everything.sort(key=lambda one: one[0].created_at, reverse=True)
    shown: dict[Source, list[Hit]] = {source: [] for source in found}
    for hit, source in everything[offset : offset + limit]:
        shown[source].append(hit)
    return shown


# -- hits ----------------------------------------------------------------------------------------------------------


def _record_hit(row: sqlite3.Row) -> Hit:
    return Hit(
        text=row["content"],
        source="memory" if row["status"] is None else "insights",
        ref=row["id"],
        score=0.0,
        status=row["status"] or row["lifecycle"],
        entity_urns=tuple(json.loads(row["entity_urns"])),
        captured_by=row["created_by"],
        reference=listing.reference(row),
        category=row["category"],
        created_at=rfc3339(row["created"]),
    )


def _page_hit(row: sqlite3.Row) -> Hit:
    return Hit(
        text=pages.searched(dict(row)),
        source="knowledge_pages",
        ref=row["id"],
        score=0.0,
        entity_urns=tuple(json.loads(row["entity_urns"])),
        reference=f"mcp:knowledge_page:{row['id']}",
        created_at=rfc3339(row["created"]),
    )


def _entity_hit(row: sqlite3.Row) -> Hit:
    return Hit(
        text=f"{row['name']}\n{row['description']}".strip(),
        source="catalog",
        ref=row["urn"],
        score=0.0,
        entity_urns=(row["urn"],),
        reference=row["urn"],
        created_at=rfc3339(row["created"]),
    )
