"""A small folder of notes for tests of the tools, and short ways to call them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memassay.knowledge.tools import Desk

PAGES = {
    "index": "# Our notes\n\n[The boiler](house/boiler.md)\n\n[Ada](people/ada.md)\n",
    "house/boiler": (
        "---\nstatus: open   # until spring\nyear: 2014\n---\n# The boiler\n\nIt stands in the cellar. "
        "[Ada](../people/ada.md) has the key.\n\n## Faults\n\n- F28 means no gas\n- F75 means a broken sensor\n"
    ),
    "people/ada": "# Ada\n\nShe looks after the [[boiler]] and the [garden](../garden.md).\n",
}
READERS = ["find", "retrieve", "search", "tree", "squash", "stats", "query"]
EDITORS = ["create", "update", "delete", "rename"]


def write_notes(root: Path) -> Path:
    for key, text in PAGES.items():
        path = root / f"{key}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def contents(root: Path) -> dict[str, bytes]:
    """Every file below a folder, hidden ones included."""
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def value(desk: Desk, tool: str, **arguments: Any) -> Any:
    return json.loads(desk.call(tool, arguments)[0])


def keys(items: list[dict[str, Any]]) -> list[str]:
    return [item["key"] for item in items]
