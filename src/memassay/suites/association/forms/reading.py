"""Reads the written forms back, without a line of the writers: entities of the first day, history, roles.

Everything is read as it is asked for, so the text of a large world is never in memory as a whole.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memassay.suites.association.forms.stamp import FORM, damaged, reading
from memassay.suites.association.world import FIELDS, LABELS, ROLES, Change, Node, facts_digest

_OPS = ("set_prop", "insert_node", "delete_node")
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Facts:
    """What a form says; each of the two streams can be read once.

    Attributes:
        nodes: of the first day, in the order of the form.
        changes: in the order of the form.
        roles: the labels that each role may see.
    """

    nodes: Iterator[Node]
    changes: Iterator[Change]
    roles: Mapping[str, tuple[str, ...]]


def facts_of(place: Path, facts: Facts) -> str:
    """The facts digest of what was read.

    Raises:
        DataError: the form is damaged, or says other things of the roles.
    """
    if dict(facts.roles) != {name: tuple(labels) for name, labels in ROLES.items()}:
        raise damaged(place, "its roles are not those of the suite: it was changed")
    with reading(place, FORM):
        return facts_digest(facts.nodes, facts.changes)


def read_json_files(place: Path) -> Facts:
    """Read the form ``json-files``.

    Raises:
        DataError: a file is missing or damaged; also while the streams are read.
    """
    with reading(place, "roles.json"):
        roles = _roles(json.loads((place / FORM / "roles.json").read_text(encoding="utf-8")))
    return Facts(_json_nodes(place), _json_changes(place), roles)


def _json_nodes(place: Path) -> Iterator[Node]:
    for label in LABELS:
        name = f"entities/{label.lower()}.json"
        with reading(place, name):
            for row in _items(place / FORM / name):
                yield _node(row, label)


def _json_changes(place: Path) -> Iterator[Change]:
    with reading(place, "changes.jsonl"), (place / FORM / "changes.jsonl").open(encoding="utf-8") as stream:
        for seq, line in enumerate(stream):
            row = json.loads(line)
            node = row["node"]
            yield _change(seq, row["day"], row["date"], row["op"], row["key"], row["field"], row["value"], node)


def _items(path: Path) -> Iterator[Any]:
    """The items of a file that is one JSON array, one after another, however it is laid out.

    Raises:
        ValueError: it is no such file, or it is cut.
    """
    decoder = json.JSONDecoder()
    with path.open(encoding="utf-8") as stream:
        rest, before = stream.read(_CHUNK).lstrip(), "["
        while rest.startswith(before):
            text = rest[1:].lstrip()
            while True:
                try:
                    item, end = decoder.raw_decode(text)
                    rest = text[end:].lstrip()
                except ValueError:
                    rest = ""
                if rest:  # an item is whole once something follows it
                    break
                more = stream.read(max(_CHUNK, len(text)))
                if not more:
                    raise ValueError("the array has no end")
                text = (text + more).lstrip()
            yield item
            before = ","
        if before == "[" or (rest + stream.read()).strip() != "]":
            raise ValueError("no JSON array")


def read_sqlite(place: Path) -> Facts:
    """Read the form ``sqlite``, once SQLite itself finds nothing wrong with the file.

    Raises:
        DataError: the file is missing or damaged; also while the streams are read.
    """
    with reading(place, "world.sqlite"), closing(_connect(place)) as base:
        [(found,), *_] = base.execute("PRAGMA integrity_check(1)").fetchall()
        if found != "ok":
            raise damaged(place, f"world.sqlite is damaged ({' '.join(str(found).split())})")
        roles = _roles({name: json.loads(labels) for name, labels in base.execute("SELECT * FROM roles")})
    return Facts(_sqlite_nodes(place), _sqlite_changes(place), roles)


def _sqlite_nodes(place: Path) -> Iterator[Node]:
    with reading(place, "world.sqlite"), closing(_connect(place)) as base:
        for label in LABELS:
            rows = base.execute(f"SELECT * FROM {label.lower()} ORDER BY key")
            columns = [column for column, *_ in rows.description]
            for row in rows:
                fields = dict(zip(columns, row, strict=True))
                fields["location"] = [fields.pop("lat"), fields.pop("lon")]
                for column in [column for column in columns if column.endswith("_json")]:
                    fields[column.removesuffix("_json")] = json.loads(fields.pop(column))
                yield _node(fields, label)


def _sqlite_changes(place: Path) -> Iterator[Change]:
    with reading(place, "world.sqlite"), closing(_connect(place)) as base:
        asked = "SELECT seq, day, date, op, key, field, value_json, node_json FROM changes ORDER BY seq"
        for seq, day, date, op, key, field, value, node in base.execute(asked):
            read = [None if text is None else json.loads(text) for text in (value, node)]
            yield _change(seq, day, date, op, key, field, *read)


def _connect(place: Path) -> sqlite3.Connection:
    path = place / FORM / "world.sqlite"
    if not path.is_file():
        raise FileNotFoundError(path)
    # "immutable" keeps SQLite from making a file of its own beside the form, whose bytes the harness checks.
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)


def _roles(value: Any) -> dict[str, tuple[str, ...]]:
    return {str(name): tuple(labels) for name, labels in value.items()}


def _node(row: Mapping[str, Any], label: Any) -> Node:
    fields = {name: _frozen(value) for name, value in row.items() if name not in ("key", "label")}
    if row.get("label", label) != label or not isinstance(row["key"], str) or fields.keys() != set(FIELDS[label]):
        raise ValueError("no entity")
    return Node(row["key"], label, fields)


def _change(seq: Any, day: Any, date: Any, op: Any, key: Any, field: Any, value: Any, node: Any) -> Change:
    if op not in _OPS or not isinstance(seq, int) or not isinstance(day, int):
        raise ValueError("no change")
    made = None if node is None else _node(node, node["label"])
    return Change(seq, day, date, op, key, field, _frozen(value), made)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
