"""A word index in the file, over texts cut into stems beforehand."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from memassay.retrieval.text import Analyzer

# Stems of a question that are looked up: more than anybody asks, and a text pasted whole stays fast.
_ASKED = 32

# Rows that are scored for a question at most, but for the rarest stem's: in a million rows of 18 words, six stems of
# which one stood in a quarter of them took 0.8 s, and 0.04 s with this.
_SCORED = 20_000

_ANALYZER = Analyzer()


def terms_of(text: str) -> list[str]:
    """The stems of a text without those of asking; they stand for the text on both sides of a search."""
    return [term.replace("'", "") for term in _ANALYZER.terms(text)]


def add_words(con: sqlite3.Connection, table: str, seq: int, text: str, labels: str) -> None:
    """Make a row findable by the words of a text, for those whom a label lets."""
    con.execute(
        f"INSERT INTO {table}_words (rowid, body, labels) VALUES (?, ?, ?)", (seq, " ".join(terms_of(text)), labels)
    )


def remove_words(con: sqlite3.Connection, table: str, seq: int, text: str, labels: str) -> None:
    """Undo ``add_words``; text and labels must be what they were."""
    con.execute(
        f"INSERT INTO {table}_words ({table}_words, rowid, body, labels) VALUES ('delete', ?, ?, ?)",
        (seq, " ".join(terms_of(text)), labels),
    )


def find_words(
    con: sqlite3.Connection,
    table: str,
    question: str,
    labels: str,
    limit: int,
    among: Sequence[int] | None = None,
) -> list[tuple[int, float]]:
    """The rows that share stems with a question (BM25), best first, the newer of equals first.

    Args:
        con: in a transaction.
        table: its name without ``_words``.
        question: any text.
        labels: an FTS5 expression over labels, such as ``i7 OR applied``; "" lets everybody.
        limit: at most so many.
        among: only these rows, or None.

    Returns:
        ``seq`` and a score above 0, 1 for the best.
    """
    terms = _telling(con, table, list(dict.fromkeys(terms_of(question)))[:_ASKED])
    if not terms:
        return []
    asked = "{body} : (" + " OR ".join(f'"{term}"' for term in terms) + ")"
    if labels:
        asked = "{labels} : (" + labels + ") AND " + asked
    only = "" if among is None else f"AND rowid IN ({','.join(str(int(seq)) for seq in among)})"
    rows = con.execute(
        f"SELECT rowid, bm25({table}_words, 1.0, 0.0) AS rank FROM {table}_words WHERE {table}_words MATCH ? {only} "
        "ORDER BY rank, rowid DESC LIMIT ?",
        (asked, limit),
    ).fetchall()
    if not rows:
        return []
    best = rows[0]["rank"]
    return [(row["rowid"], round(row["rank"] / best, 6) if best else 1.0) for row in rows]


def _telling(con: sqlite3.Connection, table: str, terms: list[str]) -> list[str]:
    """The rarest of the stems, as many as do not make too many rows to score."""
    marks = ",".join("?" * len(terms))
    counts = dict(con.execute(f"SELECT term, doc FROM {table}_terms WHERE term IN ({marks})", terms).fetchall())
    kept: list[str] = []
    rows = 0
    for term in sorted(terms, key=lambda term: counts.get(term, 0)):
        rows += counts.get(term, 0)
        if kept and rows > _SCORED:
            break
        kept.append(term)
    return kept
