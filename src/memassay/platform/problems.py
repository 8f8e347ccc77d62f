"""Refusals as problem documents (RFC 9457), ``application/problem+json``."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from pydantic import Field
from starlette.responses import Response

from memassay.platform.errors import PlatformError
from memassay.platform.shapes import Shape

MEDIA_TYPE = "application/problem+json"


class Problem(Shape):
    """What went wrong.

    Attributes:
        type: ``urn:memassay:problem:CODE``.
        title: of the HTTP status.
        detail: one sentence.
        code: what clients act on.
        hint: what to do about it, or "".
    """

    type: str
    title: str
    status: int = Field(ge=400, le=599)
    detail: str
    code: str
    hint: str = ""


def refused(problem: PlatformError) -> Response:
    """The response for a refusal of the platform."""
    headers = {"WWW-Authenticate": "Bearer"} if problem.status == HTTPStatus.UNAUTHORIZED else {}
    if problem.retry_after:
        headers["Retry-After"] = str(problem.retry_after)
    return response(problem.status, problem.code, problem.message, problem.hint, headers)


def response(status: int, code: str, detail: str, hint: str = "", headers: Mapping[str, str] | None = None) -> Response:
    """The response for what HTTP itself refuses."""
    problem = Problem(
        type=f"urn:memassay:problem:{code}",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        code=code,
        hint=hint,
    )
    return Response(problem.model_dump_json(), status, dict(headers or {}), MEDIA_TYPE)
