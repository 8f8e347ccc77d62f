"""The workspaces of one server: the main one, and any number of others with settings of their own.

::

    FOLDER/platform.sqlite                    the main one
    FOLDER/workspaces/NAME/workspace.json     settings and warehouse, so that it opens again after a restart
    FOLDER/workspaces/NAME/platform.sqlite
"""

from __future__ import annotations

import re
import secrets
import shutil
import threading
from pathlib import Path

from pydantic import Field, ValidationError

from memassay.core.errors import UsageError
from memassay.platform.errors import PlatformError
from memassay.platform.service import Platform
from memassay.platform.settings import Settings
from memassay.platform.shapes import Entity, Identity, Shape

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_ABOUT = "workspace.json"


class Holder(Shape):
    """A key and who holds it."""

    key: str = Field(min_length=16, max_length=200)
    identity: Identity


class Pool(Shape):
    """An admin under ``key``, and agents under ``KEY-001`` … (see ``Platform.add_pool``)."""

    key: str = Field(min_length=16, max_length=200)
    count: int = Field(ge=1, le=9_999)


class Wanted(Shape):
    """A workspace to be.

    Attributes:
        warehouse: path of an SQLite file, or None.
        snapshot: path of a snapshot to begin with, or None.
    """

    settings: Settings = Settings()
    warehouse: str | None = None
    snapshot: str | None = None
    entities: tuple[Entity, ...] = ()
    holders: tuple[Holder, ...] = ()
    pool: Pool | None = None


class _About(Shape):
    settings: Settings
    warehouse: str | None


class Workspaces:
    """Opens, makes and removes workspaces; any thread may call.

    Args:
        folder: made where it is not there.
        settings, warehouse: of the main workspace.

    Attributes:
        main: the main workspace.
    """

    def __init__(self, folder: Path, settings: Settings | None = None, warehouse: Path | None = None) -> None:
        self._folder = folder
        self.main = Platform(folder, settings, warehouse=warehouse)
        self._open: dict[str, Platform] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close all of them."""
        with self._lock:
            for platform in (self.main, *self._open.values()):
                platform.close()
            self._open.clear()

    def names(self) -> tuple[str, ...]:
        """Of all but the main one."""
        return tuple(sorted(path.parent.name for path in self._folder.glob(f"workspaces/*/{_ABOUT}")))

    def get(self, name: str) -> Platform:
        """A workspace, opened where it is not open yet; raises ``not_found``."""
        if (platform := self._open.get(name)) is not None:
            return platform  # without the lock: nobody waits for a workspace that is being made
        with self._lock:
            if name not in self._open:
                self._open[name] = self._opened(self._place(name))
            return self._open[name]

    def make(self, name: str, wanted: Wanted) -> Platform:
        """A new workspace.

        Raises:
            PlatformError: ``conflict``: there is one; ``invalid``: the name, or something of what is wanted.
        """
        if not _NAME.fullmatch(name):
            raise PlatformError("invalid", f"{name[:70]!r} is no name.", "Use a-z, 0-9 and -, at most 64.")
        place = self._folder / "workspaces" / name
        with self._lock:
            if (place / _ABOUT).exists():
                raise PlatformError("conflict", f"There is a workspace {name}.", "Remove it first.")
            shutil.rmtree(place, ignore_errors=True)  # what a killed process left behind
            place.mkdir(parents=True)
            about = _About(settings=wanted.settings, warehouse=wanted.warehouse)
            try:
                platform = _filled(place, about, wanted)
                part = place / f"{_ABOUT}.part"
                part.write_text(about.model_dump_json(), "utf-8")
                part.replace(place / _ABOUT)  # whole or not there: a killed process leaves no half of it
            except BaseException:
                shutil.rmtree(place, ignore_errors=True)
                raise
            self._open[name] = platform
            return platform

    def reopen(self, name: str) -> Platform:
        """Close a workspace and open it again, as a restart of its process would."""
        with self._lock:
            place = self._place(name)
            self._forget(name)
            self._open[name] = self._opened(place)
            return self._open[name]

    def remove(self, name: str) -> None:
        """Close a workspace and delete all of it; raises ``not_found``."""
        with self._lock:
            place = self._place(name)
            self._forget(name)
            (place / _ABOUT).unlink()
            shutil.rmtree(place, ignore_errors=True)

    def _forget(self, name: str) -> None:
        if (platform := self._open.pop(name, None)) is not None:
            platform.close()

    def _place(self, name: str) -> Path:
        place = self._folder / "workspaces" / name
        if not _NAME.fullmatch(name) or not (place / _ABOUT).is_file():
            raise PlatformError("not_found", f"There is no workspace {name[:70]!r}.")
        return place

    def _opened(self, place: Path) -> Platform:
        try:
            about = _About.model_validate_json((place / _ABOUT).read_bytes())
        except (OSError, ValidationError):
            raise PlatformError("unavailable", f"{place / _ABOUT} cannot be read.") from None
        return _platform(place, about)


def _platform(place: Path, about: _About) -> Platform:
    return Platform(place, about.settings, warehouse=None if about.warehouse is None else Path(about.warehouse))


def _filled(place: Path, about: _About, wanted: Wanted) -> Platform:
    platform = _platform(place, about)
    try:
        if wanted.snapshot is not None:
            platform.restore(Path(wanted.snapshot))
        for holder in wanted.holders:
            platform.add_identity(holder.key, holder.identity)
        if wanted.pool is not None:
            platform.add_pool(wanted.pool.key, wanted.pool.count)
        platform.put_entities(wanted.entities)
    except BaseException:
        platform.close()
        raise
    return platform


# -- people, for the one who owns the folder -----------------------------------------------------------------------


def ensure_admin(platform: Platform) -> str | None:
    """The key of a new admin where there is none yet; it is kept nowhere in clear, so this is the time to show it."""
    if any(identity.administers for identity in platform.identities()):
        return None
    return add_person(platform, "admin", ("admin",))


def add_person(platform: Platform, name: str, roles: tuple[str, ...], email: str = "", persona: str = "") -> str:
    """Somebody with a new key; whoever has that name already gets a new key, and the old one stops working.

    Returns:
        The key.

    Raises:
        UsageError: the name is empty.
    """
    if not name.strip():
        raise UsageError("A name is needed.")
    key = f"mk_{secrets.token_urlsafe(24)}"
    fields = {"persona": persona} if persona else {}
    identity = Identity(user_id=f"apikey:{name}", email=email or f"{name}@localhost", name=name, roles=roles, **fields)
    platform.add_identity(key, identity)
    return key
