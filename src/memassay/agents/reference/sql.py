"""Answers out of a database file: one statement for each question, from the history to the last key.

A call is a statement. What stands in a statement beside its values is fixed text of this module; values are bound.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from memassay.agents.reference.calls import Calls, NotThere, Unreadable
from memassay.agents.reference.questions import Alike, Links, Multihop, Question, Retraction, Why
from memassay.agents.reference.rules import (
    EARTH_KM,
    LABELS,
    NEAR_KM,
    REACHES,
    SIZES_APART,
    SPECIALTIES_SHARE,
    STYLES_SHARE,
    TYPES,
)

DATABASE = "world.sqlite"
_CLOCK = 100_000  # steps of SQLite's machine between two looks at the clock, some milliseconds

# A column of `entity`, the field that it comes from, and where in the field's JSON it is.
_COLUMNS = (
    ("status", "status", "$"),
    ("industry", "industry", "$"),
    ("specialties", "specialties", "$"),
    ("design_styles", "design_styles", "$"),
    ("size_bucket", "size_bucket", "$"),
    ("years_of_experience", "years_of_experience", "$"),
    ("lat", "location", "$[0]"),
    ("lon", "location", "$[1]"),
)


def _columns(form: str) -> str:
    """The columns, each written as ``form`` says with ``{name}``, ``{field}`` and ``{at}`` (where in its JSON)."""
    return ", ".join(form.format(name=name, field=field, at=at) for name, field, at in _COLUMNS)


def _born(label: str) -> str:
    own = {"specialties": "specialties_json", "design_styles": "design_styles_json"}
    if label != "Talent":
        own["years_of_experience"] = "NULL"
    columns = ", ".join(own.get(name, name) for name, _, _ in _COLUMNS)
    return f"SELECT key, '{label}', {columns} FROM {label.lower()}"


# The day-0 tables and the insertions, then over them the last value that each field was set to, less the deletions.
_ENTITIES = f"""
WITH past AS MATERIALIZED (SELECT * FROM changes WHERE :date IS NULL OR date <= :date),
born (key, label, {_columns("{name}")}) AS (
  {" UNION ALL ".join(map(_born, LABELS))}
  UNION ALL SELECT key, json_extract(node_json, '$.label'),
    {", ".join(f"json_extract(node_json, '$.{field}{at[1:]}')" for _, field, at in _COLUMNS)}
  FROM past WHERE op = 'insert_node'),
latest AS (SELECT key, field, value_json, max(seq) FROM past WHERE op = 'set_prop' GROUP BY key, field),
moved AS (
  SELECT key, {_columns("max(CASE field WHEN '{field}' THEN json_extract(value_json, '{at}') END) AS {name}")}
  FROM latest GROUP BY key),
entity AS MATERIALIZED (
  SELECT born.key, label, {_columns("coalesce(moved.{name}, born.{name}) AS {name}")}
  FROM born LEFT JOIN moved ON moved.key = born.key
  WHERE born.key NOT IN (SELECT key FROM past WHERE op = 'delete_node'))
"""

# The company as it would be, under the name `supposed`.
_SUPPOSED = f"""
, supposed AS (
  SELECT key, label,
    {_columns("CASE :field WHEN '{field}' THEN json_extract(:value, '{at}') ELSE {name} END AS {name}")}
  FROM entity WHERE key = :company)
"""


def _overlap(field: str, share: float) -> str:
    ours, theirs = (f"SELECT value FROM json_each({end}.{field})" for end in ("t", "o"))
    both, either = (f"(SELECT count(*) FROM ({ours} {how} {theirs}))" for how in ("INTERSECT", "UNION"))
    return f"1.0 * {both} / {either} >= {share}"


_DISTANCE = f"""2 * {EARTH_KM} * asin(min(1.0, sqrt(
  pow(sin(radians(o.lat - t.lat) / 2), 2)
  + cos(radians(t.lat)) * cos(radians(o.lat)) * pow(sin(radians(o.lon - t.lon) / 2), 2))))"""

# When the talent t and the entity o are linked; what is cheap to see comes first, where several have to hold.
_TESTS: Mapping[str, str] = {
    "INDUSTRY_ALIGNMENT": "t.industry = o.industry",
    "SIMILAR_SIZE_STRICT": "t.size_bucket = o.size_bucket",
    "SIMILAR_SIZE": f"abs(t.size_bucket - o.size_bucket) <= {SIZES_APART}",
    "LOCATION_FIT": f"{_DISTANCE} <= {NEAR_KM}",
    "SPECIALTY_MATCH": _overlap("specialties", SPECIALTIES_SHARE),
    "MATCHES_DESIGN_STYLE": _overlap("design_styles", STYLES_SHARE),
}


def _linked(*types: str) -> str:
    """The condition that t is a talent and all of the types link it to o."""
    labels = [f"'{label}'" for label in LABELS if all(label in REACHES[name] for name in types)]
    ends = f"t.label = 'Talent' AND o.label IN ({', '.join(labels)})"
    return " AND ".join([ends, *(test for name, test in _TESTS.items() if name in types)])


def solve(folder: Path, question: Question, calls: Calls) -> list[str]:
    """The values that answer a question, in a fixed order.

    Raises:
        NotThere: the database knows no such key or role.
        Unreadable: the file is missing or damaged, or is another database.
        TimeoutError: it takes too long.
    """
    values = {"date": None, **asdict(question)}
    if isinstance(question, Retraction):
        values["value"] = json.dumps(question.value)
    place = (folder / DATABASE).resolve()
    try:
        with closing(sqlite3.connect(f"{place.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            connection.set_progress_handler(lambda: calls.late, _CLOCK)
            _complete(connection)
            database = _Database(connection, calls)
            found = database.column(_statement(question), values)
            if not found:
                _look_for(database, values)
            return found
    except sqlite3.Error as error:
        calls.look_at_the_clock()  # it was stopped because it was late
        raise Unreadable(f"{DATABASE} cannot be read: {error}") from error


def _statement(question: Question) -> str:
    match question:
        case Why():
            return _ENTITIES + _why()
        case Multihop():
            return _ENTITIES + _multihop(_linked(*question.types))
        case Retraction():
            return _ENTITIES + _SUPPOSED + _retraction(_linked(*question.types))
        case Links():
            return _ENTITIES + _links(_linked(*question.types))
        case Alike():
            return _ENTITIES + _alike()


def _why() -> str:
    pair = "FROM entity t JOIN entity o ON t.key = :talent AND o.key = :company"
    types = (f"SELECT {n} AS place, '{name}' AS value {pair} WHERE {_linked(name)}" for n, name in enumerate(TYPES))
    theirs = "SELECT value FROM json_each(o.specialties)"
    shared = f"SELECT {len(TYPES)}, value {pair} JOIN json_each(t.specialties) WHERE value IN ({theirs})"
    return f"SELECT value FROM ({' UNION '.join([*types, shared])}) ORDER BY place, value"


def _multihop(linked: str) -> str:
    return f"""SELECT o.key FROM entity t JOIN entity o
WHERE t.status = 'published' AND t.years_of_experience >= :years AND o.label = 'Company' AND {linked}
GROUP BY o.key HAVING count(*) >= :talents ORDER BY o.key"""


def _retraction(linked: str) -> str:
    return f"""SELECT t.key FROM entity t JOIN entity o ON o.key = :company WHERE {linked}
EXCEPT SELECT t.key FROM entity t JOIN supposed o WHERE {linked} ORDER BY 1"""


def _links(linked: str) -> str:
    return " UNION ".join(
        f"""SELECT {other}.key FROM entity t JOIN entity o
WHERE {end}.key = :key AND (:label IS NULL OR {other}.label = :label) AND {_seen("t", "o")} AND {linked}"""
        for end, other in (("t", "o"), ("o", "t"))
    )


def _alike() -> str:
    both = "SELECT value FROM json_each(t.specialties) INTERSECT SELECT value FROM json_each(o.specialties)"
    return f"""SELECT o.key FROM entity t JOIN entity o ON t.industry = o.industry AND t.size_bucket = o.size_bucket
WHERE t.key = :key AND o.key <> :key AND {_seen("t", "o")} AND EXISTS ({both}) ORDER BY o.key"""


def _seen(*ends: str) -> str:
    """The condition that the role sees the entities at both ends; without a role everything is seen."""
    labels = "SELECT value FROM roles JOIN json_each(labels_json) WHERE name = :role"
    return f"(:role IS NULL OR {' AND '.join(f'{end}.label IN ({labels})' for end in ends)})"


def _look_for(database: _Database, values: Mapping[str, Any]) -> None:
    """Say what is not there, if that is why nothing was found.

    Raises:
        NotThere: a key, or the role.
    """
    for key in (values[name] for name in ("talent", "company", "key") if name in values):
        there = f"{_ENTITIES}SELECT key FROM entity WHERE key = :key"
        if not database.column(there, {"key": key, "date": values["date"]}):
            raise NotThere(f"there is no {key} on that day")
    role = values.get("role")
    if role is not None and not database.column("SELECT name FROM roles WHERE name = :role", {"role": role}):
        raise NotThere(f"there is no role {role!r}")


class _Database:
    def __init__(self, connection: sqlite3.Connection, calls: Calls) -> None:
        self._connection, self._calls = connection, calls

    def column(self, statement: str, values: Mapping[str, Any]) -> list[str]:
        """The one column that a statement selects."""
        self._calls.before()
        found = [str(value) for (value,) in self._connection.execute(statement, values)]
        bound = {name: value for name, value in values.items() if f":{name}" in statement}
        self._calls.note("sql", {"statement": statement.strip(), **bound}, "".join(f"{value}\n" for value in found))
        return found


def has_mathematics(connection: sqlite3.Connection) -> bool:
    """Whether the library was compiled with sines and roots."""
    (has,) = connection.execute("SELECT sqlite_compileoption_used('ENABLE_MATH_FUNCTIONS')").fetchone()
    return bool(has)


def _complete(connection: sqlite3.Connection) -> None:
    """Add the functions of the distance where the library lacks them."""
    if not has_mathematics(connection):
        for function in (math.radians, math.sin, math.cos, math.asin, math.sqrt):
            connection.create_function(function.__name__, 1, function, deterministic=True)
        connection.create_function("pow", 2, math.pow, deterministic=True)
