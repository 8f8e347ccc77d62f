"""Endpoints of an HTTP interface as values, and what answers requests for them.

Everything that a caller may send is a pydantic shape, and unknown parameters and fields are refused, so that the
OpenAPI document made from the endpoints (openapi.py) is exact. A request is refused in this order: key, path, method,
role, parameters, body.
"""

from __future__ import annotations

import logging
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import anyio
import anyio.to_thread
from pydantic import BaseModel, BeforeValidator, ValidationError
from pydantic_core import PydanticCustomError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from memassay.platform import problems
from memassay.platform.arguments import fault_of
from memassay.platform.errors import Code, ConnectionDropped, PlatformError
from memassay.platform.shapes import Identity

MOST_BYTES = 1_000_000
"""Of the body of a request."""

Role = Literal["anyone", "reviewer", "admin"]

_log = logging.getLogger(__name__)


def _whole(value: object) -> object:
    """A number as a query string has it; Python alone would also take `` 1_0 ``."""
    if isinstance(value, str):
        digits = value.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
            raise PydanticCustomError("whole", "a whole number is needed")
        return int(value)
    return value


def _truth(value: object) -> object:
    if isinstance(value, str):
        if value not in ("true", "false"):
            raise PydanticCustomError("truth", "true or false is needed")
        return value == "true"
    return value


WHOLE = BeforeValidator(_whole)
"""For an ``int`` of a query, after its limits."""

TRUTH = BeforeValidator(_truth)
"""For a ``bool`` of a query."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that may be answered: by whom, and what for.

    Attributes:
        path: the parts of the path that stand for something, by name.
        query, body: the endpoint's shapes, or None where it has none.
    """

    identity: Identity
    path: Mapping[str, str]
    query: Any = None
    body: Any = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method of one path.

    Attributes:
        path: such as ``/things/{id}``.
        name: unique; the operation's id.
        says: one sentence.
        gives: the shape of the answer.
        run: the operation, on what the router serves.
        role: who may.
        query, body: shapes of what it takes.
        refuses: codes beside those that every endpoint has.
    """

    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    name: str
    says: str
    gives: type[BaseModel]
    run: Callable[[Any, Asked], BaseModel]
    role: Role = "anyone"
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None
    status: int = 200
    refuses: tuple[Code, ...] = ()


class Router:
    """Answers requests for endpoints.

    Args:
        endpoints: all of them.
        authenticate: whose key it is; raises ``unauthenticated``.

    Attributes:
        endpoints: as given.
    """

    def __init__(self, endpoints: Sequence[Endpoint], authenticate: Callable[[Any, str | None], Identity]) -> None:
        self.endpoints = tuple(endpoints)
        self._authenticate = authenticate
        self._paths: dict[tuple[str, ...], dict[str, Endpoint]] = {}
        for endpoint in endpoints:
            self._paths.setdefault(_parts(endpoint.path), {})[endpoint.method] = endpoint

    async def answer(
        self, subject: Any, path: str, threads: anyio.CapacityLimiter, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answer one request; ``subject`` is what the endpoints work on, ``path`` is below that of the interface."""
        request = Request(scope, receive)
        try:
            response = await self._response(subject, path, threads, request)
        except PlatformError as problem:
            response = problems.refused(problem)
        except ClientDisconnect:
            return
        except ConnectionDropped:
            await abandon(send)
            return
        except OSError as error:
            said = f"A file cannot be used: {(error.strerror or str(error)).lower()}."
            response = problems.refused(PlatformError("unavailable", said))
        except Exception:
            _log.exception("%s %s failed.", request.method, path)
            response = problems.response(500, "bug", "This is a bug of the platform; its log says more.")
        await response(scope, receive, send)

    async def _response(self, subject: Any, path: str, threads: anyio.CapacityLimiter, request: Request) -> Response:
        find = partial(self._authenticate, subject, key_of(request))
        identity = await anyio.to_thread.run_sync(find, limiter=threads)
        found = self._find(path)
        if found is None:
            raise PlatformError("not_found", f"There is no {path!r:.200} here.", "See /api/v1/openapi.json.")
        methods, parts = found
        endpoint = methods.get("GET" if request.method == "HEAD" else request.method)
        if endpoint is None:
            allowed = {"Allow": ", ".join(sorted(methods))}
            return problems.response(405, "method_not_allowed", f"Use {allowed['Allow']}.", headers=allowed)
        check_role(identity, endpoint.role)
        query = _query(endpoint, request.scope["query_string"])
        body = None
        if endpoint.body is not None:
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                return problems.response(415, "unsupported_media_type", "The body must be application/json.")
            data = await read_body(request)
            if data is None:
                return problems.response(413, "too_large", f"A body has at most {MOST_BYTES:,} bytes.")
            body = _body(endpoint, data)
        run = partial(endpoint.run, subject, Asked(identity, parts, query, body))
        done = await anyio.to_thread.run_sync(run, limiter=threads)
        return Response(done.model_dump_json(), endpoint.status, media_type="application/json")

    def _find(self, path: str) -> tuple[dict[str, Endpoint], dict[str, str]] | None:
        given = _parts(path)
        if given in self._paths:
            return self._paths[given], {}
        for parts, methods in self._paths.items():
            if len(parts) == len(given) and all(
                part == value or (_stands_for(part) and value) for part, value in zip(parts, given, strict=True)
            ):
                pairs = zip(parts, given, strict=True)
                return methods, {part[1:-1]: value for part, value in pairs if _stands_for(part)}
        return None


def key_of(request: Request) -> str | None:
    """The key that a request carries, as ``Authorization: Bearer KEY`` or ``X-API-Key: KEY``."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else request.headers.get("x-api-key")


def check_role(identity: Identity, role: Role) -> None:
    """Raise ``unauthorized`` where somebody may not."""
    may = {"anyone": True, "reviewer": identity.reviews, "admin": identity.administers}[role]
    if not may:
        raise PlatformError("unauthorized", f"Only {_WHO[role]} may do this.", "Use a key with that role.")


_WHO = {"reviewer": "a reviewer", "admin": "an admin"}


async def read_body(request: Request) -> bytes | None:
    """The body, or None where it is too long."""
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > MOST_BYTES:
            return None
    return bytes(data)


async def abandon(send: Send) -> None:
    """Let the connection end without a reply: a body is announced and never comes."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1")]})


def _query(endpoint: Endpoint, given: bytes) -> BaseModel | None:
    pairs = urllib.parse.parse_qsl(given.decode("latin-1"), keep_blank_values=True)
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise PlatformError("invalid", "A parameter of the query is given twice.")
    if endpoint.query is None:
        if fields:
            raise PlatformError("invalid", f"{next(iter(fields))[:60]} is not known.", "Leave the query out.")
        return None
    try:
        return endpoint.query.model_validate(fields)
    except ValidationError as error:
        raise PlatformError("invalid", f"Query: {fault_of(error, endpoint.query.model_fields)}") from None


def _body(endpoint: Endpoint, data: bytes) -> BaseModel:
    assert endpoint.body is not None
    try:
        return endpoint.body.model_validate_json(data, strict=True)
    except ValidationError as error:
        raise PlatformError("invalid", f"Body: {fault_of(error, endpoint.body.model_fields)}") from None


def _parts(path: str) -> tuple[str, ...]:
    return tuple(path.strip("/").split("/")) if path.startswith("/") and not path.endswith("/") else (path,)


def _stands_for(part: str) -> bool:
    return part.startswith("{")
