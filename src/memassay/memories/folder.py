"""Store folders that are either complete or refused.

A build writes its files and then, as its last act, the seal: ``store.json`` with the memory's name, the settings it
was built with and the size of every file. A folder without a seal, or with a file of another size, is not opened.
Nothing in a seal depends on the time, the machine or the path.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from memassay.core.errors import EnvironmentProblem
from memassay.core.types import StoreRef

SEAL = "store.json"
FORMAT = 1


def seal(place: Path, memory: str, settings: Mapping[str, JsonValue], files: Iterable[Path]) -> None:
    """Declare the store complete; ``files`` are those whose size is checked when it is opened."""
    body = {
        "format": FORMAT,
        "memory": memory,
        "settings": dict(settings),
        "files": {path.relative_to(place).as_posix(): path.stat().st_size for path in sorted(files)},
    }
    unfinished = place / (SEAL + ".part")
    unfinished.write_text(json.dumps(body, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    unfinished.replace(place / SEAL)


def unseal(ref: StoreRef, memory: str, settings: Mapping[str, JsonValue]) -> Path:
    """The folder of a store, after checking that it is complete and was built with these settings.

    Raises:
        EnvironmentProblem: it is missing, incomplete, damaged, of another memory or of other settings.
    """
    place = Path(ref.location)
    try:
        body: Mapping[str, Any] = json.loads((place / SEAL).read_text(encoding="utf-8"))
        said = (body["format"], body["memory"], body["settings"])
        sizes = {name: int(size) for name, size in body["files"].items()}
    except FileNotFoundError:
        raise damaged(place, f"its last file, {SEAL}, is missing") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise damaged(place, f"{SEAL} cannot be read") from None
    if said != (FORMAT, memory, dict(settings)):
        raise damaged(place, f"it was built by {said[1]} (format {said[0]}) with other settings")
    for name, size in sizes.items():
        path = place / name
        found = path.stat().st_size if path.is_file() else 0
        if found != size:
            raise damaged(place, f"{name} has {found} of {size} bytes")
    return place


def damaged(place: Path, reason: str) -> EnvironmentProblem:
    """The one sentence for a store that cannot be used."""
    return EnvironmentProblem(f"The store in {place} cannot be used because {reason}; delete it and build again.")


def write_lines(path: Path, rows: Iterable[JsonValue]) -> None:
    """Write one JSON value per line, in ASCII, so that any text survives and equal rows give equal bytes."""
    with path.open("w", encoding="ascii", newline="\n") as stream:
        for row in rows:
            stream.write(json.dumps(row, separators=(",", ":")) + "\n")


def read_lines(path: Path) -> Iterator[Any]:
    """Read what :func:`write_lines` wrote."""
    with path.open(encoding="ascii") as stream:
        for line in stream:
            yield json.loads(line)
