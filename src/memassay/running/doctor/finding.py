"""What the doctor finds: one line each, with what to do where something is wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "note", "failed", "missing"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        section: what it belongs to, such as ``versions``.
        name: what was looked at.
        state: ``ok``; ``note``, which stops nothing; ``failed``, a check that did not pass; ``missing``, something that
            the agent as it is set cannot do without.
        detail: what was seen, in one line; never the value of a secret.
        fix: what to do about it, or "".
    """

    section: str
    name: str
    state: State
    detail: str = ""
    fix: str = ""


def exit_code(found: Iterable[Finding]) -> int:
    """1 where a check failed, else 3 where something needed is missing, else 0."""
    states = {finding.state for finding in found}
    return 1 if "failed" in states else 3 if "missing" in states else 0
