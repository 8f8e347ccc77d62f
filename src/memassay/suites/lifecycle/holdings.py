"""What a platform holds before anything is taught: a warehouse, a catalogue of its tables, and settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from pydantic import JsonValue

from memassay.core.digest import digest_of
from memassay.core.errors import DataError
from memassay.platform.entities import dataset_urn, name_of
from memassay.platform.shapes import Entity
from memassay.suites.lifecycle.protocol import Protocol
from memassay.suites.lifecycle.tables import Table, Tables
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

    warehouse: Warehouse | Tables | None
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


def holdings_for(protocols: Iterable[Protocol], tables: Tables | None = None) -> Holdings:
    """The datasets that imported protocols name, and the warehouse that came with them.

    Args:
        protocols: at least one.
        tables: their warehouse; without it the datasets have no rows, no columns and no descriptions.

    Raises:
        DataError: the tables are not those of the protocols; one sentence with the fix.
    """
    named: dict[str, str] = {}
    for protocol in protocols:
        for urn in protocol.entities:
            named.setdefault(urn, protocol.id)
    if tables is None:
        return Holdings(None, tuple(Entity(urn=urn, name=name_of(urn)) for urn in named))
    schema = _schema(named)
    entities = {dataset_urn(f"{schema}.{table.name}"): _described(table, schema) for table in tables.tables}
    for urn, first in named.items():
        if urn not in entities:
            known = ", ".join(table.name for table in tables.tables)
            raise DataError(
                f"Protocol {first} is about {urn}, and the warehouse has only these tables of {schema}: {known}; "
                "give the warehouse of these protocols."
            )
    return Holdings(tables, tuple(entities.values()), {"warehouse_schema": schema})


def _schema(named: Mapping[str, str]) -> str:
    """The ``catalog.schema`` that all datasets are of."""
    schemas = dict.fromkeys(name_of(urn).rpartition(".")[0] for urn in named)
    for urn, protocol in named.items():
        schema, _, table = name_of(urn).rpartition(".")
        if schema.count(".") != 1 or urn != dataset_urn(f"{schema}.{table}"):
            raise DataError(
                f"Protocol {protocol} is about {urn}; with a warehouse that must be the URN of a table, such as "
                f"{dataset_urn('catalog.schema.table')}."
            )
    if len(schemas) > 1:
        first, second, *_ = schemas
        raise DataError(
            f"The protocols are about tables of {first} and of {second}, and a warehouse has one schema: import the "
            "protocols of one at a time."
        )
    return next(iter(schemas))


def _described(table: Table, schema: str) -> Entity:
    name = f"{schema}.{table.name}"
    if not f".{schema}".endswith(f".{table.place}" if table.place else ""):
        raise DataError(
            f"The warehouse makes {table.place}.{table.name}, and the protocols are about tables of {schema}; leave it "
            "out."
        )
    return Entity(
        urn=dataset_urn(name),
        name=name,
        description=table.about or f"A table of {len(table.columns)} columns.",
        columns={column.name: column.about for column in table.columns},
    )
