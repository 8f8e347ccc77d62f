"""An agent that says nothing: it measures what the harness itself costs."""

from __future__ import annotations

from memassay.core.types import Request, Status, Step


class Noop:
    """Answers every request with an empty text, at once."""

    async def answer(self, request: Request) -> Step:
        """An empty answer."""
        return Step(name="answer", status=Status.OK, text="")
