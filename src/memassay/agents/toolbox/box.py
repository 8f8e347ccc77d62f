"""One set of tools from several places, open for the time of one answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memassay.agents.toolbox.problems import ToolsMissing
from memassay.core.errors import MemassayError, MissingExtra, suggestion
from memassay.core.types import Toolset

START_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model is told of it; ``schema`` is the JSON schema of its arguments, an object."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool said; where ``is_error``, a complaint that a model can read and act on."""

    text: str
    is_error: bool = False


Call = Callable[[Mapping[str, Any]], Awaitable[ToolResult]]


class Toolbox:
    """Open tools.

    Attributes:
        tools: in the order of the toolset: each server's as the arm names them, then those of the folder.
    """

    def __init__(self, tools: Mapping[str, tuple[ToolSpec, Call]]) -> None:
        self._calls = {name: call for name, (_, call) in tools.items()}
        self.tools = [spec for spec, _ in tools.values()]

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Use a tool. What the model did wrong (an unknown tool, wrong arguments) is a result with ``is_error``.

        There is no time limit here: the limit of the answer counts, and cancelling a call ends it.

        Raises:
            ToolsMissing: the server is gone.
        """
        if name not in self._calls:
            return ToolResult(f"There is no tool {name!r}.{suggestion(name, self._calls)}", is_error=True)
        return await self._calls[name](arguments)


@asynccontextmanager
async def open_toolbox(toolset: Toolset, *, start_seconds: float = START_SECONDS) -> AsyncIterator[Toolbox]:
    """Start or reach the servers of a toolset, check that the tools are there, and end what was started.

    Only the tools that a server's ``tools`` names are offered, all of them if it names none.

    Args:
        toolset: servers and folder of an arm.
        start_seconds: how long a server may take to say which tools it has.

    Raises:
        ToolsMissing: a server or a tool is not there; or a server ends while the tools are in use.
        MissingExtra: there is a server and the extra ``mcp`` is not installed; see :func:`require_mcp`.
    """
    failure: Exception | None = None
    over = False
    try:
        async with AsyncExitStack() as stack:
            tools: dict[str, tuple[ToolSpec, Call]] = {}
            if toolset.servers:
                require_mcp()
                from memassay.agents.toolbox.servers import tools_of

                for server in toolset.servers:
                    _add(tools, await tools_of(server, stack, start_seconds))
            if toolset.folder is not None:
                from memassay.agents.toolbox.files import file_tools

                _add(tools, file_tools(Path(toolset.folder)))
            try:
                yield Toolbox(tools)
            except Exception as error:
                # The clients' task groups would wrap it into a group, which no caller expects.
                failure = error
            over = True
    except MemassayError:
        raise
    except Exception as error:
        # What a client does in the background failed; after the answer that is of no account.
        if not over:
            raise ToolsMissing(f"The tools of the arm are gone: {_words(error)}.") from error
    if failure is not None:
        raise failure


def require_mcp() -> None:
    """Say before anything is spent that the tools of a server cannot be used here.

    Raises:
        MissingExtra: the extra ``mcp`` is not installed.
    """
    import importlib.util

    if importlib.util.find_spec("mcp") is None:
        raise MissingExtra("mcp", "mcp")


def _add(tools: dict[str, tuple[ToolSpec, Call]], more: list[tuple[ToolSpec, Call]]) -> None:
    for spec, call in more:
        if spec.name in tools:
            raise ToolsMissing(f"Two tools of the arm are called {spec.name!r}; give one server a prefix.")
        tools[spec.name] = (spec, call)


def _words(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")
