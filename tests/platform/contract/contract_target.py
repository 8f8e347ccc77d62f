"""A platform as the contract sees it: an address, an admin's key, and agents nobody has been yet."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import anyio
import httpx2

from memassay.core.blocks import merged
from memassay.platform.bridge import Bridge, code_of, open_bridge, text_of

T = TypeVar("T")


class Target:
    """A platform.

    Args:
        url: where its tools are served; REST is at ``/api/v1`` below.
        key: an admin's.
        entity: URN of a dataset.
    """

    def __init__(self, url: str, key: str, entity: str) -> None:
        self.url, self.key, self.entity = url, key, entity
        self._numbers = itertools.count(1)
        headers = {"Authorization": f"Bearer {key}"}
        self.http = httpx2.Client(base_url=f"{url.rstrip('/')}/api/v1", headers=headers, timeout=60)

    def close(self) -> None:
        self.http.close()

    def agent(self) -> str:
        """The key of an agent that no test has been before."""
        return f"{self.key}-{next(self._numbers):03d}"

    def email(self, key: str) -> str:
        return f"bench-agent-{key.rpartition('-')[2]}@apikey.local"

    def play(self, key: str, scene: Callable[[Bridge], Awaitable[T]]) -> T:
        """Play a scene in a new session of somebody."""

        async def run() -> T:
            async with open_bridge(self.url, key) as bridge:
                return await scene(bridge)

        return anyio.run(run)

    def use(self, key: str, tool: str, **arguments: Any) -> Any:
        """What one tool says in a new session; a refusal fails the test."""
        code, said = self.ask(key, tool, **arguments)
        assert not code, (code, said)
        return said

    def ask(self, key: str, tool: str, **arguments: Any) -> tuple[str, Any]:
        """The code of the refusal, or "", and what the tool said."""

        async def scene(bridge: Bridge) -> tuple[str, Any]:
            result = await bridge.call(tool, arguments)
            said = result.structured_content
            if not isinstance(said, Mapping):
                said = merged(text_of(result))
            return code_of(result) or ("error" if result.is_error else ""), said

        return self.play(key, scene)

    def rest(self, method: str, path: str, expect: int = 200, body: Any = None, **query: Any) -> Any:
        """What REST answers; another status fails the test."""
        more = {} if body is None else {"json": body}
        reply = self.http.request(method, path, params=query, **more)
        assert reply.status_code == expect, (method, path, reply.status_code, reply.text)
        return reply.json()

    def teach(self, key: str, text: str) -> str:
        """The id of the insight that an agent had kept."""
        urns = [self.entity]
        made = self.use(key, "memory_capture", type="business_knowledge", content=text, entity_urns=urns)
        return str(made["id"])

    def insight(self, id: str) -> Any:
        return self.rest("GET", f"/admin/knowledge/insights/{id}")


def fact() -> str:
    """A sentence that stands nowhere else."""
    word, number = secrets.token_hex(4), secrets.randbelow(10**6)
    return f"A {word}-order is an order of more than {number} {secrets.token_hex(3)} units."
