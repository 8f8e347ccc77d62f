"""A folder of notes for tests of ``memassay store``."""

from __future__ import annotations

from pathlib import Path

PAGES = {
    "index": "# Our notes\n\n[The boiler](house/boiler.md)\n\n[Ada](people/ada.md)\n",
    "house/boiler": (
        "---\nstatus: open   # until spring\nyear: 2014\n---\n# The boiler\n\nIt stands in the cellar. "
        "[Ada](../people/ada.md) has the key.\n\n## Faults\n\n- F28 means no gas\n- F75 means a broken sensor\n"
    ),
    "people/ada": "# Ada\n\nShe looks after the [[boiler]].\n",
}


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}
