"""Filters and other pieces of a query that stand alone, as a command line or a tool gives them: YAML, or its values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from memassay.core.errors import UsageError
from memassay.knowledge import frontmatter
from memassay.knowledge.filters import Filter, filtered

# As deep as YAML may be; what comes as JSON has no limit of its own.
_DEEPEST = 40


def value_in(text: str, what: str) -> Any:
    """The value that a YAML text means; None for an empty one. Complaints call the text ``what``.

    Raises:
        UsageError: it is no YAML, or YAML with aliases, doubled keys or too much of anything.
    """
    try:
        node = frontmatter.tree(text, 0, len(text), what)
    except frontmatter.Unreadable as error:
        raise UsageError(str(error)) from None
    return None if node is None else node.value


def mapping_in(text: str, what: str, example: str = "status: draft") -> dict[str, Any]:
    """The mapping that a YAML text means; an empty text means an empty one.

    Raises:
        UsageError: it is something else; the sentence shows ``example``.
    """
    value = value_in(text, what)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UsageError(f"{what} is a mapping, such as {example!r}.")
    return cast(dict[str, Any], value)


def condition(given: str | Mapping[str, Any]) -> Filter:
    """A filter of the query language from YAML or as a mapping.

    Raises:
        UsageError: it means nothing, or is nested too deeply.
    """
    mapping = mapping_in(given, "The filter") if isinstance(given, str) else given
    if _deeper(mapping, _DEEPEST):
        raise UsageError(f"The filter is nested more than {_DEEPEST} levels deep; write it flatter.")
    return filtered(mapping)


def _deeper(value: object, levels: int) -> bool:
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return levels < 0 or any(_deeper(one, levels - 1) for one in inner)
