"""Reading the evidence ids of LOCOMO, of which a few are written in a way that names no turn.

Entries are split at ``;``, ``,`` and white space; ``D:11:26`` is read as ``D11:26`` and ``D30:05`` as ``D30:5``. A
piece that still names no turn of the conversation is handed back as it stands, never guessed at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_PIECES = re.compile(r"[;,\s]+")
_ID = re.compile(r"D:?(\d{1,9}):(\d{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a question's evidence entries name.

    Attributes:
        ids: turns of the conversation, in the order of the entries, each once.
        unresolved: pieces that name no turn.
        as_written: every entry already was the id of a turn.
    """

    ids: tuple[str, ...]
    unresolved: tuple[str, ...]
    as_written: bool

    @property
    def repaired(self) -> bool:
        """Some entry named no turn as written, and parsing found turns for all of them."""
        return not self.as_written and not self.unresolved

    @property
    def partly(self) -> bool:
        """Something names no turn even after parsing, and something else does."""
        return bool(self.unresolved) and bool(self.ids)


class Resolver:
    """Resolves evidence entries against the turn ids of one conversation."""

    def __init__(self, known: Iterable[str]) -> None:
        self._known = frozenset(known)
        # setdefault in sorted order: two ids with one canonical form (D1:1, D1:01) must not depend on hash order.
        self._canonical: dict[tuple[int, int], str] = {}
        for name in sorted(self._known):
            if key := canonical(name):
                self._canonical.setdefault(key, name)

    def resolve(self, entries: Sequence[str]) -> Resolved:
        """What ``entries`` name; see :class:`Resolved`."""
        ids: dict[str, None] = {}
        unresolved: dict[str, None] = {}
        for entry in entries:
            if entry.strip() in self._known:
                ids[entry.strip()] = None
                continue
            for piece in filter(None, _PIECES.split(entry)):
                found = piece if piece in self._known else self._by_number(piece)
                if found is None:
                    unresolved[piece] = None
                else:
                    ids[found] = None
        return Resolved(tuple(ids), tuple(unresolved), all(entry in self._known for entry in entries))

    def _by_number(self, piece: str) -> str | None:
        key = canonical(piece)
        return self._canonical.get(key) if key else None


def canonical(piece: str) -> tuple[int, int] | None:
    """Session and turn number of an id such as ``D3:11``, ``D:11:26`` or ``D30:05``, else None."""
    match = _ID.fullmatch(piece)
    return (int(match[1]), int(match[2])) if match else None
