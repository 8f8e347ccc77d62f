"""Replies that follow a JSON schema: by the provider's own means, or by words for models that have none."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from pydantic import JsonValue

from memassay.core.errors import UsageError
from memassay.models.chat import Chat, ChatFailure

WAYS = ("native", "prompt")
_FENCED = re.compile(r"\s*```(?:json)?\s*\n(.*)\n\s*```\s*", re.DOTALL)


def check_way(structured: str) -> str:
    """The setting, if it is one.

    Raises:
        UsageError: it is not.
    """
    if structured not in WAYS:
        raise UsageError(f"structured must be 'native' or 'prompt', not {structured!r}.")
    return structured


def asked_for(system: str, schema: Mapping[str, JsonValue]) -> str:
    """System text that asks for one JSON object of a schema."""
    wanted = f"Reply with one JSON object that follows this JSON schema, and with nothing else:\n{json.dumps(schema)}"
    return f"{system}\n\n{wanted}" if system else wanted


def unfenced(text: str) -> str:
    """The text without the code fence that models like to put around JSON."""
    found = _FENCED.fullmatch(text)
    return found.group(1) if found else text


def explained(failure: ChatFailure, chat: Chat, structured: str) -> ChatFailure:
    """The failure, with what to do where a server may have refused the schema: no other way is taken unasked."""
    if failure.code in (400, 404, 422, 501) and chat.schema is not None and structured == "native":
        failure.detail += "; the request asks for a JSON schema: if that is what is refused, set structured=prompt"
    return failure
