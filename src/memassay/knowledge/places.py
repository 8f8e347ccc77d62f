"""Where the pages are in a folder that somebody names: notes of a person, or the store that a run built."""

from __future__ import annotations

import json
from pathlib import Path

from memassay.core.errors import UsageError

# What the stores of runs look like (memassay.memories.folder, memassay.memories.markdown, memassay.running.build).
_SEAL, _BUILT, _STORE, _PAGES = "store.json", "built.json", "store", "pages"
_MEMORY = "markdown"


def pages_in(folder: Path, *, write: bool) -> Path:
    """The folder of pages that is meant: the folder itself, or the pages of a store of ``markdown`` that a run built.

    Args:
        folder: as named. In a run's store that is the folder with ``store.json``, the one around it, or one inside it.
        write: whether the pages are to be edited.

    Raises:
        UsageError: it is the store of another memory, or one of ``markdown`` that is to be edited.
    """
    around = folder / _STORE if (folder / _BUILT).is_file() else folder
    for place in (around, *folder.resolve().parents):
        memory = sealed_by(place)
        if memory is not None:
            break
    else:
        return folder
    if memory != _MEMORY:
        raise UsageError(f"{folder} is a store of the memory {memory!r}, which keeps no pages; name a folder of notes.")
    pages = place / _PAGES
    if write:
        raise UsageError(f"{folder} is the store of a run, which must not change; copy {pages} and edit that.")
    return folder if folder.resolve().is_relative_to(pages.resolve()) else pages


def sealed_by(place: Path) -> str | None:
    """The memory whose complete store a folder is, or None for any other folder."""
    try:
        seal = json.loads((place / _SEAL).read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(seal, dict) or not {"format", "memory", "settings", "files"} <= seal.keys():
        return None
    return str(seal["memory"])
