"""File names for documents, whatever their ids hold."""

from __future__ import annotations

import hashlib
import re
import unicodedata

# Leaves room for a date, a digest and a number under the 255 bytes that file systems allow.
_STEM_CHARS = 80

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)")


def file_name(document_id: str, prefix: str, taken: set[str]) -> str:
    """A new name ending in ``.txt``, safe on every file system, and adds it to ``taken``.

    ASCII letters, digits, ``.``, ``_`` and ``-`` stay, other ASCII becomes ``_``. An id that is too long, or that holds
    letters outside ASCII, gets a digest at the end; names that are still equal, without regard to case, get a number.
    """
    plain = unicodedata.normalize("NFKD", document_id).encode("ascii", "ignore").decode()
    safe = _UNSAFE.sub("_", plain).strip("._-")
    stem = safe[:_STEM_CHARS]
    if not stem or stem != safe or not document_id.isascii():
        digest = hashlib.sha256(document_id.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        stem = f"{stem}-{digest}" if stem else digest
    if _RESERVED.match(stem) and not prefix:
        stem = f"_{stem}"
    stem = f"{prefix}{stem}"
    name, number = stem, 1
    while name.casefold() in taken:
        number += 1
        name = f"{stem}-{number}"
    taken.add(name.casefold())
    return f"{name}.txt"
