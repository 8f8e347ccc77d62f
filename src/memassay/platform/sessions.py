"""Session handles, what a session has been told, and who has searched of late."""

from __future__ import annotations

import secrets
import sqlite3

from memassay.platform.database import Writing
from memassay.platform.errors import PlatformError
from memassay.platform.shapes import Caller, Identity

_HOUR = 3_600_000_000
_MINUTE = 60_000_000


def mint(writing: Writing, identity: Identity, hours: float) -> tuple[str, int]:
    """A new handle and when it expires."""
    handle, now = f"dps_{secrets.token_hex(16)}", writing.tick()
    expires = now + int(hours * _HOUR)
    writing.con.execute("INSERT INTO sessions VALUES (?, ?, ?, ?)", (handle, identity.user_id, now, expires))
    return handle, expires


def check(con: sqlite3.Connection, caller: Caller, now: int) -> None:
    """Raise ``session_required`` without a handle, ``session_expired`` with one that is old, unknown or another's."""
    if not caller.session:
        raise PlatformError("session_required", "session_id is missing.", "Call platform_info and pass its session_id.")
    row = con.execute("SELECT user_id, expires FROM sessions WHERE handle = ?", (caller.session,)).fetchone()
    if row is None or row["user_id"] != caller.identity.user_id or row["expires"] <= now:
        raise PlatformError("session_expired", "The session has ended.", "Call platform_info for a new session_id.")


def mark_discovery(writing: Writing, identity: Identity) -> None:
    """Note that somebody has searched now."""
    writing.con.execute("INSERT OR REPLACE INTO discovery VALUES (?, ?)", (identity.user_id, writing.tick()))


def has_discovered(con: sqlite3.Connection, identity: Identity, now: int, minutes: float) -> bool:
    """Whether the user, in whatever session, has searched within that time."""
    row = con.execute("SELECT at FROM discovery WHERE user_id = ?", (identity.user_id,)).fetchone()
    return row is not None and now - row["at"] <= minutes * _MINUTE


def told(con: sqlite3.Connection, handle: str, urn: str) -> str | None:
    """Digest of the description of that entity that the session has been told last."""
    row = con.execute("SELECT digest FROM told WHERE handle = ? AND urn = ?", (handle, urn)).fetchone()
    return None if row is None else str(row["digest"])


def tell(writing: Writing, handle: str, urn: str, digest: str) -> None:
    writing.con.execute("INSERT OR REPLACE INTO told VALUES (?, ?, ?)", (handle, urn, digest))
