"""Where a provider is and with which key: addresses as they may be shown, keys that are only ever sent."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import ipaddress
import json
import os
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from memassay.core.errors import EnvironmentProblem, MissingExtra, UsageError

# What is sent where no key is needed: the packages of the providers insist on one.
NO_KEY = "no-key"


@dataclass(frozen=True)
class Access:
    """A provider's address and the name of the variable that holds its key.

    Args:
        base_url: the address given as a setting, or None.
        address_env: the variable that the provider's own package reads its address from.
        official: the provider's own address.
        key_env: the variable that holds the key.
    """

    base_url: str | None
    address_env: str
    official: str
    key_env: str
    address: str = field(init=False, default="")

    def __post_init__(self) -> None:
        address = self.base_url or os.environ.get(self.address_env) or self.official
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"base_url must be an address such as http://127.0.0.1:8000/v1, not {_typed(address)!r}.")
        object.__setattr__(self, "address", address)

    @property
    def shown(self) -> str:
        """The address without a login, a query and a fragment: it becomes part of a run's identity."""
        return shown(self.address)

    @property
    def is_official(self) -> bool:
        """Whether it is the provider's own."""
        return self.shown == shown(self.official)

    @property
    def is_loopback(self) -> bool:
        """Whether it is on this machine."""
        host = urlsplit(self.address).hostname or ""
        try:
            return host == "localhost" or ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

    def key(self) -> str:
        """The key, or a filler where the address is on this machine and no key is set.

        Raises:
            EnvironmentProblem: there is none.
        """
        key = os.environ.get(self.key_env, "").strip()
        if key:
            return key
        if self.is_loopback:
            return NO_KEY
        raise EnvironmentProblem(
            f"There is no key for {self.shown}: set the variable {self.key_env}, or name another with key_env."
        )

    def without_key(self, value: Any) -> Any:
        """A JSON-able value in which the key, should a provider repeat it, is no more."""
        key = os.environ.get(self.key_env, "").strip()
        if len(key) < 8:
            return value
        if isinstance(value, str):
            return value.replace(key, f"[{self.key_env}]")
        told, mark = (json.dumps(text)[1:-1] for text in (key, f"[{self.key_env}]"))
        return json.loads(json.dumps(value).replace(told, mark))


def _typed(address: str) -> str:
    """What was given for an address and is none, without what may be a login or a query."""
    return address.partition("?")[0].rpartition("@")[2]


def shown(address: str) -> str:
    """An address without a login, a query and a fragment, and without a slash at its end."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{host}{port}{parts.path}".rstrip("/")


def version_of(module: str, extra: str, distribution: str = "") -> str:
    """The version of an optional package, without importing it.

    Args:
        module: what is imported.
        extra: the extra of memassay that brings it.
        distribution: the package's name where it is not the module's.

    Raises:
        MissingExtra: it is not installed.
    """
    if importlib.util.find_spec(module) is None:
        raise MissingExtra(distribution or module, extra)
    return importlib.metadata.version(distribution or module)
