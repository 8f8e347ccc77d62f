"""The results of ``memassay store`` as a person reads them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_EDGES = {
    "references": "refers to",
    "includes": "includes",
    "referencedBy": "referred to by",
    "includedBy": "included by",
}
_DONE = ("created", "changed", "removed")


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


def changes(value: Mapping[str, Any], dry_run: bool = False) -> str:
    """What an edit did, or would do: one line per page."""
    created, changed, removed = ("would create", "would change", "would remove") if dry_run else _DONE
    lines = [f"{created} {item['key']}" for item in value.get("creates", ())]
    lines += [f"{changed} {item['key']}" for item in (*value.get("updates", ()), *value.get("changed", ()))]
    lines += [f"{removed} {key}" for key in (*value.get("removes", ()), *value.get("removed", ()))]
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
    if isinstance(value, list) and all(isinstance(part, str) or _names_page(part) for part in value):
        return [f"{_EDGES.get(name, name)}: {', '.join(map(_short, value)) or 'none'}"]
    if isinstance(value, list):
        return [f"{name}:", *(f"  - {_plain(part)}" for part in value)]
    if isinstance(value, Mapping):
        return [f"{name}:", *(f"  {line}" for inner, part in value.items() for line in _field(inner, part))]
    return [f"{name}: {'none' if value is None else value}"]


def _names_page(part: Any) -> bool:
    return isinstance(part, Mapping) and "key" in part


def _short(part: Any) -> str:
    """A page in a list: its key, and the one thing that is said of it."""
    if isinstance(part, str):
        return part
    about = [part[name] for name in ("count", "score", "problem", "sources") if name in part]
    said = [", ".join(one) if isinstance(one, list) else str(one) for one in about]
    return f"{part['key']} ({said[0]})" if said else str(part["key"])


def _plain(part: Any) -> str:
    return part if isinstance(part, str) else json.dumps(part, ensure_ascii=False)
