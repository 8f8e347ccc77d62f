"""The tables, as numbered migrations. A released migration never changes; a new one is appended.

``seq`` numbers the rows of a table without gaps (nothing is ever deleted from it), ``updated`` is a time that no other
row has and grows with every change: what follows a table asks for the rows after the last one that it saw.
The ``*_words`` tables hold the live rows only, cut into stems beforehand, with a second column of labels that say who
may find them; the ``*_terms`` tables count in how many rows a stem stands.
"""

from __future__ import annotations

APPLICATION = 0x6D656D61

_FIRST = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID",
    """CREATE TABLE people (
        code INTEGER PRIMARY KEY, user_id TEXT NOT NULL UNIQUE, email TEXT NOT NULL, name TEXT NOT NULL,
        roles TEXT NOT NULL, persona TEXT NOT NULL, key_hash TEXT UNIQUE)""",
    """CREATE TABLE records (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, created INTEGER NOT NULL, updated INTEGER NOT NULL,
        owner INTEGER NOT NULL, created_by TEXT NOT NULL, persona TEXT NOT NULL, session_id TEXT NOT NULL,
        dimension TEXT NOT NULL, sink_class TEXT NOT NULL, content TEXT NOT NULL, category TEXT NOT NULL,
        confidence TEXT NOT NULL, source TEXT NOT NULL, entity_urns TEXT NOT NULL, related_columns TEXT NOT NULL,
        suggested_actions TEXT NOT NULL, metadata TEXT NOT NULL, lifecycle TEXT NOT NULL, status TEXT,
        reviewed_by TEXT, reviewed_at INTEGER, review_notes TEXT, applied_by TEXT, applied_at INTEGER,
        changeset_ref TEXT, superseded_by TEXT)""",
    "CREATE UNIQUE INDEX records_updated ON records (updated)",
    "CREATE INDEX records_owner ON records (owner, lifecycle, seq)",
    "CREATE INDEX records_status ON records (status, created) WHERE status IS NOT NULL",
    "CREATE INDEX records_author ON records (created_by, created) WHERE status IS NOT NULL",
    "CREATE TABLE record_entities (urn TEXT, seq INTEGER, PRIMARY KEY (urn, seq)) WITHOUT ROWID",
    "CREATE TABLE records_vectors (seq INTEGER PRIMARY KEY, model TEXT NOT NULL, vector BLOB NOT NULL)",
    "CREATE VIRTUAL TABLE records_words USING fts5(body, labels, content='', tokenize='unicode61')",
    "CREATE VIRTUAL TABLE records_terms USING fts5vocab(records_words, row)",
    """CREATE TABLE history (
        seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, record_id TEXT NOT NULL, route TEXT NOT NULL, by TEXT NOT NULL,
        from_status TEXT, to_status TEXT NOT NULL, other_id TEXT, score REAL, notes TEXT NOT NULL)""",
    "CREATE INDEX history_record ON history (record_id, seq)",
    """CREATE TABLE pages (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, slug TEXT NOT NULL, live INTEGER NOT NULL,
        created INTEGER NOT NULL, updated INTEGER NOT NULL, updated_by TEXT NOT NULL, version INTEGER NOT NULL,
        title TEXT NOT NULL, summary TEXT NOT NULL, body TEXT NOT NULL, tags TEXT NOT NULL, refs TEXT NOT NULL,
        entity_urns TEXT NOT NULL)""",
    "CREATE UNIQUE INDEX pages_slug ON pages (slug) WHERE live",
    "CREATE UNIQUE INDEX pages_updated ON pages (updated)",
    """CREATE TABLE page_versions (
        page INTEGER, version INTEGER, at INTEGER NOT NULL, by TEXT NOT NULL, live INTEGER NOT NULL,
        fields TEXT NOT NULL, PRIMARY KEY (page, version)) WITHOUT ROWID""",
    "CREATE TABLE pages_vectors (seq INTEGER PRIMARY KEY, model TEXT NOT NULL, vector BLOB NOT NULL)",
    "CREATE VIRTUAL TABLE pages_words USING fts5(body, labels, content='', tokenize='unicode61')",
    "CREATE VIRTUAL TABLE pages_terms USING fts5vocab(pages_words, row)",
    """CREATE TABLE entities (
        seq INTEGER PRIMARY KEY, urn TEXT NOT NULL UNIQUE, name TEXT NOT NULL, created INTEGER NOT NULL,
        updated INTEGER NOT NULL, description TEXT NOT NULL, columns TEXT NOT NULL, tags TEXT NOT NULL,
        issues TEXT NOT NULL)""",
    "CREATE UNIQUE INDEX entities_updated ON entities (updated)",
    "CREATE TABLE entities_vectors (seq INTEGER PRIMARY KEY, model TEXT NOT NULL, vector BLOB NOT NULL)",
    "CREATE VIRTUAL TABLE entities_words USING fts5(body, labels, content='', tokenize='unicode61')",
    "CREATE VIRTUAL TABLE entities_terms USING fts5vocab(entities_words, row)",
    """CREATE TABLE changesets (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, created INTEGER NOT NULL, target_urn TEXT NOT NULL,
        change_type TEXT NOT NULL, previous TEXT NOT NULL, new TEXT NOT NULL, insight_ids TEXT NOT NULL,
        irreversible INTEGER NOT NULL, approved_by TEXT, applied_by TEXT NOT NULL,
        rolled_back INTEGER NOT NULL DEFAULT 0, rolled_back_by TEXT, rolled_back_at INTEGER)""",
    "CREATE INDEX changesets_target ON changesets (target_urn, seq)",
    """CREATE TABLE sessions (
        handle TEXT PRIMARY KEY, user_id TEXT NOT NULL, created INTEGER NOT NULL, expires INTEGER NOT NULL
        ) WITHOUT ROWID""",
    "CREATE TABLE told (handle TEXT, urn TEXT, digest TEXT NOT NULL, PRIMARY KEY (handle, urn)) WITHOUT ROWID",
    "CREATE TABLE discovery (user_id TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID",
    """CREATE TABLE audit (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL, at INTEGER NOT NULL, duration_ms REAL NOT NULL,
        session_id TEXT NOT NULL, user_id TEXT NOT NULL, kind TEXT NOT NULL, tool TEXT NOT NULL,
        success INTEGER NOT NULL, error TEXT, mode TEXT NOT NULL, tokens_full INTEGER NOT NULL,
        tokens_dedup INTEGER NOT NULL)""",
    "CREATE INDEX audit_session ON audit (session_id, seq)",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST,)
