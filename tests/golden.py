"""Request bodies that are kept: ``golden(folder, name, body)`` is the one on record.

``UPDATE_REQUESTS=1`` writes the records anew; look at the difference before it is committed.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

_LONG = 400  # characters
_OUR_TOOLS = "mcp__memory__"


def brief(value: Any) -> Any:
    """A body that can be kept: long texts as a digest, and tools that are not ours, which are others' words."""
    if isinstance(value, dict):
        if "input_schema" in value and not value["name"].startswith(_OUR_TOOLS):
            return {"name": value["name"], "digest": _digest(json.dumps(value, sort_keys=True))}
        return {key: brief(item) for key, item in value.items()}
    if isinstance(value, list):
        return [brief(item) for item in value]
    if isinstance(value, str) and len(value) > _LONG:
        return f"{len(value)} characters, {_digest(value)}"
    return value


def golden(folder: Path, name: str, body: Any) -> Any:
    """The body on record; with ``UPDATE_REQUESTS=1`` the record becomes the one that is given, in brief already."""
    path = folder / f"{name}.json"
    if os.environ.get("UPDATE_REQUESTS"):
        folder.mkdir(exist_ok=True)
        path.write_text(json.dumps(body, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    return json.loads(path.read_text(encoding="utf-8"))


def _digest(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()[:16]}"
