"""Settings that would write a secret into a run are refused, and the refusal does not repeat them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from memassay.core.errors import UsageError

_SECRET = re.compile(r"api_?key|secret|passw|credential|access_token|auth_token", re.IGNORECASE)
_LOGIN = re.compile(r"://[^\s/?#@]*@")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOO_LONG = 64  # no variable of a client has so long a name; many a key does


def refuse_secrets(options: Mapping[str, Any], whose: str) -> None:
    """Refuse settings that look like a secret, or hold one.

    Args:
        options: settings by name.
        whose: whose they are, for the message.

    Raises:
        UsageError: one does, with where it belongs.
    """
    for key, value in options.items():
        if key.endswith("_env"):
            names = value if isinstance(value, (list, tuple)) else [value]
            if any(not isinstance(n, str) or not _VARIABLE.fullmatch(n) or len(n) > _TOO_LONG for n in names):
                raise UsageError(
                    f"Setting {key!r} of {whose} is the name of a variable that holds a key, such as OPENAI_API_KEY; "
                    "what was given is no such name."
                )
        elif _SECRET.search(key):
            raise UsageError(
                f"Setting {key!r} of {whose} looks like a secret, and settings are written into the run; "
                "let it be read from the environment."
            )
        elif isinstance(value, str) and (_LOGIN.search(value) or (key.endswith("url") and "?" in value)):
            raise UsageError(
                f"Setting {key!r} of {whose} holds a name and password, or a query, and settings are written into the "
                "run; give the address alone."
            )
