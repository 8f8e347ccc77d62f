"""``sqlite`` (arm Q, the baseline): the world as one database file.

``world.sqlite`` has a table per label with the entities as they were on the first day, the history (``changes``) and
who may see what (``roles``); ``SCHEMA.md`` lists the columns, ``README.md`` says what they mean. Lists are JSON text, a
location is two columns, and no link is stored.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from memassay.core.contracts import BuildContext
from memassay.core.types import Corpus, StoreRef
from memassay.suites.association.forms.guide import readme
from memassay.suites.association.forms.reading import facts_of, read_sqlite
from memassay.suites.association.forms.stamp import (
    FORM,
    FolderStore,
    check_facts,
    open_folder,
    told,
    world_of,
    write_stamp,
)
from memassay.suites.association.world import LABELS, ROLES, Change, Node, World

NAME = "sqlite"
DATABASE = "world.sqlite"
_EVERY = 1000

# Nobody reads the file while it is written and a build that fails is thrown away, so there is no journal; pages beyond
# the cache (8 MB) go to the file as it fills.
_PRAGMAS = ("page_size = 4096", "journal_mode = OFF", "synchronous = OFF", "encoding = 'UTF-8'", "cache_size = -8000")

_PERSON = {
    "key": ("TEXT PRIMARY KEY", "such as `talent-000012`"),
    "name": ("TEXT", ""),
    "email": ("TEXT", ""),
    "user_id": ("TEXT", ""),
    "status": ("TEXT", "`published`, `draft` or `archived`"),
    "industry": ("TEXT", "`architecture`, `interior-design` or `both`"),
    "specialties_json": ("TEXT", "a JSON list of texts"),
    "design_styles_json": ("TEXT", "a JSON list of texts, may be empty"),
    "size_bucket": ("INTEGER", "1 to 5"),
}
_PLACE = {
    "lat": ("REAL", "degrees; with lon this is the field `location`"),
    "lon": ("REAL", "degrees"),
    "address": ("TEXT", "the metro area at birth"),
}
_SIZE = {"company_size": ("TEXT", "`1-9` to `500+`")}
_TABLES: dict[str, dict[str, tuple[str, str]]] = {
    "talent": {**_PERSON, "years_of_experience": ("INTEGER", "0 to 40"), **_PLACE},
    "company": {**_PERSON, **_SIZE, "founded_year": ("INTEGER", "1950 to 2024"), **_PLACE},
    "job": {
        **{name: about for name, about in _PERSON.items() if name != "email"},
        "company_name": ("TEXT", "of the company that offers it"),
        "company_id": ("TEXT", "of the company that offers it"),
        **_SIZE,
        **_PLACE,
    },
    "changes": {
        "seq": ("INTEGER PRIMARY KEY", "the order of the changes, from 0"),
        "day": ("INTEGER", "1 to 89; indexed"),
        "date": ("TEXT", "the day as `YYYY-MM-DD`"),
        "op": ("TEXT", "`set_prop`, `insert_node` or `delete_node`"),
        "key": ("TEXT", "the entity; indexed"),
        "field": ("TEXT", "of a `set_prop`: the field (`specialties`, `location`, ...), else NULL"),
        "value_json": ("TEXT", "of a `set_prop`: the new value as JSON, else NULL; a location is `[lat, lon]`"),
        "node_json": ("TEXT", "of an `insert_node`: the whole entity as JSON, else NULL"),
    },
    "roles": {"name": ("TEXT PRIMARY KEY", ""), "labels_json": ("TEXT", "a JSON list: the labels the role may see")},
}
_LABEL_OF = {label.lower(): label for label in LABELS}


class Sqlite:
    """Writes the world as one SQLite file, which an agent queries by itself.

    Attributes:
        access: what an agent gets of it.
    """

    access: tuple[str, ...] = ("folder",)

    def build(self, corpus: Corpus, place: Path, context: BuildContext) -> Mapping[str, Any]:
        """Write the form row by row; equal worlds give equal bytes with the same version of SQLite.

        Raises:
            CannotMeasure: the corpus is not a world of the suite association.
        """
        world = world_of(corpus)
        folder = place / FORM
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with closing(sqlite3.connect(folder / DATABASE, isolation_level=None)) as base:
            for pragma in _PRAGMAS:
                base.execute(f"PRAGMA {pragma}")
            base.execute("BEGIN")
            for name, columns in _TABLES.items():
                base.execute(f"CREATE TABLE {name} ({', '.join(f'{at} {kind}' for at, (kind, _) in columns.items())})")
            for name in _LABEL_OF:
                base.executemany(_insert(name), _entities(world, name, context))
            base.executemany(_insert("changes"), map(_change, world.changes))
            base.executemany(_insert("roles"), ((role, json.dumps(list(labels))) for role, labels in ROLES.items()))
            base.execute("CREATE INDEX changes_by_key ON changes (key)")
            base.execute("CREATE INDEX changes_by_day ON changes (day)")
            base.execute("COMMIT")
        (folder / "README.md").write_text(readme(NAME), encoding="utf-8", newline="\n")
        (folder / "SCHEMA.md").write_text(_schema_page(), encoding="utf-8", newline="\n")
        write_stamp(place, NAME, world, {"sqlite": sqlite3.sqlite_version})
        return told(world)

    def open(self, ref: StoreRef) -> FolderStore:
        """Open what was built.

        Raises:
            DataError: there is no such form.
        """
        return open_folder(ref, NAME)

    def verify(self, ref: StoreRef, corpus: Corpus) -> None:
        """Let SQLite check its file, read it back and recompute its facts digest.

        Raises:
            DataError: a file is missing, cut, damaged or changed, or the form is of another world.
        """
        place = Path(ref.location)
        check_facts(place, NAME, facts_of(place, read_sqlite(place)), world_of(corpus))


def _insert(table: str) -> str:
    return f"INSERT INTO {table} VALUES ({', '.join('?' * len(_TABLES[table]))})"


def _entities(world: World, table: str, context: BuildContext) -> Iterator[list[Any]]:
    for done, node in enumerate(world.nodes, 1):
        if node.label == _LABEL_OF[table]:
            if done % _EVERY == 0:
                context.progress(done, len(world.nodes))
            yield [_cell(node, column) for column in _TABLES[table]]


def _cell(node: Node, column: str) -> Any:
    if column == "key":
        return node.key
    if column in ("lat", "lon"):
        return node.fields["location"][column == "lon"]
    if column.endswith("_json"):
        return json.dumps(node.fields[column.removesuffix("_json")])
    return node.fields[column]


def _change(change: Change) -> tuple[Any, ...]:
    value = json.dumps(change.value) if change.op == "set_prop" else None
    node = None
    if change.node is not None:
        node = json.dumps({"key": change.node.key, "label": change.node.label, **change.node.fields}, sort_keys=True)
    return (change.seq, change.day, change.date, change.op, change.key, change.field, value, node)


def _schema_page() -> str:
    """``SCHEMA.md``: every table with its columns."""
    lines = [f"# Tables of {DATABASE}", ""]
    for table, columns in _TABLES.items():
        lines += [f"## {table}", "", "| column | type | |", "| --- | --- | --- |"]
        lines += [f"| {column} | {kind} | {says} |" for column, (kind, says) in columns.items()]
        lines.append("")
    lines += [
        "The tables `talent`, `company` and `job` hold the state at the end of the first day; apply `changes` in the",
        "order of `seq` for any later day. Links between entities are not stored; README.md says how they follow.",
        "",
    ]
    return "\n".join(lines)
