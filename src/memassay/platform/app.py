"""The ASGI application: which part of the server a request is for, and what every answer carries.

==================== ===================================================================================
``/``, ``/mcp``      the tools, over the Model Context Protocol (a browser is sent on to ``/review``)
``/api/v1/…``        REST
``/review``          the reviewer's page: three files, the one part that needs no key, for they hold nothing
``/w/NAME/…``        the same three of another workspace
``/control/…``       workspaces, where the server was started with a control key
==================== ===================================================================================
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import anyio
import anyio.to_thread
from mcp.server import ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memassay.platform import control, problems, rest
from memassay.platform.errors import PlatformError
from memassay.platform.routing import MOST_BYTES, Role, abandon, key_of
from memassay.platform.server import Guest, make_server
from memassay.platform.service import Platform
from memassay.platform.workspaces import Workspaces

# Calls wait for one writer and for the disk, so there is no use in many; SQLite lets all of them read.
_THREADS = 24

_GUEST = "memassay.guest"
_HERE = ("127.0.0.1", "localhost", "[::1]")
_TOOLS = ("/", "/mcp")
_PAGE = Path(__file__).with_name("page")
_FILES = {
    "/review": ("index.html", "text/html"),
    "/review/review.js": ("review.js", "text/javascript"),
    "/review/review.css": ("review.css", "text/css"),
}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Route(NamedTuple):
    """What is answered; ``who`` is a role, or ``anybody`` without a key, or the ``starter`` with the control key."""

    method: str
    path: str
    who: Role | Literal["anybody", "starter"]


class App:
    """Answers every request.

    Args:
        spaces: the workspaces; whoever made them closes them.
        control_key: who has it may make and remove workspaces; None for nobody.
        loopback: whether the server can be reached from this machine alone. Then a request that names another host
            is refused: a web page could have sent it through a name that leads here (DNS rebinding).
    """

    def __init__(self, spaces: Workspaces, *, control_key: str | None = None, loopback: bool = True) -> None:
        self._spaces, self._loopback = spaces, loopback
        self._control = None if control_key is None else control.router(control_key)
        self._threads = anyio.CapacityLimiter(_THREADS)
        # Nothing is ever sent unasked, so there is no session to keep and no stream to hold open.
        self._mcp = StreamableHTTPSessionManager(
            make_server(_guest_of), json_response=True, stateless=True, max_request_body_size=MOST_BYTES
        )

    @property
    def routes(self) -> tuple[Route, ...]:
        """Everything that is answered; all but what is the starter's is there for each workspace, too."""
        return (
            *(Route("GET", path, "anybody") for path in _FILES),
            *(Route("POST", path, "anyone") for path in _TOOLS),
            *(Route(it.method, rest.PREFIX + it.path, it.role) for it in rest.ROUTER.endpoints),
            *(
                Route(it.method, control.PREFIX + it.path, "starter")
                for it in (self._control.endpoints if self._control else ())
            ),
        )

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While this is open, requests are answered."""
        async with self._mcp.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            answer = self._refusal(scope) or self._dispatch
            await answer(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        """Refuse what a web page of another site sends, or sends under another name."""
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if self._loopback and _name(host) not in _HERE:
            return problems.response(421, "wrong_host", "This server is for this machine alone.")
        if origin is not None and origin.partition("://")[2] != host:
            return problems.response(403, "wrong_origin", "Requests of other sites' pages are not served.")
        return None

    async def _dispatch(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if path.startswith(f"{control.PREFIX}/") and self._control is not None:
            below = path.removeprefix(control.PREFIX)
            await self._control.answer(self._spaces, below, self._threads, scope, receive, send)
            return
        platform, base = self._spaces.main, ""
        if path.startswith("/w/"):
            name, _, below = path.removeprefix("/w/").partition("/")
            base, path = f"/w/{name}", f"/{below}"
            try:
                platform = await anyio.to_thread.run_sync(self._spaces.get, name, limiter=self._threads)
            except PlatformError as problem:
                await problems.refused(problem)(scope, receive, send)
                return
        if path.startswith(f"{rest.PREFIX}/"):
            served = rest.Served(platform, base + rest.PREFIX)
            below = path.removeprefix(rest.PREFIX)
            await rest.ROUTER.answer(served, below, self._threads, scope, receive, send)
        elif path in _TOOLS:
            await self._speak(platform, base, scope, receive, send)
        else:
            await _file(path, scope["method"])(scope, receive, send)

    async def _speak(self, platform: Platform, base: str, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
            await RedirectResponse(f"{base}/review")(scope, receive, send)
            return
        find = partial(platform.authenticate, key_of(request))
        try:
            identity = await anyio.to_thread.run_sync(find, limiter=self._threads)
        except PlatformError as problem:
            await problems.refused(problem)(scope, receive, send)
            return
        guest = Guest(platform, identity, self._threads)

        async def unless_dropped(message: Message) -> None:
            if not guest.dropped:
                await send(message)

        await self._mcp.handle_request({**scope, _GUEST: guest}, receive, unless_dropped)
        if guest.dropped:
            await abandon(send)


def make_app(spaces: Workspaces, *, control_key: str | None = None, loopback: bool = True) -> Starlette:
    """The application for a server; see :class:`App`."""
    app = App(spaces, control_key=control_key, loopback=loopback)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with app.running():
            yield

    return Starlette(routes=[Mount("/", app=app)], lifespan=lifespan)


def _guest_of(context: ServerRequestContext[Any]) -> Guest:
    assert context.request is not None
    guest: Guest = context.request.scope[_GUEST]
    return guest


def _file(path: str, method: str) -> Response:
    if path not in _FILES:
        return problems.response(404, "not_found", f"There is no {path!r:.200} here.")
    if method not in ("GET", "HEAD"):
        return problems.response(405, "method_not_allowed", "Use GET.", headers={"Allow": "GET, HEAD"})
    name, kind = _FILES[path]
    return Response((_PAGE / name).read_bytes(), media_type=kind)


def _name(host: str) -> str:
    """A host without its port."""
    host = host.lower()
    return host if host.endswith("]") else host.rpartition(":")[0] or host


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
        await send(message)

    return sending
