"""Every link of one state of a world, asked from either end, without trying all pairs."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from memassay.core.errors import DataError, UnknownName, UsageError
from memassay.suites.association.truth.columns import Column, Numbers, Places, Rows, Scalars, Sets
from memassay.suites.association.truth.rules import TASK_RULES, TYPES, Kind, Rule, linked
from memassay.suites.association.world.nodes import Node
from memassay.suites.association.world.vocabulary import LABELS, Label

_RULES = {(rule.edge_type, rule.to): rule for rule in TASK_RULES}

# The order in which rules narrow the rows down: what leaves the fewest rows for the least work first.
_ORDER: tuple[Kind, ...] = ("distance", "equal", "difference", "overlap")


class Links:
    """The links of the nine task rules over one state.

    The fields that rules read are held as columns; a question costs one pass over the rows of a label, or over those
    of the surroundings where it asks for ``LOCATION_FIT``. A key that is not live is linked to nothing.

    Args:
        state: the live nodes by key; it is not copied and must not change.
    """

    def __init__(self, state: Mapping[str, Node]) -> None:
        self._state = state
        self._changed: dict[str, Node] = {}  # what-if: these stand in the columns with their old fields
        nodes: list[Node] = []
        self._spans: dict[Label, slice] = {}
        for label in LABELS:
            of_label = sorted((node for node in state.values() if node.label == label), key=lambda node: node.key)
            self._spans[label] = slice(len(nodes), len(nodes) + len(of_label))
            nodes += of_label
        self._keys = [node.key for node in nodes]
        self._columns: dict[str, Column] = {}
        for rule in TASK_RULES:
            if rule.field not in self._columns:
                self._columns[rule.field] = self._column(rule, [node.fields.get(rule.field) for node in nodes])

    def types(self, a: str, b: str) -> tuple[str, ...]:
        """The relationships between two keys, in either order of them, in the order of ``TYPES``."""
        one, two = self._node(a), self._node(b)
        if one is None or two is None:
            return ()
        talent, other = (one, two) if one.label == "Talent" else (two, one)
        return tuple(edge_type for edge_type in TYPES if linked(talent, other, (edge_type,)))

    def others(self, talent: str, types: Iterable[str], label: Label | None = None) -> list[str]:
        """The companies and jobs, or only one of the two labels, that a talent is linked to by all the types, sorted.

        Raises:
            UsageError: the key is no talent's, no type is named, or one is unknown.
        """
        wanted = _known(types)
        node = self._node(talent)
        if node is None:
            return []
        if node.label != "Talent":
            raise UsageError(f"{talent} is a {node.label}, not a Talent: ask for its talents.")
        ends: tuple[Label, ...] = ("Company", "Job") if label is None else (label,)
        return sorted(key for end in ends for key in self._linked(node, end, _rules(wanted, end)))

    def talents(self, other: str, types: Iterable[str]) -> list[str]:
        """The talents that a company or a job is linked to by all the types, sorted.

        Raises:
            UsageError: the key is a talent's, no type is named, or one is unknown.
        """
        wanted = _known(types)
        node = self._node(other)
        if node is None:
            return []
        if node.label == "Talent":
            raise UsageError(f"{other} is a Talent: ask for its companies and jobs.")
        return sorted(self._linked(node, "Talent", _rules(wanted, node.label)))

    def counts(self) -> dict[str, int]:
        """The number of edges of each task rule, by its name."""
        if self._changed:
            return Links({**self._state, **self._changed}).counts()
        talents = self._spans["Talent"]
        return {r.name: self._columns[r.field].pairs(r, talents, self._spans[r.to]) for r in TASK_RULES}

    def replaced(self, key: str, field: str, value: Any) -> Links:
        """The links if that field of that node had another value; this object stays as it is.

        Raises:
            DataError: no such key is live.
        """
        node = self._node(key)
        if node is None:
            raise DataError(f"{key} is not live in this state, so none of its fields can be replaced.")
        other = copy.copy(self)
        other._changed = {**self._changed, key: Node(key, node.label, {**node.fields, field: value})}
        return other

    def _node(self, key: str) -> Node | None:
        return self._changed.get(key) or self._state.get(key)

    def _linked(self, node: Node, end: Label, rules: list[Rule]) -> list[str]:
        """The keys of a label that the rules link to a node, all of them; no rules link nothing."""
        if not rules:
            return []
        found = [self._keys[row] for row in self._rows(node, self._spans[end], rules).tolist()]
        if not self._changed:
            return found
        found = [key for key in found if key not in self._changed]
        types = [rule.edge_type for rule in rules]
        for other in self._changed.values():
            talent, far = (node, other) if node.label == "Talent" else (other, node)
            if other.label == end and linked(talent, far, types):
                found.append(other.key)
        return found

    def _rows(self, node: Node, span: slice, rules: list[Rule]) -> Rows:
        rows: Rows = np.arange(span.start, span.stop)
        for rule in rules:
            column, value = self._columns[rule.field], node.fields.get(rule.field)
            if isinstance(column, Places):  # always the first
                rows = column.near(value, span)
            rows = rows[column.match(rule, value, rows)]
        return rows

    def _column(self, rule: Rule, values: list[Any]) -> Column:
        match rule.kind:
            case "equal":
                return Scalars(values)
            case "difference":
                return Numbers(values)
            case "distance":
                return Places(values, rule.threshold, self._spans.values())
            case _:
                return Sets(values)


def _known(types: Iterable[str]) -> list[str]:
    """The types as they are asked for, each once."""
    wanted = list(dict.fromkeys(types))
    for edge_type in wanted:
        if edge_type not in TYPES:
            raise UnknownName("relationship type", edge_type, TYPES)
    if not wanted:
        raise UsageError(f"No relationship type is named: name at least one of {', '.join(TYPES)}.")
    return wanted


def _rules(types: list[str], end: Label) -> list[Rule]:
    """The rules behind the types between a talent and that label; none where a type does not reach it."""
    rules = [_RULES[edge_type, end] for edge_type in types if (edge_type, end) in _RULES]
    return sorted(rules, key=lambda rule: _ORDER.index(rule.kind)) if len(rules) == len(types) else []
