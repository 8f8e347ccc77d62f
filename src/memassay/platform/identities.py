"""Who is who: keys, roles, and the numbers under which records name their owners."""

from __future__ import annotations

import hashlib
import json
import sqlite3

from memassay.platform.database import Writing
from memassay.platform.errors import PlatformError
from memassay.platform.shapes import Identity

ROLES = ("agent", "reviewer", "admin")


def pool(base_key: str, count: int) -> list[tuple[str, Identity]]:
    """Keys and identities of a pool: the admin first, then agents ``001`` to ``count``."""
    people = [(base_key, _named("bench-admin", ("admin",)))]
    for number in range(1, count + 1):
        people.append((f"{base_key}-{number:03d}", _named(f"bench-agent-{number:03d}", ("agent",))))
    return people


def _named(name: str, roles: tuple[str, ...]) -> Identity:
    return Identity(user_id=f"apikey:{name}", email=f"{name}@apikey.local", name=name, roles=roles)


def put(writing: Writing, key: str, identity: Identity) -> None:
    """Let a key be an identity; see ``Platform.add_identity``."""
    unknown = sorted(set(identity.roles) - set(ROLES))
    if unknown or not key or not identity.user_id:
        fault = f"{unknown[0]!r} is no role" if unknown else "a key and a user id are needed"
        raise PlatformError("invalid", f"The identity {identity.user_id!r} cannot be added: {fault}.")
    hashed = _hash(writing.con, key)
    holder = writing.con.execute("SELECT user_id FROM people WHERE key_hash = ?", (hashed,)).fetchone()
    if holder is not None and holder["user_id"] != identity.user_id:
        raise PlatformError("conflict", "The key belongs to somebody else.")
    code = ensure(writing, identity)
    writing.con.execute(
        "UPDATE people SET email = ?, name = ?, roles = ?, persona = ?, key_hash = ? WHERE code = ?",
        (identity.email, identity.name, json.dumps(identity.roles), identity.persona, hashed, code),
    )


def ensure(writing: Writing, identity: Identity) -> int:
    """The number of an identity; one that the workspace has not met gets one."""
    writing.con.execute(
        "INSERT OR IGNORE INTO people (user_id, email, name, roles, persona) VALUES (?, ?, ?, ?, ?)",
        (identity.user_id, identity.email, identity.name, json.dumps(identity.roles), identity.persona),
    )
    return code_of(writing.con, identity)


def code_of(con: sqlite3.Connection, identity: Identity) -> int:
    """The number of an identity, or 0, which owns nothing."""
    row = con.execute("SELECT code FROM people WHERE user_id = ?", (identity.user_id,)).fetchone()
    return 0 if row is None else int(row["code"])


def holder_of(con: sqlite3.Connection, key: str | None) -> Identity:
    """Whose key it is; raises ``unauthenticated``."""
    row = con.execute("SELECT * FROM people WHERE key_hash = ?", (_hash(con, key),)).fetchone() if key else None
    if row is None:
        raise PlatformError(
            "unauthenticated",
            "The key is unknown." if key else "A key is needed.",
            "Send it as 'Authorization: Bearer KEY'.",
        )
    return _identity(row)


def everybody(con: sqlite3.Connection) -> tuple[Identity, ...]:
    return tuple(_identity(row) for row in con.execute("SELECT * FROM people ORDER BY user_id"))


def _identity(row: sqlite3.Row) -> Identity:
    return Identity(
        user_id=row["user_id"],
        email=row["email"],
        name=row["name"],
        roles=tuple(json.loads(row["roles"])),
        persona=row["persona"],
    )


def _hash(con: sqlite3.Connection, key: str) -> str:
    """A keyed hash: the file does not tell a key, and equal keys of two workspaces look different."""
    salt: str = con.execute("SELECT value FROM meta WHERE key = 'salt'").fetchone()[0]
    return hashlib.blake2b(key.encode("utf-8", "replace"), key=salt.encode(), digest_size=32).hexdigest()
