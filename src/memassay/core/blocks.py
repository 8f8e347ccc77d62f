"""The JSON of a tool's result, as text: one object, or several in blocks of their own, with words between them."""

from __future__ import annotations

import json
import re
from typing import Any

# A block begins where a line does.
_BEGIN = re.compile(r"^\{", re.MULTILINE)
_DECODER = json.JSONDecoder()


def objects(text: str) -> list[dict[str, Any]]:
    """The objects of a text that begin a line, in order; what is none is passed over."""
    found: list[dict[str, Any]] = []
    text, at = text.strip(), 0
    while (begin := _BEGIN.search(text, at)) is not None:
        try:
            value, at = _DECODER.raw_decode(text, begin.start())
        except (ValueError, RecursionError):
            at = begin.end()
        else:
            found.append(value)
    return found


def merged(text: str) -> dict[str, Any]:
    """All fields of these objects; of two of one name the first counts."""
    fields: dict[str, Any] = {}
    for each in objects(text):
        fields = each | fields
    return fields
