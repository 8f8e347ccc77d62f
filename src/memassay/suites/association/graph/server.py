"""The graph's tool server: ``python -m memassay.suites.association.graph.server PLACE``.

It opens the store of a form once, to be read, and serves its eleven tools over HTTP on a free port of 127.0.0.1 until
it is told to stop. The address goes to standard output, as its only line, and in a sentence to standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from memassay.core.errors import MemassayError, MissingExtra, UnknownName
from memassay.suites.association.graph.offers import INSTRUCTIONS, TOOLS
from memassay.suites.association.graph.worker import SECONDS, Worker


class Desk:
    """The tools as :mod:`memassay.knowledge.server` serves them; threads may share it.

    Args:
        place: the folder of the store.
        seconds: how long a call may take.

    Raises:
        EnvironmentProblem: the store cannot be opened.
    """

    tools = TOOLS
    write = False
    instructions = INSTRUCTIONS

    def __init__(self, place: Path, seconds: float = SECONDS) -> None:
        self._worker = Worker(place, seconds)

    def call(self, name: str, arguments: Mapping[str, Any]) -> list[str]:
        """The text of the answer.

        Raises:
            UnknownName, UsageError: no such tool, or it cannot answer.
        """
        if name not in TOOLS:
            raise UnknownName("tool", name, TOOLS)
        return [self._worker.call(name, arguments)]

    def close(self) -> None:
        """Close the store."""
        self._worker.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve a store; returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if len(given) != 1:
        print("usage: python -m memassay.suites.association.graph.server PLACE", file=sys.stderr)
        return 2
    try:
        try:
            from memassay.knowledge import server
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
                raise
            raise MissingExtra("mcp", "mcp") from None
        desk = Desk(Path(given[0]))
        try:
            listener = server.listen("127.0.0.1", 0)
            address = f"http://127.0.0.1:{listener.getsockname()[1]}{server.PATH}"
            print(address, flush=True)
            print(f"Serving {given[0]} at {address}; Ctrl-C ends it.", file=sys.stderr, flush=True)
            server.serve_http(desk, listener)
        finally:
            desk.close()
    except MemassayError as error:
        print(f"memassay: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
