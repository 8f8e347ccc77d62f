"""What a memory has kept, before a stage and after it: which fact each record states, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from memassay.core.blocks import merged
from memassay.core.digest import digest_text
from memassay.core.taught import MemoryRecord, ToolCall
from memassay.suites.lifecycle.attribution import OTHER, Facts, fact_of
from memassay.suites.lifecycle.records import RecordState, Route, Supersede

SUPERSEDED, REJECTED = "superseded", "rejected"
_ABOUT = ("taught", "corrected")
_ROUTES: tuple[Route, ...] = get_args(Route)
_CAPTURE = "_capture"


@dataclass(frozen=True)
class Labels:
    """Which fact each record states.

    Attributes:
        of: label by id of a record, as of :class:`.attribution.Facts`, or ``other``.
        texts: 16 digits of the digest of what it said when it was labelled.
    """

    of: Mapping[str, str]
    texts: Mapping[str, str]

    def seen(self, records: Sequence[MemoryRecord], facts: Facts, told: str) -> Labels:
        """The labels after a stage.

        Args:
            records: of the memory now.
            facts: of the protocol.
            told: the label of what the stage told, for a record that says it in other words; ``other`` where it told
                nothing. A record that is filed on nothing only counts by its words.
        """
        of, texts = dict(self.of), dict(self.texts)
        for record in records:
            digest = digest_text(record.text)[:16]
            stated = facts.stated(record.text)
            if stated:
                of[record.id] = "corrected" if "corrected" in stated else stated[0]
            elif texts.get(record.id) != digest and record.entities and told != OTHER:
                of[record.id] = told
            of.setdefault(record.id, OTHER)
            texts[record.id] = digest
        return Labels(of, texts)


def states(records: Sequence[MemoryRecord], labels: Labels) -> tuple[RecordState, ...]:
    """The records as they stand in an episode."""
    return tuple(
        RecordState(
            id=record.id,
            status=record.status,
            live=record.live,
            owner=record.owner,
            entities=record.entities,
            fact=fact_of(labels.of.get(record.id, OTHER)),
        )
        for record in records
    )


def new_on(
    before: Sequence[MemoryRecord], after: Sequence[MemoryRecord], entity: str | None = None
) -> list[MemoryRecord]:
    """Records that were not there before, filed on an entity where one is named, oldest first."""
    old = {record.id for record in before}
    return [record for record in after if record.id not in old and (entity is None or entity in record.entities)]


@dataclass(frozen=True, slots=True)
class GivenWay:
    """How a record went, by what a tool said: ``source`` took its place."""

    source: str
    route: Route


def given_way(calls: Iterable[ToolCall]) -> dict[str, GivenWay]:
    """Which records gave way in a session, by their ids. A platform whose rows do not tell says it there."""
    found: dict[str, GivenWay] = {}
    for call in calls:
        if not call.sent or call.error:
            continue
        if call.tool.endswith(_CAPTURE):
            said = merged(call.result)
            for target in said.get("superseded_ids") or ():
                found[str(target)] = GivenWay(str(said.get("id") or ""), "supersede")
        elif call.arguments.get("command") == "consolidate":
            found[str(call.arguments.get("duplicate_id"))] = GivenWay(str(call.arguments.get("id")), "consolidate")
    return found


def supersedes(
    before: Sequence[MemoryRecord], after: Sequence[MemoryRecord], labels: Labels, told: Mapping[str, GivenWay]
) -> tuple[Supersede, ...]:
    """What took the place of what between two moments.

    What a row itself says goes before what was ``told`` (:func:`given_way`). The source is "" where neither tells.
    """
    gone = {record.id for record in before if _superseded(record)}
    now = {record.id: record for record in after}
    found = []
    for record in after:
        if _superseded(record) and record.id not in gone:
            by = record.superseded_by or (told[record.id].source if record.id in told else "")
            source = now.get(by)
            alike = None if source is None or not source.kind else source.kind == record.kind
            same = _same_fact(labels.of.get(by, OTHER), labels.of.get(record.id, OTHER)) if by else None
            found.append(Supersede(source=by, target=record.id, score=record.score, same_fact=same, same_class=alike))
    return tuple(found)


def retired(
    record: str, before: Sequence[MemoryRecord], after: Sequence[MemoryRecord], told: Mapping[str, GivenWay]
) -> Route | None:
    """How a record went, or came to say something else; None where it did neither.

    Its row tells, or what the tools of the session said; a record that is only called superseded was superseded.
    """
    old = next((one for one in before if one.id == record), None)
    new = next((one for one in after if one.id == record), None)
    if new is None:
        return None if old is None else "forget"
    if new.live:
        return "update" if old is not None and old.text != new.text else None
    for route in _ROUTES:
        if new.retired_by == route:
            return route
    if _superseded(new):
        return told[record].route if record in told else "supersede"
    return "reject" if new.status == REJECTED else "forget"


def _superseded(record: MemoryRecord) -> bool:
    return bool(record.superseded_by) or record.status == SUPERSEDED


def _same_fact(source: str, target: str) -> bool | None:
    """Whether two labels are of one fact; both sides of a correction are. None where both are something else."""
    if source == target == OTHER:
        return None
    if source in _ABOUT or target in _ABOUT:
        return source in _ABOUT and target in _ABOUT
    return source == target
