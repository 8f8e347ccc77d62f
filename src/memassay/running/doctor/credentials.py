"""Which credentials are there: by presence, never by value; and how to do without them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pydantic import JsonValue

from memassay.agents.claude_code.profiles import API_KEY, AUTH_TOKEN, SUBSCRIPTION
from memassay.running.doctor.finding import Finding

KNOWN = (API_KEY, AUTH_TOKEN, SUBSCRIPTION, "OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL")
"""The variables that agents and judges read where their settings name no other."""

SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|PWD|CREDENTIAL|AUTH|COOKIE|DSN", re.IGNORECASE)
"""Names of variables that hold what must not leave."""


def credentials(options: Mapping[str, JsonValue]) -> list[Finding]:
    """Whether each variable that an agent reads is set; nothing else of it is looked at.

    Args:
        options: the settings of the agent; ``key_env`` names one more variable.
    """
    named = options.get("key_env")
    names = dict.fromkeys((*([named] if isinstance(named, str) else []), *KNOWN))
    return [
        Finding("credentials", name, "ok", "set") if _is_set(name) else Finding("credentials", name, "note", "not set")
        for name in names
    ]


@contextmanager
def hidden() -> Iterator[None]:
    """No credential is in the environment of this process, for as long as it probes."""
    kept = {name: value for name, value in os.environ.items() if SECRET.search(name)}
    for name in kept:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(kept)


def _is_set(name: str) -> bool:
    return bool(os.environ.get(name, "").strip())
