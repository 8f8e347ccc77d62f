"""The YAML at the head of a page: read into plain values, and changed in place without touching its other lines.

Scalars follow YAML 1.2: only ``true`` and ``false`` are booleans, dates stay strings. Aliases are refused, so nothing
grows while it is read. What cannot be read is told in a sentence and stays in the text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import yaml
from pydantic import JsonValue

from memassay.core.errors import DataError

MOST_CHARS = 200_000
_MOST_DEPTH = 40

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_OPENING = re.compile(r"---[ \t]*(?:\r?\n)(?![ \t]*\r?\n)")
_BLANK_LINES = re.compile(r"\A(?:[ \t]*\r?\n)+")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_INTEGER = re.compile(r"[-+]?[0-9]{1,400}\Z")
_OTHER_INTEGER = re.compile(r"0o[0-7]{1,400}\Z|0x[0-9a-fA-F]{1,400}\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_WORDS: Mapping[str, JsonValue] = {"": None, "~": None} | {
    form: value
    for word, value in (("null", None), ("true", True), ("false", False))
    for form in (word, word.capitalize(), word.upper())
}
_PLAIN = re.compile(r"(?:[^\W\d_][\w./-]*(?: [\w./()-]+)*|[0-9]{4}-[0-9]{2}-[0-9]{2})\Z")
_OLD_BOOLEANS = frozenset(("y", "n", "yes", "no", "on", "off"))  # to readers of YAML 1.1
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class Node:
    """A value of the YAML and where it is written (characters of the page)."""

    value: JsonValue
    start: int
    end: int
    block: bool = False
    entries: dict[str, tuple[Node, Node]] = field(default_factory=dict)


class Unreadable(Exception):
    """Why the front matter gives no values; becomes ``Page.problem``."""


def bounds(text: str) -> tuple[int, int, int] | None:
    """Where the YAML begins and ends and where the body begins, or None for a page without front matter.

    It opens with ``---`` on the first line, not followed by an empty line (that is a rule), and closes with a line
    ``---`` or ``...``.
    """
    opening = _OPENING.match(text)
    if opening is None:
        return None
    closing = _CLOSING.search(text, opening.end())
    return None if closing is None else (opening.end(), closing.start(), closing.end())


def read(text: str) -> tuple[Mapping[str, JsonValue], int, str | None]:
    """The values at the head of a page, where its body begins, and what is wrong with the head, if anything."""
    found = bounds(text)
    if found is None:
        return {}, 0, None
    start, end, body = found
    try:
        node = tree(text, start, end)
    except Unreadable as error:
        return {}, body, str(error)
    if node is None:
        return {}, body, None
    # Prose between two rules is no front matter.
    return (node.value, body, None) if isinstance(node.value, dict) else ({}, 0, None)


def tree(text: str, start: int, end: int, what: str = "The front matter") -> Node | None:
    """The YAML between two offsets as nodes with places, or None if it holds no value; complaints call it ``what``.

    Raises:
        Unreadable: it is no YAML, or YAML with aliases, doubled keys or too much of anything.
    """
    if end - start > MOST_CHARS:
        raise Unreadable(f"{what} has more than {MOST_CHARS:,} characters and was not read.")
    source = _SURROGATE.sub("\ufffd", text[start:end])
    try:
        return _Builder(yaml.parse(source, Loader=_LOADER), source, start, what).document()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read"
        line = "" if mark is None else f" (line {text.count(chr(10), 0, start) + mark.line + 1})"
        raise Unreadable(f"{what} is not valid YAML{line}: {why}.") from None


class _Builder:
    """Builds nodes from the parser's events, with a limit on depth and no aliases."""

    def __init__(self, events: Iterator[Any], source: str, offset: int, what: str) -> None:
        self._events, self._source, self._offset, self._what = events, source, offset, what

    def document(self) -> Node | None:
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                node = self._node(next(self._events), 0)
                for more in self._events:
                    if isinstance(more, yaml.DocumentStartEvent):
                        raise Unreadable(f"{self._what} holds more than one YAML document.")
                return None if node.value is None else node
        return None

    def _node(self, event: Any, depth: int) -> Node:
        if isinstance(event, yaml.AliasEvent):
            raise Unreadable(f"{self._what} uses YAML aliases (*name), which are not read; write the value out.")
        if depth > _MOST_DEPTH:
            raise Unreadable(f"{self._what} is nested more than {_MOST_DEPTH} levels deep.")
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(event, depth)
        return self._mapping(event, depth)

    def _scalar(self, event: Any) -> Node:
        start, end = event.start_mark.index, event.end_mark.index
        if event.style in ("|", ">"):
            end = start + len(self._source[start:end].rstrip())
        plain = event.implicit[0] and not event.style
        value = scalar(event.value) if plain else event.value
        return Node(value, start + self._offset, end + self._offset)

    def _sequence(self, opening: Any, depth: int) -> Node:
        items: list[JsonValue] = []
        end = opening.end_mark.index + self._offset
        for event in self._events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            node = self._node(event, depth + 1)
            items.append(node.value)
            end = node.end
        return self._collection(items, opening, event, end)

    def _mapping(self, opening: Any, depth: int) -> Node:
        values: dict[str, JsonValue] = {}
        entries: dict[str, tuple[Node, Node]] = {}
        end = opening.end_mark.index + self._offset
        for event in self._events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            if not isinstance(event, yaml.ScalarEvent):
                raise Unreadable(f"{self._what} has a key that is not a word.")
            key = self._scalar(event)
            if event.value in values:
                raise Unreadable(f"{self._what} has the key {event.value!r} twice.")
            node = self._node(next(self._events), depth + 1)
            values[event.value] = node.value
            entries[event.value] = (key, node)
            end = node.end
        made = self._collection(values, opening, event, end)
        made.entries = entries
        return made

    def _collection(self, value: JsonValue, opening: Any, closing: Any, end: int) -> Node:
        start = opening.start_mark.index + self._offset
        if opening.flow_style:
            return Node(value, start, closing.end_mark.index + self._offset)
        return Node(value, start, max(start, end), block=True)


def scalar(written: str) -> JsonValue:
    """What an unquoted scalar means in YAML 1.2; numbers that JSON cannot hold stay text."""
    if written in _WORDS:
        return _WORDS[written]
    if _INTEGER.match(written):
        return int(written)
    if _OTHER_INTEGER.match(written):
        return int(written, 0)
    if _FLOAT.match(written):
        number = float(written)
        return number if math.isfinite(number) else written
    return written


def shown(value: JsonValue) -> str:
    """A value as YAML on one line: bare words where they mean themselves, else JSON."""
    if isinstance(value, str) and _PLAIN.match(value) and scalar(value) == value and value.lower() not in _OLD_BOOLEANS:
        return value
    written = json.dumps(value, ensure_ascii=False, allow_nan=False)
    # JSON escapes the rest as pairs of surrogates, which YAML does not read.
    return "".join(letter if letter.isprintable() else f"\\U{ord(letter):08x}" for letter in written)


def changed(text: str, settings: Mapping[str, JsonValue], removed: Sequence[str] = ()) -> str:
    """The page with fields of its front matter set and removed; every other character stays.

    Args:
        text: the page.
        settings: values by name; ``a.b`` is field ``b`` of the mapping ``a``, which is made if it is not there.
        removed: names of fields to take out with their lines; a name that is not there is no error.

    Raises:
        DataError: the front matter cannot be read, or not be changed in place.
    """
    for name, value in settings.items():
        text = _put(text, name, value)
    for name in removed:
        text = _remove(text, name)
    return text


def path_of(values: Mapping[str, JsonValue], name: str) -> list[str]:
    """The keys that lead to a field: the name itself where it is one, else its parts between dots."""
    return [name] if name in values else name.split(".")


def value_of(values: Mapping[str, JsonValue], name: str, absent: Any = None) -> Any:
    """The value of a field; ``a.b`` is ``b`` in the mapping ``a`` where there is no field ``a.b``."""
    place: Any = values
    for part in path_of(values, name):
        if not isinstance(place, Mapping) or part not in place:
            return absent
        place = place[part]
    return place


def _put(text: str, name: str, value: JsonValue) -> str:
    root, values = _root(text, name)
    path = path_of(values, name)
    expected = place = json.loads(json.dumps(values))
    for part in path[:-1]:
        place[part] = place = {} if place.get(part) is None else place[part]
        if not isinstance(place, dict):
            raise DataError(f"Cannot set {name!r}: {part!r} is not a mapping in this page's front matter.")
    place[path[-1]] = value
    if root is None:
        return _proved(text, _first(text, path, value), expected, name)
    node = root
    for number, part in enumerate(path):
        rest = _nested(path[number + 1 :], value)
        if part not in node.entries:
            return _proved(text, _added(text, node, part, rest), expected, name)
        key, inner = node.entries[part]
        if not inner.entries or number == len(path) - 1:
            return _proved(text, _replaced(text, key, inner, rest), expected, name)
        node = inner
    raise AssertionError("a path has at least one part")


def _remove(text: str, name: str) -> str:
    root, values = _root(text, name)
    expected = place = json.loads(json.dumps(values))
    path = path_of(values, name)
    node, around = root, None
    for part in path[:-1]:
        if node is None or part not in node.entries:
            return text
        around, node, place = node.entries[part][0], node.entries[part][1], place[part]
    if node is None or path[-1] not in node.entries:
        return text
    key, inner = node.entries[path[-1]]
    del place[path[-1]]
    if not node.block:
        after = text[: node.start] + shown(place) + text[node.end :]
    elif around is not None and len(node.entries) == 1:
        after = _replaced(text, around, node, {})
    else:
        start, end = text.rfind("\n", 0, key.start) + 1, text.find("\n", max(key.end, inner.end)) + 1
        # A blank line right below the first "---" would make a rule of it.
        after = text[:start] + (
            _BLANK_LINES.sub("", text[end:], count=1) if text.find("\n") + 1 == start else text[end:]
        )
    return _proved(text, after, expected, name)


def _root(text: str, name: str) -> tuple[Node | None, dict[str, JsonValue]]:
    found = bounds(text)
    try:
        node = None if found is None else tree(text, found[0], found[1])
    except Unreadable as error:
        raise DataError(f"Cannot change {name!r}: {error}") from None
    return (node, node.value) if node is not None and isinstance(node.value, dict) else (None, {})


def _proved(before: str, after: str, expected: Mapping[str, JsonValue], name: str) -> str:
    """``after``, if it says exactly what it should: the net under every edit of somebody's YAML."""
    values, body, problem = read(after)
    wanted = json.dumps(expected, sort_keys=True)
    if problem or json.dumps(values, sort_keys=True) != wanted or after[body:] != before[read(before)[1] :]:
        raise DataError(f"Cannot change {name!r} in this page's front matter in place; write its lines plainly first.")
    return after


def _nested(path: Sequence[str], value: JsonValue) -> JsonValue:
    for part in reversed(path):
        value = {part: value}
    return value


def _line_end(text: str) -> str:
    at = text.find("\n")
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


def _first(text: str, path: Sequence[str], value: JsonValue) -> str:
    """The first field of a page: in its empty front matter, or in a new one."""
    found, end = bounds(text), _line_end(text)
    line = f"{shown(path[0])}: {shown(_nested(path[1:], value))}{end}"
    if found is not None and read(text)[1] == found[2]:
        return text[: found[1]] + line + text[found[1] :]
    return f"---{end}{line}---{end}{text}"


def _added(text: str, node: Node, name: str, value: JsonValue) -> str:
    if not node.block:
        whole = {**cast(dict[str, JsonValue], node.value), name: value}
        return text[: node.start] + shown(whole) + text[node.end :]
    indent = text[text.rfind("\n", 0, node.start) + 1 : node.start]
    at = text.find("\n", node.end) + 1
    return f"{text[:at]}{indent}{shown(name)}: {shown(value)}{_line_end(text)}{text[at:]}"


def _replaced(text: str, key: Node, inner: Node, value: JsonValue) -> str:
    colon = text.index(":", key.end) + 1
    gap = text[colon : inner.start]
    if inner.start < inner.end and gap and "\n" not in gap:
        return text[: inner.start] + shown(value) + text[inner.end :]
    # The value goes behind its name, before a comment that stands there.
    return f"{text[:colon]} {shown(value)}{gap.rstrip()}{text[inner.end :]}"
