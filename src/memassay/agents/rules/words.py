"""Words and quoted terms of a text."""

from __future__ import annotations

import re

# What stands between quotes that are no apostrophes.
_OPEN, _CLOSE = "'\"`\u2018\u201c", "'\"`\u2019\u201d"
_QUOTED = re.compile(rf"(?<!\w)[{_OPEN}](\w[^{_OPEN}{_CLOSE}]{{0,60}})(?<!\s)[{_CLOSE}](?!\w)")


def words(text: str) -> list[str]:
    """The words of a text in lower case; ``fee_cents`` is two."""
    return re.findall(r"[^\W_]+", text.lower())


def terms(text: str) -> tuple[str, ...]:
    """What a text defines: the words in quotes before any SQL."""
    return tuple(_QUOTED.findall(text.partition("SQL:")[0]))
