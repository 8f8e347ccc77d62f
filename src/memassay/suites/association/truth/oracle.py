"""The links of a state by trying every talent with every other node: slow and plain, for tests of the index."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from memassay.suites.association.truth.rules import TASK_RULES, TYPES, holds
from memassay.suites.association.world.nodes import Node
from memassay.suites.association.world.vocabulary import Label


class Oracle:
    """The answers of ``Links``, from the whole product of talents and other nodes.

    Args:
        state: the live nodes by key.
    """

    def __init__(self, state: Mapping[str, Node]) -> None:
        self.state = state
        talents = [node for node in state.values() if node.label == "Talent"]
        self.edges = {
            (rule.name, rule.edge_type, talent.key, other.key)
            for rule in TASK_RULES
            for other in state.values()
            for talent in talents
            if holds(rule, talent, other)
        }

    def types(self, a: str, b: str) -> tuple[str, ...]:
        found = {edge_type for _, edge_type, *ends in self.edges if ends in ([a, b], [b, a])}
        return tuple(edge_type for edge_type in TYPES if edge_type in found)

    def others(self, talent: str, types: Iterable[str], label: Label | None = None) -> list[str]:
        linked = self._all(types, {(t, other) for _, t, ours, other in self.edges if ours == talent})
        return [key for key in linked if label in (None, self.state[key].label)]

    def talents(self, other: str, types: Iterable[str]) -> list[str]:
        return self._all(types, {(t, talent) for _, t, talent, theirs in self.edges if theirs == other})

    def counts(self) -> dict[str, int]:
        return {rule.name: sum(name == rule.name for name, *_ in self.edges) for rule in TASK_RULES}

    def replaced(self, key: str, field: str, value: Any) -> Oracle:
        node = self.state[key]
        return Oracle({**self.state, key: Node(node.key, node.label, {**node.fields, field: value})})

    def _all(self, types: Iterable[str], found: set[tuple[str, str]]) -> list[str]:
        wanted = set(types)
        return sorted(key for key in {key for _, key in found} if all((t, key) in found for t in wanted))
