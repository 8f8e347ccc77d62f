"""Tables from an SQL script in Trino's dialect, such as the one that fills the published warehouse.

Nothing of a script is run. It is parsed, every statement is held against the few that are read, and every value must be
a literal; what is built from them is built by us.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import NoReturn

from memassay.core.errors import DataError, MissingExtra
from memassay.suites.lifecycle.tables import Column, Row, Table, Value, fit

try:
    from sqlglot import Dialect, ParseError, Token, TokenError, TokenType, exp
except ModuleNotFoundError:
    raise MissingExtra("sqlglot", "platform") from None

# The parser tells its log what it could not parse; here that is an error, and is said once.
logging.getLogger("sqlglot").addHandler(logging.NullHandler())

MOST_BYTES = 2 * 1024 * 1024
"""The published script has 118 thousand; a parsed byte takes some 300 in memory."""

_INTEGER, _REAL, _BOOLEAN, _TEXT, _DATE, _TIMESTAMP = "integer", "real", "boolean", "text", "date", "timestamp"
_KINDS: Mapping[str, str] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT"), _INTEGER),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), _REAL),
    **dict.fromkeys(("CHAR", "VARCHAR", "TEXT"), _TEXT),
    "BOOLEAN": _BOOLEAN,
    "DATE": _DATE,
    "TIMESTAMP": _TIMESTAMP,
}
_COLUMNS: Mapping[str, tuple[str, str]] = {
    _INTEGER: ("INTEGER", "a whole number"),
    _REAL: ("REAL", "a number"),
    _BOOLEAN: ("INTEGER", "1 is true, 0 is false"),
    _TEXT: ("TEXT", "a text"),
    _DATE: ("TEXT", "a day as text, YYYY-MM-DD"),
    _TIMESTAMP: ("TEXT", "a moment as text, YYYY-MM-DD HH:MM:SS"),
}
"""By kind, the type of the column and what its catalogue says."""

_READ = "CREATE SCHEMA, CREATE TABLE with columns, DROP TABLE IF EXISTS and INSERT INTO … VALUES"
_RULES = (exp.NotNullColumnConstraint, exp.PrimaryKeyColumnConstraint, exp.UniqueColumnConstraint)
_TABLE_RULES = (exp.PrimaryKey, exp.ForeignKey, exp.UniqueColumnConstraint)
_SHOWN = 60  # letters of a value in a complaint
_INT64 = range(-(2**63), 2**63)


def read_script(path: Path) -> tuple[Table, ...]:
    """The tables that a script makes, with the rows that it fills them with.

    Raises:
        DataError: it is too large, or does anything else than make tables and fill them with literals; one sentence
            with the line and the fix.
    """
    with path.open("rb") as handle:
        raw = handle.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise DataError(f"{path} has more than {MOST_BYTES:,} bytes; make an SQLite file of it, and give that.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is neither an SQLite file nor a script in UTF-8 (byte {error.start:,}).") from None
    return _Script(path).read(text)


class _Script:
    """Reads one script, statement by statement."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tables: dict[str, Table] = {}
        self._kinds: dict[str, tuple[str, ...]] = {}
        self._rows: dict[str, list[Row]] = {}
        self._line = 1

    def read(self, text: str) -> tuple[Table, ...]:
        dialect = Dialect.get_or_raise("trino")
        try:
            for tokens in _statements(dialect.tokenize(text)):
                self._line = tokens[0].line
                if tokens[0].text.upper() not in ("CREATE", "DROP", "INSERT"):
                    self._unread()
                for statement in dialect.parser().parse(tokens, text):
                    self._read(statement)
        except TokenError as error:
            begun = re.search(r"(\d+):\d+", str(error.__context__))
            self._line = int(begun.group(1)) if begun else text.count("\n") + 1
            self._refuse("a text or comment is not closed; close it")
        except ParseError as error:
            first = error.errors[0] if error.errors else {}
            self._line = first.get("line") or self._line
            near = f" at {first['highlight']!r}" if first.get("highlight") else ""
            self._refuse(f"Trino's SQL cannot be read{near}; mend it")
        except RecursionError:
            self._refuse("this nests too deep; write literals alone")
        return tuple(replace(table, rows=tuple(self._rows[key])) for key, table in self._tables.items())

    def _read(self, statement: exp.Expr | None) -> None:
        if isinstance(statement, exp.Create) and statement.args["kind"] == "SCHEMA":
            self._only(statement, "this", "kind", "exists")
        elif isinstance(statement, exp.Create) and statement.args["kind"] == "TABLE":
            self._only(statement, "this", "kind", "exists", "properties")
            self._make(statement)
        elif isinstance(statement, exp.Insert):
            self._only(statement, "this", "expression")
            self._fill(statement)
        elif isinstance(statement, exp.Drop) and statement.args["kind"] == "TABLE" and statement.args["exists"]:
            self._only(statement, "tables", "kind", "exists")
            for table in statement.args["tables"]:
                key = ".".join(self._names(table)).lower()
                for held in (self._tables, self._kinds, self._rows):
                    held.pop(key, None)
        else:
            self._unread()

    def _make(self, statement: exp.Create) -> None:
        schema = statement.this
        if not isinstance(schema, exp.Schema):
            self._unread()
        *place, name = self._names(schema.this)
        key = ".".join((*place, name)).lower()
        if key in self._tables:
            if statement.args["exists"]:
                return
            self._refuse(f"{key} is made a second time; take one of them out")
        columns: list[Column] = []
        kinds: list[str] = []
        for part in schema.expressions:
            if isinstance(part, _TABLE_RULES):
                continue
            if not isinstance(part, exp.ColumnDef):
                self._refuse(f"{part.sql('trino')!r} is no column with a type; write one", part)
            column, kind = self._column(part)
            if column.name.lower() in {one.name.lower() for one in columns}:
                self._refuse(f"{key} has two columns {column.name}; rename one", part)
            columns.append(column)
            kinds.append(kind)
        if not columns:
            self._refuse(f"{key} has no columns; give it some")
        self._tables[key] = Table(name, ".".join(place), tuple(columns), (), self._comment(statement))
        self._kinds[key], self._rows[key] = tuple(kinds), []

    def _column(self, part: exp.ColumnDef) -> tuple[Column, str]:
        name = part.name if part.this.args.get("quoted") else part.name.lower()
        if "\0" in name:
            self._refuse("the name of a column holds a NUL character; rename it", part)
        type_ = part.args.get("kind")
        kind = _KINDS.get(type_.this.value) if isinstance(type_, exp.DataType) else None
        if kind is None:
            said = type_.sql("trino") if type_ else "nothing"
            self._refuse(f"column {name} is {said}; a warehouse has numbers, texts, BOOLEAN, DATE and TIMESTAMP", part)
        about = ""
        for constraint in part.args.get("constraints") or ():
            rule = constraint.args["kind"]
            if isinstance(rule, exp.CommentColumnConstraint):
                about = rule.name
            elif not isinstance(rule, _RULES):
                self._refuse(f"column {name} has {constraint.sql('trino')!r}, which is not read; take it out", part)
        sqlite, said = _COLUMNS[kind]
        return Column(name, sqlite, f"{about} ({said})" if about else said), kind

    def _comment(self, statement: exp.Create) -> str:
        properties = statement.args.get("properties")
        about = ""
        for one in properties.expressions if properties else ():
            if not isinstance(one, exp.SchemaCommentProperty):
                self._unread()
            about = one.name
        return about

    def _fill(self, statement: exp.Insert) -> None:
        target, values = statement.this, statement.expression
        named = [one.name for one in target.expressions] if isinstance(target, exp.Schema) else []
        key = ".".join(self._names(target.this if isinstance(target, exp.Schema) else target)).lower()
        table = self._tables.get(key)
        if table is None:
            self._refuse(f"{key} is filled, and was not made before; make it first")
        if not isinstance(values, exp.Values):
            self._unread()
        self._only(values, "expressions")
        order = self._order(table, key, named)
        kinds = self._kinds[key]
        for row in values.expressions:
            cells = row.expressions if isinstance(row, exp.Tuple) else [row]
            if len(cells) != len(order):
                self._refuse(f"a row has {len(cells)} values for {len(order)} columns of {key}; make them equal", row)
            made: list[Value] = [None] * len(kinds)
            for place, cell in zip(order, cells, strict=True):
                made[place] = self._value(cell, kinds[place], table.columns[place].name)
            self._rows[key].append(tuple(made))

    def _order(self, table: Table, key: str, named: Sequence[str]) -> list[int]:
        """The columns that each value of a row is for."""
        if not named:
            return list(range(len(table.columns)))
        places = {column.name.lower(): number for number, column in enumerate(table.columns)}
        for name in named:
            if name.lower() not in places:
                self._refuse(f"{key} has no column {name}; it has {', '.join(places)}")
        if len({name.lower() for name in named}) < len(named):
            self._refuse(f"a column of {key} is filled twice; name each once")
        return [places[name.lower()] for name in named]

    def _value(self, cell: exp.Expr, kind: str, column: str) -> Value:
        """A literal as its column has it."""
        literal, minus = (cell.this, "-") if isinstance(cell, exp.Neg) else (cell, "")
        if isinstance(literal, exp.Cast):
            literal = literal.this  # DATE '…', DECIMAL '…': what the column takes is checked, not what the word says
        if isinstance(literal, exp.Null) and not minus:
            return None
        said = f"{minus}{literal.name}"
        try:
            if isinstance(literal, exp.Boolean) and kind == _BOOLEAN and not minus:
                return int(bool(literal.this))
            if not isinstance(literal, exp.Literal) or (minus and literal.is_string):
                raise ValueError
            if kind == _TEXT and literal.is_string:
                return said
            if kind == _DATE and literal.is_string:
                return date.fromisoformat(said).isoformat()
            if kind == _TIMESTAMP and literal.is_string:
                moment = datetime.fromisoformat(said)
                if moment.tzinfo is None:  # all moments of a column must compare as texts
                    return moment.isoformat(sep=" ")
            if kind == _INTEGER and not literal.is_string and int(said) in _INT64:
                return int(said)
            if kind == _REAL and (cell is not literal or not literal.is_string) and math.isfinite(float(said)):
                return float(said)
        except ValueError:
            pass
        said = cell.sql("trino")
        shown = said if len(said) <= _SHOWN else f"{said[:_SHOWN]}\N{HORIZONTAL ELLIPSIS}"
        self._refuse(f"{shown} is no {kind}, which column {column} holds; write a literal of it", cell)

    def _names(self, table: exp.Expr) -> list[str]:
        """Catalog, schema and name of a table, as far as they are named, in lower case where they are not quoted."""
        parts = table.parts if isinstance(table, exp.Table) else []
        names = [part.name if part.args.get("quoted") else part.name.lower() for part in parts]
        for name in names:
            if not fit(name):
                self._refuse(f"no table can be named {name!r} here; use a-z, 0-9 and _", table)
        if not 1 <= len(names) <= 3:
            self._refuse("a table is named catalog.schema.table, or by the end of that", table)
        return names

    def _only(self, statement: exp.Expr, *known: str) -> None:
        """Refuse a statement that says more than what is read of it."""
        if {name for name, value in statement.args.items() if value} - set(known):
            self._unread()

    def _unread(self) -> NoReturn:
        self._refuse(f"a script may hold {_READ}, and nothing else; take this statement out")

    def _refuse(self, why: str, part: exp.Expr | None = None) -> NoReturn:
        nodes = part.walk() if part is not None else ()
        line = next((node.meta["line"] for node in nodes if "line" in node.meta), self._line)
        said = " ".join("".join(letter if letter.isprintable() else " " for letter in why).split())
        raise DataError(f"{self._path}: line {line}: {said}.")


def _statements(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """The tokens of each statement, without the semicolons."""
    statement: list[Token] = []
    for token in tokens:
        if token.token_type != TokenType.SEMICOLON:
            statement.append(token)
        elif statement:
            yield statement
            statement = []
    if statement:
        yield statement
