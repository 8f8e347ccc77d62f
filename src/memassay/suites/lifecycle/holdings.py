"""What a platform holds before anything is taught: a warehouse, a catalogue of its tables, and settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from pydantic import JsonValue

from memassay.core.digest import digest_of
from memassay.platform.shapes import Entity
from memassay.suites.lifecycle.protocol import Protocol
from memassay.suites.lifecycle.warehouse import CATALOG, DEPOTS, EXTRACT, INDEX, MEMBERS, Warehouse, dataset_of, urn_of

_ABOUT: Mapping[str, str] = {
    MEMBERS: "Everybody who may hire, with the plan that they are on.",
    DEPOTS: "Every depot with the table that is its ledger.",
    EXTRACT: "An extract of hires of the year before. Out of date.",
    INDEX: "Hires and fees by day and depot. It ends before the year does.",
}
_COLUMNS: Mapping[str, str] = {
    "member_id": "who hired",
    "kind": "what was hired",
    "desk": "where the hire came in",
    "state": "how it ended",
    "taken_on": "first day, YYYY-MM-DD",
    "days": "how long",
    "fee_cents": "fee in cents",
    "rebate_cents": "rebate in cents",
    "deposit_cents": "deposit in cents",
}


@dataclass(frozen=True)
class Holdings:
    """The native form of the suite's corpus; a memory that has tools over data builds from it.

    Attributes:
        warehouse: ``write(path)`` makes an SQLite file of it; None where protocols ask about data that are not ours.
        entities: the datasets of the catalogue, each with a description that gives nothing away.
        settings: what a platform must be told of the warehouse.
    """

    warehouse: Warehouse | None
    entities: tuple[Entity, ...]
    settings: Mapping[str, JsonValue] = field(default_factory=dict)

    @cached_property
    def digest(self) -> str:
        """Over all of it."""
        held = None if self.warehouse is None else self.warehouse.digest
        return digest_of([held, [entity.model_dump(mode="json") for entity in self.entities], dict(self.settings)])


def holdings_of(warehouse: Warehouse) -> Holdings:
    """A warehouse of ours with an entity for each of its tables."""
    depots = dict(zip(warehouse.ledgers, warehouse.depots, strict=True))
    entities = tuple(
        Entity(
            urn=urn_of(table),
            name=f"{CATALOG}.{dataset_of(table)}",
            description=_ABOUT.get(table) or f"The ledger of the depot {depots[table]}: a line for each hire of 2024.",
            columns=_COLUMNS if table in depots else {},
        )
        for table in warehouse.tables
    )
    return Holdings(warehouse, entities, {"warehouse_schema": f"{CATALOG}.main"})


def holdings_for(protocols: Iterable[Protocol]) -> Holdings:
    """The datasets that imported protocols name, without data or descriptions."""
    urns = dict.fromkeys(urn for protocol in protocols for urn in protocol.entities)
    return Holdings(None, tuple(Entity(urn=urn, name=_name(urn)) for urn in urns))


def _name(urn: str) -> str:
    inner = urn.rpartition(":(")[2].rstrip(")").split(",")
    return inner[1] if len(inner) > 1 else urn
