"""The one error of the platform: a code that clients act on, and an HTTP status."""

from __future__ import annotations

from typing import Literal

from memassay.core.errors import MemassayError

Code = Literal[
    "unauthenticated",
    "unauthorized",
    "session_required",
    "session_expired",
    "search_required",
    "purpose_required",
    "rate_limited",
    "not_found",
    "conflict",
    "invalid",
    "irreversible",
    "tool_error",
    "unavailable",
]

# (category, HTTP status)
_CODES: dict[str, tuple[str, int]] = {
    "unauthenticated": ("auth", 401),
    "unauthorized": ("auth", 403),
    "session_required": ("session", 400),
    "session_expired": ("session", 400),
    "search_required": ("workflow", 403),
    "purpose_required": ("workflow", 400),
    "rate_limited": ("limit", 429),
    "not_found": ("request", 404),
    "conflict": ("request", 409),
    "invalid": ("request", 400),
    "irreversible": ("request", 422),
    "tool_error": ("tool", 422),
    "unavailable": ("environment", 503),
}


class PlatformError(MemassayError):
    """What a caller is told when an operation is refused or fails; nothing of the operation was kept.

    Args:
        code: what clients act on. ``unavailable`` is the machine's fault: the disk is full or read-only, the file is
            busy or damaged.
        message: one sentence.
        hint: what to do about it, or "".

    Attributes:
        category: a coarse group of codes.
        status: the HTTP status of a problem document.
    """

    def __init__(self, code: Code, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code: Code = code
        self.message, self.hint = message, hint
        self.category, self.status = _CODES[code]


class ConnectionDropped(Exception):
    """A fault mode: the operation was done, and the server must close the connection without a reply."""
