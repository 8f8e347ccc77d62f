"""What tools delivered, taken out of their results.

Results are data that anybody may have written: what does not have the shape that is looked for is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memassay.agents.rules.statements import statement
from memassay.agents.rules.words import terms, words

INSIGHTS, ENTITIES, PAGES, PUSHED, OWN = "insights", "catalog", "knowledge_pages", "pushed", "own"
CORRECTION = "correction"
"""The category of a record that corrects another."""

_URN_NAME = re.compile(r",([^,()]+),[^,()]+\)$")

# Statuses and lifecycles of what no longer holds.
_GONE = frozenset(("superseded", "rejected", "archived", "rolled_back"))


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a result said.

    Attributes:
        source: the group of a search, or ``pushed`` with another result, or ``own`` from one's own list.
        reference: what ``fetch`` reads the whole of; for an entity its URN.
        owner: who captured it.
        whole: whether ``text`` is all of it.
        created_at: RFC 3339 in UTC, or "" where it was not said.
    """

    source: str
    text: str
    reference: str = ""
    id: str = ""
    owner: str = ""
    whole: bool = True
    status: str = ""
    category: str = ""
    created_at: str = ""
    urns: tuple[str, ...] = ()

    @property
    def sql(self) -> str | None:
        """The definition's statement, or None."""
        return statement(self.text)

    def about(self, prompt: str) -> bool:
        """Whether a prompt has one of the terms that it defines in it, as words."""
        said = f" {' '.join(words(prompt))} "
        return any(f" {' '.join(words(term))} " in said for term in terms(self.text))


def definitions(findings: Iterable[Finding], prompt: str) -> list[Finding]:
    """What defines a term of a prompt in SQL and still holds, the newest first; of two of one time, a correction."""
    fitting = [one for one in findings if one.sql and one.status not in _GONE and one.about(prompt)]
    return sorted(fitting, key=lambda one: (one.created_at, one.category == CORRECTION), reverse=True)


def findings(result: object) -> Iterator[Finding]:
    """Everything that a result says about what is known, in its order."""
    for group in _mappings(result, "groups"):
        for hit in _mappings(group, "hits"):
            yield _finding(_text(group, "source"), hit, "text")
    alone = [result] if isinstance(result, Mapping) and _text(result, "urn") else []
    for entity in (*_mappings(result, "entities"), *alone):
        yield _finding(ENTITIES, entity, "description")
    for item in _mappings(result, "items"):
        yield _finding(_text(item, "source"), item, "text")
    for record in _mappings(result, "records"):
        yield _finding(OWN, record, "content")
    for name, text in (
        ("memory_context", "summary"),
        ("memory_context_omitted", ""),
        ("additional_tables", "description"),
    ):
        for one in _mappings(result, name):
            yield _finding(PUSHED, one, text)
    context = result.get("semantic_context") if isinstance(result, Mapping) else None
    if isinstance(context, Mapping):
        yield _finding(PUSHED, context, "description")


def entities(findings: Iterable[Finding]) -> list[str]:
    """The URNs of tables that results have told something of, in their order."""
    known = [one for one in findings if one.source == ENTITIES or one.reference.startswith("urn:")]
    return list(dict.fromkeys(one.urns[0] for one in known if one.urns))


def table_of(urn: str) -> str:
    """The table that a URN is of, or ""."""
    found = _URN_NAME.search(urn)
    return found.group(1) if found else ""


def _finding(source: str, row: Mapping[str, Any], text: str) -> Finding:
    urns = row.get("entity_urns")
    reference = _text(row, "reference") or _text(row, "urn")
    own = (reference,) if reference.startswith("urn:") else ()
    return Finding(
        source=source,
        text=_text(row, text),
        reference=reference,
        id=_text(row, "id") or _text(row, "ref"),
        owner=_text(row, "created_by") or _text(row, "captured_by"),
        whole=bool(text) and row.get("truncated") is not True,
        status=_text(row.get("metadata"), "insight_status") or _text(row, "status"),
        category=_text(row, "category"),
        created_at=_text(row, "created_at"),
        urns=tuple(urn for urn in urns if isinstance(urn, str)) if isinstance(urns, list) else own,
    )


def _mappings(value: object, key: str) -> list[Mapping[str, Any]]:
    rows = value.get(key) if isinstance(value, Mapping) else None
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []


def _text(value: object, key: str) -> str:
    found = value.get(key) if isinstance(value, Mapping) else None
    return found if isinstance(found, str) else ""
