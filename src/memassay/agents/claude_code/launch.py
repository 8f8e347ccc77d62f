"""One cell's command line and files: what Claude Code is started with, and what it must turn out to have."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memassay.agents.claude_code import tool_server
from memassay.agents.claude_code.environment import machine
from memassay.agents.claude_code.profiles import FILE_TOOLS, SHELL_TOOLS, Profile
from memassay.core.asking import INSTRUCTIONS, message
from memassay.core.types import Request, Server

# The same in every cell of every arm. Standard input is the prompt.
COMMON = ("-p", "--output-format", "stream-json", "--verbose", "--no-session-persistence", "--strict-mcp-config")

_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(frozen=True)
class Offer:
    """The tools that a session must have, as Claude Code names them.

    Attributes:
        builtin: tools of Claude Code itself.
        servers: per tool server the tools of the arm; none named means whatever it has, but something.
    """

    builtin: tuple[str, ...]
    servers: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, request: Request, *, shell: bool = False) -> Offer:
        """The tools of a request's arm; ``shell`` adds those that run and write to an arm with files."""
        servers = {s.name: tuple(tool_name(s.name, tool) for tool in s.tools) for s in request.toolset.servers}
        files = (*FILE_TOOLS, *(SHELL_TOOLS if shell else ()))
        return cls(files if request.toolset.folder is not None else (), servers)

    @property
    def allowed(self) -> tuple[str, ...]:
        """The tools of servers that are used without a question, as ``--allowedTools`` wants them."""
        return tuple(rule for name, tools in self.servers.items() for rule in tools or (f"mcp__{_safe(name)}",))


@dataclass(frozen=True)
class Launch:
    """A command that is ready to be run.

    Attributes:
        arguments: after the program.
        folder: the working folder.
        text: the prompt, for standard input.
        record: what of it becomes evidence.
    """

    arguments: tuple[str, ...]
    folder: Path
    text: str
    record: Mapping[str, Any]


def launch(
    request: Request, *, model: str, profile: Profile, place: Path, budget: float | None, shell: bool = False
) -> Launch:
    """Write what the command needs below ``place`` and give the command.

    Args:
        request: what is asked, with the tools and the limit of turns.
        model: a full name.
        profile: how to start.
        place: an empty folder of this cell alone.
        budget: dollars for ``--max-budget-usd``, which Claude Code tells the model of; None leaves it out.
        shell: whether an arm with files may run commands and write in its folder.
    """
    home, work = place / "home", place / "work"
    for folder in (home, work, home / "config"):
        folder.mkdir()
    folder = Path(request.toolset.folder or request.workdir or work).resolve()
    system = request.system or INSTRUCTIONS
    (place / "system.txt").write_text(system, encoding="utf-8", errors="replace")
    servers = {server.name: _entry(server, place) for server in request.toolset.servers}
    (place / "servers.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    offer = Offer.of(request, shell=shell)
    rules = [f"Read(/{folder}/**)"] if request.toolset.folder is not None else []
    if rules and shell:
        rules += ["Bash", f"Edit(/{folder}/**)", f"Write(/{folder}/**)"]
    allowed = [*rules, *offer.allowed]
    arguments = (
        *profile.flags,
        *COMMON,
        "--model",
        model,
        "--system-prompt-file",
        str(place / "system.txt"),
        "--mcp-config",
        str(place / "servers.json"),
        "--tools",
        ",".join(offer.builtin),
        *(["--allowedTools", *allowed] if allowed else []),
        *(["--max-turns", str(request.limit_turns)] if request.limit_turns is not None else []),
        *(["--max-budget-usd", f"{budget:g}"] if budget is not None else []),
    )
    text = message(request)
    record = {
        "arguments": list(arguments),
        "system": system,
        "text": text,
        "servers": [server.model_dump(mode="json", exclude={"env"}) for server in request.toolset.servers],
    }
    return Launch(arguments, folder, text, record)


def last_words(place: Path, server: str) -> str:
    """The last line that a server wrote to its standard error, or ""."""
    path = _errors(place, server)
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n") if path.is_file() else []
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def tool_name(server: str, tool: str) -> str:
    """What Claude Code calls a tool of a server."""
    return f"mcp__{_safe(server)}__{_safe(tool)}"


def _safe(name: str) -> str:
    return _NOT_IN_A_NAME.sub("_", name)


def _entry(server: Server, place: Path) -> Mapping[str, Any]:
    if server.url is not None:
        return {"type": "http", "url": server.url}
    name = _safe(server.name)
    home = place / f"home-{name}"
    home.mkdir()
    spec = {
        "command": list(server.command),
        "cwd": server.cwd or str(home),
        "environment": {**machine(home), **server.env},
        "tools": list(server.tools),
        "errors": str(_errors(place, server.name)),
    }
    path = place / f"server-{name}.json"
    path.write_text(json.dumps(spec), encoding="utf-8")
    return {"type": "stdio", "command": sys.executable, "args": ["-I", "-S", str(tool_server.__file__), str(path)]}


def _errors(place: Path, server: str) -> Path:
    return place / f"server-{_safe(server)}.err"
