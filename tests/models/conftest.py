"""What the tests of models share."""

from __future__ import annotations

import pytest


@pytest.fixture
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the tester's own says where the providers are and with which key."""
    for name in ("API_KEY", "AUTH_TOKEN", "BASE_URL", "CUSTOM_HEADERS"):
        for provider in ("ANTHROPIC", "OPENAI"):
            monkeypatch.delenv(f"{provider}_{name}", raising=False)
