"""Workspaces over HTTP, below ``/control``, for the process that started the server and alone knows the control key."""

from __future__ import annotations

import hmac
from pathlib import Path
from typing import Any

from memassay.platform.errors import PlatformError
from memassay.platform.routing import Asked, Endpoint, Router
from memassay.platform.service import Platform
from memassay.platform.shapes import Fingerprint, Identity, Shape
from memassay.platform.workspaces import Wanted, Workspaces

PREFIX = "/control"

_STARTER = Identity(user_id="control", email="control@localhost", name="control", roles=("admin",))


class Made(Shape):
    """A workspace; ``path`` is where it is served: ``/w/NAME``, with ``/mcp``, ``/api/v1`` and ``/review`` below."""

    name: str
    path: str
    fingerprint: Fingerprint


class Names(Shape):
    workspaces: tuple[str, ...]


class Named(Shape):
    name: str


class File(Shape):
    """A file on the server's machine."""

    path: str


def _made(name: str, platform: Platform) -> Made:
    return Made(name=name, path=f"/w/{name}", fingerprint=platform.fingerprint())


def _snapshot(spaces: Workspaces, asked: Asked) -> File:
    spaces.get(asked.path["name"]).snapshot(Path(asked.body.path))
    return File(path=asked.body.path)


def _restore(spaces: Workspaces, asked: Asked) -> Made:
    platform = spaces.get(asked.path["name"])
    platform.restore(Path(asked.body.path))
    return _made(asked.path["name"], platform)


def _remove(spaces: Workspaces, asked: Asked) -> Named:
    spaces.remove(asked.path["name"])
    return Named(name=asked.path["name"])


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET", "/workspaces", "listWorkspaces", "All but the main one.", Names,
        run=lambda spaces, asked: Names(workspaces=spaces.names()),
    ),
    Endpoint(
        "PUT", "/workspaces/{name}", "makeWorkspace", "A new workspace.", Made, body=Wanted, status=201,
        run=lambda spaces, asked: _made(asked.path["name"], spaces.make(asked.path["name"], asked.body)),
    ),
    Endpoint(
        "DELETE", "/workspaces/{name}", "removeWorkspace", "Delete a workspace.", Named, run=_remove,
    ),
    Endpoint(
        "POST", "/workspaces/{name}/snapshot", "snapshotWorkspace", "Write a workspace into one file.", File,
        body=File, run=_snapshot,
    ),
    Endpoint(
        "POST", "/workspaces/{name}/restore", "restoreWorkspace", "Make a workspace what a snapshot was.", Made,
        body=File, run=_restore,
    ),
    Endpoint(
        "POST", "/workspaces/{name}/reopen", "reopenWorkspace", "Close a workspace and open it again.", Made,
        run=lambda spaces, asked: _made(asked.path["name"], spaces.reopen(asked.path["name"])),
    ),
)  # fmt: skip


def router(control_key: str) -> Router:
    """What answers whoever has the control key."""

    def authenticate(_: Any, key: str | None) -> Identity:
        if key is None or not hmac.compare_digest(key.encode(), control_key.encode()):
            raise PlatformError("unauthenticated", "The control key is needed.", "Only the server's starter has it.")
        return _STARTER

    return Router(ENDPOINTS, authenticate)
