"""An agent that says nothing: it measures what the harness itself costs."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from memassay.core.types import ModelKind, Request, Status, Step


class Noop:
    """Answers every request with an empty text, at once."""

    model: ModelKind = "none"
    accesses = frozenset({"dossier", "tools", "folder"})

    def identity(self) -> Mapping[str, JsonValue]:
        """Nothing beside its name."""
        return {}

    async def answer(self, request: Request) -> Step:
        """An empty answer."""
        return Step(name="answer", status=Status.OK, text="")
