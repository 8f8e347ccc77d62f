"""The platform of a run and its bridges: two processes for all stores that are open, ended with the last of them."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
from pydantic import JsonValue

from memassay.core.digest import digest_of
from memassay.core.errors import MemoryFailure
from memassay.memories.platform.client import Refused, http_client
from memassay.memories.platform.process import Process

_CONTROL = "MEMASSAY_PLATFORM_CONTROL_KEY"
_BRIDGES_CONTROL = "MEMASSAY_BRIDGES_CONTROL_KEY"


class Server:
    """A process of ours with a control interface, started when it is first needed; any thread may ask."""

    def __init__(self, what: str, module: str, args: tuple[str, ...], variable: str) -> None:
        self._what, self._module, self._args, self._variable = what, module, args, variable
        self._lock = threading.Lock()
        self._process: Process | None = None
        self._http: httpx2.Client | None = None

    @property
    def running(self) -> Process | None:
        """The process, or None where nobody has needed it yet."""
        return self._process

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """What the control interface answers, or None where it answers nothing.

        Raises:
            Refused: with the reason.
            MemoryFailure: the process is gone.
        """
        _, http = self._started()
        try:
            said = http.request(method, path, json=body)
        except httpx2.HTTPError as error:
            raise MemoryFailure(f"{self._what} is gone ({type(error).__name__})") from error
        if said.status_code >= 400:
            problem = said.json()
            raise Refused(f"{method} {path}", str(said.status_code), problem.get("problem") or problem.get("detail"))
        return said.json() if said.content else None

    def address(self) -> str:
        """Where it is."""
        return str(self._started()[0].said["url"])

    def folder(self) -> Path:
        """Its scratch folder."""
        return self._started()[0].folder

    def close(self) -> None:
        """End it."""
        with self._lock:
            if self._http is not None:
                self._http.close()
            if self._process is not None:
                self._process.close()
            self._process = self._http = None

    def _started(self) -> tuple[Process, httpx2.Client]:
        with self._lock:
            if self._process is None or self._http is None:
                key = secrets.token_urlsafe(24)
                self._process = Process(self._what, self._module, self._args, {self._variable: key})
                self._http = http_client(str(self._process.said["url"]), key)
            return self._process, self._http


_SERVE = ("platform", "serve", "--data", "{folder}/data", "--json", "--set", "embedder=none", "--set", "durable=false")
_PLATFORM = Server("The embedded platform", "memassay", _SERVE, _CONTROL)
_BRIDGES = Server("The bridges", "memassay.memories.platform.bridging", (), _BRIDGES_CONTROL)

_lock = threading.Lock()
_users = 0
_templates: dict[str, str] = {}
_making = threading.Lock()


def use() -> None:
    """Note a store that may need the processes."""
    global _users
    with _lock:
        _users += 1


def leave() -> None:
    """Take the note back; with the last one the processes end."""
    global _users
    with _lock:
        _users -= 1
        if _users == 0:
            for server in (_BRIDGES, _PLATFORM):
                server.close()
            _templates.clear()


def processes() -> tuple[int, ...]:
    """Leaders of the process groups that run now."""
    return tuple(server.running.pid for server in (_PLATFORM, _BRIDGES) if server.running is not None)


class Workspace:
    """A workspace of the embedded platform.

    Args:
        wanted: settings, warehouse and entities, as the control interface takes them.
        key: of its admin; agents have ``KEY-001`` … ``KEY-NNN``.
        agents: how many.

    Attributes:
        name: of the workspace.
    """

    def __init__(self, wanted: Mapping[str, JsonValue], key: str, agents: int) -> None:
        self._wanted = {name: wanted[name] for name in ("settings", "warehouse")}
        self._pool = {"key": key, "count": agents}
        self.name = self._made(_template(wanted))

    @property
    def url(self) -> str:
        """Where its tools are served."""
        return f"{_PLATFORM.address()}/w/{self.name}"

    def snapshot(self, file: Path) -> None:
        """Write it into a file."""
        _PLATFORM.ask("POST", f"/control/workspaces/{self.name}/snapshot", {"path": str(file.absolute())})

    def restore(self, file: Path) -> None:
        """Be what a snapshot was, of whichever process; the keys stay these, and the address changes."""
        before, self.name = self.name, self._made(str(file.absolute()))
        _PLATFORM.ask("DELETE", f"/control/workspaces/{before}")

    def reopen(self) -> None:
        """Close it and open it again from its files."""
        _PLATFORM.ask("POST", f"/control/workspaces/{self.name}/reopen")

    def remove(self) -> None:
        """Delete it, if the process is there still."""
        with suppress(MemoryFailure):
            _PLATFORM.ask("DELETE", f"/control/workspaces/{self.name}")

    def _made(self, snapshot: str) -> str:
        name = secrets.token_hex(8)
        wanted = {**self._wanted, "pool": self._pool, "snapshot": snapshot}
        _PLATFORM.ask("PUT", f"/control/workspaces/{name}", wanted)
        return name


def _template(wanted: Mapping[str, JsonValue]) -> str:
    """A snapshot of a workspace in which nothing was taught: the catalogue is embedded once, not for every attempt."""
    about = digest_of([wanted["settings"], wanted["entities"]])
    with _making:
        if about not in _templates:
            name, path = f"template-{about[:16]}", str(_PLATFORM.folder() / f"{about[:16]}.sqlite")
            _PLATFORM.ask("PUT", f"/control/workspaces/{name}", dict(wanted))
            _PLATFORM.ask("POST", f"/control/workspaces/{name}/snapshot", {"path": path})
            _PLATFORM.ask("DELETE", f"/control/workspaces/{name}")
            _templates[about] = path
        return _templates[about]


def new_log() -> Path:
    """A file for the calls of one store's sessions, which goes with the bridges; it is not there yet."""
    return _BRIDGES.folder() / f"calls-{secrets.token_hex(8)}.jsonl"


def open_session(
    url: str, key: str, log: Path, identity: str, budget: int | None = None
) -> tuple[str, str, tuple[str, ...]]:
    """A session of a platform behind a bridge; see :func:`memassay.platform.bridge.open_bridge`.

    Returns:
        The word that closes it, its address, and the names of its tools.

    Raises:
        MemoryFailure: the platform opens none.
    """
    asked = {"url": url, "key": key, "log": str(log), "identity": identity, "budget": budget}
    said = _BRIDGES.ask("POST", "/sessions", asked)
    return said["word"], f"{_BRIDGES.address()}/s/{said['word']}", tuple(said["tools"])


def close_session(word: str) -> None:
    """Close a session, if it is there still."""
    if _BRIDGES.running is not None:
        with suppress(MemoryFailure):
            _BRIDGES.ask("DELETE", f"/sessions/{word}")
