"""An answer within a budget of tokens: first contents are cut, then lists, each as little as will do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memassay.core.tokens import DEFAULT_TOKENS, Tokenizer, tokenizer
from memassay.knowledge.fields import Item
from memassay.knowledge.listing import as_json

_CONTENT = "content"
_HINT = "Raise max_tokens, or ask for less."


def fitted(value: Any, tokens: int, counter: str = DEFAULT_TOKENS) -> tuple[Any, Item | None]:
    """The value, or as much of it as fits, and a note on what is missing.

    Every ``content`` keeps the same number of tokens at most, the largest that fits. If even without contents it is too
    much, every list keeps the same number of entries at most. What has neither is given whole, and a text is never less
    than the marker that says how much of it is missing.

    Args:
        value: a text, or what JSON can say.
        tokens: the most tokens of the text, or of the value as compact JSON; 0 has no limit.
        counter: name of the tokenizer.

    Returns:
        The value, and None or a note as in :class:`memassay.knowledge.listing.Listing`; ``emitted`` and ``matched``
        count the entries of all lists, or 1 for a text.
    """
    count = tokenizer(counter)

    def cost(shown: Any) -> int:
        return -(-count.marks(shown if isinstance(shown, str) else as_json(shown)) // count.marks_per_token)

    if not tokens or cost(value) <= tokens:
        return value, None
    if isinstance(value, str):
        most = _largest(tokens, lambda room: cost(_head(value, room, count)) <= tokens)
        shown, clipped, truncated = _head(value, most, count), 1, False
    else:
        most = _largest(tokens, lambda room: cost(_clipped(value, room, count)[0]) <= tokens)
        shown, clipped = _clipped(value, most, count)
        truncated = cost(shown) > tokens
        if truncated:
            bare = shown
            shown = _shortened(bare, _largest(tokens, lambda entries: cost(_shortened(bare, entries)) <= tokens))
    note: Item = {"truncated": truncated, "emitted": _entries(shown), "matched": _entries(value), "clipped": clipped}
    return shown, note | {"tokens": cost(shown), "budget": tokens, "hint": _HINT}


def _largest(most: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to ``most`` that fits, or 0."""
    low, high = 0, most + 1
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _head(text: str, room: int, count: Tokenizer) -> str:
    """A text cut to so many tokens, and a marker, if that is less than the text."""
    most = room * count.marks_per_token
    marks = count.marks(text)
    if marks <= most:
        return text
    omitted = -(-(marks - most) // count.marks_per_token)
    cut = f"{count.cut(text, most).rstrip()}\n\n⋯ truncated ({omitted} tokens omitted)".lstrip()
    return cut if count.marks(cut) < marks else text


def _clipped(value: Any, room: int, count: Tokenizer) -> tuple[Any, int]:
    """The value with every content cut to so many tokens, and how many were."""
    if isinstance(value, list):
        parts = [_clipped(part, room, count) for part in value]
        return [part for part, _ in parts], sum(cut for _, cut in parts)
    if not isinstance(value, dict):
        return value, 0
    found: Item = {}
    clipped = 0
    for name, part in value.items():
        if name == _CONTENT and isinstance(part, str):
            found[name] = _head(part, room, count)
            clipped += found[name] != part
        else:
            found[name], cut = _clipped(part, room, count)
            clipped += cut
    return found, clipped


def _shortened(value: Any, entries: int) -> Any:
    """The value with at most so many entries in every list."""
    if isinstance(value, list):
        return [_shortened(part, entries) for part in value[:entries]]
    if isinstance(value, dict):
        return {name: _shortened(part, entries) for name, part in value.items()}
    return value


def _entries(value: Any) -> int:
    """How many entries the lists of a value have together; a text is one."""
    if isinstance(value, list):
        return len(value) + sum(_entries(part) for part in value if not isinstance(part, str))
    if isinstance(value, dict):
        return sum(_entries(part) for part in value.values() if not isinstance(part, str))
    return int(isinstance(value, str))
