"""A task holds its whole protocol, frozen with the run: grading reads no file, and no change of one reaches a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic import JsonValue, ValidationError

from memassay.core.errors import DataError
from memassay.core.types import Gold, Task
from memassay.suites.lifecycle.protocol import Protocol

KEY = "original"
"""The gold whose truth it is."""


def freeze(protocol: Protocol) -> dict[str, Gold]:
    """A protocol as the gold of its task."""
    key = protocol.recall.grading
    answer = key.aliases[0] if key.kind == "entity" else f"{key.value:.15g}"
    truth: dict[str, JsonValue] = protocol.model_dump(mode="json", exclude_defaults=True)
    return {KEY: Gold(answer=answer, truth=truth)}


def thaw(task: Task) -> Protocol:
    """The protocol that a task was made of.

    Raises:
        DataError: the task holds none.
    """
    try:
        return Protocol.model_validate(task.gold[KEY].truth)
    except (KeyError, ValidationError):
        raise DataError(
            f"The task {task.id!r} holds no protocol that can be read; was the run made by another version of memassay?"
        ) from None


def thaw_all(tasks: Iterable[Task]) -> tuple[Protocol, ...]:
    """The protocols of tasks, each once, in the order of their ids."""
    known: Mapping[str, Task] = {task.id: task for task in tasks}
    return tuple(thaw(known[name]) for name in sorted(known))
