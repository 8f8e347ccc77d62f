"""Documents as Markdown pages, a conversation as one page per session: what the published study of iwe made of them.

A corpus of conversations becomes ``sessions/session-01.md``, … with one paragraph per turn, and ``index.md``, which
includes every session by a link on a line of its own. Any other document is a page of its own, as in ``markdown``.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence

from memassay.core.types import Corpus, Document
from memassay.memories.pages import Written, pages
from memassay.retrieval.passages import date_words, has_words, unit_line

INDEX = "index"


def session_pages(corpus: Corpus) -> Iterator[tuple[Written, str]]:
    """Every page of a store: what it is made of, and its text; the index of a conversation is made of no document."""
    documents = corpus.documents
    if any(map(_spoken, documents)) and all(_spoken(document) or not document.text.strip() for document in documents):
        yield from _conversation(documents)
    else:
        yield from pages(documents)


def _spoken(document: Document) -> bool:
    return any(unit.speaker for unit in document.units)


def _conversation(documents: Sequence[Document]) -> Iterator[tuple[Written, str]]:
    digits = max(2, len(str(len(documents))))
    speakers = list(dict.fromkeys(u.speaker for document in documents for u in document.units if u.speaker))
    rows = [f"# {_joined(speakers)}"]
    for number, document in enumerate(documents, start=1):
        key = f"sessions/session-{number:0{digits}}"
        written, text = _session(document, number, key)
        rows.append(f"[{text.splitlines()[0].removeprefix('# ')}]({key}.md)")
        yield written, text
    yield Written(INDEX, "", None, False, ()), "\n\n".join(rows) + "\n"


def _session(document: Document, number: int, key: str) -> tuple[Written, str]:
    name = _plain(document.title) or f"Session {number}"
    parts = [f"# {name} — {_moment(document.date)}" if document.date else f"# {name}"]
    units, at = [], len(parts[0]) + 2
    for unit in filter(has_words, document.units):
        line = _plain(unit_line(unit))
        units.append((unit.id, at, at + len(line)))
        parts.append(line)
        at += len(line) + 2
    return Written(key, document.id, document.date, True, tuple(units)), "\n\n".join(parts) + "\n"


def _moment(date: str) -> str:
    """An ISO date as a person says it: ``1:56 pm on 8 May 2023``, without the clock where the date has none."""
    words = date_words(date)
    try:
        moment = datetime.datetime.fromisoformat(date)
    except ValueError:
        return words
    if len(date) <= len("2023-05-08"):
        return words
    return f"{moment.hour % 12 or 12}:{moment.minute:02} {'am' if moment.hour < 12 else 'pm'} on {words}"


def _joined(names: Sequence[str]) -> str:
    return " and ".join(map(_plain, names))


def _plain(text: str) -> str:
    """On one line, and as UTF-8 can say it."""
    return " ".join(text.encode("utf-8", "replace").decode("utf-8").split())
