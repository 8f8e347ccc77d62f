"""The world as documents, for memories that are no form of it: one per entity, with what became of it."""

from __future__ import annotations

import json
from collections import defaultdict

from memassay.core.types import Document, Unit
from memassay.suites.association.world import FIRST_DAY, Change, Node, World

MOST = 20_000
"""A larger world has no documents: only the suite's own forms hold it."""


def documents_of(world: World) -> tuple[Document, ...]:
    """One document per entity that ever was, in the world's order; none for a world of more than ``MOST``."""
    if world.scale > MOST:
        return ()
    history: dict[str, list[Change]] = defaultdict(list)
    for change in world.changes:
        history[change.key].append(change)
    born = [change.node for change in world.changes if change.node is not None]
    return tuple(_document(node, history[node.key]) for node in (*world.nodes, *born))


def _document(node: Node, changes: list[Change]) -> Document:
    since = next((change.date for change in changes if change.op == "insert_node"), FIRST_DAY)
    lines = [f"{node.label} {node.key}, as of {since}:"]
    lines += [f"{name}: {_said(value)}" for name, value in node.fields.items()]
    for change in changes:
        if change.op == "set_prop":
            lines.append(f"From {change.date} on, {change.field}: {_said(change.value)}")
        elif change.op == "delete_node":
            lines.append(f"Deleted on {change.date}.")
    text = "\n".join(lines)
    units = (Unit(id=node.key, text=text, span=(0, len(text))),)
    return Document(id=node.key, title=str(node.fields["name"]), text=text, date=since, units=units)


def _said(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
