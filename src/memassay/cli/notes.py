"""The results of ``memassay store`` as a person reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_EDGES = {
    "references": "refers to",
    "includes": "includes",
    "referencedBy": "referred to by",
    "includedBy": "included by",
}


def found(items: Sequence[Mapping[str, Any]]) -> str:
    """Pages as a list: key, title, then whatever else is known of them."""
    return "\n".join(line for item in items for line in _entry(item))


def documents(items: Sequence[Mapping[str, Any]]) -> str:
    """Pages as written, each under a comment with its key and links."""
    parts = []
    for item in items:
        links = [line for name in _EDGES if item.get(name) for line in _field(name, item[name])]
        about = "\n".join([item["key"], *links, ""]) if links else f"{item['key']} "
        parts.append(f"<!-- {about}-->\n" + item["content"].rstrip("\r\n"))
    return "\n\n".join(parts)


def passages(items: Sequence[Mapping[str, Any]]) -> str:
    """Passages, each under a line that says where it stands."""
    parts = []
    for number, item in enumerate(items, 1):
        start, end = item["span"]
        place = " › ".join([item["key"], *item["sectionPath"]])
        parts.append(f"[{number}] {place} ({start}-{end})\n{item['text'].rstrip()}")
    return "\n\n".join(parts)


def outline(items: Sequence[Mapping[str, Any]], level: int = 0) -> str:
    """A tree as an indented list."""
    lines = []
    for item in items:
        lines.append("  " * level + f"- {_named(item)}")
        if item["children"]:
            lines.append(outline(item["children"], level + 1))
    return "\n".join(lines)


def facts(values: Mapping[str, Any]) -> str:
    """Statistics, one per line."""
    lines: list[str] = []
    for name, value in values.items():
        lines += _field(name, value)
    return "\n".join(lines)


def changes(value: Mapping[str, Any]) -> str:
    """What an edit did, or would do: one line per page."""
    lines = [f"created {item['key']}" for item in value.get("creates", ())]
    lines += [f"changed {item['key']}" for item in (*value.get("updates", ()), *value.get("changed", ()))]
    lines += [f"removed {key}" for key in value.get("removes", ())]
    return "\n".join(lines) or "Nothing to change."


def _entry(item: Mapping[str, Any]) -> Iterator[str]:
    yield f"- {_named(item)}" if "key" in item else "-"
    for name, value in item.items():
        if name not in ("key", "title") and value not in ([], None, ""):
            yield from (f"  {line}" for line in _field(_EDGES.get(name, name), value))


def _named(item: Mapping[str, Any]) -> str:
    title = item.get("title")
    return item["key"] if title in (None, item["key"]) else f"{item['key']}: {title}"


def _field(name: str, value: Any) -> list[str]:
    if isinstance(value, list) and all(isinstance(part, Mapping) and "key" in part for part in value):
        return [f"{_EDGES.get(name, name)}: {', '.join(_counted(part) for part in value) or 'none'}"]
    if isinstance(value, list) and not any(isinstance(part, Mapping | list) for part in value):
        return [f"{name}: {', '.join(map(str, value)) or 'none'}"]
    if isinstance(value, list):
        return [f"{name}:", *(f"  - {part}" for part in value)]
    if isinstance(value, Mapping):
        return [f"{name}:", *(f"  {line}" for inner, part in value.items() for line in _field(inner, part))]
    return [f"{name}: {'none' if value is None else value}"]


def _counted(part: Mapping[str, Any]) -> str:
    count = part.get("count", part.get("similarity"))
    return str(part["key"]) if count is None else f"{part['key']} ({count})"
