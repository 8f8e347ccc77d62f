"""What must be equal when a run folder is entered again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memassay.core.digest import canonical_json
from memassay.core.errors import GuardError

_ABSENT = "(absent)"
_SHOWN = 3
_FOLLOWS = ("tasks", "corpora", "judges")


def differences(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Every leaf where two JSON values differ, as (dotted field, old, new)."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted({*old, *new}):
            yield from differences(old.get(key, _ABSENT), new.get(key, _ABSENT), f"{path}.{key}" if path else str(key))
    elif canonical_json(old) != canonical_json(new):
        yield path, old, new


def guard(old: Mapping[str, Any], new: Mapping[str, Any], where: str) -> None:
    """Refuse re-entry with a difference.

    Args:
        old: identity in the folder.
        new: identity of this command.
        where: the folder, for the message.

    Raises:
        GuardError: naming the fields and both values.
    """
    found = sorted(differences(old, new), key=_order)
    if old.get("suite") != new.get("suite"):
        found = [difference for difference in found if difference[0] == "suite"]
    if not found:
        return
    shown = "; ".join(f"{field}: {_short(was)} in the folder, {_short(now)} now" for field, was, now in found[:_SHOWN])
    more = f" (and {len(found) - _SHOWN} more)" if len(found) > _SHOWN else ""
    raise GuardError(
        f"{where} holds a different run. {shown}{more}. Repeat the command as it was, "
        "or choose another folder with --out."
    )


def _order(difference: tuple[str, Any, Any]) -> tuple[bool, int]:
    """What a person changed before what follows from it, and short fields before deep ones."""
    field = difference[0]
    return field.partition(".")[0] in _FOLLOWS, field.count(".")


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return "given"
    text = value if value == _ABSENT else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
