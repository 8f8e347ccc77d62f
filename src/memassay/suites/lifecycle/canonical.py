"""The hash of a set of protocols: the published one, byte for byte, and one of our own for what we add.

The published hash is the SHA-256 of the set as one line of JSON, as Go's ``encoding/json`` writes it: protocols in the
order of their ids, keys in the order of their declaration, empty optional fields left out, ``<``, ``>``, ``&`` and the
two separators U+2028 and U+2029 escaped, other characters as they are, and numbers as short as they can be.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from memassay.core.digest import digest_of
from memassay.suites.lifecycle.protocol import Grading, Protocol, Question, Update

_ESCAPED = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})
# Below and from these, Go writes an exponent.
_SMALL, _LARGE = 1e-6, 1e21


def published_hash(protocols: Iterable[Protocol]) -> str:
    """The hash under which a set is published, 64 hexadecimal digits; what is in ``extras`` does not change it."""
    return hashlib.sha256(canonical_form(protocols).encode()).hexdigest()


def extras_digest(protocols: Iterable[Protocol]) -> str:
    """The digest of what we add to a set, by protocol; 64 hexadecimal digits."""
    ordered = sorted(protocols, key=lambda protocol: protocol.id)
    return digest_of([[protocol.id, protocol.extras] for protocol in ordered])


def canonical_form(protocols: Iterable[Protocol]) -> str:
    """The text that the published hash is the hash of."""
    return _written([_protocol(protocol) for protocol in sorted(protocols, key=lambda protocol: protocol.id)])


def go_number(value: float) -> str:
    """A finite number as Go's ``encoding/json`` writes a float64: 80, 0.5, 1e+21, 1e-7."""
    sign, digits, exponent = Decimal(repr(float(value))).normalize().as_tuple()
    assert isinstance(exponent, int)
    minus = "-" if sign else ""
    if value == 0:
        return f"{minus}0"
    if _SMALL <= abs(value) < _LARGE:
        return f"{Decimal(repr(float(value))).normalize():f}"
    first, rest = str(digits[0]), "".join(map(str, digits[1:]))
    power = exponent + len(digits) - 1
    # One digit of a negative exponent stands alone; positive ones have two anyway.
    return f"{minus}{first}{'.' if rest else ''}{rest}e{'-' if power < 0 else '+'}{abs(power)}"


def _protocol(protocol: Protocol) -> dict[str, Any]:
    written: dict[str, Any] = {name: getattr(protocol, name) for name in ("id", "title", "fact", "entity_urn", "sink")}
    if protocol.page is not None:
        parts = {name: getattr(protocol.page, name) for name in ("slug", "title", "summary", "body")}
        written["page"] = {name: text for name, text in parts.items() if text is not None}
    written["budget_tool_calls"] = protocol.budget_tool_calls
    written["teach"] = {"prompt": protocol.teach.prompt}
    written["recall"] = _question(protocol.recall)
    if protocol.transfer is not None:
        written["transfer"] = _question(protocol.transfer)
    if protocol.update is not None:
        written["update"] = _update(protocol.update)
    if protocol.abstain is not None:
        written["abstain"] = {"prompt": protocol.abstain.prompt}
    return written


def _update(update: Update) -> dict[str, Any]:
    written: dict[str, Any] = {"prompt": update.prompt, "fact": update.fact, "recall": _question(update.recall)}
    if update.superseded_value is not None:
        written["superseded_value"] = update.superseded_value
    return written


def _question(question: Question) -> dict[str, Any]:
    return {"prompt": question.prompt, "grading": _grading(question.grading)}


def _grading(grading: Grading) -> dict[str, Any]:
    written: dict[str, Any] = {"kind": grading.kind}
    if grading.value is not None:
        written["value"] = grading.value
    if grading.abs_tolerance:
        written["abs_tolerance"] = grading.abs_tolerance
    for name in ("aliases", "wrong_aliases"):
        if getattr(grading, name):
            written[name] = list(getattr(grading, name))
    return written


def _written(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).translate(_ESCAPED)
    if isinstance(value, float):
        return go_number(value)
    if isinstance(value, list):
        return f"[{','.join(map(_written, value))}]"
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{_written(key)}:{_written(item)}' for key, item in value.items())}}}"
    return str(value)
