"""What a memory has kept, before a stage and after it: which fact each record states, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memassay.core.digest import digest_text
from memassay.core.types import MemoryRecord
from memassay.suites.lifecycle.attribution import OTHER, Facts, fact_of
from memassay.suites.lifecycle.records import RecordState, Route, Supersede

SUPERSEDED, REJECTED = "superseded", "rejected"
_ABOUT = ("taught", "corrected")


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


def supersedes(before: Sequence[MemoryRecord], after: Sequence[MemoryRecord], labels: Labels) -> tuple[Supersede, ...]:
    """What took the place of what between two moments."""
    gone = {record.id for record in before if record.superseded_by}
    now = {record.id: record for record in after}
    found = []
    for record in after:
        if record.superseded_by and record.id not in gone:
            source = now.get(record.superseded_by)
            alike = None if source is None or not source.kind else source.kind == record.kind
            same = _same_fact(labels.of.get(record.superseded_by, OTHER), labels.of.get(record.id, OTHER))
            found.append(
                Supersede(
                    source=record.superseded_by,
                    target=record.id,
                    score=record.score,
                    same_fact=same,
                    same_class=alike,
                )
            )
    return tuple(found)


def retired(record: str, before: Sequence[MemoryRecord], after: Sequence[MemoryRecord]) -> Route | None:
    """How a record went, or came to say something else; None where it did neither."""
    old = next((one for one in before if one.id == record), None)
    new = next((one for one in after if one.id == record), None)
    if new is None:
        return None if old is None else "forget"
    if new.live:
        return "update" if old is not None and old.text != new.text else None
    if new.superseded_by or new.status == SUPERSEDED:
        # Whoever merges two records by hand compares nothing, so only a supersede has a score.
        return "consolidate" if new.score is None else "supersede"
    return "reject" if new.status == REJECTED else "forget"


def _same_fact(source: str, target: str) -> bool | None:
    """Whether two labels are of one fact; both sides of a correction are. None where both are something else."""
    if source == target == OTHER:
        return None
    if source in _ABOUT or target in _ABOUT:
        return source in _ABOUT and target in _ABOUT
    return source == target
