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
    "unauthenticated": ("authentication_failed", 401),
    "unauthorized": ("authorization_denied", 403),
    "session_required": ("session_required", 400),
    "session_expired": ("session_required", 400),
    "search_required": ("search_required", 403),
    "purpose_required": ("purpose_required", 400),
    "rate_limited": ("limit", 429),
    "not_found": ("not_found", 404),
    "conflict": ("client_input", 409),
    "invalid": ("client_input", 400),
    "irreversible": ("client_input", 422),
    "tool_error": ("tool_error", 422),
    "unavailable": ("environment", 503),
}


class PlatformError(MemassayError):
    """What a caller is told when an operation is refused or fails; nothing of the operation was kept.

    Args:
        code: what clients act on. ``unavailable`` is the machine's fault: the disk is full or read-only, the file is
            busy or damaged.
        message: one sentence.
        hint: what to do about it, or "".
        retry_after: seconds after which the same call may be made again, or 0 where waiting is of no use.

    Attributes:
        category: a coarse group of codes.
        status: the HTTP status of a problem document.
    """

    def __init__(self, code: Code, message: str, hint: str = "", retry_after: int = 0) -> None:
        super().__init__(message)
        self.code: Code = code
        self.message, self.hint, self.retry_after = message, hint, retry_after
        self.category, self.status = _CODES[code]


class ConnectionDropped(Exception):
    """A fault mode: the operation was done, and the server must close the connection without a reply."""
