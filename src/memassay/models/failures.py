"""What a provider's error means: which status it is, and whether it is of use to ask again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from memassay.core.types import Status
from memassay.models.chat import ChatFailure

_PASSING = {408, 409, 425, 429}
_DETAIL = 300


def from_status(code: int, said: str, headers: Mapping[str, str], request: JsonValue, response: Any) -> ChatFailure:
    """The failure of a request that a provider answered with an HTTP error.

    429 is a rate limit; every other code is an error of the interface. Codes from 500 on may pass, and so may 408, 409
    and 425; other codes below 500 are permanent, and so is a 429 that says that the account has run out of money.

    Args:
        code: the HTTP status.
        said: the provider's words.
        headers: of the response; ``retry-after`` is read.
        request: what was sent.
        response: what came back.
    """
    spent = code == 429 and "insufficient_quota" in f"{said} {response}"
    return ChatFailure(
        Status.RATE_LIMIT if code == 429 else Status.API_ERROR,
        f"HTTP {code}: {one_line(said)}",
        code=code,
        retry_after=_seconds(headers),
        permanent=spent or (code < 500 and code not in _PASSING),
        request=request,
        response=response,
    )


def from_network(error: BaseException, address: str, request: JsonValue) -> ChatFailure:
    """The failure of a request that got no answer."""
    cause = error.__cause__ or error
    words = one_line(f"{type(cause).__name__}: {cause}").removesuffix(": ")
    return ChatFailure(Status.NETWORK, f"{address} cannot be reached: {words}", request=request)


def silent(address: str, seconds: float, request: JsonValue) -> ChatFailure:
    """The failure of a request whose answer did not come in time."""
    return ChatFailure(Status.NETWORK, f"{address} gave no reply within {seconds:g} s", request=request)


def unreadable(error: BaseException, request: JsonValue, response: JsonValue) -> ChatFailure:
    """The failure of a request whose answer is not what the interface promises."""
    words = one_line(f"{type(error).__name__}: {error}")
    detail = f"the reply cannot be read: {words}"
    return ChatFailure(Status.API_ERROR, detail, request=request, response=response)


def one_line(text: str) -> str:
    """A text as one line of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= _DETAIL else f"{line[:_DETAIL]}…"


def _seconds(headers: Mapping[str, str]) -> float | None:
    try:
        return max(0.0, float(headers.get("retry-after", "")))
    except ValueError:
        return None
