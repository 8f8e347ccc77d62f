"""A server as a process: its socket, its people, and how it ends."""

from __future__ import annotations

import socket
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import uvicorn
from pydantic import TypeAdapter, ValidationError

from memassay.core import listening
from memassay.core.errors import UsageError
from memassay.core.listening import is_loopback, quiet_stop
from memassay.platform.app import make_app
from memassay.platform.arguments import fault_of
from memassay.platform.errors import PlatformError
from memassay.platform.service import Platform
from memassay.platform.settings import BARS, Settings
from memassay.platform.workspaces import Holder, Workspaces

_GRACE_SECONDS = 2
_RISK = "keys and everything kept here would cross the network unencrypted; keep to 127.0.0.1 behind a proxy with TLS"
_HOLDERS = TypeAdapter(tuple[Holder, ...])


def listen(host: str, port: int, allow_remote: bool = False) -> socket.socket:
    """A socket to serve on; see :func:`memassay.core.listening.listen`."""
    return listening.listen(host, port, _RISK, allow_remote=allow_remote)


def address_of(listener: socket.socket) -> str:
    """The URL under which a listening socket is reached."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def serve_http(spaces: Workspaces, listener: socket.socket, control_key: str | None = None) -> None:
    """Serve until SIGTERM or Ctrl-C; calls that go on then have two seconds to end."""
    loopback = is_loopback(str(listener.getsockname()[0]))
    config = uvicorn.Config(
        make_app(spaces, control_key=control_key, loopback=loopback),
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    with quiet_stop():
        uvicorn.Server(config).run(sockets=[listener])


def settings_of(given: Sequence[str]) -> Settings:
    """``knob=value`` texts as settings; a value is written as in TOML, or as a bare word.

    Thresholds that are not given are those of the embedder (:data:`memassay.platform.settings.BARS`).

    Raises:
        UsageError: a knob that there is not, or a value that it does not take.
    """
    fields: dict[str, Any] = {}
    for text in given:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise UsageError(f"--set {text!r}: write knob=value.")
        place = fields
        *path, last = name.split(".")
        for part in path:
            place = place.setdefault(part, {})
            if not isinstance(place, dict):
                raise UsageError(f"--set {text!r}: {part} has been set to a value already.")
        place[last] = _value(value)
    try:
        return Settings.model_validate({**BARS.get(str(fields.get("embedder")), {}), **fields})
    except ValidationError as error:
        raise UsageError(f"--set {fault_of(error, Settings.model_fields)}") from None


def add_holders(platform: Platform, path: Path) -> int:
    """Let the keys of a JSON file in: ``[{"key": …, "identity": {"user_id", "email", "name", "roles"}}, …]``.

    Returns:
        How many.

    Raises:
        UsageError: the file is not there, or not that.
    """
    try:
        holders = _HOLDERS.validate_json(path.read_bytes(), strict=True)
        for holder in holders:
            platform.add_identity(holder.key, holder.identity)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    except ValidationError as error:
        raise UsageError(f"{path}: {fault_of(error, ())}") from None
    except PlatformError as error:
        raise UsageError(f"{path}: {error}") from None
    return len(holders)


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
