"""Knowledge pages: shared, versioned, one live page per slug."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from memassay.platform.database import Writing, new_id, rfc3339
from memassay.platform.errors import PlatformError
from memassay.platform.lexicon import add_words, remove_words
from memassay.platform.meaning import Meaning
from memassay.platform.shapes import KnowledgePage, PageDraft, SimilarPage

TABLE = "pages"
SIEVE = ("0", "t.live")
FIELDS = ("slug", "title", "summary", "body", "tags", "refs", "entity_urns")

_SHOWN = 5


def searched(page: Mapping[str, Any]) -> str:
    """What a page is found by."""
    return f"{page['title']}\n{page['summary']}"


def fields_of(draft: PageDraft, entity_urns: Sequence[str]) -> dict[str, Any]:
    """The columns of a page as a draft has them; entities that it refers to are among its own."""
    named = [urn for urn in (*entity_urns, *draft.references) if urn.startswith("urn:")]
    return {
        "slug": draft.slug,
        "title": draft.title,
        "summary": draft.summary,
        "body": draft.body,
        "tags": list(dict.fromkeys(draft.tags)),
        "refs": list(dict.fromkeys(draft.references)),
        "entity_urns": list(dict.fromkeys(named)),
    }


def by_slug(con: sqlite3.Connection, slug: str) -> sqlite3.Row | None:
    row: sqlite3.Row | None = con.execute("SELECT * FROM pages WHERE slug = ? AND live", (slug,)).fetchone()
    return row


def found(con: sqlite3.Connection, id_or_slug: str) -> sqlite3.Row:
    """A live page; raises ``not_found``."""
    row: sqlite3.Row | None = con.execute(
        "SELECT * FROM pages WHERE (id = ? OR slug = ?) AND live ORDER BY id = ? DESC LIMIT 1", (id_or_slug,) * 3
    ).fetchone()
    if row is None:
        raise PlatformError("not_found", f"There is no page {id_or_slug!r}.")
    return row


def similar(con: sqlite3.Connection, meaning: Meaning, text: str, least: float) -> list[SimilarPage]:
    """The live pages that say nearly the same, nearest first."""
    near = meaning.near(con, TABLE, text, lambda _, states: states > 0, _SHOWN)
    pages = []
    for seq, score in near:
        row = con.execute("SELECT * FROM pages WHERE seq = ? AND live", (seq,)).fetchone()
        if row is not None and score >= least:
            pages.append(SimilarPage(id=row["id"], slug=row["slug"], title=row["title"], score=score))
    return pages


def put(
    writing: Writing,
    fields: Mapping[str, Any],
    by: str,
    row: sqlite3.Row | None,
    meaning: Meaning,
    live: bool = True,
) -> sqlite3.Row:
    """Write a page: a new one, or the next version of ``row``; returns it as it is now."""
    con, at = writing.con, writing.tick()
    stored = {name: _stored(fields[name]) for name in FIELDS}
    if row is None:
        names = ("id", "live", "created", "updated", "updated_by", "version", *FIELDS)
        values = (new_id(), True, at, at, by, 1, *stored.values())
        cursor = con.execute(f"INSERT INTO pages ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})", values)
        seq = int(cursor.lastrowid or 0)
    else:
        seq = row["seq"]
        if row["live"]:
            remove_words(con, TABLE, seq, searched(dict(row)), "")
        columns = ("live", "updated", "updated_by", "version", *FIELDS)
        con.execute(
            f"UPDATE pages SET {', '.join(f'{name} = ?' for name in columns)} WHERE seq = ?",
            (live, at, by, row["version"] + 1, *stored.values(), seq),
        )
    if live:
        add_words(con, TABLE, seq, searched(stored), "")
    meaning.put(con, TABLE, seq, searched(stored))
    now: sqlite3.Row = con.execute("SELECT * FROM pages WHERE seq = ?", (seq,)).fetchone()
    con.execute(
        "INSERT INTO page_versions VALUES (?, ?, ?, ?, ?, ?)",
        (seq, now["version"], at, by, live, json.dumps(contents(now), ensure_ascii=False)),
    )
    return now


def contents(row: sqlite3.Row) -> dict[str, Any]:
    """The fields of a page as JSON values; ``pages.put`` takes them back."""
    return {name: json.loads(row[name]) if name in ("tags", "refs", "entity_urns") else row[name] for name in FIELDS}


def listed(con: sqlite3.Connection, limit: int, offset: int) -> tuple[list[KnowledgePage], int]:
    total: int = con.execute("SELECT count(*) FROM pages WHERE live").fetchone()[0]
    rows = con.execute("SELECT * FROM pages WHERE live ORDER BY updated DESC LIMIT ? OFFSET ?", (limit, offset))
    return [page(row) for row in rows], total


def page(row: sqlite3.Row) -> KnowledgePage:
    fields = contents(row)
    return KnowledgePage(
        id=row["id"],
        references=tuple(fields.pop("refs")),
        current_version=row["version"],
        created_at=rfc3339(row["created"]),
        updated_at=rfc3339(row["updated"]),
        updated_by=row["updated_by"],
        **fields,
    )


def _stored(value: Any) -> Any:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
