"""The results of ``memassay store`` as a person reads them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memassay.core.errors import UsageError

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
        about = [line for name, value in _shown(item) for line in _field(_EDGES.get(name, name), value)]
        lines.append("  " * level + " · ".join(["- " + _named(item), *map(str.strip, about)]))
        if item["children"]:
            lines.append(outline(item["children"], level + 1))
    return "\n".join(lines)


def keys(items: Sequence[Mapping[str, Any]], level: int = 0) -> str:
    """The keys of pages, one per line; below a page of a tree those that it includes, behind tabs.

    Raises:
        UsageError: a page does not show its key.
    """
    lines = []
    for item in items:
        if "key" not in item:
            raise UsageError("--format keys needs the key of every page; add key to project.")
        lines.append("\t" * level + item["key"])
        if item.get("children"):
            lines.append(keys(item["children"], level + 1))
    return "\n".join(lines)


def as_yaml(value: Any) -> str:
    """Any result as YAML, texts of several lines as blocks where YAML can."""
    import yaml

    class Dumper(yaml.SafeDumper):  # type: ignore[misc]
        pass

    def text(dumper: Dumper, value: str) -> yaml.Node:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, text)
    written: str = yaml.dump(value, Dumper=Dumper, allow_unicode=True, sort_keys=False, width=120)
    return written.removesuffix("\n")


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows of figures as CSV, under a line with their names."""
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().removesuffix("\n")


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
    yield f"- {_named(item)}".rstrip()
    for name, value in _shown(item):
        yield from (f"  {line}" for line in _field(_EDGES.get(name, name), value))


def _shown(item: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """What is shown of a page beside its name."""
    apart = ("key", "title", "children")
    return [(name, value) for name, value in item.items() if name not in apart and value not in ([], None, "")]


def _named(item: Mapping[str, Any]) -> str:
    key, title = item.get("key", ""), item.get("title")
    return str(title or "") if not key else key if title in (None, key) else f"{key}: {title}"


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
