"""The fingerprint of a world's facts: the same for every form that holds them, and for every Python."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any

from memassay.suites.association.world.history import Change
from memassay.suites.association.world.nodes import Node

_DECIMALS = 9


def facts_digest(nodes: Iterable[Node], changes: Iterable[Change]) -> str:
    """The first 16 hex digits of the SHA-256 of the facts as JSON.

    The JSON is ``{"changes": [...], "nodes": [...]}`` with sorted keys: a node as its key, label and props, a change as
    its day, date, op, key, field, value and node. Floats are rounded to 9 decimals and ``embedding`` is left out, so
    the digest does not depend on the Python version. It is fed piece by piece: no text of the whole is ever made.

    Args:
        nodes: day 0 in the world's order: talents, companies, jobs, each by key.
        changes: the history in order.
    """
    digest = hashlib.sha256()
    digest.update(b'{"changes": [')
    _feed(digest, map(_change, changes))
    digest.update(b'], "nodes": [')
    _feed(digest, map(_node, nodes))
    digest.update(b"]}")
    return digest.hexdigest()[:16]


def _feed(digest: Any, records: Iterator[dict[str, Any]]) -> None:
    between = ""
    for record in records:
        digest.update((between + json.dumps(record, sort_keys=True)).encode())
        between = ", "


def _node(node: Node) -> dict[str, Any]:
    props = {name: _rounded(value) for name, value in node.fields.items() if name != "embedding"}
    return {"key": node.key, "label": node.label, "props": props}


def _change(change: Change) -> dict[str, Any]:
    return {
        "day": change.day,
        "date": change.date,
        "op": change.op,
        "key": change.key,
        "field": change.field,
        "value": _rounded(change.value),
        "node": None if change.node is None else _node(change.node),
    }


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, _DECIMALS)
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return value
