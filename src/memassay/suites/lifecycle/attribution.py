"""Which way a fact came to an agent: read from what its tools returned, call by call.

Results in the published shapes are taken apart: a hit of a search, a pushed record, a description, a page. Whatever
else holds the words of a fact is the channel ``text``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memassay.core.blocks import merged, objects
from memassay.core.taught import ToolCall
from memassay.suites.lifecycle.protocol import PAGE_SINK, Extras, Protocol
from memassay.suites.lifecycle.records import DESCRIPTION, PAGE, Delivery, Fact

INSIGHT, MEMORY, PUSH, TEXT = "insight", "memory", "push", "text"
OTHER = "other"

_SOURCES: Mapping[str, str] = {
    "insights": INSIGHT, "memory": MEMORY, "knowledge_pages": PAGE, "catalog": DESCRIPTION,
}  # fmt: skip
_REFERENCES: Mapping[str, str] = {"insight": INSIGHT, "memory": MEMORY, "knowledge_page": PAGE}
_GAP = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Piece:
    """Something that a result shows; ``record`` is its id or URN, ``rank`` its place from 1, or None."""

    channel: str
    text: str
    record: str = ""
    rank: int | None = None


@dataclass(frozen=True)
class Facts:
    """The facts of a protocol, and which one a text states.

    Labels are ``taught``, ``corrected`` and ``interference.1``, ``interference.2``, …
    """

    needles: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, protocol: Protocol) -> Facts:
        extras = protocol.extras or Extras()
        correction = protocol.update or extras.correction
        texts = [("taught", protocol.fact)]
        if protocol.page is not None and protocol.page.summary:
            texts.append(("taught", protocol.page.summary))
        if correction is not None:
            texts.append(("corrected", correction.fact))
        texts += [(f"interference.{number}", told.fact) for number, told in enumerate(extras.interference, 1)]
        return cls(tuple((label, plain(text)) for label, text in dict.fromkeys(texts) if plain(text)))

    def stated(self, text: str) -> tuple[str, ...]:
        """The labels of the facts whose words stand in a text, whole words only."""
        # "3 days" does not stand in "30 days": a correction may differ by one digit.
        held = f" {plain(text)} "
        return tuple(dict.fromkeys(label for label, needle in self.needles if f" {needle} " in held))


def plain(text: str) -> str:
    """The published form in which texts are compared: lower case, whatever is no letter or digit one blank."""
    return _GAP.sub(" ", text.lower()).strip()


def fact_of(label: str) -> Fact:
    """The kind of fact that a label is of."""
    kind = label.partition(".")[0]
    return kind if kind in ("taught", "corrected", "interference") else "other"  # type: ignore[return-value]


def deliveries(calls: Iterable[ToolCall], facts: Facts, known: Mapping[str, str]) -> tuple[Delivery, ...]:
    """Every time that a fact of the protocol reached the agent, in order.

    Args:
        calls: of one session.
        facts: of the protocol.
        known: label by id of a record, for a text that is cut or in other words.
    """
    found = []
    for call in calls:
        if call.error or not call.sent:
            continue
        for piece in pieces(call.result):
            labels = facts.stated(piece.text) or ((known[piece.record],) if piece.record in known else ())
            found += [
                Delivery(channel=piece.channel, fact=fact_of(label), record=piece.record, rank=piece.rank)
                for label in labels
                if label != OTHER
            ]
    return tuple(found)


def surfaced(calls: Iterable[ToolCall], protocol: Protocol) -> bool:
    """Published: whether the promoted text is part of a successful result (page summary or fact, in the plain form)."""
    paged = protocol.sink == PAGE_SINK and protocol.page is not None
    promoted = (protocol.page.summary if paged and protocol.page else None) or protocol.fact
    return any(plain(promoted) in plain(_words(call.result)) for call in calls if call.sent and not call.error)


def pieces(result: str) -> Iterator[Piece]:
    """What a result shows."""
    shown = list(_shown(merged(result)))
    yield from shown or [Piece(TEXT, _words(result))]


def _shown(said: Mapping[str, Any]) -> Iterator[Piece]:
    hits = [(group.get("source"), hit) for group in _each(said, "groups") for hit in _each(group, "hits")]
    hits += [(one.get("source"), one) for one in _each(said, "items")]
    for rank, (source, hit) in enumerate(hits, 1):
        yield Piece(_SOURCES.get(str(source), TEXT), str(hit.get("text", "")), _id(hit, "ref", "reference"), rank)
    pushed = [*_each(said, "memory_context"), *_each(said, "memory_context_omitted")]
    for rank, one in enumerate(pushed, 1):
        yield Piece(PUSH, str(one.get("summary") or ""), _id(one, "id", "reference"), rank)
    described = said.get("semantic_context")
    yield from _described([described] if isinstance(described, dict) else [])
    yield from _described(_each(said, "additional_tables"))
    for rank, one in enumerate(_each(said, "records"), 1):
        yield Piece(MEMORY, str(one.get("content", "")), _id(one, "id"), rank)
    for rank, one in enumerate(_each(said, "insights"), 1):
        yield Piece(INSIGHT, str(one.get("insight_text", "")), _id(one, "id"), rank)
    yield from _described(_each(said, "entities"))
    if "urn" in said:
        yield from _described([said])
    document = said.get("document")
    if isinstance(document, dict):
        reference = str(said.get("reference", ""))
        channel = _REFERENCES.get(reference.removeprefix("mcp:").partition(":")[0], DESCRIPTION)
        yield Piece(channel, _joined(document), _id(said, "reference"))


def _described(entities: Sequence[Mapping[str, Any]]) -> Iterator[Piece]:
    for entity in entities:
        if entity.get("description"):
            yield Piece(DESCRIPTION, str(entity["description"]), str(entity.get("urn", "")))


def _each(said: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    held = said.get(name)
    return [one for one in held if isinstance(one, dict)] if isinstance(held, list) else []


def _id(said: Mapping[str, Any], *names: str) -> str:
    """The id under the first of these names that is there; of ``mcp:insight:ID`` the last part."""
    found = next((str(said[name]) for name in names if said.get(name)), "")
    return found.rpartition(":")[2] if found.startswith("mcp:") else found


def _words(result: str) -> str:
    """Every text in a result, without the marks of JSON."""
    return "\n".join(_joined(one) for one in objects(result)) or result


def _joined(value: Any) -> str:
    if isinstance(value, dict):
        return "\n".join(_joined(one) for one in value.values())
    if isinstance(value, list):
        return "\n".join(_joined(one) for one in value)
    return "" if value is None else str(value)
