"""One canonical form and one digest, used wherever two things must be told apart."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel


def canonical_json(value: Any) -> str:
    """The one JSON text of a value: sorted keys, no spaces, UTF-8 as it is.

    Args:
        value: a JSON-able object, a pydantic model, or a nest of both.

    Raises:
        ValueError: the value holds NaN or an infinity, which JSON cannot say.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain)


def digest_of(value: Any) -> str:
    """SHA-256 of the canonical form, 64 hexadecimal digits."""
    return digest_text(canonical_json(value))


def digest_text(text: str) -> str:
    """SHA-256 of a text; lone surrogates (which JSON files can hold) are kept apart, not refused."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def digest_file(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def digest_folder(folder: Path) -> str:
    """SHA-256 over the relative names and contents of every file below a folder, in name order."""
    names = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    return digest_of([[name, digest_file(folder / name)] for name in names])


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if hasattr(value, "items"):
        return dict(value.items())
    raise TypeError(f"{type(value).__name__} has no canonical form")
