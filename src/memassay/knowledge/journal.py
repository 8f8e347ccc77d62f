"""What an edit of several pages is about to do, so that one that was cut short can be carried through.

An edit writes the new texts beside their pages, then this list, then puts one file after the other in its place, then
takes the list away. A process that is killed before the list is there has changed nothing; one that is killed after it
leaves everything that is needed to go on. A step is still to be done only if the file that it replaces or takes away,
and the one that it puts there, say what they said then: what a person did meanwhile stays.

Everything is hidden, and beside the pages, so that a step is one renaming in one folder.
"""

from __future__ import annotations

import contextlib
import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

FILE = ".memassay-journal"
_BESIDE = re.compile(r"\.memassay-[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Step:
    """One file that is put in its place or taken away.

    Attributes:
        key: the page.
        before: digest of the file of the page that is replaced or taken away; None if there is none.
        after: digest of the file that is put there; None if the page goes.
        moved: the page whose file is put there, if it is another page's.
        beside: the name of the file beside it that is put there, if it is none of a page.
    """

    key: str
    before: str | None
    after: str | None = None
    moved: str | None = None
    beside: str | None = None

    def __post_init__(self) -> None:
        if self.beside is not None and not is_beside(self.beside):
            raise ValueError(f"{self.beside!r} is no file of an edit")
        if (self.after is None) != (self.moved is None and self.beside is None):
            raise ValueError("a file that is put somewhere has a digest")


def name_beside() -> str:
    """A name for a file that an edit writes beside a page."""
    return f".memassay-{secrets.token_hex(8)}"


def is_beside(name: str) -> bool:
    """Whether a file is one that an edit has left."""
    return _BESIDE.fullmatch(name) is not None


def keep(root: Path, steps: Sequence[Step]) -> None:
    """Write the list, whole or not at all."""
    beside = root / name_beside()
    try:
        beside.write_text(json.dumps([asdict(step) for step in steps]), encoding="utf-8")
        beside.replace(root / FILE)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def kept(root: Path) -> list[Step]:
    """The steps of an edit that was cut short, in their order; none if there is no list, or one that is damaged."""
    try:
        return [Step(**step) for step in json.loads((root / FILE).read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError):
        return []


def drop(root: Path) -> None:
    """Take the list away."""
    (root / FILE).unlink(missing_ok=True)
