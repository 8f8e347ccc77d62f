"""What the tests of the published line-up share: a model that uses one tool, and a store that somebody wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_FINDS = ("find", "retrieve", "search", "Grep")


def finder(names: Sequence[str], body: Mapping[str, Any]) -> tuple[str, dict[str, str]] | None:
    """The call of the first tool that finds; None where there is none, or the model has spoken before."""
    name = next((name for name in names if any(word in name for word in _FINDS)), None)
    if name is None or any(message["role"] == "assistant" for message in body["messages"]):
        return None
    if name in ("Grep", "search_files"):
        return name, {"pattern": "the"}
    return name, {"lexical": "the"} if "iwe" in name else {"query": "the"}


def curated_store(folder: Path) -> Path:
    """A store of two pages, with a log of its curation that nobody may see."""
    folder.mkdir()
    (folder / "ada.md").write_text("# Ada\n\n- [2023-05-07](2023-05-07.md) saw the lighthouse\n", encoding="utf-8")
    (folder / "2023-05-07.md").write_text(
        "# The lighthouse (7 May 2023)\n\n- [Ada](ada.md) and Gareth learn a new language: Lisbon.\n", encoding="utf-8"
    )
    (folder / "curate-log.jsonl").write_text(json.dumps({"the gold": "never shown"}) + "\n", encoding="utf-8")
    (folder / "curate-log.md").write_text("# The log\n\nThe gold, the answer: never shown.\n", encoding="utf-8")
    return folder
