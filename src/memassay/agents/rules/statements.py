"""The SQL that a definition ends in, and the same rows asked for another aggregate."""

from __future__ import annotations

import re

# A statement after "SQL:" up to its semicolon; one in quotes does not end it.
_STATEMENT = re.compile(r"\bSQL:\s*(SELECT\b(?:[^';]|'(?:[^']|'')*')*);", re.IGNORECASE)
_PIECE = re.compile(
    r"'(?:[^']|'')*'|\"[^\"]*\"|[()]|\b(?:select|from|where|group\s+by|having|order\s+by|limit|union|with)\b",
    re.IGNORECASE,
)


def statement(text: str) -> str | None:
    """The whole SELECT that a text states, or None where it states none or was cut before its end."""
    found = _STATEMENT.search(text)
    return found.group(1).strip() if found else None


def clauses(sql: str) -> dict[str, str]:
    """The parts of a SELECT by their keyword, outside of parentheses; ``select`` is what is selected."""
    parts: dict[str, str] = {}
    depth, keyword, start = 0, "", 0
    for piece in _PIECE.finditer(sql):
        found = " ".join(piece.group().lower().split())
        if found in "()":
            depth += 1 if found == "(" else -1
        elif depth == 0 and found[0] not in "'\"":
            parts[keyword] = sql[start : piece.start()].strip()
            keyword, start = found, piece.end()
    return {**parts, keyword: sql[start:].strip()}


def adapted(sql: str, function: str, column: str) -> str | None:
    """Another aggregate over the rows that a definition picks out; None where that cannot be told.

    Of a definition that names a group (``GROUP BY``), the rows are all that are of the group.
    """
    parts = clauses(sql)
    selected, source, where = (parts.get(name, "") for name in ("select", "from", "where"))
    if not selected or not source or parts.keys() & {"union", "with", "having"}:
        return None
    if "group by" in parts:
        where = f"{selected} = ({sql})"
    return f"SELECT {function}({column}) FROM {source}{f' WHERE {where}' if where else ''}"
