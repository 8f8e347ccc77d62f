"""The catalogue: entities, their descriptions, and a cache of descriptions that are pushed."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from memassay.platform.database import Writing
from memassay.platform.errors import PlatformError
from memassay.platform.lexicon import add_words, remove_words
from memassay.platform.meaning import Meaning
from memassay.platform.shapes import Change, Entity

TABLE = "entities"
SIEVE = ("0", "1")
FIELDS = ("description", "columns", "tags", "issues")
COLUMN = "column:"
"""What the target of a column's description begins with."""

_TAG = "urn:li:tag:"

# Descriptions that a cache holds at most; it is emptied then.
_CACHED = 10_000


def name_of(urn: str) -> str:
    """The readable part of a URN: ``catalog.schema.table`` of a data set's."""
    inner = urn.rpartition(":(")[2].rstrip(")").split(",")
    return inner[1] if len(inner) > 1 else urn.rpartition(":")[2]


def dataset_urn(table: str) -> str:
    """The URN of a warehouse table, ``catalog.schema.table``."""
    return f"urn:li:dataset:(urn:li:dataPlatform:trino,{table},PROD)"


def searched(entity: Mapping[str, Any] | Entity) -> str:
    """What an entity is found by."""
    fields = entity.model_dump() if isinstance(entity, Entity) else entity
    columns = " ".join(f"{name} {text}" for name, text in fields["columns"].items())
    return f"{fields['name']}\n{fields['description']}\n{columns}"


def row_of(con: sqlite3.Connection, urn: str) -> sqlite3.Row | None:
    row: sqlite3.Row | None = con.execute("SELECT * FROM entities WHERE urn = ?", (urn,)).fetchone()
    return row


def found(con: sqlite3.Connection, urn: str) -> Entity:
    """An entity; raises ``not_found``."""
    row = row_of(con, urn)
    if row is None:
        raise PlatformError("not_found", f"The catalogue has no entity {urn!r}.")
    return entity(row)


def put(writing: Writing, new: Entity, meaning: Meaning) -> sqlite3.Row:
    """Write an entity as it is given; returns its row."""
    con, at, row = writing.con, writing.tick(), row_of(writing.con, new.urn)
    values = (new.name, at, new.description, *(_json(getattr(new, name)) for name in FIELDS[1:]))
    if row is None:
        cursor = con.execute(
            "INSERT INTO entities (name, updated, description, columns, tags, issues, urn, created) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*values, new.urn, at),
        )
        seq = int(cursor.lastrowid or 0)
    else:
        seq = row["seq"]
        remove_words(con, TABLE, seq, searched(entity(row)), "")
        con.execute(
            "UPDATE entities SET name = ?, updated = ?, description = ?, columns = ?, tags = ?, issues = ? "
            "WHERE seq = ?",
            (*values, seq),
        )
    add_words(con, TABLE, seq, searched(new), "")
    meaning.put(con, TABLE, seq, searched(new))
    now: sqlite3.Row = con.execute("SELECT * FROM entities WHERE seq = ?", (seq,)).fetchone()
    return now


def tagged(con: sqlite3.Connection, tag: str) -> list[tuple[str, str]]:
    """The URNs of all entities with a tag, each with the tag as it has it: by its name or as ``urn:li:tag:NAME``."""
    name = tag.removeprefix(_TAG)
    rows = con.execute(
        "SELECT e.urn, t.value FROM entities e, json_each(e.tags) t WHERE t.value IN (?, ?) ORDER BY e.seq, t.key",
        (name, _TAG + name),
    )
    return [(urn, value) for urn, value in rows]


def changed(old: Entity, changes: Sequence[Change]) -> Entity:
    """An entity after some changes.

    Raises:
        PlatformError: ``invalid``: a change that makes no sense.
    """
    fields = old.model_dump()
    for one in changes:
        if one.change_type == "update_description":
            if one.target.startswith(COLUMN) and len(one.target) > len(COLUMN):
                fields["columns"] = {**fields["columns"], one.target.removeprefix(COLUMN): one.detail}
            elif one.target in ("", old.urn):
                fields["description"] = one.detail
            else:
                raise PlatformError(
                    "invalid", f"{one.target!r} is no target.", f"Write {COLUMN}NAME, or leave it empty."
                )
        elif one.target and one.target != old.urn:
            raise PlatformError("invalid", f"{one.change_type} is for the entity itself; leave target empty.")
        elif one.change_type == "add_tag":
            fields["tags"] = tuple(dict.fromkeys((*fields["tags"], one.detail)))
        elif one.change_type == "remove_tag":
            fields["tags"] = tuple(tag for tag in fields["tags"] if tag != one.detail)
        else:
            fields["issues"] = (*fields["issues"], one.detail)
    return Entity(**fields)


def difference(old: Entity, new: Entity) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields that differ: as they were, and as they are."""
    before, after = old.model_dump(mode="json"), new.model_dump(mode="json")
    names = [name for name in FIELDS if before[name] != after[name]]
    return {name: before[name] for name in names}, {name: after[name] for name in names}


def entity(row: sqlite3.Row) -> Entity:
    return Entity(
        urn=row["urn"],
        name=row["name"],
        description=row["description"],
        columns=json.loads(row["columns"]),
        tags=tuple(json.loads(row["tags"])),
        issues=tuple(json.loads(row["issues"])),
    )


class DescriptionCache:
    """Descriptions as they were read at most ``ttl_s`` seconds ago, of one process."""

    def __init__(self, ttl_s: float) -> None:
        self._ttl = int(ttl_s * 1_000_000)
        self._held: dict[str, tuple[str, int]] = {}
        self._lock = threading.Lock()

    def get(self, con: sqlite3.Connection, urn: str, now: int) -> str:
        """The description of an entity, perhaps an old one; "" where it has none."""
        with self._lock:
            held = self._held.get(urn)
            if held is not None and 0 <= now - held[1] < self._ttl:
                return held[0]
        row = row_of(con, urn)
        description = "" if row is None else str(row["description"])
        with self._lock:
            if len(self._held) >= _CACHED:
                self._held.clear()
            self._held[urn] = (description, now)
        return description

    def clear(self) -> None:
        with self._lock:
            self._held.clear()


def _json(value: Any) -> str:
    return json.dumps(dict(value) if isinstance(value, Mapping) else list(value), ensure_ascii=False)
