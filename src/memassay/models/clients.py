"""The official packages' clients: one per event loop, with no retries of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from memassay.models.access import Access


class Clients:
    """Makes a client when one is needed, and again in another event loop: its connections belong to a loop.

    Args:
        access: address and key.
        make: the package's own class for asynchronous clients.
        transport: the package's own class for HTTP clients.
    """

    def __init__(self, access: Access, make: Callable[..., Any], transport: Callable[..., Any]) -> None:
        self._access, self._make, self._transport = access, make, transport
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: Any = None

    def get(self) -> Any:
        """The client of the running event loop.

        Raises:
            EnvironmentProblem: there is no key.
        """
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._loop = loop
            self._client = self._make(
                api_key=self._access.key(),
                base_url=self._access.address,
                max_retries=0,
                # A proxy of the environment is no way to a server on this machine.
                http_client=self._transport(trust_env=not self._access.is_loopback),
            )
        return self._client

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        if self._client is not None and self._loop is asyncio.get_running_loop():
            await self._client.close()
        self._client = None
