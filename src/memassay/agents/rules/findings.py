"""What tools delivered, taken out of their results.

Results are data that anybody may have written: what does not have the shape that is looked for is passed over.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memassay.agents.rules.statements import statement
from memassay.agents.rules.words import terms, words

ENTITIES, PAGES, PUSHED, OWN = "entities", "knowledge_pages", "pushed", "own"

# Statuses and lifecycles of what no longer holds.
_GONE = frozenset(("superseded", "rejected", "archived", "rolled_back"))


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a result said.

    Attributes:
        source: the group of a search, or ``pushed`` with another result, or ``own`` from one's own list.
        reference: what ``fetch`` reads the whole of; for an entity its URN.
        created_at: RFC 3339 in UTC, or "" where it was not said.
    """

    source: str
    text: str
    reference: str = ""
    id: str = ""
    title: str = ""
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
    return sorted(fitting, key=lambda one: (one.created_at, one.category == "correction"), reverse=True)


def findings(result: object) -> Iterator[Finding]:
    """Everything that a result says about what is known, in its order."""
    for group in _mappings(result, "groups"):
        for hit in _mappings(group, "hits"):
            yield _finding(_text(group, "source"), hit, "text")
    alone = [result] if isinstance(result, Mapping) and _text(result, "urn") else []
    for entity in (*_mappings(result, "entities"), *alone):
        yield _finding(ENTITIES, entity, "description")
    for record in _mappings(result, "records"):
        yield _finding(OWN, record, "content")
    enrichment = result.get("enrichment") if isinstance(result, Mapping) else None
    for memory in _mappings(enrichment, "memories"):
        yield _finding(PUSHED, memory, "summary")
    for described in _mappings(enrichment, "descriptions"):
        yield _finding(PUSHED, described, "description")


def parsed(text: str) -> Mapping[str, Any]:
    """A result as an object; an empty one where it is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, Mapping) else {}


def _finding(source: str, row: Mapping[str, Any], text: str) -> Finding:
    urns = row.get("entity_urns")
    own = _text(row, "urn")
    return Finding(
        source=source,
        text=_text(row, text),
        reference=_text(row, "reference") or own,
        id=_text(row, "id"),
        title=_text(row, "title") or _text(row, "name") or _text(row, "table"),
        status=_text(row, "status") or _text(row, "lifecycle"),
        category=_text(row, "category"),
        created_at=_text(row, "created_at"),
        urns=tuple(urn for urn in urns if isinstance(urn, str)) if isinstance(urns, list) else (own,) if own else (),
    )


def _mappings(value: object, key: str) -> list[Mapping[str, Any]]:
    rows = value.get(key) if isinstance(value, Mapping) else None
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []


def _text(value: object, key: str) -> str:
    found = value.get(key) if isinstance(value, Mapping) else None
    return found if isinstance(found, str) else ""
