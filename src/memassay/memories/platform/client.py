"""The wire contract of a memory platform, as one client: the embedded platform and another differ by URL and key.

REST needs a key and nothing else. A tool is called in a session of its own, with the handle and the purpose that the
platform asks for (:mod:`memassay.platform.bridge`). Methods block and may be called by several threads.
"""

from __future__ import annotations

import asyncio
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any

import httpx2

from memassay.core.blocks import objects
from memassay.core.digest import digest_of
from memassay.core.errors import EnvironmentProblem, MemoryFailure
from memassay.platform.bridge import code_of, open_bridge, text_of

API = "/api/v1"
INSIGHTS, CHANGESETS = "/admin/knowledge/insights", "/admin/knowledge/changesets"
AUDIT = "/admin/audit/events"
PAGES, OWN_RECORDS = "/portal/knowledge-pages", "/memassay/records"
SECONDS = 120.0

_HERE = ("127.0.0.1", "localhost", "::1")
_PER_PAGE = 100
_DETAIL = 300
# Answers that do not tell whether there is an endpoint.
_SAYS_NOTHING = (401, 403, 429)


class Refused(MemoryFailure):
    """The platform said no; ``code`` is its own, or the HTTP status."""

    def __init__(self, what: str, code: str, detail: str) -> None:
        self.code = code
        super().__init__(f"{what} was refused ({code}): {' '.join(detail.split())[:_DETAIL]}")


def http_client(url: str, key: str) -> httpx2.Client:
    """A client for one key; a server of this machine is not asked through a proxy."""
    near = urllib.parse.urlsplit(url).hostname in _HERE
    return httpx2.Client(
        base_url=url,
        headers={"Authorization": f"Bearer {key}"},
        timeout=SECONDS,
        trust_env=not near,
        verify=url.startswith("https:"),  # reading the machine's certificates takes longer than most calls
    )


class PlatformClient:
    """Somebody at a platform.

    Args:
        url: where its tools are served; REST is below ``/api/v1``.
        key: of an identity.
    """

    def __init__(self, url: str, key: str) -> None:
        self._url, self._key = url.rstrip("/"), key
        self._http = http_client(self._url, key)

    def close(self) -> None:
        """Let go of its connections. Also a context manager."""
        self._http.close()

    def __enter__(self) -> PlatformClient:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # -- REST ------------------------------------------------------------------------------------------------------

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None, **query: Any) -> Any:
        """What an endpoint answers, as JSON.

        Raises:
            Refused: the answer is a problem.
            httpx2.HTTPError: there is no answer.
        """
        said = self._http.request(method, f"{API}{path}", json=body, params={k: v for k, v in query.items() if v})
        if said.status_code >= 400:
            raise Refused(f"{method} {path}", str(said.status_code), _detail(said))
        try:
            return said.json()
        except ValueError:
            raise MemoryFailure(f"{method} {path} did not answer in JSON") from None

    def has(self, path: str, **query: Any) -> bool:
        """Whether the platform has an endpoint: where it has none it may answer with a page for people.

        Raises:
            Refused: the key may not look, or the platform is in trouble.
        """
        said = self._http.request("GET", f"{API}{path}", params=query)
        if said.status_code in _SAYS_NOTHING or said.status_code >= 500:
            raise Refused(f"GET {path}", str(said.status_code), _detail(said))
        return said.status_code < 300 and _is_object(said)

    def every(self, path: str, per_page: int = _PER_PAGE, **query: Any) -> Iterator[Mapping[str, Any]]:
        """All rows of a list that is given page by page."""
        page = seen = 0
        while True:
            page += 1
            said = self.ask("GET", path, page=page, per_page=per_page, **query)
            rows = said.get("data") or []
            yield from rows
            seen += len(rows)
            if not rows or seen >= int(said.get("total", 0)):
                return

    def page(self, slug: str) -> Mapping[str, Any] | None:
        """The knowledge page with that slug, or None."""
        seen = 0
        while True:
            said = self.ask("GET", PAGES, limit=_PER_PAGE, offset=seen)
            pages = said.get("pages") or []
            found: Mapping[str, Any] | None = next((page for page in pages if page.get("slug") == slug), None)
            seen += len(pages)
            if found is not None or not pages or seen >= int(said.get("total", 0)):
                return found

    # -- tools -----------------------------------------------------------------------------------------------------

    def tool(self, name: str, **arguments: Any) -> Mapping[str, Any]:
        """What a tool says, in a session of its own.

        Raises:
            Refused: an error, with the platform's code.
            EnvironmentProblem: no session can be opened.
        """

        async def once() -> Mapping[str, Any]:
            async with open_bridge(self._url, self._key) as bridge:
                result = await bridge.call(name, arguments)
            text, said = text_of(result), result.structured_content
            if result.is_error:
                raise Refused(name, code_of(result) or "tool_error", text)
            found = [said] if isinstance(said, dict) else objects(text)
            if not found:
                raise MemoryFailure(f"{name} did not answer with an object")
            return found[0]

        try:
            return asyncio.run(once())
        except EnvironmentProblem as problem:
            raise MemoryFailure(str(problem)) from problem

    def fingerprint(self) -> dict[str, str]:
        """What the platform says that it is: its version, and twelve digits over its tools with their schemas.

        Raises:
            MemoryFailure: no session can be opened.
        """

        async def once() -> dict[str, str]:
            async with open_bridge(self._url, self._key) as bridge:
                tools = {tool.name: [tool.description, tool.input_schema] for tool in bridge.tools}
                return {"version": bridge.version, "tools": digest_of(tools)[:12]}

        try:
            return asyncio.run(once())
        except EnvironmentProblem as problem:
            raise MemoryFailure(str(problem)) from problem

    def notes(self, owner: str) -> Iterator[Mapping[str, Any]]:
        """The live records of somebody, asked for with the owner's key, that need no review.

        A list may hold those of everybody with the same persona.
        """
        seen = 0
        while True:
            said = self.tool("memory_manage", command="list", limit=_PER_PAGE, offset=seen)
            rows = said.get("records") or []
            for row in rows:
                waits = row.get("dimension") == "knowledge" or (row.get("metadata") or {}).get("insight_status")
                if row.get("created_by") == owner and not waits:
                    yield row
            seen += len(rows)
            if not rows or seen >= int(said.get("total", 0)):
                return


def _is_object(said: httpx2.Response) -> bool:
    try:
        return isinstance(said.json(), dict)
    except ValueError:
        return False


def _detail(said: httpx2.Response) -> str:
    """The sentence of a problem document, or the beginning of whatever came."""
    try:
        return str(said.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return said.text
